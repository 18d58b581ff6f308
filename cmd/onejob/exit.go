package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/lib/pq"

	"github.com/onejob-go/onejob"
)

// The exit codes. They are a promise to scripts: one is never given another
// meaning.
const (
	exitDone         = 0
	exitFailed       = 1
	exitUsage        = 2
	exitNotFound     = 3
	exitRefused      = 4
	exitNotConfirmed = 5
	exitNoAnswer     = 6
	exitDoctor       = 7
	exitSchema       = 8
	exitInterrupted  = 130
)

const exitHelp = `Exit codes:
    0  done
    1  failed, for a reason that the text says
    2  usage: a flag or an argument is wrong or missing, or names a file of SQLite
       that is not there; nothing was done
    3  not found: no such job or attempt
    4  refused: the attempt has ended otherwise, or the job is completed or canceled
    5  not confirmed: the prompt was not answered with yes, or there was nobody to
       ask and no --yes; nothing was done
    6  the database gave no answer: what was asked may or may not have been done;
       every command is safe to repeat
    7  doctor found a setting that breaks the promise
    8  the schema is missing or older than this program: see "onejob migrate status"
  130  interrupted; a bulk run ends between two decisions and says how far it came
`

// failure is an error with its exit code and a text that is made for the
// operator.
type failure struct {
	code int
	text string
}

func (f failure) Error() string { return f.text }

func fail(code int, format string, args ...any) error {
	return failure{code, fmt.Sprintf(format, args...)}
}

func usage(format string, args ...any) error { return fail(exitUsage, format, args...) }

// errInterrupted is the end by a signal.
var errInterrupted = failure{exitInterrupted, "interrupted: nothing was done"}

// explained turns what the library or a driver said into a failure: what it
// means here, and what to do.
func explained(err error) failure {
	var f failure
	var e *onejob.Error
	switch {
	case err == nil:
		return failure{}
	case errors.As(err, &f):
		return f
	case errors.As(err, &e):
		return ofLibrary(e)
	case errors.Is(err, context.Canceled):
		return errInterrupted
	}
	return failure{exitFailed, err.Error()}
}

func ofLibrary(e *onejob.Error) failure {
	switch e.Err {
	case onejob.ErrNotFound:
		return failure{exitNotFound, "no such job or attempt in this database"}
	case onejob.ErrInvalid:
		return failure{exitUsage, inFlags(e)}
	case onejob.ErrUnsupported:
		return failure{exitSchema, e.Error()}
	case onejob.ErrUnavailable:
		return ofDatabase(e)
	case onejob.ErrAttemptEnded, onejob.ErrCompleted, onejob.ErrJobCanceled:
		return failure{exitRefused, refusal(e)}
	}
	return failure{exitFailed, e.Error()}
}

// refusal says why a decision came too late: who was first, and what it means.
func refusal(e *onejob.Error) string {
	switch {
	case e.Err == onejob.ErrCompleted:
		text := "the job is completed and stays so: its result stands"
		if w := e.Job.Attempt; w != nil {
			text += fmt.Sprintf("; attempt %d (%s) by %s has won", w.Number, w.ID, safe(w.Provider))
		}
		return text
	case e.Attempt == nil:
		return "the attempt is gone: its job is over and was purged"
	}
	return "the attempt has ended: " + ended(*e.Attempt)
}

// ended tells how an attempt ended, and by whose word.
func ended(a onejob.Attempt) string {
	text := string(a.State)
	if !a.EndedAt.IsZero() {
		text += " at " + stamp(a.EndedAt)
	}
	return text + lastWord(a)
}

// inFlags names a field of the library by the flag that it came from.
func inFlags(e *onejob.Error) string {
	flag, known := map[string]string{
		"Decision.By": "--by", "Decision.Reason": "--reason", "Filter.Owner": "--owner", "Filter.Kind": "--kind",
		"Filter.Provider": "--provider", "Filter.Before": "--before", "Filter.LateSince": "--since",
		"owner": "--owner", "key": "--key", "PostgresOptions.Schema": "--schema", "SQLiteOptions.Prefix": "--prefix",
	}[e.Field]
	if !known {
		return e.Error()
	}
	// The library's text ends with the field and the rule.
	_, rule, _ := cutLast(e.Error(), e.Field+" ")
	return flag + " " + rule
}

// ofDatabase tells an answer that says no from none at all.
func ofDatabase(e *onejob.Error) failure {
	var said *pq.Error
	if errors.As(e.Cause, &said) {
		switch said.Code.Class() {
		case "28", "42", "3D", "3F", "22", "0A":
			return failure{exitFailed, fmt.Sprintf("the database refused: %s (SQLSTATE %s)", said.Message, said.Code)}
		}
		switch said.Code {
		case "25006":
			return failure{exitFailed, fmt.Sprintf("the database is read-only, perhaps a standby: connect to the primary (SQLSTATE %s)", said.Code)}
		}
	}
	return failure{exitNoAnswer, e.Error()}
}

// heldByAnother is whether the server gave up waiting for a row: that one was not
// changed, and the next may be free.
func heldByAnother(err error) bool {
	var said *pq.Error
	return errors.As(err, &said) && (said.Code == "55P03" || said.Code == "57014")
}

// ofConnecting says why there is no connection.
func ofConnecting(err error, where string) error {
	if err == nil {
		return nil
	}
	var said *pq.Error
	if errors.As(err, &said) {
		switch said.Code.Class() {
		case "28", "3D":
			return fail(exitFailed, "%s: the server refused: %s (SQLSTATE %s)", where, said.Message, said.Code)
		}
	}
	var dns *net.DNSError
	var slow net.Error
	switch {
	case errors.Is(err, pq.ErrSSLNotSupported):
		return fail(exitFailed, "%s: the server speaks no TLS: add sslmode=disable to the DSN if the network is your own", where)
	case errors.As(err, &dns):
		return fail(exitNoAnswer, "%s: the host's name cannot be resolved: is the DSN right?", where)
	case errors.As(err, &slow) && slow.Timeout():
		return fail(exitNoAnswer, "%s: no answer in time: is the server up, and the way to it open?", where)
	}
	return fail(exitNoAnswer, "%s: cannot connect: %v", where, err)
}
