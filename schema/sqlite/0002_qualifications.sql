-- +goose Up
-- What providers have proven. A row is one provider with one model under one
-- fingerprint of a contract; a later run replaces it, a revocation stands.
CREATE TABLE {prefix}qualifications (
    provider     TEXT    NOT NULL CHECK (octet_length(provider) BETWEEN 1 AND 63),
    contract     TEXT    NOT NULL CHECK (octet_length(contract) BETWEEN 1 AND 255),
    model        TEXT    NOT NULL CHECK (octet_length(model) BETWEEN 1 AND 255),
    fingerprint  TEXT    NOT NULL CHECK (octet_length(fingerprint) BETWEEN 1 AND 128),
    runs         INTEGER NOT NULL CHECK (runs >= 1),
    passes       INTEGER NOT NULL,
    qualified_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    revoked_at   INTEGER,
    by           TEXT    CHECK (octet_length(by) <= 128),
    reason       TEXT    CHECK (octet_length(reason) <= 4096),
    evidence     BLOB    NOT NULL CHECK (octet_length(evidence) <= 1048576),
    PRIMARY KEY (provider, contract, model, fingerprint),
    CONSTRAINT qualifications_passes CHECK (passes BETWEEN 0 AND runs)
) STRICT;

INSERT INTO {prefix}migrations (version) VALUES (2);

-- +goose Down
DROP TABLE {prefix}qualifications;

DELETE FROM {prefix}migrations WHERE version = 2;
