package pgnotify

import (
	"database/sql"
	"time"
)

// OpenSilent is Open with a connection that counts as dead after silence.
func OpenSilent(dsn string, db *sql.DB, silence time.Duration) (*Notifier, error) {
	return open(dsn, db, nil, silence)
}
