package grid

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// killedAtCommit kills a process on one side of its COMMIT.
func killedAtCommit(o order) func(*trial) (answer, error) {
	return func(tr *trial) (answer, error) {
		o := o
		o.SQLite = tr.address
		p, err := tr.spawn(o)
		if err != nil {
			return answer{}, err
		}
		defer p.kill()
		_, err = p.hear(sayStopped)
		tr.tell("killed at commit %d", tr.op.skip+1)
		return answer{told: toldNone}, err
	}
}

// stoppedAtCommit stops a process on one side of its COMMIT. Meanwhile another
// one, which takes it for dead, makes the same call with the same IDs. Then the
// first goes on as if nothing had been.
func stoppedAtCommit(o order) func(*trial) (answer, error) {
	return func(tr *trial) (answer, error) {
		o := o
		o.SQLite = tr.address
		p, err := tr.spawn(o)
		if err != nil {
			return answer{}, err
		}
		defer p.kill()
		if _, err := p.hear(sayStopped); err != nil {
			return answer{}, err
		}
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return answer{}, err
		}
		p.resume()
		b, err := tr.bench(20 * time.Millisecond)
		if err != nil {
			return answer{}, err
		}
		defer b.close()
		before, err := tr.look(tr.w)
		if err != nil {
			return answer{}, err
		}
		other := answerOf(tr.op, tr.op.run(context.Background(), b.h))
		tr.done++
		tr.tell("while it was stopped, another was told: %v", other)
		now, err := tr.look(tr.w)
		if err != nil {
			return answer{}, err
		}
		if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			return answer{}, err
		}
		switch {
		case other.told == toldDone && !tr.op.there(tr.w, now):
			return answer{}, errors.New("I10: the other was told that it is done, and it was not there")
		case other.told == toldNot && now.String() != before.String():
			return answer{}, errors.New("I11: the other was told that it was not applied, and something changed")
		}
		return p.answer()
	}
}
