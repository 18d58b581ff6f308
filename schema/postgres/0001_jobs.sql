-- +goose Up
CREATE SCHEMA IF NOT EXISTS {schema};

CREATE TABLE {schema}.migrations (
    version    integer     PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Fixed-width columns come first: it saves the padding.
-- No index may name a column that Complete changes: then the swap stays a
-- HOT update and touches no index. Hence purge looks by created_at, for
-- tombstones too: what counts is a column's name in an index, not its rows.
CREATE TABLE {schema}.jobs (
    id                  uuid        PRIMARY KEY,
    created_at          timestamptz NOT NULL,
    ended_at            timestamptz,
    purged_at           timestamptz,
    version             bigint      NOT NULL CHECK (version >= 1),
    fingerprint_version smallint    NOT NULL CHECK (fingerprint_version >= 1),
    opaque              boolean     NOT NULL,
    state               text        COLLATE "C" NOT NULL CHECK (state IN ('open', 'completed', 'canceled')),
    owner               text        COLLATE "C" NOT NULL CHECK (octet_length(owner) BETWEEN 1 AND 128),
    key                 text        COLLATE "C" NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    kind                text        COLLATE "C" NOT NULL CHECK (octet_length(kind) BETWEEN 1 AND 63),
    target              text        COLLATE "C" NOT NULL CHECK (octet_length(target) <= 63),
    fingerprint         bytea       NOT NULL CHECK (octet_length(fingerprint) = 32),
    completed_by        text        COLLATE "C",
    result_digest       bytea       CHECK (octet_length(result_digest) = 32),
    by                  text        CHECK (octet_length(by) <= 128),
    reason              text        CHECK (octet_length(reason) <= 4096),
    params              bytea       CHECK (octet_length(params) <= 16777216),
    result              bytea       CHECK (octet_length(result) <= 16777216),
    CONSTRAINT jobs_owner_key UNIQUE (owner, key),
    CONSTRAINT jobs_winner_has_digest CHECK ((completed_by IS NULL) = (result_digest IS NULL)),
    CONSTRAINT jobs_completed_has_winner CHECK ((state = 'completed') = (completed_by IS NOT NULL)),
    CONSTRAINT jobs_final_has_end CHECK ((state = 'open') = (ended_at IS NULL)),
    CONSTRAINT jobs_purged_is_final CHECK (purged_at IS NULL OR ended_at IS NOT NULL),
    CONSTRAINT jobs_params_until_purge CHECK ((params IS NULL) = (purged_at IS NOT NULL)),
    CONSTRAINT jobs_result_until_purge CHECK ((result IS NOT NULL) = (completed_by IS NOT NULL AND purged_at IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX jobs_unpurged ON {schema}.jobs (created_at) WHERE purged_at IS NULL;

CREATE INDEX jobs_tombstones ON {schema}.jobs (created_at) WHERE purged_at IS NOT NULL;

CREATE TABLE {schema}.attempts (
    job_id       uuid        NOT NULL REFERENCES {schema}.jobs (id),
    started_at   timestamptz NOT NULL,
    deadline     timestamptz NOT NULL,
    ended_at     timestamptz,
    late_at      timestamptz,
    job_version  bigint      NOT NULL CHECK (job_version >= 1),
    timeout      bigint      NOT NULL CHECK (timeout > 0),
    late_size    bigint      CHECK (late_size >= 0),
    number       integer     NOT NULL CHECK (number >= 1),
    id           text        COLLATE "C" NOT NULL CHECK (octet_length(id) = 16),
    state        text        COLLATE "C" NOT NULL CHECK (state IN
        ('started', 'unknown', 'detached', 'succeeded', 'failed', 'canceled', 'late')),
    provider     text        COLLATE "C" NOT NULL CHECK (octet_length(provider) BETWEEN 1 AND 63),
    provider_key text        COLLATE "C" NOT NULL CHECK (octet_length(provider_key) = 32),
    external_ref text        COLLATE "C" CHECK (octet_length(external_ref) BETWEEN 1 AND 255),
    cause        text        CHECK (octet_length(cause) <= 4096),
    by           text        CHECK (octet_length(by) <= 128),
    reason       text        CHECK (octet_length(reason) <= 4096),
    late_digest  bytea       CHECK (octet_length(late_digest) = 32),
    PRIMARY KEY (job_id, id),
    CONSTRAINT attempts_number UNIQUE (job_id, number),
    CONSTRAINT attempts_ended CHECK ((state IN ('started', 'unknown', 'detached')) = (ended_at IS NULL)),
    CONSTRAINT attempts_evidence CHECK ((late_at IS NULL) = (late_size IS NULL) AND (late_at IS NULL) = (late_digest IS NULL)),
    CONSTRAINT attempts_late CHECK (state <> 'late' OR late_at IS NOT NULL)
);

CREATE UNIQUE INDEX attempts_one_open ON {schema}.attempts (job_id) WHERE state IN ('started', 'unknown');

CREATE INDEX attempts_unended ON {schema}.attempts (state, deadline) WHERE state IN ('started', 'unknown', 'detached');

CREATE INDEX attempts_late_at ON {schema}.attempts (late_at) WHERE late_at IS NOT NULL;

-- A winner can only be an attempt of this very job.
ALTER TABLE {schema}.jobs ADD CONSTRAINT jobs_winner
    FOREIGN KEY (id, completed_by) REFERENCES {schema}.attempts (job_id, id);

INSERT INTO {schema}.migrations (version) VALUES (1);

-- +goose Down
ALTER TABLE {schema}.jobs DROP CONSTRAINT jobs_winner;

DROP TABLE {schema}.attempts;

DROP TABLE {schema}.jobs;

DROP TABLE {schema}.migrations;
