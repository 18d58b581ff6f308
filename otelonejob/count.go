package otelonejob

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/onejob-go/onejob"
)

// changedTo are the states into which operations bring an attempt. What else they
// change, such as a deadline or the cause of a doubt, is not counted.
var changedTo = map[string][]onejob.State{
	"BeginAttempt":  {onejob.StateStarted},
	"Start":         {onejob.StateStarted},
	"Complete":      {onejob.StateSucceeded, onejob.StateLate},
	"CompleteTx":    {onejob.StateSucceeded, onejob.StateLate},
	"Confirm":       {onejob.StateSucceeded, onejob.StateLate},
	"Fail":          {onejob.StateFailed, onejob.StateUnknown},
	"MarkUnknown":   {onejob.StateUnknown},
	"Refute":        {onejob.StateFailed},
	"CancelAttempt": {onejob.StateCanceled},
	"DetachAttempt": {onejob.StateDetached},
}

// holds are the operations of which each step is observed as well: what those
// are counted for is not counted again.
func holds(op string) bool { return op == "Do" || op == "Tx" || op == "Reconcile" }

// reconciling is the key of a context under which attempts are asked about that
// are in doubt already: one that stays so is no new doubt.
type reconciling struct{}

func (o *Observer) count(ctx context.Context, op string, obs onejob.Observation, outcome, errorType string) {
	if holds(op) {
		return
	}
	if outcome == outcomeRefused {
		o.inst.refusals.Add(ctx, 1, o.series.of(labels{op: op, reason: errorType}).add...)
	}
	o.countJob(ctx, op, obs)
	o.countAttempt(ctx, op, obs)
	o.countLate(ctx, op, obs)
	switch op {
	case "Purge":
		o.inst.purged.Add(ctx, int64(obs.Count), o.series.of(labels{}).add...)
	case "Sweep":
		o.inst.swept.Add(ctx, int64(len(obs.Attempts)), o.series.of(labels{}).add...)
		for _, a := range obs.Attempts {
			if o.told.first(a.ID, string(a.State)) { // its worker may have said so, or yet say it
				o.attemptIs(ctx, a, "")
			}
		}
	}
}

func (o *Observer) countJob(ctx context.Context, op string, obs onejob.Observation) {
	kind, _ := o.series.kinds.of(obs.Job.Kind)
	n, result := int64(1), ""
	switch op {
	case "Create", "CreateTx", "Start":
		switch {
		case obs.Created:
			result = "created"
		case errors.Is(obs.Err, onejob.ErrKeyConflict):
			result = "conflict"
		case errors.Is(obs.Err, onejob.ErrKeyRetired):
			result = "retired"
		case obs.Job.ID != "":
			result = "existing"
		}
	case "CreateMany":
		n, result = int64(obs.Count), "created"
	case "Complete", "CompleteTx", "Confirm":
		if obs.Changed && obs.Err == nil {
			o.inst.jobsEnded.Add(ctx, 1, o.series.of(labels{kind: kind, state: string(onejob.JobCompleted)}).add...)
		}
	case "CancelJob":
		if obs.Changed && obs.Err == nil {
			o.inst.jobsEnded.Add(ctx, 1, o.series.of(labels{kind: kind, state: string(onejob.JobCanceled)}).add...)
		}
	}
	if n > 0 && result != "" {
		o.inst.requests.Add(ctx, n, o.series.of(labels{kind: kind, result: result}).add...)
	}
}

func (o *Observer) countAttempt(ctx context.Context, op string, obs onejob.Observation) {
	a := obs.Attempt
	if a == nil || !slices.Contains(changedTo[op], a.State) {
		return
	}
	switch a.State {
	case onejob.StateLate:
		// Who loses is refused, and has changed the attempt all the same.
		if !errors.Is(obs.Err, onejob.ErrLateResult) && op != "Confirm" || !o.told.first(a.ID, string(a.State)) {
			return
		}
	case onejob.StateUnknown:
		if !obs.Changed || ctx.Value(reconciling{}) != nil || !o.told.first(a.ID, string(a.State)) {
			return
		}
	default:
		if !obs.Changed {
			return
		}
	}
	o.attemptIs(ctx, *a, obs.Job.Kind)
}

// attemptIs counts an attempt that has come into a state.
func (o *Observer) attemptIs(ctx context.Context, a onejob.Attempt, kind string) {
	l := labels{provider: o.provider(a.Provider), state: string(a.State)}
	with := o.series.of(l)
	o.inst.changes.Add(ctx, 1, with.add...)
	switch a.State {
	case onejob.StateStarted, onejob.StateDetached:
		return // it is still under way
	}
	o.inst.duration.Record(ctx, endOf(a, time.Now()).Sub(a.StartedAt).Seconds(), with.record...)
	o.attemptSpan(ctx, a, kind)
}

// Why a result came too late.
const (
	lateLost     = "lost"          // another attempt has won the swap
	lateCanceled = "job_canceled"  // the intent was withdrawn
	lateEnded    = "attempt_ended" // this attempt was canceled or refuted, or was late before
)

func (o *Observer) countLate(ctx context.Context, op string, obs onejob.Observation) {
	switch op {
	case "Complete", "CompleteTx":
		if !errors.Is(obs.Err, onejob.ErrLateResult) {
			return
		}
	case "Confirm": // says it in an operator's words
		if !errors.Is(obs.Err, onejob.ErrCompleted) && !errors.Is(obs.Err, onejob.ErrJobCanceled) &&
			!errors.Is(obs.Err, onejob.ErrAttemptEnded) {
			return
		}
	default:
		return
	}
	l := labels{reason: lateEnded}
	switch obs.Job.State {
	case onejob.JobCompleted:
		l.reason = lateLost
	case onejob.JobCanceled:
		l.reason = lateCanceled
	}
	// Of an attempt that a purge has removed only the winner is left to see.
	if a := obs.Attempt; a != nil && a.State != onejob.StateSucceeded {
		l.provider = o.provider(a.Provider)
		if !o.told.first(a.ID, "late result") {
			return
		}
	}
	o.inst.late.Add(ctx, 1, o.series.of(l).add...)
}

// provider is the name as metrics show it. With a new one its counters begin: a
// counter that is born with its first event shows no increase, and the first
// late result is the one to hear of.
func (o *Observer) provider(name string) string {
	shown, fresh := o.series.providers.of(name)
	if fresh {
		ctx := context.Background()
		for _, reason := range []string{lateLost, lateCanceled, lateEnded} {
			o.inst.late.Add(ctx, 0, o.series.of(labels{provider: shown, reason: reason}).add...)
		}
		for _, state := range []onejob.State{onejob.StateStarted, onejob.StateUnknown, onejob.StateDetached,
			onejob.StateSucceeded, onejob.StateFailed, onejob.StateCanceled, onejob.StateLate} {
			o.inst.changes.Add(ctx, 0, o.series.of(labels{provider: shown, state: string(state)}).add...)
		}
	}
	return shown
}
