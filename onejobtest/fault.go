package onejobtest

import (
	"fmt"
	"io"

	"github.com/onejob-go/onejob"
)

// link is how things stand between the library and the database.
type link struct {
	cut  bool // the next write's reply is lost
	then bool // and with it everything that comes after
	down bool
}

// What comes out of a connection that ended: proof of nothing.
var (
	errCut  = fmt.Errorf("onejobtest: the reply was cut: %w", io.ErrUnexpectedEOF)
	errDown = fmt.Errorf("onejobtest: the database is down: %w", io.ErrUnexpectedEOF)
)

// CutReply cuts the connection once, between the next commit and its reply. The
// database can be reached again at once, so the library asks it what became of
// the step, and heals the cut: the caller sees the success that it was. Use it
// to show that nothing of yours happens twice, such as what OnComplete writes.
// One caller cannot be told: Jobs.Do with Try.ID returns onejob.ErrInDoubt.
//
// Of Operator.Sweep, Operator.Purge, and a Jobs.Tx that wrote only the host's own
// rows nothing can be read back: cut, they return onejob.ErrUnavailable. The
// commit of a transaction that the host began itself is not cut.
//
// A step that is refused, and so writes nothing, is not cut; the next one is. A
// test that ends before any was, has not tested what it says, and fails, and so
// does one that cuts a reply during an outage.
func (e *Env) CutReply() { e.setLink(link{cut: true}) }

// CutReplyThenDown is CutReply and then Down: the next commit stands, and
// neither its reply nor a later look gets through, until Up. What the caller
// sees is onejob.ErrUnavailable, of an operation that was applied: repeat it,
// an attempt with Try.ID set to Error.Attempt.ID, and the answer is definite.
//
// Jobs.Do returns that only where the attempt's beginning is lost. When it has
// called the provider it tries to store the result until Try.Timeout has
// passed, in real time, and returns onejob.ErrInDoubt: give it a short one.
func (e *Env) CutReplyThenDown() { e.setLink(link{cut: true, then: true}) }

// Down puts the database out of reach, until Up. What the caller sees is
// onejob.ErrUnavailable, as after CutReplyThenDown, of an operation that was
// not applied: no caller can tell the two apart, and the same repeat must do.
func (e *Env) Down() { e.setLink(link{down: true}) }

// Up ends an outage, and takes back a cut that has not come yet.
func (e *Env) Up() { e.setLink(link{}) }

func (e *Env) setLink(l link) {
	e.t.Helper()
	e.door.mu.Lock()
	defer e.door.mu.Unlock()
	if e.door.link.down && l.cut {
		e.t.Errorf("onejobtest: a reply cannot be cut while the database is down: call Up first")
		return
	}
	e.door.link = l
}

// reach returns an error where the database is down.
func (d *door) reach() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.link.down {
		return errDown
	}
	return nil
}

// look passes on what commits nothing.
func (d *door) look(ask func() error) error {
	if err := d.reach(); err != nil {
		return err
	}
	return ask()
}

// pass passes on what may write, and loses the reply if its time has come.
func (d *door) pass(do func() (wrote bool, err error)) error {
	if err := d.reach(); err != nil {
		return err
	}
	wrote, err := do()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || !wrote || !d.link.cut {
		return err
	}
	d.link = link{down: d.link.then}
	return errCut
}

// step is pass for a method that reports whether it was applied.
func (d *door) step(do func() (onejob.Record, bool, error)) (rec onejob.Record, applied bool, err error) {
	err = d.pass(func() (wrote bool, err error) {
		rec, applied, err = do()
		return applied, err
	})
	rec, err = answer(rec, err)
	return rec, applied && err == nil, err
}

// answer keeps what was read from whoever was told that it was lost.
func answer[T any](v T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return v, nil
}
