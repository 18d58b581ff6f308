package failover_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// world is a database, some local servers, and a contract that they have to
// keep.
type world struct {
	*testing.T
	store    onejob.Store
	jobs     *onejob.Jobs
	op       *onejob.Operator
	contract *contract.Contract
	servers  []*chattest.Server
	targets  []provider.Provider
	where    errand // for other processes
}

// onBoth runs a test on both stores, with so many servers: first, second, third.
func onBoth(t *testing.T, servers int, test func(w *world)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := dbtest.PostgresDSN(t)
		store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, dsn), nil)
		require.NoError(t, err)
		test(newWorld(t, store, servers, errand{DSN: dsn}))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "onejob.db")
		store, err := onejob.OpenSQLite(t.Context(), file, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		require.NoError(t, store.Migrate(t.Context()))
		test(newWorld(t, store, servers, errand{File: file}))
	})
}

var names = []string{"first", "second", "third"}

func newWorld(t *testing.T, store onejob.Store, servers int, where errand) *world {
	w := &world{T: t, store: store, jobs: onejob.New(store, nil), where: where}
	w.op = onejob.NewOperator(w.jobs)
	var err error
	w.contract, err = chattest.Contract()
	require.NoError(t, err)
	w.serve(servers)
	return w
}

// serve starts servers of its own for the world.
func (w *world) serve(n int) {
	w.servers, w.targets = nil, nil
	for i := range n {
		s, err := chattest.Serve()
		require.NoError(w, err)
		w.Cleanup(func() { s.Close() })
		p, err := s.Provider(names[i])
		require.NoError(w, err)
		w.servers, w.targets = append(w.servers, s), append(w.targets, p)
	}
}

func (w *world) settings() failover.Config {
	return failover.Config{Kind: "order", Providers: slices.Clone(w.targets), Contract: w.contract, Timeout: 20 * time.Second}
}

// runner is one with the settings changed; it is waited for when the test ends.
func (w *world) runner(change ...func(c *failover.Config)) *failover.Runner {
	w.Helper()
	c := w.settings()
	for _, f := range change {
		f(&c)
	}
	r, err := failover.New(w.jobs, c)
	require.NoError(w, err)
	w.Cleanup(func() {
		for _, s := range w.servers {
			s.Release()
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(w, r.Wait(ctx))
	})
	return r
}

// qualify lets a target prove itself, really, and forgets the requests.
func (w *world) qualify(targets ...int) {
	w.Helper()
	for _, i := range targets {
		r, err := w.contract.Qualify(w.Context(), w.targets[i], &contract.QualifyOptions{Parallel: 4})
		require.NoError(w, err)
		require.True(w, r.Passed(), "%s", r)
		_, err = contract.Save(w.Context(), w.op, r)
		require.NoError(w, err)
		w.servers[i].Forget()
	}
}

var order = func() []byte {
	params, err := json.Marshal(chattest.Order{Items: []chattest.Item{{Name: "pen", Cents: 120, Count: 3}}})
	if err != nil {
		panic(err)
	}
	return params
}()

func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "owner-1", Key: key, Kind: "order", Params: order}
}

// requireDone is that the job is completed, by that target, with the sum.
func (w *world) requireDone(job onejob.Job, err error, target int) {
	w.Helper()
	require.NoError(w, err)
	require.Equal(w, onejob.JobCompleted, job.State)
	require.Equal(w, names[target], job.Attempt.Provider)
	var sum chattest.Sum
	require.NoError(w, json.Unmarshal(job.Result, &sum))
	require.Equal(w, int64(360), sum.Total)
}

// calls are how many requests each server has seen, look-ups aside.
func (w *world) calls() []int {
	var list []int
	for _, s := range w.servers {
		n := 0
		for _, r := range s.Requests() {
			if !r.Lookup {
				n++
			}
		}
		list = append(list, n)
	}
	return list
}

func (w *world) states(job onejob.JobID) []string {
	w.Helper()
	_, attempts, err := w.op.Get(w.Context(), job)
	require.NoError(w, err)
	var list []string
	for _, a := range attempts {
		list = append(list, a.Provider+" "+string(a.State))
	}
	return list
}

var word = onejob.Decision{By: "ada", Reason: "asked the provider"}

func short(c *failover.Config) { c.Timeout = 2 * time.Second }

type config = failover.Config
