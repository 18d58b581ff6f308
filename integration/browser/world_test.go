package browser

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/console"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/onejobtest"
)

// ops is a host with its jobs and the console under /ops/.
type ops struct {
	*testing.T
	jobs *onejob.Jobs
	op   *onejob.Operator
	opts console.Options
	url  string
}

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(o *ops)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(newOps(t, onejob.New(dbtest.Postgres(t), nil)))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(newOps(t, onejob.New(dbtest.SQLite(t), nil)))
	})
}

func newOps(t *testing.T, jobs *onejob.Jobs) *ops {
	return &ops{T: t, jobs: jobs, op: onejob.NewOperator(jobs)}
}

// still is a host whose clock stands still unless the test moves it.
func still(t *testing.T) (*ops, *onejobtest.Env) {
	env := onejobtest.New(t, nil)
	o := newOps(t, env.Jobs)
	o.opts.Now = env.Now
	return o, env
}

// open serves the console and opens a window.
func (o *ops) open() *tab {
	o.Helper()
	c, err := console.New(o.jobs, &o.opts)
	require.NoError(o, err)
	mux := http.NewServeMux()
	mux.Handle("/ops/", http.StripPrefix("/ops", c))
	s := httptest.NewServer(mux)
	o.Cleanup(s.Close)
	o.url = s.URL
	return open(o.T, s.URL)
}

func (o *ops) begin(key, provider string, timeout time.Duration) onejob.Attempt {
	o.Helper()
	_, a, err := o.jobs.Start(o.Context(), onejob.Intent{Owner: "user-7", Key: key, Kind: "charge", Params: []byte(`{"amount":1200}`)},
		onejob.Try{Provider: provider, Timeout: timeout})
	require.NoError(o, err)
	return a
}

func (o *ops) doubt(key string) onejob.Attempt {
	o.Helper()
	a := o.begin(key, "acme-pay", time.Hour)
	_, err := o.jobs.MarkUnknown(o.Context(), a, io.ErrUnexpectedEOF)
	require.NoError(o, err)
	return a
}

func (o *ops) stands(id onejob.AttemptID) (onejob.Job, onejob.Attempt) {
	o.Helper()
	job, a, err := o.jobs.GetAttempt(context.Background(), id)
	require.NoError(o, err)
	return job, a
}
