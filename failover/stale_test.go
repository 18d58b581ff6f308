package failover_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// between does something once, just before an attempt is begun: after the walk
// has looked at the job.
type between struct {
	onejob.Store
	onejob.QualificationStore
	once *sync.Once
	do   func()
}

func (b between) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	b.once.Do(b.do)
	return b.Store.Start(ctx, p, try)
}

// Another worker has made the job's first attempt since this one looked: the
// provider that this one takes for the first has to prove itself like any other.
func TestAnAttemptOnAnOldViewAsksNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Refuse(http.StatusTooManyRequests)
		other := w.runner()
		store := between{w.store, w.store.(onejob.QualificationStore), new(sync.Once), func() {
			_, err := other.Run(w.Context(), intent("k"))
			require.ErrorIs(w, err, onejob.ErrNotQualified)
		}}
		w.jobs = onejob.New(store, nil)
		r := w.runner(func(c *config) { c.Providers[0], c.Providers[1] = w.targets[1], w.targets[0] })
		job, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrNotQualified)
		require.Equal(w, []int{1, 0}, w.calls())
		require.Equal(w, []string{"first failed", "second failed"}, w.states(job.ID))
		w.servers[1].Well()
		w.qualify(1)
		job, err = r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 1)
	})
}
