package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("storm",
	testCase{
		name:  "random operations keep the invariants",
		why:   "whatever is begun, completed, failed, canceled, detached and purged at once, a job has one open attempt and one winner at most, and each caller hears the truth",
		needs: []ability{operating},
		run: func(h *harness) {
			s := newStormCase(h, 4)
			together(12, func(i int) {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for range 60 {
					s.step(r)
				}
			})
			require.Empty(h, s.wrong)
			for i, job := range s.jobs {
				now, list, err := h.op.Get(h.ctx, job.ID)
				require.NoError(h, err)
				s.verify(i, now, list)
			}
		},
	},
)

// stormCase is a few jobs, and what callers were told about them.
type stormCase struct {
	h        *harness
	jobs     []onejob.Job
	mu       sync.Mutex
	attempts [][]onejob.Attempt
	winners  []map[onejob.AttemptID]string // told "won", with which result
	wrong    []string
}

func newStormCase(h *harness, n int) *stormCase {
	s := &stormCase{h: h}
	for i := range n {
		s.jobs = append(s.jobs, h.create(fmt.Sprint("storm-", i)))
		s.attempts = append(s.attempts, nil)
		s.winners = append(s.winners, map[onejob.AttemptID]string{})
	}
	return s
}

// lawful are the refusals that a race may bring.
var lawful = []error{
	onejob.ErrAttemptOpen, onejob.ErrCompleted, onejob.ErrJobCanceled, onejob.ErrTooManyAttempts,
	onejob.ErrLateResult, onejob.ErrAttemptEnded, onejob.ErrInDoubt, onejob.ErrResultMismatch,
}

func (s *stormCase) step(r *rand.Rand) {
	i := r.IntN(len(s.jobs))
	a, known := s.pick(r, i)
	var err error
	switch n := r.IntN(100); {
	case n < 35 || !known:
		a, err = s.h.jobs.BeginAttempt(s.h.ctx, s.jobs[i], try(fmt.Sprint("provider-", r.IntN(3))))
		if err == nil {
			s.mu.Lock()
			s.attempts[i] = append(s.attempts[i], a)
			s.mu.Unlock()
		}
	case n < 42:
		result := fmt.Sprint("result of ", a.ID)
		_, err = s.h.jobs.Complete(s.h.ctx, a, []byte(result))
		if err == nil {
			s.mu.Lock()
			s.winners[i][a.ID] = result
			s.mu.Unlock()
		}
	case n < 55:
		_, err = s.h.jobs.Fail(s.h.ctx, a, onejob.NoEffect(errors.New("refused")))
	case n < 65:
		_, err = s.h.jobs.MarkUnknown(s.h.ctx, a, errors.New("silence"))
	case n < 80:
		_, err = s.h.op.DetachAttempt(s.h.ctx, a.ID, someone)
	case n < 90:
		_, err = s.h.op.CancelAttempt(s.h.ctx, a.ID, someone)
	case n < 91:
		_, err = s.h.op.CancelJob(s.h.ctx, s.jobs[i].ID, someone)
	default:
		_, err = s.h.jobs.SetExternalRef(s.h.ctx, a, "ref")
	}
	if err != nil && !slices.ContainsFunc(lawful, func(l error) bool { return errors.Is(err, l) }) {
		s.mu.Lock()
		s.wrong = append(s.wrong, err.Error())
		s.mu.Unlock()
	}
}

func (s *stormCase) pick(r *rand.Rand, i int) (onejob.Attempt, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.attempts[i]) == 0 {
		return onejob.Attempt{}, false
	}
	return s.attempts[i][r.IntN(len(s.attempts[i]))], true
}

// verify compares what callers were told with what stands.
func (s *stormCase) verify(i int, job onejob.Job, list []onejob.Attempt) {
	h := s.h
	require.LessOrEqual(h, len(s.winners[i]), 1)
	for id, result := range s.winners[i] {
		require.Equal(h, onejob.JobCompleted, job.State)
		require.Equal(h, id, job.Attempt.ID)
		require.Equal(h, result, string(job.Result))
	}
	if job.State == onejob.JobCompleted {
		require.Len(h, s.winners[i], 1)
	}
	require.Len(h, list, len(s.attempts[i]), "every attempt that was begun is there, and no other")
	open := 0
	for n, a := range list {
		require.Equal(h, n+1, a.Number)
		if a.State.Open() {
			open++
		}
	}
	require.LessOrEqual(h, open, 1)
}
