package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/onejob-go/onejob/provider"
)

// Sender sends requests once.
type Sender struct {
	// Client is what is sent through; nil is http.DefaultClient. It is not
	// changed: redirects are off for what is sent here. Its Timeout counts as a
	// doubt, so leave it zero: the context has the attempt's deadline.
	Client *http.Client
	// BeforeWork are the statuses that the provider sends only before it does
	// any work: see [Watch].
	BeforeWork []int
	// MaxBody is how many bytes of a body are read. Default: 16 MiB. A longer
	// one is Unknown.
	MaxBody int64
}

const maxBody = 16 << 20

// Answer is a response that was read to its end.
type Answer struct {
	Status int
	Header http.Header
	// Body is what came of it, also where the verdict is Unknown because the
	// rest did not.
	Body []byte
}

// StatusError is a response that is no answer. It says nothing of the body.
type StatusError struct{ Status int }

// Error names the status.
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the provider answered %d %s", e.Status, http.StatusText(e.Status)))
}

var (
	errLong = errors.New("the body is longer than Sender.MaxBody")
	errBody = errors.New("the body ended early")
)

// Send sends req once, under its context, and reads the answer. The error is
// nil for a 2xx alone.
//
// What net/http would do by itself is switched off: it follows no redirect, and
// sends no body a second time. (It sends a POST again when it carries an
// Idempotency-Key and a kept connection closes without an answer: the provider
// may have acted both times.) A request without a body that it would send again
// gets one that is empty and cannot be had twice.
//
// Of a body that has neither a length nor chunks nobody can tell whether it came
// whole: it ends with its connection. The caller's look at it has to.
func (s *Sender) Send(req *http.Request) (Answer, provider.Verdict, error) {
	if !valid(req) {
		if req.Body != nil {
			req.Body.Close()
		}
		return Answer{}, provider.NotStarted, errInvalid
	}
	ctx, watched := Watch(req.Context(), s.BeforeWork...)
	req = req.WithContext(ctx)
	once(req)
	client := http.DefaultClient
	if s.Client != nil {
		client = s.Client
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := own.Do(req)
	verdict := watched.Verdict(resp, err)
	if err != nil {
		return Answer{}, verdict, hidden(err)
	}
	defer resp.Body.Close()
	limit := s.MaxBody
	if limit <= 0 {
		limit = maxBody
	}
	limit = min(limit, math.MaxInt64-1) // of which one more is read
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	a := Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
	switch {
	case verdict != provider.Done:
		return a, verdict, &StatusError{a.Status} // the status said it, whatever became of the body
	case err != nil:
		return a, provider.Unknown, errors.Join(errBody, hidden(err))
	case int64(len(body)) > limit:
		a.Body = body[:limit]
		return a, provider.Unknown, errLong
	}
	return a, provider.Done, nil
}

// once keeps net/http from sending the request again.
func once(req *http.Request) {
	req.GetBody = nil
	if req.Body != nil && req.Body != http.NoBody {
		return
	}
	// A POST without a body and without a key is not sent again, and a body of no
	// known length would go out in chunks, which some servers refuse.
	if !resends(req) {
		return
	}
	req.Body = io.NopCloser(empty{})
	req.ContentLength = 0
}

// resends reports whether net/http takes the request for one that it may repeat.
func resends(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return len(req.Header.Values("Idempotency-Key"))+len(req.Header.Values("X-Idempotency-Key")) > 0
}

type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, io.EOF }
