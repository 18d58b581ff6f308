-- +goose Up
-- Whose turn it is to do what one process at a time should do. A courtesy: no
-- safety rests on it, and a row may be deleted at any time.
CREATE TABLE {schema}.turns (
    taken_at timestamptz NOT NULL,
    until    timestamptz NOT NULL,
    name     {schema}.onejob_name PRIMARY KEY,
    holder   text COLLATE "C" NOT NULL CHECK (octet_length(holder) BETWEEN 1 AND 128)
);

INSERT INTO {schema}.migrations (version) VALUES (3);

-- +goose Down
DROP TABLE {schema}.turns;

DELETE FROM {schema}.migrations WHERE version = 3;
