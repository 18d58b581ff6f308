package onejob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// schemaCheck refuses a schema that is older than the program, until it is not: a
// newer one is fine. Then nothing is asked any more, unless a statement misses
// something.
type schemaCheck struct {
	passed atomic.Bool // together with all that a store looks at besides
	told   atomic.Bool // the version, perhaps in a host's transaction
}

func (c *schemaCheck) check(ctx context.Context, need int, version func(context.Context) (int, error)) error {
	if err := c.look(ctx, need, version); err != nil {
		return err
	}
	c.passed.Store(true)
	return nil
}

// look asks for the version alone.
func (c *schemaCheck) look(ctx context.Context, need int, version func(context.Context) (int, error)) error {
	have, err := version(ctx)
	if err != nil {
		return err
	}
	if have < need {
		return &Error{Err: ErrUnsupported, Cause: ruleError(fmt.Sprintf(
			"the schema is at version %d and this program needs %d: %s", have, need, runMigrate))}
	}
	c.told.Store(true)
	return nil
}

const runMigrate = "run Migrate, or the command `onejob migrate up`"

func (c *schemaCheck) forget() {
	c.passed.Store(false)
	c.told.Store(false)
}

// explain tells why one of this package's own statements failed, where something
// that it names is not there: somebody has gone back to an older version under a
// program at work, or a restore was not whole. ready looks at the version anew.
func (c *schemaCheck) explain(err error, ready func() error) error {
	var host hookError
	if !missing(err) || errors.As(err, &host) {
		return err
	}
	c.forget()
	var e *Error
	switch old := ready(); {
	case old == nil:
		return &Error{Err: ErrUnsupported, Cause: ruleError(
			"the schema tells the right version, but a table or column of it is missing: look whether it is, and restore it if so")}
	case errors.As(old, &e):
		return old
	}
	return err
}

// missing reports whether a statement named something that is not there. Nothing
// was done then. SQLite has no code of its own for it.
func missing(err error) bool {
	if err == nil {
		return false
	}
	switch sqlState(err) {
	case "42P01", "42703", "42704", "3F000": // table, column, domain, schema
		return true
	}
	text := err.Error()
	return sqliteCode(err) == 1 && (strings.Contains(text, "no such ") || strings.Contains(text, "no column named"))
}

// stays says of a migration that failed in its transaction what is left.
func stays(have int, err error) error {
	return &Error{Err: ErrUnavailable, Cause: err, next: fmt.Sprintf("the schema stays at version %d", have)}
}
