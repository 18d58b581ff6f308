package failover_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

type chattestRequest = chattest.Request

func TestAWalkGoesOnWhereItStood(t *testing.T) {
	t.Parallel()
	onBoth(t, 3, func(w *world) {
		w.qualify(1, 2)
		for _, s := range w.servers {
			s.Refuse(http.StatusTooManyRequests)
		}
		once := w.runner(func(c *config) { c.Tries = 1 })
		for range 3 {
			job, err := once.Run(w.Context(), intent("k"))
			require.ErrorIs(w, err, failover.ErrTriesUsed)
			require.ErrorIs(w, err, failover.ErrNoTargetLeft)
			require.Equal(w, onejob.JobOpen, job.State)
		}
		require.Equal(w, []int{1, 1, 1}, w.calls(), "each has had its one try")
		r := w.runner()
		for range 3 {
			_, err := r.Run(w.Context(), intent("k"))
			require.ErrorIs(w, err, failover.ErrNoTargetLeft)
		}
		_, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, failover.ErrTriesUsed)
		require.Equal(w, []int{3, 3, 3}, w.calls(), "a run asks each once, all runs three times")
		w.servers[1].Well()
		job, err := w.runner(func(c *config) { c.Tries = 4 }).Run(w.Context(), intent("k"))
		w.requireDone(job, err, 1)
		require.Equal(w, []int{4, 4, 3}, w.calls())
	})
}

// Whoever goes on begins with those that have not been asked.
func TestAWalkThatStoppedBeginsWithTheNext(t *testing.T) {
	t.Parallel()
	onBoth(t, 3, func(w *world) {
		w.servers[0].Refuse(http.StatusTooManyRequests)
		_, err := w.runner().Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrNotQualified)
		w.qualify(1, 2)
		w.servers[1].Refuse(http.StatusTooManyRequests)
		job, err := w.runner().Run(w.Context(), intent("k"))
		w.requireDone(job, err, 2)
		require.Equal(w, []int{1, 1, 1}, w.calls())
	})
}

func TestTheCompletedJobIsTheAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		r := w.runner()
		for range 3 {
			job, err := r.Run(w.Context(), intent("k"))
			w.requireDone(job, err, 0)
		}
		require.Equal(w, []int{1, 0}, w.calls())
		other := intent("k")
		other.Params = []byte(`{"items":[]}`)
		_, err := r.Run(w.Context(), other)
		require.ErrorIs(w, err, onejob.ErrKeyConflict, "other input never gets this result")
	})
}

func TestWhatTheJobRefusesTheRunRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		r := w.runner()
		canceled, _, err := w.jobs.Create(w.Context(), intent("canceled"))
		require.NoError(w, err)
		_, err = w.op.CancelJob(w.Context(), canceled.ID, word)
		require.NoError(w, err)
		_, err = r.Run(w.Context(), intent("canceled"))
		require.ErrorIs(w, err, onejob.ErrJobCanceled)

		wrong := intent("k")
		wrong.Kind = "refund"
		_, err = r.Run(w.Context(), wrong)
		require.ErrorIs(w, err, onejob.ErrInvalid)
		wrong = intent("k")
		wrong.Target = "nobody"
		_, err = r.Run(w.Context(), wrong)
		require.ErrorIs(w, err, onejob.ErrInvalid)
		wrong = intent("")
		_, err = r.Run(w.Context(), wrong)
		require.ErrorIs(w, err, onejob.ErrInvalid)

		ended, cancel := context.WithCancel(w.Context())
		cancel()
		_, err = r.Run(ended, intent("k"))
		require.ErrorIs(w, err, onejob.ErrUnavailable)
		require.Equal(w, []int{0, 0}, w.calls())
	})
}

// The provider that the intent itself names is the only one.
func TestAnIntentWithATargetIsForThatOneAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, 3, func(w *world) {
		w.qualify(1, 2)
		w.servers[1].Refuse(http.StatusTooManyRequests)
		in := intent("k")
		in.Target = "second"
		_, err := w.runner().Run(w.Context(), in)
		require.ErrorIs(w, err, failover.ErrNoTargetLeft)
		require.Equal(w, []int{0, 1, 0}, w.calls())
	})
}

