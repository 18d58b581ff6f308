package onejob

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

type stateError string

func (e stateError) Error() string    { return string(e) }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return fmt.Sprint(int(e)) }
func (e codeError) Code() int     { return int(e) }

// What Do waits for with a result in hand, and what it does not.
func TestPassingCauses(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		stateError("08006"), stateError("25006"), stateError("40P01"), stateError("53100"), stateError("55P03"),
		stateError("57P01"), stateError("58030"), codeError(5), codeError(517), codeError(10), codeError(13),
		driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone, io.EOF, io.ErrUnexpectedEOF, context.Canceled,
		&net.OpError{Op: "read", Err: syscall.ECONNRESET}, fmt.Errorf("wrapped: %w", stateError("57P03")),
	} {
		require.True(t, passingCause(err), "%v", err)
	}
	for _, err := range []error{
		stateError("23505"), stateError("25P02"), stateError("42P01"), stateError("42501"), stateError("22021"),
		codeError(1), codeError(8), codeError(19), codeError(2067), errors.New("sql: database is closed"),
		errors.New("commit of a failed transaction"),
	} {
		require.False(t, passingCause(err), "%v", err)
	}
}

// What stands in a log at night must say what is wrong, and with 8 and 13 that
// is not the library's to mend.
func TestSQLiteCodesSayWhatTheyMean(t *testing.T) {
	t.Parallel()
	for code, want := range map[codeError]string{
		5:    "result code 5 (another connection holds the lock)",
		1544: "result code 1544 (the file or its directory may not be written)", // READONLY_DIRECTORY
		778:  "result code 778 (the file system failed)",                        // IOERR_WRITE
		13:   "result code 13 (the disk is full, or the file has reached its limit)",
		26:   "result code 26 (the file is damaged or no SQLite database)",
		14:   "result code 14 (the file cannot be opened)",
		1:    "result code 1",
	} {
		require.Equal(t, want, causeText(fmt.Errorf("wrapped: %w", code)))
	}
}
