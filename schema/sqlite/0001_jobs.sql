-- +goose Up
CREATE TABLE {prefix}migrations (
    version    INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))
) STRICT;

-- Times are whole microseconds since 1970, UTC.
-- The winner's key is deferred: checked at once, job and winner could not be
-- deleted in any order.
CREATE TABLE {prefix}jobs (
    id                  TEXT    NOT NULL PRIMARY KEY CHECK (octet_length(id) = 36),
    owner               TEXT    NOT NULL CHECK (octet_length(owner) BETWEEN 1 AND 128),
    key                 TEXT    NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    kind                TEXT    NOT NULL CHECK (octet_length(kind) BETWEEN 1 AND 63),
    target              TEXT    NOT NULL CHECK (octet_length(target) <= 63),
    opaque              INTEGER NOT NULL CHECK (opaque IN (0, 1)),
    fingerprint         BLOB    NOT NULL CHECK (octet_length(fingerprint) = 32),
    fingerprint_version INTEGER NOT NULL CHECK (fingerprint_version >= 1),
    state               TEXT    NOT NULL CHECK (state IN ('open', 'completed', 'canceled')),
    version             INTEGER NOT NULL CHECK (version >= 1),
    created_at          INTEGER NOT NULL,
    ended_at            INTEGER,
    purged_at           INTEGER,
    completed_by        TEXT,
    result_digest       BLOB    CHECK (octet_length(result_digest) = 32),
    by                  TEXT    CHECK (octet_length(by) <= 128),
    reason              TEXT    CHECK (octet_length(reason) <= 4096),
    params              BLOB    CHECK (octet_length(params) <= 16777216),
    result              BLOB    CHECK (octet_length(result) <= 16777216),
    CONSTRAINT jobs_owner_key UNIQUE (owner, key),
    CONSTRAINT jobs_winner_has_digest CHECK ((completed_by IS NULL) = (result_digest IS NULL)),
    CONSTRAINT jobs_completed_has_winner CHECK ((state = 'completed') = (completed_by IS NOT NULL)),
    CONSTRAINT jobs_final_has_end CHECK ((state = 'open') = (ended_at IS NULL)),
    CONSTRAINT jobs_purged_is_final CHECK (purged_at IS NULL OR ended_at IS NOT NULL),
    CONSTRAINT jobs_params_until_purge CHECK ((params IS NULL) = (purged_at IS NOT NULL)),
    CONSTRAINT jobs_result_until_purge CHECK ((result IS NOT NULL) = (completed_by IS NOT NULL AND purged_at IS NULL)),
    CONSTRAINT jobs_winner FOREIGN KEY (id, completed_by) REFERENCES {prefix}attempts (job_id, id)
        DEFERRABLE INITIALLY DEFERRED
) STRICT;

CREATE INDEX {prefix}jobs_unpurged ON {prefix}jobs (created_at) WHERE purged_at IS NULL;

CREATE INDEX {prefix}jobs_tombstones ON {prefix}jobs (created_at) WHERE purged_at IS NOT NULL;

CREATE TABLE {prefix}attempts (
    job_id       TEXT    NOT NULL REFERENCES {prefix}jobs (id),
    id           TEXT    NOT NULL CHECK (octet_length(id) = 16),
    number       INTEGER NOT NULL CHECK (number >= 1),
    provider     TEXT    NOT NULL CHECK (octet_length(provider) BETWEEN 1 AND 63),
    state        TEXT    NOT NULL CHECK (state IN
        ('started', 'unknown', 'detached', 'succeeded', 'failed', 'canceled', 'late')),
    job_version  INTEGER NOT NULL CHECK (job_version >= 1),
    provider_key TEXT    NOT NULL CHECK (octet_length(provider_key) = 32),
    external_ref TEXT    CHECK (octet_length(external_ref) BETWEEN 1 AND 255),
    timeout      INTEGER NOT NULL CHECK (timeout > 0),
    started_at   INTEGER NOT NULL,
    deadline     INTEGER NOT NULL,
    ended_at     INTEGER,
    cause        TEXT    CHECK (octet_length(cause) <= 4096),
    by           TEXT    CHECK (octet_length(by) <= 128),
    reason       TEXT    CHECK (octet_length(reason) <= 4096),
    late_at      INTEGER,
    late_size    INTEGER CHECK (late_size >= 0),
    late_digest  BLOB    CHECK (octet_length(late_digest) = 32),
    PRIMARY KEY (job_id, id),
    CONSTRAINT attempts_number UNIQUE (job_id, number),
    CONSTRAINT attempts_ended CHECK ((state IN ('started', 'unknown', 'detached')) = (ended_at IS NULL)),
    CONSTRAINT attempts_evidence CHECK ((late_at IS NULL) = (late_size IS NULL) AND (late_at IS NULL) = (late_digest IS NULL)),
    CONSTRAINT attempts_late CHECK (state <> 'late' OR late_at IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX {prefix}attempts_one_open ON {prefix}attempts (job_id) WHERE state IN ('started', 'unknown');

CREATE INDEX {prefix}attempts_unended ON {prefix}attempts (state, deadline) WHERE state IN ('started', 'unknown', 'detached');

CREATE INDEX {prefix}attempts_late_at ON {prefix}attempts (late_at) WHERE late_at IS NOT NULL;

INSERT INTO {prefix}migrations (version) VALUES (1);

-- +goose Down
DROP TABLE {prefix}attempts;

DROP TABLE {prefix}jobs;

DROP TABLE {prefix}migrations;
