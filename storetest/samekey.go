package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("same key", slices.Concat(
	sameKeyRefusals(),
	sameKeyRaces,
	sameKeyInputs,
	sameKeyTransactions,
)...)

// keyCreation is a way to ask for the job of an intent. called tells whether a
// provider was.
type keyCreation struct {
	name  string
	needs []ability
	ask   func(h *harness, in onejob.Intent) (job onejob.Job, called bool, err error)
}

var keyCreations = []keyCreation{
	{name: "Create", ask: func(h *harness, in onejob.Intent) (onejob.Job, bool, error) {
		job, _, err := h.jobs.Create(h.ctx, in)
		return job, false, err
	}},
	{name: "CreateTx", needs: []ability{transactions}, ask: func(h *harness, in onejob.Intent) (onejob.Job, bool, error) {
		var job onejob.Job
		var refusal error
		err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
			job, _, refusal = h.jobs.CreateTx(ctx, tx, in)
			return nil
		})
		return job, false, errors.Join(refusal, err)
	}},
	{name: "Start", ask: func(h *harness, in onejob.Intent) (onejob.Job, bool, error) {
		job, _, err := h.jobs.Start(h.ctx, in, try("primary"))
		return job, false, err
	}},
	{name: "CreateMany", ask: func(h *harness, in onejob.Intent) (onejob.Job, bool, error) {
		list, err := h.jobs.CreateMany(h.ctx, []onejob.Intent{in})
		if err != nil {
			return onejob.Job{}, false, err
		}
		require.Len(h, list, 1)
		return list[0].Job, false, list[0].Err
	}},
	{name: "Do", ask: func(h *harness, in onejob.Intent) (onejob.Job, bool, error) {
		called := false
		job, err := h.jobs.Do(h.ctx, in, try("primary"), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			called = true
			return nil, nil
		})
		return job, called, err
	}},
}

// jobStatuses are the ways into each status of a job that is not purged.
var jobStatuses = map[onejob.Status]func(h *harness, key string){
	onejob.StatusPending:   func(h *harness, key string) { h.create(key) },
	onejob.StatusRunning:   func(h *harness, key string) { h.start(key) },
	onejob.StatusUnknown:   func(h *harness, key string) { h.inState(key, onejob.StateUnknown) },
	onejob.StatusCompleted: func(h *harness, key string) { h.inState(key, onejob.StateSucceeded) },
	onejob.StatusCanceled: func(h *harness, key string) {
		job := h.create(key)
		_, err := h.op.CancelJob(h.ctx, job.ID, someone)
		require.NoError(h, err)
	},
}

// inJobStatus makes a job with the key and brings it there.
func (h *harness) inJobStatus(key string, status onejob.Status) onejob.Job {
	h.Helper()
	jobStatuses[status](h, key)
	job, err := h.jobs.GetByKey(h.ctx, "owner-1", key)
	require.NoError(h, err)
	require.Equal(h, status, job.Status())
	return job
}

// otherInput is intent with other params.
func otherInput(key string) onejob.Intent {
	in := intent(key)
	in.Params = []byte(`{"amount": 1201, "currency": "EUR"}`)
	return in
}

func sameKeyRefusals() []testCase {
	var cases []testCase
	for _, c := range keyCreations {
		cases = append(cases,
			testCase{
				name:  c.name + " refuses other input in every state",
				why:   "other input under a key is ErrKeyConflict with the job that holds it, before any other answer, and changes nothing",
				needs: c.needs,
				run: func(h *harness) {
					for status := range jobStatuses {
						h.inJobStatus(string(status), status)
						h.keyConflict(c, otherInput(string(status)))
					}
				},
			},
			testCase{
				name:  c.name + " refuses a purged key",
				why:   "a purged key is ErrKeyRetired with the job beside it, and other input is still ErrKeyConflict",
				needs: append([]ability{operating}, c.needs...),
				run: func(h *harness) {
					for _, status := range []onejob.Status{onejob.StatusCompleted, onejob.StatusCanceled} {
						h.inJobStatus(string(status), status)
						h.purge(1)
						h.keyConflict(c, otherInput(string(status)))
						before := h.holder(intent(string(status)))
						job, called, err := c.ask(h, intent(string(status)))
						e := h.refusal(err, onejob.ErrKeyRetired)
						require.NotErrorIs(h, err, onejob.ErrKeyConflict)
						require.Equal(h, before, e.Job)
						require.Equal(h, before, job, "the job has this input: it is returned beside the refusal")
						require.False(h, called)
						require.Equal(h, before, h.holder(intent(string(status))))
					}
				},
			})
	}
	return cases
}

// holder returns the job of the key as it stands.
func (h *harness) holder(in onejob.Intent) onejob.Job {
	h.Helper()
	job, err := h.jobs.GetByKey(h.ctx, in.Owner, in.Key)
	require.NoError(h, err)
	return job
}

