// Package idempotency carries a job's identity through HTTP: the header
// Idempotency-Key of a request becomes owner and key of a job, so that a double
// click, a retry and a click on "use the fallback" are one job.
//
// READ THIS FIRST. In [Layer.Wrap] a handler that answers 5xx or panics leaves
// the outcome unknown, and its key blocked until somebody decides, because it may
// have acted. A handler that knows better says so in one line, before it returns:
//
//	idempotency.NothingHappened(r.Context())
//
// The package needs net/http and nothing else, and works under http.ServeMux,
// chi and whatever else takes an http.Handler. Under gin and echo wrap the whole
// engine: echo's own middleware writes a handler's error only after the layer has
// stored the response. Put authentication outside of the layer, for what is inside
// is stored, a 401 too.
package idempotency

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/pending"
)

// Options are the settings of [New].
type Options struct {
	// Owner tells whose key space a request uses, from what was authenticated:
	// never from what a client may choose freely. An error or an empty string is
	// 401. Required: there is no anonymous space.
	Owner func(r *http.Request) (string, error)
	// Kind is the kind of the jobs where Intent is nil, and required then.
	Kind string
	// Intent makes the intent of a request: kind, target and params as a worker
	// will read them. Owner and Key are set afterwards. What it leaves out is no
	// part of the intent: which button was pressed, or which provider, so that a
	// click on "use the fallback" finds the same job. An error is 400 and is not
	// shown. Nil: params are the body (JSON by its media type, anything else
	// opaque), scope is method, path, query and media type.
	Intent func(r *http.Request, body []byte) (onejob.Intent, error)

	// Methods are those that need a key. Default: POST and PATCH. Others pass.
	Methods []string
	// Optional lets requests without a key through, without an identity.
	Optional bool
	// Strict refuses keys without quotation marks.
	Strict bool
	// MaxBody is how large a request's body may be. Default: 1 MiB. Params have
	// their own limit, see onejob.Options.
	MaxBody int64
	// Conflict is the status for a key that was used with other input. Default:
	// 409; the draft has 422.
	Conflict int
	// Location is where a job is found. Default: "/jobs/" and its ID.
	Location func(job onejob.Job) string
	// Problems is the base of the problem types' addresses. Default: this
	// module's documentation.
	Problems string
	// RetryAfter is when to ask again about a job that is under way in Create
	// mode. Default: one second.
	RetryAfter time.Duration

	// Create stores the intent in Create mode. Default: Jobs.Create. A host that
	// enqueues in the same transaction does so here.
	Create func(ctx context.Context, in onejob.Intent) (job onejob.Job, created bool, err error)

	// Provider is what attempts carry in Wrap mode. Default: "handler".
	Provider string
	// Timeout is the handler's time in Wrap mode; its context ends with it, and
	// not with the client. Default: 30 seconds.
	Timeout time.Duration
	// NoEffect are the statuses, of 400 and above, that the handler sends only where
	// nothing has happened. Default: 429; what is set replaces it.
	NoEffect []int
	// MaxResponse is how large a body may be to be replayed. Default: 256 KiB. It
	// must be well below onejob.Options.MaxResult.
	MaxResponse int
	// Replay are headers to be replayed beside Content-Type, Content-Encoding,
	// Content-Language, Vary, Location, Content-Location, ETag, Last-Modified and
	// Link. Set-Cookie and headers of authentication are refused.
	Replay []string
	// Logger gets what is worth a look, without keys and bodies; nil is silence.
	Logger *slog.Logger
}

// Layer is the middleware. It is safe for use by many goroutines.
type Layer struct {
	jobs   *onejob.Jobs
	o      Options
	replay map[string]bool
	log    *slog.Logger
	late   pending.Count // what is written after its request was answered
}

// problemBase is where the problem types are documented.
const problemBase = "https://github.com/onejob-go/onejob/blob/main/docs/http.md#problem-"

