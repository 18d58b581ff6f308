package contract

import (
	"errors"
	"fmt"
)

// Validate reports how an output breaks the contract, as a [*Violation], or nil.
// It is the look that each answer gets in production: JSON and nothing after
// it, no key twice, the exact top-level keys, the schema, the markers that show,
// and [Spec.Check].
func (c *Contract) Validate(params, output []byte) error {
	value, v := parse(output)
	if v == nil {
		v = duplicate(output)
	}
	if v == nil {
		v = c.topLevel(value)
	}
	if v == nil {
		v = c.keeps(value)
	}
	if v != nil {
		return v // typed nil is no error
	}
	for _, m := range c.spec.Markers {
		if m.Shown == nil {
			continue
		}
		if err := checked(ReasonDropped, m.Shown, params, output); err != nil {
			return err
		}
	}
	if c.spec.Check != nil {
		return checked(ReasonWrong, c.spec.Check, params, output)
	}
	return nil
}

var errPanic = errors.New("the check panicked")

// checked runs a host's check. One that panics has not said yes.
func checked(reason Reason, check func(params, output []byte) error, params, output []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Violation{Reason: reason, Where: errPanic.Error(), Err: fmt.Errorf("%w: %v", errPanic, p)}
		}
	}()
	if err := check(params, output); err != nil {
		return &Violation{Reason: reason, Err: err}
	}
	return nil
}
