package otelonejob

import (
	"context"
	"time"

	"github.com/onejob-go/onejob"
)

// Observe implements [onejob.Observer].
func (o *Observer) Observe(ctx context.Context, op string) (context.Context, func(onejob.Observation)) {
	began := time.Now()
	ctx, span := o.startOperation(ctx, op)
	if op == "Reconcile" {
		ctx = context.WithValue(ctx, reconciling{}, true)
	}
	return ctx, func(obs onejob.Observation) {
		outcome, errorType := classify(ctx, op, obs.Err)
		o.count(ctx, op, obs, outcome, errorType)
		l := labels{op: op, outcome: outcome}
		if outcome == outcomeError {
			l.errorType = errorType
		}
		o.inst.operations.Record(ctx, time.Since(began).Seconds(), o.series.of(l).record...)
		o.endOperation(span, obs, outcome, errorType)
	}
}
