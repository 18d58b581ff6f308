package main

import (
	"context"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
)

func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "alice", Key: key, Kind: "print", Params: []byte(`{"item": "poster"}`)}
}

func try(provider string) onejob.Try {
	return onejob.Try{Provider: provider, Timeout: 10 * time.Second}
}

// worker is a goroutine that carries out an attempt. The story decides when its
// provider answers.
type worker struct {
	answer chan struct{}
	done   chan outcome
}

type outcome struct {
	job onejob.Job
	err error
}

// send lets a worker leave.
func (s *story) send(ctx context.Context, a onejob.Attempt, payload string) *worker {
	w := &worker{make(chan struct{}), make(chan outcome, 1)}
	s.tl.Row(a.Provider, "leaves    attempt %d", a.Number)
	go func() { w.done <- w.carry(ctx, s, a, payload) }()
	return w
}

// carry waits for the provider and then completes the job. Whoever is second
// is told so by Complete; no lock, no look beforehand.
func (w *worker) carry(ctx context.Context, s *story, a onejob.Attempt, payload string) outcome {
	call, cancel := a.Context(ctx)
	defer cancel()
	select {
	case <-call.Done():
		job, err := s.jobs.Fail(ctx, a, call.Err())
		return outcome{job, errors.Join(call.Err(), err)}
	case <-w.answer:
	}
	job, err := s.jobs.Complete(ctx, a, []byte(payload))
	switch {
	case err == nil:
		s.tl.Row(a.Provider, "returns   %d bytes: wins, the job is %s", len(payload), job.Status())
	case errors.Is(err, onejob.ErrLateResult):
		s.tl.Row(a.Provider, "returns   %d bytes: thrown away", len(payload))
	default:
		s.tl.Row(a.Provider, "returns   %d bytes: %v", len(payload), err)
	}
	return outcome{job, err}
}

// comeBack lets the provider answer and waits for the worker.
func (w *worker) comeBack() (onejob.Job, error) {
	close(w.answer)
	o := <-w.done
	return o.job, o.err
}
