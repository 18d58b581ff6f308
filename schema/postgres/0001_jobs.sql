-- +goose Up
CREATE SCHEMA IF NOT EXISTS {schema};

CREATE TABLE {schema}.migrations (
    version    integer     PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What a single column must hold is a domain's rule, not a CHECK of the table:
-- PostgreSQL keeps a domain's rules ready, but reads each CHECK anew from the
-- catalog's text in every statement that writes, which took a quarter of the
-- throughput. Statements cast their parameters to the plain type, since drivers
-- know no domains. To change a rule later stops writes while it is validated.
CREATE DOMAIN {schema}.onejob_owner AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 128);
CREATE DOMAIN {schema}.onejob_idempotency_key AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 255);
CREATE DOMAIN {schema}.onejob_name AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 63);
CREATE DOMAIN {schema}.onejob_name_or_none AS text COLLATE "C" CHECK (octet_length(VALUE) <= 63);
CREATE DOMAIN {schema}.onejob_job_state AS text COLLATE "C" CHECK (VALUE IN ('open', 'completed', 'canceled'));
CREATE DOMAIN {schema}.onejob_attempt_state AS text COLLATE "C" CHECK (VALUE IN
    ('started', 'unknown', 'detached', 'succeeded', 'failed', 'canceled', 'late'));
CREATE DOMAIN {schema}.onejob_attempt_id AS text COLLATE "C" CHECK (octet_length(VALUE) = 16);
CREATE DOMAIN {schema}.onejob_provider_key AS text COLLATE "C" CHECK (octet_length(VALUE) = 32);
CREATE DOMAIN {schema}.onejob_external_ref AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 255);
CREATE DOMAIN {schema}.onejob_by AS text CHECK (octet_length(VALUE) <= 128);
CREATE DOMAIN {schema}.onejob_remark AS text CHECK (octet_length(VALUE) <= 4096);
CREATE DOMAIN {schema}.onejob_digest AS bytea CHECK (octet_length(VALUE) = 32);
CREATE DOMAIN {schema}.onejob_payload AS bytea CHECK (octet_length(VALUE) <= 16777216);
CREATE DOMAIN {schema}.onejob_version AS bigint CHECK (VALUE >= 1);
CREATE DOMAIN {schema}.onejob_fingerprint_version AS smallint CHECK (VALUE >= 1);
CREATE DOMAIN {schema}.onejob_ordinal AS integer CHECK (VALUE >= 1);
CREATE DOMAIN {schema}.onejob_microseconds AS bigint CHECK (VALUE > 0);
CREATE DOMAIN {schema}.onejob_size AS bigint CHECK (VALUE >= 0);

-- Fixed-width columns come first: it saves the padding.
-- No index may name a column that Complete changes: then the swap stays a
-- HOT update and touches no index. Hence purge looks by created_at, for
-- tombstones too: what counts is a column's name in an index, not its rows.
CREATE TABLE {schema}.jobs (
    id                  uuid PRIMARY KEY,
    created_at          timestamptz NOT NULL,
    ended_at            timestamptz,
    purged_at           timestamptz,
    version             {schema}.onejob_version NOT NULL,
    fingerprint_version {schema}.onejob_fingerprint_version NOT NULL,
    opaque              boolean NOT NULL,
    state               {schema}.onejob_job_state NOT NULL,
    owner               {schema}.onejob_owner NOT NULL,
    key                 {schema}.onejob_idempotency_key NOT NULL,
    kind                {schema}.onejob_name NOT NULL,
    target              {schema}.onejob_name_or_none NOT NULL,
    fingerprint         {schema}.onejob_digest NOT NULL,
    completed_by        {schema}.onejob_attempt_id,
    result_digest       {schema}.onejob_digest,
    by                  {schema}.onejob_by,
    reason              {schema}.onejob_remark,
    params              {schema}.onejob_payload,
    result              {schema}.onejob_payload,
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
    job_id       uuid NOT NULL REFERENCES {schema}.jobs (id),
    started_at   timestamptz NOT NULL,
    deadline     timestamptz NOT NULL,
    ended_at     timestamptz,
    late_at      timestamptz,
    job_version  {schema}.onejob_version NOT NULL,
    timeout      {schema}.onejob_microseconds NOT NULL,
    late_size    {schema}.onejob_size,
    number       {schema}.onejob_ordinal NOT NULL,
    id           {schema}.onejob_attempt_id NOT NULL,
    state        {schema}.onejob_attempt_state NOT NULL,
    provider     {schema}.onejob_name NOT NULL,
    provider_key {schema}.onejob_provider_key NOT NULL,
    external_ref {schema}.onejob_external_ref,
    cause        {schema}.onejob_remark,
    by           {schema}.onejob_by,
    reason       {schema}.onejob_remark,
    late_digest  {schema}.onejob_digest,
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

DROP DOMAIN {schema}.onejob_owner;
DROP DOMAIN {schema}.onejob_idempotency_key;
DROP DOMAIN {schema}.onejob_name;
DROP DOMAIN {schema}.onejob_name_or_none;
DROP DOMAIN {schema}.onejob_job_state;
DROP DOMAIN {schema}.onejob_attempt_state;
DROP DOMAIN {schema}.onejob_attempt_id;
DROP DOMAIN {schema}.onejob_provider_key;
DROP DOMAIN {schema}.onejob_external_ref;
DROP DOMAIN {schema}.onejob_by;
DROP DOMAIN {schema}.onejob_remark;
DROP DOMAIN {schema}.onejob_digest;
DROP DOMAIN {schema}.onejob_payload;
DROP DOMAIN {schema}.onejob_version;
DROP DOMAIN {schema}.onejob_fingerprint_version;
DROP DOMAIN {schema}.onejob_ordinal;
DROP DOMAIN {schema}.onejob_microseconds;
DROP DOMAIN {schema}.onejob_size;
