package maintenance_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/maintenance"
)

// slowTurn is a store that takes its time to give a turn.
type slowTurn struct {
	onejob.Store
	onejob.TurnStore
	onejob.OperatorStore
	asked, give chan struct{}
}

func (s slowTurn) TakeTurn(ctx context.Context, name, holder string, d time.Duration, clock func() time.Time) (bool, error) {
	s.asked <- struct{}{}
	<-s.give
	return s.TurnStore.TakeTurn(context.WithoutCancel(ctx), name, holder, d, clock)
}

// Nothing begins once the loop was told to stop, also where it was asking for its
// turn just then.
func TestNothingBeginsAfterStopHasBeenCalled(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		w.final(3)
		time.Sleep(time.Hour)
		s := slowTurn{w.store, w.store.(onejob.TurnStore), w.store.(onejob.OperatorStore), make(chan struct{}), make(chan struct{})}
		w.jobs = onejob.New(s, nil)
		l := w.loop(maintenance.Config{Purge: maintenance.Purge{Every: time.Minute,
			Retention: onejob.Retention{Payloads: time.Minute}}})
		require.NoError(w, l.Start())
		<-s.asked
		stopped := make(chan error, 1)
		go func() { stopped <- l.Stop(w.Context()) }()
		synctest.Wait() // Stop waits for it
		close(s.give)
		require.NoError(w, <-stopped)
		require.Zero(w, w.stats().Purged)
		require.EqualValues(w, 1, l.Counters().Purge.Stopped)
	})
}
