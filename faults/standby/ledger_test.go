package standby

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// ledger is what was acknowledged. It says at once when two acknowledgments
// contradict each other.
type ledger struct {
	mu       sync.Mutex
	jobs     map[string]onejob.JobID // by key
	attempts map[onejob.AttemptID]bool
	winners  map[onejob.JobID]winner
	wrong    []string
	lines    map[string][]string // of the history, by key
	repeated int                 // operations whose fate was not known at first
}

type winner struct {
	attempt onejob.AttemptID
	digest  [32]byte
}

func newLedger() *ledger {
	return &ledger{
		jobs: map[string]onejob.JobID{}, attempts: map[onejob.AttemptID]bool{},
		winners: map[onejob.JobID]winner{}, lines: map[string][]string{},
	}
}

func (l *ledger) note(key, format string, args ...any) {
	l.lines[key] = append(l.lines[key], fmt.Sprintf(format, args...))
}

func (l *ledger) fault(key, format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf("%s: %s\nhistory: %q", key, fmt.Sprintf(format, args...), l.lines[key]))
}

func (l *ledger) created(key string, id onejob.JobID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(key, "created %s", id)
	if first, ok := l.jobs[key]; ok && first != id {
		l.fault(key, "two jobs of one key: %s and %s", first, id)
	}
	l.jobs[key] = id
}

func (l *ledger) began(key string, id onejob.AttemptID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(key, "began %s", id)
	l.attempts[id] = true
}

func (l *ledger) completed(key string, id onejob.AttemptID, result []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(key, "completed by %s", id)
	w := winner{id, sha256.Sum256(result)}
	if first, ok := l.winners[id.Job()]; ok && first != w {
		l.fault(key, "two winners: %v and %v", first, w)
	}
	l.winners[id.Job()] = w
}

// doubted is an operation that got no answer.
func (l *ledger) doubted(key, op string, tries int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(key, "%s gave no answer: %v", op, err)
	if tries == 1 {
		l.repeated++
	}
}

// refused is an answer that no operation here may get.
func (l *ledger) refused(key, op string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault(key, "%s: %v", op, err)
}

func (l *ledger) wins() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.winners)
}

// check has a new hand ask again for all that was acknowledged, and compares
// what was acknowledged with what there is then.
func (l *ledger) check(t *testing.T, jobs *onejob.Jobs) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	open := map[onejob.JobID]onejob.AttemptID{}
	for a := range l.attempts {
		if _, won := l.winners[a.Job()]; !won {
			open[a.Job()] = a
		}
	}
	for key, id := range l.jobs {
		l.askAgain(t.Context(), jobs, key, id, open[id])
		l.checkJob(t.Context(), jobs, key, id)
	}
	require.Empty(t, l.wrong)
}

func (l *ledger) checkJob(ctx context.Context, jobs *onejob.Jobs, key string, id onejob.JobID) {
	job, err := jobs.GetByKey(ctx, owner, key)
	if err != nil || job.ID != id {
		l.fault(key, "acknowledged job %s was lost: %v, %v", id, job, err)
		return
	}
	list, err := jobs.Attempts(ctx, owner, id)
	if err != nil {
		l.fault(key, "no attempts: %v", err)
		return
	}
	there := map[onejob.AttemptID]bool{}
	for _, a := range list {
		there[a.ID] = true
	}
	for a := range l.attempts {
		if a.Job() == id && !there[a] {
			l.fault(key, "acknowledged attempt %s was lost", a)
		}
	}
	w, ok := l.winners[id]
	switch {
	case !ok:
	case job.Attempt == nil || job.Status() != onejob.StatusCompleted:
		l.fault(key, "acknowledged winner %s was lost: %v", w.attempt, job)
	case w != winner{job.Attempt.ID, sha256.Sum256(job.Result)}:
		l.fault(key, "acknowledged winner %s was replaced: %v", w.attempt, job)
	}
}
