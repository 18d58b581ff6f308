package failover

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/provider"
)

// finding is what a reply means for its attempt.
type finding struct {
	known     bool   // the outcome is: a result, or proof that none will come
	discarded bool   // there was an answer, and it does not count
	output    []byte // the result, where err is nil
	err       error  // marked with NoEffect where known
}

var (
	errNoVerdict  = errors.New("nobody knows what the call did")
	errNotStarted = errors.New("the provider did not accept the call")
	errFailed     = errors.New("the provider ended the call without an output")
	errOther      = errors.New("another model has answered than was asked")
	errCut        = errors.New("the answer was cut off")
)

// judge looks at every answer before it may become a result. Nothing but a
// verdict is proof: an error that comes without one, be it of a dial that
// failed, leaves a doubt.
func (r *Runner) judge(route provider.Route, job onejob.Job, reply provider.Reply, err error) finding {
	switch reply.Verdict {
	case provider.NotStarted:
		return ended(errNotStarted, err)
	case provider.Failed:
		return ended(errFailed, err)
	case provider.Done:
	default:
		if err == nil {
			return finding{err: errNoVerdict}
		}
		return finding{err: fmt.Errorf("%w: %w", errNoVerdict, err)} // a joined error proves only what both do
	}
	switch {
	case reply.Model != "" && reply.Model != route.Model:
		return discarded(fmt.Errorf("%w: %s", errOther, strconv.Quote(head(reply.Model))), reply.Output)
	case reply.Refusal:
		return finding{known: true, output: result(reply.Output)}
	case reply.Cut:
		return discarded(errCut, reply.Output)
	}
	if c := r.c.Contract; c != nil {
		if err := c.Validate(job.Params, reply.Output); err != nil {
			var v *contract.Violation
			errors.As(err, &v)
			return discarded(&contract.Violation{Reason: v.Reason, Where: v.Where}, reply.Output) // without the check's own error
		}
	}
	return finding{known: true, output: result(reply.Output)}
}

// ended is a finding after which the next target may run.
func ended(what, why error) finding {
	if why != nil {
		what = fmt.Errorf("%w: %w", what, why)
	}
	// A context error outweighs the mark, in the core too.
	over := errors.Is(what, context.Canceled) || errors.Is(what, context.DeadlineExceeded)
	return finding{known: !over, err: onejob.NoEffect(what)}
}

// discarded is ended with the evidence of an answer, of which not one byte is
// kept: it may have been paid for.
func discarded(why error, output []byte) finding {
	f := ended(fmt.Errorf("%w; the answer was discarded: %d bytes, SHA-256 %x", why, len(output), sha256.Sum256(output)), nil)
	f.discarded = true
	return f
}

// result is never nil: to the core that would be "nothing found out".
func result(output []byte) []byte {
	if output == nil {
		return []byte{}
	}
	return output
}

// head is the beginning of a name that somebody else has chosen.
func head(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most]
	}
	return s
}
