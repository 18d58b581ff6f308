package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/examples/internal/timeline"
	"github.com/onejob-go/onejob/examples/internal/walk"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// story is what the scenes share.
type story struct {
	ctx  context.Context
	w    io.Writer
	tl   *timeline.Timeline
	lies bool

	jobs              *onejob.Jobs
	op                *onejob.Operator
	contract          *contract.Contract
	runner            *failover.Runner
	primary, fallback walk.Target
}

func (s *story) open(store onejob.Store, lie string) (err error) {
	s.jobs = onejob.New(store, nil)
	s.op = onejob.NewOperator(s.jobs)
	if s.contract, err = chattest.Contract(); err != nil {
		return err
	}
	if s.primary, err = walk.Serve("primary", ""); err != nil {
		return err
	}
	if s.fallback, err = walk.Serve("fallback", lie); err != nil {
		return err
	}
	// All that a host writes.
	s.runner, err = failover.New(s.jobs, failover.Config{
		Kind:      "order-sum",
		Providers: []provider.Provider{walk.Stubborn{Provider: s.primary.Provider}, s.fallback.Provider},
		Contract:  s.contract,
		Timeout:   300 * time.Millisecond,
	})
	return err
}

var reconcileAll = failover.ReconcileOptions{}

func (s *story) close() {
	s.primary.Release()
	_ = s.runner.Wait(s.ctx) // its error is that the example was told to end
	s.primary.Close()
	s.fallback.Close()
}

// runAndTell runs the job and prints what the host is told.
func (s *story) runAndTell(in onejob.Intent) (onejob.Job, error) {
	s.tl.Row("host", "runs %s", in.Key)
	job, err := s.runner.Run(s.ctx, in)
	var refusal *failover.Error
	switch {
	case err == nil:
		s.tl.Row("host", "%s by %s: %s", job.Status(), job.Attempt.Provider, job.Result)
	case errors.As(err, &refusal):
		job = refusal.Job
		s.tl.Row("host", "refused: %s", reason(err))
		s.tl.Note("about %s; calls: primary %d, fallback %d", refusal.Provider, s.primary.Calls(), s.fallback.Calls())
	}
	return job, err
}

// reason is the refusal in a few words.
func reason(err error) string {
	var core *onejob.Error
	switch {
	case errors.Is(err, onejob.ErrInDoubt):
		return "in doubt"
	case errors.As(err, &core) && errors.Is(err, onejob.ErrNotQualified):
		return "not qualified: " + core.Reason
	}
	return err.Error()
}
