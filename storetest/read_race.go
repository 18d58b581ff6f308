package storetest

import (
	"fmt"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("read races",
	testCase{
		name: "a job and its attempts are of one instant",
		why:  "a job read in one moment and its attempts in the next show an open job that has a winner, and whoever looks calls the provider again",
		run: func(h *harness) {
			for round := range 20 {
				job, a := h.start(fmt.Sprint("k", round))
				h.watched(job, func() { h.goOn(job, a) })
				if h.Failed() {
					return
				}
			}
		},
	},
)

// watched runs a function while four readers look at the job.
func (h *harness) watched(job onejob.Job, run func()) {
	h.Helper()
	gate, done := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			ready := sync.OnceFunc(func() { gate <- struct{}{} })
			defer ready()
			for over := false; !over && !h.Failed(); ready() {
				select {
				case <-done:
					over = true // one more look
				default:
				}
				now, list, err := h.op.Get(h.ctx, job.ID)
				if err != nil {
					h.Errorf("Get: %v", err)
					return
				}
				h.agrees(now, list)
			}
		})
	}
	defer wg.Wait()
	defer close(done)
	for range 4 {
		<-gate
	}
	run()
}

// goOn takes a job with an open attempt through a failure to its completion.
func (h *harness) goOn(job onejob.Job, a onejob.Attempt) {
	h.Helper()
	_, err := h.jobs.Fail(h.ctx, a, onejob.NoEffect(errRefused))
	require.NoError(h, err)
	h.complete(h.begin(job, "fallback"), "result")
}

// agrees reports where a job and its attempts, read at once, contradict.
func (h *harness) agrees(job onejob.Job, list []onejob.Attempt) {
	var shown []onejob.AttemptID
	for _, a := range list {
		if a.State.Open() || a.State == onejob.StateSucceeded {
			shown = append(shown, a.ID)
		}
	}
	switch {
	case job.Attempt == nil && len(shown) == 0:
	case job.Attempt != nil && len(shown) == 1 && shown[0] == job.Attempt.ID:
	default:
		h.Errorf("job %v shows attempt %v, its attempts %v", job, job.Attempt, list)
	}
}
