package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/onejob-go/onejob"
	h "github.com/onejob-go/onejob/faults/history"
)

// errDoubt is an error of which nobody can say what it left behind.
var errDoubt = errors.New("upstream: unexpected EOF")

// weights is how often a hand that knows the job does what.
var weights = []struct {
	op string
	n  int
}{
	{"Create", 12}, {"Start", 8}, {"BeginAttempt", 20}, {"begin again", 5}, {"Complete", 14}, {"complete again", 5},
	{"other result", 2}, {"fail with proof", 6}, {"Fail", 4}, {"MarkUnknown", 3}, {"CancelAttempt", 4},
	{"DetachAttempt", 6}, {"CancelJob", 1}, {"Confirm", 2}, {"Refute", 4}, {"Get", 12}, {"Sweep", 1},
}

func (w *hand) choose() string {
	sum := 0
	for _, x := range weights {
		sum += x.n
	}
	n := w.rng.IntN(sum)
	for _, x := range weights {
		if n -= x.n; n < 0 {
			return x.op
		}
	}
	panic("unreachable")
}

// one does one operation, and most often repeats it until it knows its fate.
func (w *hand) one() {
	n, v := w.key()
	key := "KEY-" + strconv.Itoa(n)
	call := h.Call{Op: w.choose(), Owner: "OWNER-1", Key: key}
	if v.job.ID == "" && call.Op != "Start" && call.Op != "Sweep" {
		call.Op = "Create"
	}
	run := w.prepare(&call, v)
	if run == nil {
		return
	}
	repeat := w.rng.IntN(8) > 0
	for tries := 0; ; tries++ {
		code := w.send(call, run)
		if code != h.Unknown || !repeat {
			return
		}
		if tries == 1000 {
			panic("worker: no answer in a thousand tries: " + call.Op)
		}
		time.Sleep(time.Duration(50+w.rng.IntN(200)) * time.Millisecond)
	}
}

// send writes the call down, does it, and writes down what came back. One in
// so many has a context that ends at some moment of it.
func (w *hand) send(call h.Call, run func(context.Context) h.Reply) string {
	ctx := context.Background()
	if w.rng.IntN(w.CancelOne) == 0 {
		c, cancel := context.WithTimeout(ctx, time.Duration(w.rng.IntN(3000))*time.Microsecond)
		defer cancel()
		ctx = c
	}
	w.mints = nil
	if call.Mint != "" {
		w.mints = append(w.mints, call.Mint)
	}
	if call.Op == "Sweep" {
		r := run(ctx)
		if r.Code == h.Wrong {
			panic("worker: Sweep: " + r.Error)
		}
		return r.Code
	}
	id := w.log.Ask(call)
	r := run(ctx)
	if r.Error != "" {
		fmt.Fprintln(w.texts, r.Error)
	}
	if r.Code == h.Unknown && ctx.Err() != nil {
		r.Error = "the context ended; " + r.Error
	}
	w.log.Hear(id, r)
	return r.Code
}

// prepare fills in the call and returns how to do it; nil if there is nothing to
// do it to.
func (w *hand) prepare(call *h.Call, v *view) func(context.Context) h.Reply {
	decision := onejob.Decision{By: "somebody", Reason: "a reason"}
	switch call.Op {
	case "Create":
		return w.create(call, v)
	case "Start":
		return w.start(call, v)
	case "BeginAttempt":
		return w.begin(call, v, onejob.AttemptID(string(v.job.ID)+"-"+own(uuid.Must(uuid.NewV7()).String())))
	case "Get":
		return func(ctx context.Context) h.Reply {
			job, err := w.jobs.GetByKey(ctx, call.Owner, call.Key)
			v.learn(job, err)
			return reply(job, job.Attempt, err)
		}
	case "Sweep":
		return func(ctx context.Context) h.Reply {
			_, err := w.op.Sweep(ctx, 10)
			return reply(onejob.Job{}, nil, err)
		}
	case "CancelJob":
		return v.with(func(ctx context.Context) (onejob.Job, error) { return w.op.CancelJob(ctx, v.job.ID, decision) })
	}
	if len(v.attempts) == 0 {
		return nil
	}
	a := v.attempts[len(v.attempts)-1] // most often the newest, which may still win
	if w.rng.IntN(3) == 0 {
		a = v.attempts[w.rng.IntN(len(v.attempts))]
	}
	call.Attempt = string(a.ID)
	switch call.Op {
	case "begin again":
		call.Op = "BeginAttempt"
		return w.begin(call, v, a.ID)
	case "Complete", "complete again", "other result", "Confirm":
		result := v.results[a.ID]
		if result == nil || call.Op == "other result" {
			result = fmt.Appendf(nil, `"RESULT-%s"`, uuid.NewString())
		}
		sum := sha256.Sum256(result)
		call.Digest, call.Result = hex.EncodeToString(sum[:8]), string(result)
		v.results[a.ID] = result
		if call.Op == "Confirm" {
			return v.with(func(ctx context.Context) (onejob.Job, error) { return w.op.Confirm(ctx, a.ID, result, decision) })
		}
		call.Op = "Complete"
		return v.with(func(ctx context.Context) (onejob.Job, error) { return w.jobs.Complete(ctx, a, result) })
	case "fail with proof":
		call.Op, call.Proof = "Fail", true
		return v.with(func(ctx context.Context) (onejob.Job, error) {
			return w.jobs.Fail(ctx, a, onejob.NoEffect(errDoubt))
		})
	case "Fail":
		return v.with(func(ctx context.Context) (onejob.Job, error) { return w.jobs.Fail(ctx, a, errDoubt) })
	case "MarkUnknown":
		return v.with(func(ctx context.Context) (onejob.Job, error) { return w.jobs.MarkUnknown(ctx, a, nil) })
	case "CancelAttempt":
		return v.with(func(ctx context.Context) (onejob.Job, error) { return w.op.CancelAttempt(ctx, a.ID, decision) })
	case "DetachAttempt":
		return v.with(func(ctx context.Context) (onejob.Job, error) { return w.op.DetachAttempt(ctx, a.ID, decision) })
	case "Refute":
		return v.with(func(ctx context.Context) (onejob.Job, error) { return w.op.Refute(ctx, a.ID, decision) })
	}
	panic("unreachable")
}