func TestTheTotalTimeIsSharedByTheAttempts(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Refuse(http.StatusTooManyRequests)
		var later atomic.Int64 // the server's goroutine moves it
		r := w.runner(func(c *config) {
			c.Total = time.Minute
			c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		})
		job, err := r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 1)
		_, attempts, err := w.op.Get(w.Context(), job.ID)
		require.NoError(w, err)
		require.Equal(w, 20*time.Second, attempts[0].Timeout)

		w.servers[1].Refuse(http.StatusTooManyRequests)
		w.servers[0].Arrived(func(chattest.Request) { later.Store(int64(45 * time.Second)) })
		job, err = r.Run(w.Context(), intent("k2"))
		require.ErrorIs(w, err, failover.ErrNoTargetLeft)
		_, attempts, err = w.op.Get(w.Context(), job.ID)
		require.NoError(w, err)
		require.Greater(w, 15*time.Second, attempts[1].Timeout, "no more than what is left")

		w.servers[0].Arrived(func(chattest.Request) { later.Store(int64(58500 * time.Millisecond)) })
		later.Store(0)
		job, err = r.Run(w.Context(), intent("k3"))
		require.ErrorIs(w, err, failover.ErrOutOfTime, "too little is left for anything but a doubt")
		require.Len(w, w.states(job.ID), 1)
		job, err = r.Run(w.Context(), intent("k3"))
		require.ErrorIs(w, err, failover.ErrOutOfTime)
		require.Equal(w, onejob.JobOpen, job.State)
	})
}

func TestTheHandleIsKept(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		job, err := w.runner().Run(w.Context(), intent("k"))
		w.requireDone(job, err, 0)
		require.Equal(w, "run-1", job.Attempt.ExternalRef)
		require.Equal(w, job.Attempt.ProviderKey, w.servers[0].Requests()[0].Key, "one identity, to the provider's own")
	})
}

func TestABadConfigIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		for want, spoil := range map[string]func(c *config){
			"Config.Kind":         func(c *config) { c.Kind = "" },
			"Config.Providers m":  func(c *config) { c.Providers = nil },
			"none of them nil":    func(c *config) { c.Providers[1] = nil },
			"Config.Providers[1]": func(c *config) { c.Providers[1] = c.Providers[0] },
			"Config.Timeout":      func(c *config) { c.Timeout = 0 },
			"Config.Total":        func(c *config) { c.Total = -1 },
			"Config.Patience":     func(c *config) { c.Patience = c.Timeout },
			"Timeout and Total":   func(c *config) { c.Patience, c.Total = 3*time.Second, 3*time.Second },
			"a tenth of Timeout":  func(c *config) { c.Total = time.Second },
			"Config.Racers":       func(c *config) { c.Racers = 3 },
			"of two or more":      func(c *config) { c.Patience, c.Racers = 1, 1 },
			"Config.By":           func(c *config) { c.By = strings.Repeat("x", 129) },
			"1 to 63 bytes": func(c *config) {
				c.Providers[1] = routed{c.Providers[1], provider.Route{Name: strings.Repeat("x", 64), Model: "m"}}
			},
			"a model of":         func(c *config) { c.Providers[1] = routed{c.Providers[1], provider.Route{Name: "x"}} },
			"Config.Contract":    func(c *config) { c.Contract = nil },
			"Config.Unproven":    func(c *config) { c.Contract, c.Unproven = nil, true },
			"without a Contract": func(c *config) { c.Patience, c.Unproven = 1, true },
		} {
			c := w.settings()
			c.Providers = append(c.Providers[:0:0], c.Providers...)
			spoil(&c)
			_, err := failover.New(w.jobs, c)
			require.ErrorContains(w, err, want)
		}
		_, err := failover.New(nil, w.settings())
		require.ErrorContains(w, err, "jobs")
	})
}
