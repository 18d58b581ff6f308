package onejob

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// causeText shows as much of a cause as cannot quote a payload. Databases put
// values into their messages (PostgreSQL: Detail, and the text of class 22),
// so of those only the code is shown.
func causeText(err error) string { return textOf(err, true) }

// textOf leaves out what to do about an error of the host's own statements: that
// is not for this package to say.
func textOf(err error, ours bool) string {
	var own *Error
	if errors.As(err, &own) {
		return own.Error()
	}
	var rule ruleError
	if errors.As(err, &rule) {
		return string(rule)
	}
	if state := sqlState(err); state != "" {
		if !ours {
			return "SQLSTATE " + state
		}
		return "SQLSTATE " + state + hint(state)
	}
	if code := sqliteCode(err); code != 0 {
		if !ours {
			return "result code " + strconv.Itoa(code)
		}
		return "result code " + strconv.Itoa(code) + sqliteHint(code)
	}
	for _, known := range []error{
		context.Canceled, context.DeadlineExceeded, driver.ErrBadConn,
		sql.ErrConnDone, sql.ErrTxDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	if err.Error() == "sql: database is closed" {
		return err.Error() // database/sql does not export it
	}
	var marked noEffectError
	if errors.As(err, &marked) {
		err = marked.error
	}
	return fmt.Sprintf("see Error.Cause (%T)", err)
}

func hint(state string) string {
	switch state {
	case "42P01", "3F000":
		return " (run Migrate)"
	case "42P07", "42710":
		return " (something of that name is there already: remove what half a migration or another program left, and run Migrate)"
	case "55P03":
		return " (another transaction holds a lock that this needs: repeat it, or end that one)"
	case "25006":
		return " (the database is read-only: is it a standby?)"
	case "42501":
		return " (the role lacks a privilege)"
	case "26000", "42P05":
		return " (behind a pooler? set PostgresOptions.Unprepared)"
	case "08P01":
		return " (is it a pooler that does not know a parameter of the connection?)"
	case "0A000":
		return " (is it a standby? or the tables were made anew)"
	case "53100":
		return " (the disk of the database is full)"
	case "57014":
		return " (it took longer than the server allows: who holds the job's row?)"
	}
	return ""
}

// sqliteHint says what a primary result code means to whoever is on call.
func sqliteHint(code int) string {
	switch code & 0xff {
	case 5, 6:
		return " (another connection holds the lock)"
	case 8:
		return " (the file or its directory may not be written)"
	case 10:
		return " (the file system failed)"
	case 11, 26:
		return " (the file is damaged or no SQLite database)"
	case 13:
		return " (the disk is full, or the file has reached its limit)"
	case 14:
		return " (the file cannot be opened)"
	}
	return ""
}

// ruleError is an error whose text this package wrote: it is safe to show.
type ruleError string

func (e ruleError) Error() string { return string(e) }