// New checks the settings. Its error names the field.
func New(jobs *onejob.Jobs, o Options) (*Layer, error) {
	switch {
	case jobs == nil:
		return nil, errors.New("idempotency: jobs is required")
	case o.Owner == nil:
		return nil, errors.New("idempotency: Options.Owner is required: there is no anonymous key space")
	case o.Kind == "" && o.Intent == nil:
		return nil, errors.New("idempotency: Options.Kind is required where Intent is nil")
	case o.MaxBody < 0 || o.MaxResponse < 0 || o.Timeout < 0 || o.RetryAfter < 0:
		return nil, errors.New("idempotency: Options.MaxBody, MaxResponse, Timeout and RetryAfter must not be negative")
	case o.Conflict != 0 && o.Conflict != http.StatusConflict && o.Conflict != http.StatusUnprocessableEntity:
		return nil, errors.New("idempotency: Options.Conflict must be 409 or 422")
	}
	if slices.ContainsFunc(o.Methods, func(m string) bool { return m == "" || m != strings.ToUpper(m) }) {
		return nil, errors.New("idempotency: Options.Methods must hold methods in capitals, such as POST")
	}
	if slices.ContainsFunc(o.NoEffect, func(status int) bool { return status < 400 || status > 599 }) {
		return nil, errors.New("idempotency: Options.NoEffect must hold statuses of 400 and above")
	}
	if o.Problems != "" {
		if u, err := url.Parse(o.Problems); err != nil || !u.IsAbs() {
			return nil, errors.New("idempotency: Options.Problems must be an absolute address")
		}
	}
	o.defaults(jobs)
	l := &Layer{jobs: jobs, o: o, log: o.Logger, replay: map[string]bool{}}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	for _, name := range append(slices.Clone(replayed), o.Replay...) {
		name = http.CanonicalHeaderKey(name)
		if never[name] {
			return nil, errors.New("idempotency: Options.Replay must not hold " + name + ": it is one caller's own")
		}
		l.replay[name] = true
	}
	return l, nil
}

func (o *Options) defaults(jobs *onejob.Jobs) {
	if len(o.Methods) == 0 {
		o.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	if o.Conflict == 0 {
		o.Conflict = http.StatusConflict
	}
	if o.Location == nil {
		o.Location = func(job onejob.Job) string { return "/jobs/" + string(job.ID) }
	}
	if o.Problems == "" {
		o.Problems = problemBase
	}
	if o.RetryAfter == 0 {
		o.RetryAfter = time.Second
	}
	if o.Create == nil {
		o.Create = jobs.Create
	}
	if o.Provider == "" {
		o.Provider = "handler"
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.NoEffect == nil {
		o.NoEffect = []int{http.StatusTooManyRequests}
	}
	if o.MaxResponse == 0 {
		o.MaxResponse = 256 << 10
	}
	if o.Intent == nil {
		kind := o.Kind
		o.Intent = func(r *http.Request, body []byte) (onejob.Intent, error) { return plainIntent(kind, r, body), nil }
	}
}

// replayed are the headers that belong to the answer, not to one sending of it.
var replayed = []string{"Content-Type", "Content-Encoding", "Content-Language", "Vary", "Location", "Content-Location", "Etag", "Last-Modified", "Link"}

// never are headers that belong to one caller or one connection.
var never = map[string]bool{
	"Set-Cookie": true, "Authorization": true, "Www-Authenticate": true, "Proxy-Authenticate": true,
	"Proxy-Authorization": true, "Authentication-Info": true, "Date": true, "Connection": true, "Keep-Alive": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Content-Length": true, "Proxy-Connection": true,
}

// needsKey reports whether a request is one that the layer looks at.
func (l *Layer) needsKey(r *http.Request) bool {
	return slices.Contains(l.o.Methods, r.Method) && (!l.o.Optional || len(r.Header.Values(keyHeader)) > 0)
}

// mediaType is the media type without parameters, in lower case.
func mediaType(r *http.Request) string {
	text, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(text))
}
