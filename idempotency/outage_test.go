package idempotency_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/onejobtest"
)

// H13, H14 on a server that is really killed, in the middle of a handler.
func TestTheDatabaseDiesInMidHandler(t *testing.T) {
	t.Parallel()
	cluster, err := dbtest.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, cluster.DSN("postgres")), nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	w := newWorld(t, store)
	w.wrap(func(rw http.ResponseWriter, r *http.Request) {
		if w.runs.Load() == 1 {
			require.NoError(w, cluster.Kill())
		}
		created(rw, r)
	}, func(o *idempotency.Options) { o.Timeout = 2 * time.Second })
	require.Equal(t, http.StatusCreated, w.send(key("k")).StatusCode, "the first caller gets the real response")

	a := w.send(key("l"))
	w.problem(a, http.StatusServiceUnavailable, "store-unavailable")
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Equal(t, int64(1), w.runs.Load())

	time.Sleep(2500 * time.Millisecond) // past the attempt's time
	require.NoError(t, cluster.Boot())
	require.Eventually(t, func() bool {
		return w.only("user-7", "k").Status() == onejob.StatusUnknown
	}, 20*time.Second, 20*time.Millisecond)
	w.problem(w.send(key("k")), http.StatusConflict, "outcome-unknown")
	require.Equal(t, http.StatusCreated, w.send(key("l")).StatusCode)
	require.Equal(t, int64(2), w.runs.Load())
}

// The same on SQLite, by the door of package onejobtest.
func TestTheStoreFailsInMidHandler(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	w := newWorld(t, env.Store)
	w.wrap(func(rw http.ResponseWriter, r *http.Request) {
		if w.runs.Load() == 1 {
			env.Down()
		}
		created(rw, r)
	}, func(o *idempotency.Options) { o.Timeout = time.Second })
	require.Equal(t, http.StatusCreated, w.send(key("k")).StatusCode)
	w.problem(w.send(key("l")), http.StatusServiceUnavailable, "store-unavailable")
	require.Contains(t, w.logs.String(), "not stored as it said")
	time.Sleep(1500 * time.Millisecond) // past the time for which it is tried again
	env.Up()
	w.problem(w.send(key("k")), http.StatusConflict, "request-outstanding") // this store's clock stands still
	env.Advance(time.Hour)
	w.problem(w.send(key("k")), http.StatusConflict, "outcome-unknown")
	require.Equal(t, int64(1), w.runs.Load())
}
