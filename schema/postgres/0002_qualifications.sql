-- +goose Up
-- What providers have proven. A row is one provider with one model under one
-- fingerprint of a contract; a later run replaces it, a revocation stands.
CREATE TABLE {schema}.qualifications (
    qualified_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    revoked_at   timestamptz,
    runs         integer NOT NULL CHECK (runs >= 1),
    passes       integer NOT NULL,
    provider     {schema}.onejob_name NOT NULL,
    contract     text COLLATE "C" NOT NULL CHECK (octet_length(contract) BETWEEN 1 AND 255),
    model        text COLLATE "C" NOT NULL CHECK (octet_length(model) BETWEEN 1 AND 255),
    fingerprint  text COLLATE "C" NOT NULL CHECK (octet_length(fingerprint) BETWEEN 1 AND 128),
    by           {schema}.onejob_by,
    reason       {schema}.onejob_remark,
    evidence     bytea NOT NULL CHECK (octet_length(evidence) <= 1048576),
    PRIMARY KEY (provider, contract, model, fingerprint),
    CONSTRAINT qualifications_passes CHECK (passes BETWEEN 0 AND runs)
);

INSERT INTO {schema}.migrations (version) VALUES (2);

-- +goose Down
DROP TABLE {schema}.qualifications;

DELETE FROM {schema}.migrations WHERE version = 2;
