-- +goose Up
-- Whose turn it is to do what one process at a time should do. A courtesy: no
-- safety rests on it, and a row may be deleted at any time.
CREATE TABLE {prefix}turns (
    name     TEXT    NOT NULL PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 63),
    holder   TEXT    NOT NULL CHECK (octet_length(holder) BETWEEN 1 AND 128),
    taken_at INTEGER NOT NULL,
    until    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO {prefix}migrations (version) VALUES (3);

-- +goose Down
DROP TABLE {prefix}turns;

DELETE FROM {prefix}migrations WHERE version = 3;
