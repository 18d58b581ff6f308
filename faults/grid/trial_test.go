package grid

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault is one column of the grid.
type fault struct {
	group, name string
	// races: the database and the fault run side by side, so more than one
	// outcome is right. All that was ever seen is on the page.
	races bool
	away  bool // there is no answer until the call gives up
	slow  bool // waits for silence: such runs go side by side
	child bool // needs a process
	// cuts, kills and stops count towards the figures: a process that is killed
	// before or after its operation does not.
	cuts, kills, stops bool
	// missing is why the cell cannot exist.
	missing func(op *operation) string
	// inflict makes the call and has it go wrong.
	inflict func(tr *trial) (answer, error)
}

func (f *fault) column() string { return f.group + " " + f.name }

// trial is one run of one cell.
type trial struct {
	*place
	op    *operation
	fault *fault
	name  string
	w     *world
	log   bytes.Buffer
	mu    sync.Mutex
	story []string // the schedule of what went wrong
	done  int      // operations that were called
	rand  *rand.Rand
	seed  uint64
}

func (tr *trial) tell(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.story = append(tr.story, fmt.Sprintf(format, args...))
}

func (tr *trial) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&tr.log, nil)) }

func (tr *trial) cell() string { return cellName(tr.op, tr.fault) }

func cellName(op *operation, f *fault) string { return op.name + " × " + f.column() }

// outcome is what the page shows.
type outcome string

// run makes one run of the cell, and judges it.
func (tr *trial) run(ctx context.Context, quiet func(context.Context, *trial) error) (outcome, error) {
	tr.w = newWorld(tr.dir, tr.name)
	if tr.fault.away {
		tr.w.Timeout = 3 * time.Second
	}
	healthy := tr.host(tr.op, tr.w, tr.logger())
	if err := tr.op.setup(ctx, healthy); err != nil {
		return "", fmt.Errorf("the setup: %w", err)
	}
	before, err := tr.look(tr.w)
	if err != nil {
		return "", err
	}
	first, err := tr.fault.inflict(tr)
	if err != nil {
		return "", fmt.Errorf("the fault: %w", err)
	}
	tr.done++
	tr.tell("the caller was told: %v", first)
	if err := quiet(ctx, tr); err != nil {
		return "", err
	}
	after, err := tr.look(tr.w)
	if err != nil {
		return "", err
	}
	broken := judge(tr.op, tr.w, first, before, after)
	again, fails := tr.repeat(ctx, healthy)
	broken = append(broken, fails...)
	final, err := tr.look(tr.w)
	if err != nil {
		return "", err
	}
	if again.told == toldDone {
		broken = append(broken, judge(tr.op, tr.w, again, before, final)...)
	}
	broken = append(broken, once(tr.op, false, before, final)...)
	broken = append(broken, leaked(final, first.text, again.text, tr.log.String())...)
	if len(broken) > 0 {
		return "", fmt.Errorf("%s\nbefore:\n%safter:\n%sin the end:\n%slog:\n%s",
			strings.Join(broken, "\n"), before, after, final, tr.log.String())
	}
	return tr.outcome(first, after, again), nil
}

// repeat asks again, with the same IDs, now that all is well.
func (tr *trial) repeat(ctx context.Context, healthy *host) (again answer, broken []string) {
	for try := 1; try <= 3; try++ {
		again = answerOf(tr.op, tr.op.run(ctx, healthy))
		tr.done++
		tr.tell("asked again, try %d: %v", try, again)
		if settled(tr.op, again) {
			return again, nil
		}
	}
	return again, []string{"I12: asked three times, and there is no definite answer that the documentation allows"}
}

func (tr *trial) outcome(first answer, after view, again answer) outcome {
	o := string(first.told)
	if tr.op.there(tr.w, after) {
		o += "●"
	} else {
		o += "○"
	}
	if again.told != toldDone {
		o += "→" + string(again.told)
	}
	return outcome(o)
}

// report is what is needed to see what happened, and to have it again.
func (tr *trial) report(t testing.TB, err error) {
	t.Helper()
	t.Errorf("%s, %s\n%s\nschedule:\n  %s\n"+
		"repeat: ONEJOB_FAULTS_SEED=%d go test ./grid -run %s -cell '%s'",
		tr.cell(), tr.name, err, strings.Join(tr.story, "\n  "), tr.seed, t.Name(), tr.cell())
}