// intent is the input of a key. One in ten is the other one.
func (w *hand) intent(call *h.Call) onejob.Intent {
	if w.rng.IntN(10) == 0 {
		call.Input = 1
	}
	return intentOf(*call)
}

func (w *hand) create(call *h.Call, v *view) func(context.Context) h.Reply {
	in := w.intent(call)
	call.Mint = uuid.Must(uuid.NewV7()).String()
	return func(ctx context.Context) h.Reply {
		job, created, err := w.jobs.Create(ctx, in)
		v.learn(job, err)
		r := reply(job, job.Attempt, err)
		if created {
			r.Code = h.Created
		}
		return r
	}
}

func (w *hand) start(call *h.Call, v *view) func(context.Context) h.Reply {
	in := w.intent(call)
	call.Mint = uuid.Must(uuid.NewV7()).String()
	try := w.try(call)
	try.ID = onejob.AttemptID(call.Mint + "-" + own(uuid.Must(uuid.NewV7()).String()))
	call.Attempt = string(try.ID)
	return func(ctx context.Context) h.Reply {
		job, a, err := w.jobs.Start(ctx, in, try)
		v.learn(job, err)
		return v.begun(job, a, err)
	}
}

func (w *hand) begin(call *h.Call, v *view, id onejob.AttemptID) func(context.Context) h.Reply {
	try := w.try(call)
	try.ID = id
	call.Attempt = string(id)
	for _, a := range v.attempts {
		if a.ID == id {
			try.Provider = a.Provider
		}
	}
	return func(ctx context.Context) h.Reply {
		a, err := w.jobs.BeginAttempt(ctx, v.job, try)
		return v.begun(onejob.Job{}, a, err)
	}
}

// try is an attempt with a deadline that passes soon, or never. Where the clock
// is the host's and wrong, any may have passed.
func (w *hand) try(call *h.Call) onejob.Try {
	try := onejob.Try{Provider: "primary", Timeout: 100 * time.Hour}
	if w.rng.IntN(4) == 0 {
		try.Timeout = time.Duration(1+w.rng.IntN(200)) * time.Millisecond
	}
	call.Short = try.Timeout < time.Hour || w.Store == "sqlite" && w.Skew > 0
	return try
}

// begun is the reply to an operation that begins an attempt.
func (v *view) begun(job onejob.Job, a onejob.Attempt, err error) h.Reply {
	if err == nil {
		v.add(a)
		if job.ID == "" {
			job.ID = a.JobID
		}
		return reply(job, &a, nil)
	}
	r := reply(job, nil, err)
	var e *onejob.Error
	if errors.As(err, &e) && e.Attempt != nil {
		v.add(*e.Attempt) // an open one may be another caller's: complete it too
	}
	return r
}

// with does an operation on the job that is known and learns from its answer.
func (v *view) with(f func(context.Context) (onejob.Job, error)) func(context.Context) h.Reply {
	return func(ctx context.Context) h.Reply {
		job, err := f(ctx)
		v.learn(job, err)
		return reply(job, nil, err)
	}
}

func (v *view) learn(job onejob.Job, err error) {
	var e *onejob.Error
	if errors.As(err, &e) && job.ID == "" {
		job = e.Job
	}
	if job.ID == "" {
		return
	}
	v.job = job
	if job.Attempt != nil {
		v.add(*job.Attempt)
	}
}

func (v *view) add(a onejob.Attempt) {
	for _, old := range v.attempts {
		if old.ID == a.ID {
			return
		}
	}
	if a.State != "" {
		v.attempts = append(v.attempts, a)
	}
}
