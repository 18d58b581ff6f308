package storetest

import (
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("double click",
	testCase{
		name: "64 goroutines create one job",
		why:  "of simultaneous Creates with one new key exactly one creates, all get the same job, and nobody gets an error",
		run: func(h *harness) {
			clicks := make([]click, 64)
			together(len(clicks), func(i int) { clicks[i] = create(h, "k") })
			h.oneJob(clicks, 1)
		},
	},
	testCase{
		name:  "4 processes create one job",
		why:   "the database decides, not the process: the same holds between processes",
		needs: []ability{processes},
		run: func(h *harness) {
			var all []click
			for _, clicks := range inProcesses[[]click](h, 4, "create", "k") {
				all = append(all, clicks...)
			}
			h.oneJob(all, 1)
		},
	},
	testCase{
		name: "64 goroutines start one attempt",
		why:  "of simultaneous Starts with one new key exactly one begins an attempt; each loser gets the job and ErrAttemptOpen",
		run: func(h *harness) {
			clicks := make([]click, 64)
			together(len(clicks), func(i int) { clicks[i] = start(h, "k") })
			h.oneJob(clicks, 1)
			h.oneAttempt(clicks)
		},
	},
	testCase{
		name:  "4 processes start one attempt",
		why:   "the same holds between processes",
		needs: []ability{processes},
		run: func(h *harness) {
			var all []click
			for _, clicks := range inProcesses[[]click](h, 4, "start", "k") {
				all = append(all, clicks...)
			}
			h.oneJob(all, 1)
			h.oneAttempt(all)
		},
	},
)

// click is what one caller saw.
type click struct {
	Job     onejob.JobID
	Created bool
	Attempt onejob.AttemptID // begun by this click
	Blocked onejob.AttemptID // in the way of this click
	Err     string
}

func create(h *harness, key string) click {
	job, created, err := h.jobs.Create(h.ctx, intent(key))
	c := click{Job: job.ID, Created: created}
	if err != nil {
		c.Err = err.Error()
	}
	return c
}

func start(h *harness, key string) click {
	job, a, err := h.jobs.Start(h.ctx, intent(key), try("primary"))
	c := click{Job: job.ID, Attempt: a.ID, Created: err == nil}
	var e *onejob.Error
	switch {
	case errors.Is(err, onejob.ErrAttemptOpen) && errors.As(err, &e):
		c.Blocked = e.Attempt.ID
	case err != nil:
		c.Err = err.Error()
	}
	return c
}

func init() {
	several := func(click1 func(*harness, string) click) func(*harness, string) any {
		return func(h *harness, key string) any {
			clicks := make([]click, 16)
			together(len(clicks), func(i int) { clicks[i] = click1(h, key) })
			return clicks
		}
	}
	works["create"] = several(create)
	works["start"] = several(start)
}

// oneJob requires that all clicks saw one job, created so many times.
func (h *harness) oneJob(clicks []click, created int) {
	h.Helper()
	n := 0
	for _, c := range clicks {
		require.Empty(h, c.Err)
		require.NotEmpty(h, c.Job)
		require.Equal(h, clicks[0].Job, c.Job)
		if c.Created {
			n++
		}
	}
	require.Equal(h, created, n)
	job, err := h.jobs.GetByKey(h.ctx, "owner-1", "k")
	require.NoError(h, err)
	require.Equal(h, clicks[0].Job, job.ID)
}

// oneAttempt requires that one click began an attempt, which blocked all others.
func (h *harness) oneAttempt(clicks []click) {
	h.Helper()
	job, err := h.jobs.GetByKey(h.ctx, "owner-1", "k")
	require.NoError(h, err)
	list := h.attempts(job)
	require.Len(h, list, 1)
	begun := 0
	for _, c := range clicks {
		if c.Attempt != "" {
			begun++
			require.Equal(h, list[0].ID, c.Attempt)
		} else {
			require.Equal(h, list[0].ID, c.Blocked)
		}
	}
	require.Equal(h, 1, begun)
}
