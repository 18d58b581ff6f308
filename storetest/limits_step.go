package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// badTries are what no attempt begins with, and what no job is found by.
func badTries(job onejob.Job) []badInput {
	var all []badInput
	add := func(name, field string, change func(*onejob.Try)) {
		t := try("primary")
		change(&t)
		all = append(all,
			badInput{"BeginAttempt: " + name, field, func(h *harness, ctx context.Context) error {
				_, err := h.jobs.BeginAttempt(ctx, job, t)
				return err
			}},
			badInput{"Start: " + name, field, func(h *harness, ctx context.Context) error {
				_, _, err := h.jobs.Start(ctx, intent("new"), t)
				return err
			}},
			badInput{"Do: " + name, field, func(h *harness, ctx context.Context) error {
				_, err := h.jobs.Do(ctx, intent("new"), t, neverCalled)
				return err
			}})
	}
	for name, text := range textsFor(true, 63) {
		add("a provider with "+name, "Try.Provider", func(t *onejob.Try) { t.Provider = text })
	}
	for _, d := range []time.Duration{0, -1, -time.Hour} {
		add("a timeout of "+d.String(), "Try.Timeout", func(t *onejob.Try) { t.Timeout = d })
	}
	for _, id := range []string{unquotable, string(job.ID), string(job.ID) + "-" + unquotable, string(job.ID) + "-0123456789ABCDEF"} {
		add("an ID like "+id, "Try.ID", func(t *onejob.Try) { t.ID = onejob.AttemptID(id) })
	}
	all = append(all, badInput{"Do: no call", "call", func(h *harness, ctx context.Context) error {
		_, err := h.jobs.Do(ctx, intent("new"), try("primary"), nil)
		return err
	}})
	for name, text := range textsFor(true, 128) {
		foreign := job
		foreign.Owner = text
		all = append(all,
			badInput{"BeginAttempt: an owner with " + name, "Job.Owner", func(h *harness, ctx context.Context) error {
				_, err := h.jobs.BeginAttempt(ctx, foreign, try("primary"))
				return err
			}},
			badInput{"Get: an owner with " + name, "owner", func(h *harness, ctx context.Context) error {
				_, err := h.jobs.Get(ctx, text, job.ID)
				return err
			}},
			badInput{"GetByKey: an owner with " + name, "owner", func(h *harness, ctx context.Context) error {
				_, err := h.jobs.GetByKey(ctx, text, "k")
				return err
			}},
			badInput{"Attempts: an owner with " + name, "owner", func(h *harness, ctx context.Context) error {
				_, err := h.jobs.Attempts(ctx, text, job.ID)
				return err
			}})
	}
	for name, text := range textsFor(true, 255) {
		all = append(all, badInput{"GetByKey: a key with " + name, "key", func(h *harness, ctx context.Context) error {
			_, err := h.jobs.GetByKey(ctx, "owner-1", text)
			return err
		}})
	}
	return all
}

// badSteps are what no attempt goes on or ends with.
func badSteps(a onejob.Attempt) []badInput {
	var all []badInput
	add := func(name, field string, give func(h *harness, ctx context.Context) error) {
		all = append(all, badInput{name, field, give})
	}
	big := []byte(unquotable + strings.Repeat("x", 1<<20+1-len(unquotable)))
	add("Complete: one byte too many", "result", func(h *harness, ctx context.Context) error {
		_, err := h.jobs.Complete(ctx, a, big)
		return err
	})
	unset, mixed := a, a
	unset.JobVersion = 0
	mixed.JobID = unquotable
	add("Complete: no version", "Attempt.JobVersion", func(h *harness, ctx context.Context) error {
		_, err := h.jobs.Complete(ctx, unset, nil)
		return err
	})
	for name, step := range map[string]func(h *harness, ctx context.Context) error{
		"Complete": func(h *harness, ctx context.Context) error {
			_, err := h.jobs.Complete(ctx, mixed, nil)
			return err
		},
		"Fail": func(h *harness, ctx context.Context) error {
			_, err := h.jobs.Fail(ctx, mixed, errors.New(unquotable))
			return err
		},
		"MarkUnknown": func(h *harness, ctx context.Context) error {
			_, err := h.jobs.MarkUnknown(ctx, mixed, errors.New(unquotable))
			return err
		},
		"Extend": func(h *harness, ctx context.Context) error {
			_, err := h.jobs.Extend(ctx, mixed, time.Hour)
			return err
		},
		"SetExternalRef": func(h *harness, ctx context.Context) error {
			_, err := h.jobs.SetExternalRef(ctx, mixed, unquotable)
			return err
		},
	} {
		add(name+": an attempt of two jobs", "Attempt.JobID", step)
	}
	add("Fail: no cause", "cause", func(h *harness, ctx context.Context) error {
		_, err := h.jobs.Fail(ctx, a, nil)
		return err
	})
	for _, d := range []time.Duration{0, -1, -time.Hour} {
		add("Extend by "+d.String(), "d", func(h *harness, ctx context.Context) error {
			_, err := h.jobs.Extend(ctx, a, d)
			return err
		})
	}
	for name, text := range textsFor(false, 255) {
		add("SetExternalRef: "+name, "ref", func(h *harness, ctx context.Context) error {
			_, err := h.jobs.SetExternalRef(ctx, a, text)
			return err
		})
	}
	for name, text := range textsFor(true, 128) {
		all = append(all, badDecision(a, "a name with "+name, "Decision.By", onejob.Decision{By: text, Reason: unquotable})...)
	}
	for _, reason := range []string{"", " \t\n"} {
		all = append(all, badDecision(a, "no reason", "Decision.Reason", onejob.Decision{By: unquotable, Reason: reason})...)
	}
	return all
}

// badDecision is the decision in each method that takes one.
func badDecision(a onejob.Attempt, name, field string, d onejob.Decision) []badInput {
	var all []badInput
	for op, decide := range map[string]func(h *harness, ctx context.Context) (onejob.Job, error){
		"Confirm":       func(h *harness, ctx context.Context) (onejob.Job, error) { return h.op.Confirm(ctx, a.ID, nil, d) },
		"Refute":        func(h *harness, ctx context.Context) (onejob.Job, error) { return h.op.Refute(ctx, a.ID, d) },
		"CancelAttempt": func(h *harness, ctx context.Context) (onejob.Job, error) { return h.op.CancelAttempt(ctx, a.ID, d) },
		"DetachAttempt": func(h *harness, ctx context.Context) (onejob.Job, error) { return h.op.DetachAttempt(ctx, a.ID, d) },
		"CancelJob":     func(h *harness, ctx context.Context) (onejob.Job, error) { return h.op.CancelJob(ctx, a.JobID, d) },
	} {
		all = append(all, badInput{op + ": " + name, field, func(h *harness, ctx context.Context) error {
			_, err := decide(h, ctx)
			return err
		}})
	}
	return all
}