// keyConflict requires that c refuses in, and leaves the job and its attempts as
// they are.
func (h *harness) keyConflict(c keyCreation, in onejob.Intent) {
	h.Helper()
	before := h.holder(in)
	attempts := h.attempts(before)
	job, called, err := c.ask(h, in)
	e := h.refusal(err, onejob.ErrKeyConflict)
	for _, later := range []error{onejob.ErrKeyRetired, onejob.ErrJobCanceled, onejob.ErrCompleted, onejob.ErrAttemptOpen, onejob.ErrInDoubt} {
		require.NotErrorIs(h, err, later)
	}
	require.Equal(h, before, e.Job)
	require.Equal(h, onejob.Job{}, job, "a job with other input is in the error only")
	require.False(h, called)
	require.Equal(h, before, h.holder(in))
	require.Equal(h, attempts, h.attempts(before))
}

var sameKeyRaces = []testCase{
	{
		name: "64 goroutines create with two inputs",
		why:  "at one instant one of two inputs wins: all who ask with it get the job, all others ErrKeyConflict, and nobody another error",
		run:  func(h *harness) { h.twoInputs(keyCreations[0]) },
	},
	{
		name: "64 goroutines start with two inputs",
		why:  "the same holds for Start, whose losers with the winning input get the job beside ErrAttemptOpen",
		run:  func(h *harness) { h.twoInputs(keyCreations[2]) },
	},
}

func (h *harness) twoInputs(c keyCreation) {
	h.Helper()
	type answer struct {
		job onejob.Job
		err error
	}
	for round := range 3 {
		key := fmt.Sprint("k", round)
		inputs := []onejob.Intent{intent(key), otherInput(key)}
		answers := make([]answer, 64)
		together(len(answers), func(i int) {
			answers[i].job, _, answers[i].err = c.ask(h, inputs[i%2])
		})
		held := h.holder(intent(key))
		for i, a := range answers {
			if string(inputs[i%2].Params) != string(held.Params) {
				require.Equal(h, held.ID, h.refusal(a.err, onejob.ErrKeyConflict).Job.ID)
				continue
			}
			if a.err != nil {
				require.ErrorIs(h, a.err, onejob.ErrAttemptOpen)
			}
			require.Equal(h, held.ID, a.job.ID)
		}
	}
}

var sameKeyTransactions = []testCase{
	{
		name:  "the creator rolls back while others wait",
		why:   "a key that was never committed is free: one of those who waited creates the job, and all get it",
		needs: []ability{transactions},
		run: func(h *harness) {
			id, answers := h.whileHeld(intent("k"), intent("k"), errors.New("roll back"))
			created := 0
			for _, a := range answers {
				require.NoError(h, a.err)
				require.Equal(h, answers[0].job.ID, a.job.ID)
				if a.created {
					created++
				}
			}
			require.Equal(h, 1, created)
			require.NotEqual(h, id, answers[0].job.ID)
			require.Equal(h, answers[0].job.ID, h.holder(intent("k")).ID)
		},
	},
	{
		name:  "the creator rolls back while others wait with other input",
		why:   "input that was never committed conflicts with nothing",
		needs: []ability{transactions},
		run: func(h *harness) {
			_, answers := h.whileHeld(intent("k"), otherInput("k"), errors.New("roll back"))
			for _, a := range answers {
				require.NoError(h, a.err)
				require.Equal(h, answers[0].job.ID, a.job.ID)
			}
			require.Equal(h, otherInput("k").Params, h.holder(intent("k")).Params)
		},
	},
	{
		name:  "the creator commits while others wait",
		why:   "those who waited for a commit create nothing and get its job",
		needs: []ability{transactions},
		run: func(h *harness) {
			id, answers := h.whileHeld(intent("k"), intent("k"), nil)
			for _, a := range answers {
				require.NoError(h, a.err)
				require.False(h, a.created)
				require.Equal(h, id, a.job.ID)
			}
		},
	},
	{
		name:  "the creator commits while others wait with other input",
		why:   "those who waited for a commit of other input get ErrKeyConflict with its job",
		needs: []ability{transactions},
		run: func(h *harness) {
			id, answers := h.whileHeld(intent("k"), otherInput("k"), nil)
			for _, a := range answers {
				require.Equal(h, id, h.refusal(a.err, onejob.ErrKeyConflict).Job.ID)
			}
		},
	},
}

type keyAnswer struct {
	job     onejob.Job
	created bool
	err     error
}

// whileHeld creates a job in a transaction, has others ask for the same key
// while it is open, and ends it: fn's error rolls it back.
func (h *harness) whileHeld(first, others onejob.Intent, end error) (onejob.JobID, []keyAnswer) {
	h.Helper()
	answers := make([]keyAnswer, 8)
	var called, over sync.WaitGroup
	var id onejob.JobID
	err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
		job, created, err := h.jobs.CreateTx(ctx, tx, first)
		if err != nil || !created {
			return fmt.Errorf("not created: %w", err)
		}
		id = job.ID
		for i := range answers {
			called.Add(1)
			over.Go(func() {
				a := &answers[i]
				called.Done()
				a.job, a.created, a.err = h.jobs.Create(h.ctx, others)
			})
		}
		called.Wait()
		// Reads of our own give the others time to get to where they wait.
		for range 20 {
			if _, err := h.jobs.Get(ctx, first.Owner, id); err != nil {
				return err
			}
		}
		return end
	})
	over.Wait()
	require.Equal(h, end, err)
	return id, answers
}
