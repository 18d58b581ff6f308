package pgnotify

import (
	"database/sql"
	"io"
	"log/slog"
	"time"
)

// OpenSilent is Open with a connection that counts as dead after silence.
func OpenSilent(dsn string, db *sql.DB, log io.Writer, silence time.Duration) (*Notifier, error) {
	return open(dsn, db, &Options{Logger: slog.New(slog.NewTextHandler(log, nil))}, silence)
}
