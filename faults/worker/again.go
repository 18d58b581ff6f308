package worker

import (
	"context"
	"encoding/json"
	"time"

	"github.com/onejob-go/onejob"
	h "github.com/onejob-go/onejob/faults/history"
)

// Again makes a call that is in a history once more, with the same IDs and the
// same input, as a host does that does not know its fate.
func Again(ctx context.Context, store onejob.Store, c h.Call, onComplete bool) h.Reply {
	mints := []string{c.Mint}
	opts := &onejob.Options{MaxAttempts: 8, NewID: func() string { id := mints[0]; mints = mints[1:]; return id }}
	if onComplete {
		opts.OnComplete = OnComplete
	}
	jobs := onejob.New(store, opts)
	op := onejob.NewOperator(jobs)
	v := &view{}
	switch c.Op {
	case "Create":
		job, created, err := jobs.Create(ctx, intentOf(c))
		r := reply(job, job.Attempt, err)
		if created {
			r.Code = h.Created
		}
		return r
	case "Start":
		job, a, err := jobs.Start(ctx, intentOf(c), tryOf(c))
		return v.begun(job, a, err)
	case "Get":
		job, err := jobs.GetByKey(ctx, c.Owner, c.Key)
		return reply(job, job.Attempt, err)
	}
	job, err := jobs.GetByKey(ctx, c.Owner, c.Key)
	if err != nil {
		return reply(job, nil, err)
	}
	decision := onejob.Decision{By: "somebody", Reason: "a reason"}
	switch c.Op {
	case "BeginAttempt":
		a, err := jobs.BeginAttempt(ctx, job, tryOf(c))
		return v.begun(onejob.Job{}, a, err)
	case "CancelJob":
		return told(op.CancelJob(ctx, job.ID, decision))
	case "Confirm":
		return told(op.Confirm(ctx, onejob.AttemptID(c.Attempt), []byte(c.Result), decision))
	case "CancelAttempt":
		return told(op.CancelAttempt(ctx, onejob.AttemptID(c.Attempt), decision))
	case "DetachAttempt":
		return told(op.DetachAttempt(ctx, onejob.AttemptID(c.Attempt), decision))
	case "Refute":
		return told(op.Refute(ctx, onejob.AttemptID(c.Attempt), decision))
	}
	_, a, err := jobs.GetAttempt(ctx, onejob.AttemptID(c.Attempt))
	if err != nil {
		return reply(onejob.Job{}, nil, err)
	}
	switch c.Op {
	case "Complete":
		return told(jobs.Complete(ctx, a, []byte(c.Result)))
	case "Fail":
		cause := errDoubt
		if c.Proof {
			cause = onejob.NoEffect(errDoubt)
		}
		return told(jobs.Fail(ctx, a, cause))
	case "MarkUnknown":
		return told(jobs.MarkUnknown(ctx, a, nil))
	}
	panic("worker: no such operation: " + c.Op)
}

func told(job onejob.Job, err error) h.Reply { return reply(job, nil, err) }

// intentOf is the input of a call that creates.
func intentOf(c h.Call) onejob.Intent {
	params, _ := json.Marshal(map[string]any{"text": "PARAMS-" + c.Key, "n": c.Input})
	return onejob.Intent{Owner: c.Owner, Key: c.Key, Kind: "charge", Params: params}
}

func tryOf(c h.Call) onejob.Try {
	return onejob.Try{ID: onejob.AttemptID(c.Attempt), Provider: "primary", Timeout: 100 * time.Hour}
}
