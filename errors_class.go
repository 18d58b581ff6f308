package onejob

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
)

// Errors are asked what they can do, not what they are: so any driver serves,
// and none is imported.

// sqlState returns the SQLSTATE of a PostgreSQL error, or "".
func sqlState(err error) string {
	var s interface{ SQLState() string }
	if errors.As(err, &s) {
		return s.SQLState()
	}
	return ""
}

// sqliteCode returns the (extended) result code of an SQLite error, or 0.
func sqliteCode(err error) int {
	var c interface{ Code() int }
	if errors.As(err, &c) {
		return c.Code()
	}
	return 0
}

// serialization reports whether the database gave up a statement in favor of
// another: nothing was applied and it may run again.
func serialization(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01":
		return true
	}
	return false
}

// statementGone reports whether a prepared statement was not there to be
// executed, or its name was taken.
func statementGone(err error) bool {
	switch sqlState(err) {
	case "26000", "42P05":
		return true
	}
	return false
}

// planStale reports whether a prepared statement would return other types than
// when it was prepared: a migration changed a column, or the tables were made
// anew. It failed before it was executed.
func planStale(err error) bool { return sqlState(err) == "0A000" }

// retryTx reports whether the host's transaction lost a race: PostgreSQL
// 40001 and 40P01; SQLite BUSY and LOCKED with all their extended codes.
func retryTx(err error) bool {
	if serialization(err) {
		return true
	}
	switch sqliteCode(err) & 0xff {
	case 5, 6:
		return true
	}
	return false
}

// constraint reports whether the database refused a statement or a COMMIT for
// a constraint, which is definite: the transaction is rolled back.
func constraint(err error) bool {
	return strings.HasPrefix(sqlState(err), "23") || sqliteCode(err)&0xff == 19
}

// passing reports whether an answer was lost for a cause that may pass.
func passing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Err == ErrUnavailable && e.Cause != nil && passingCause(e.Cause)
}

// passingCause reports whether an error of the database may pass by itself: a
// lost connection, a restart, a failover, a lock, a lack of resources, a context
// that ended. What nobody can classify is taken to stay.
func passingCause(err error) bool {
	if state := sqlState(err); state != "" {
		return slices.Contains([]string{"08", "25", "40", "53", "55", "57", "58"}, state[:min(2, len(state))]) &&
			state != "25P02" // of a statement after the one that failed
	}
	if code := sqliteCode(err) & 0xff; code != 0 {
		return slices.Contains([]int{5, 6, 7, 10, 13}, code) // BUSY LOCKED NOMEM IOERR FULL
	}
	for _, known := range []error{
		context.Canceled, context.DeadlineExceeded, driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone,
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network)
}

// unavailable wraps an error of the store whose effect is not known. Errors
// of this package pass as they are.
func unavailable(op string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return named(op, err)
	}
	return &Error{Op: op, Err: ErrUnavailable, Cause: err}
}

// lost reports whether err says that an answer did not arrive.
func lost(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Err == ErrUnavailable
}
