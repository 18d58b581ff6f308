package shop

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// service is the shop on a database of the test's own, with its worker running.
type service struct {
	*testing.T
	jobs  *onejob.Jobs
	queue *river.Client[*sql.Tx]
	calls atomic.Int64
	url   string
}

func newService(t *testing.T, call func(s *service) error) *service {
	db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	driver := riverdatabasesql.New(db)
	quiet := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)

	s := &service{T: t, jobs: onejob.New(store, nil)}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{jobs: s.jobs, op: onejob.NewOperator(s.jobs), call: func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		s.calls.Add(1)
		time.Sleep(200 * time.Millisecond) // so that the second delivery comes meanwhile
		return []byte(`{"receipt":"ch_1"}`), call(s)
	}})
	s.queue, err = river.NewClient(driver, &river.Config{
		Logger: quiet, Workers: workers, FetchPollInterval: 100 * time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 8}},
	})
	require.NoError(t, err)
	require.NoError(t, s.queue.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, s.queue.Stop(ctx))
	})
	layer, err := idempotency.New(s.jobs, idempotency.Options{
		Kind: "order", Create: accept(s.jobs, s.queue),
		Owner: func(*http.Request) (string, error) { return "user-7", nil },
	})
	require.NoError(t, err)
	server := httptest.NewServer(layer.Create())
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *service) click(key string) int {
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url, strings.NewReader(`{"item":"pen"}`))
	require.NoError(s, err)
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", `"`+key+`"`)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s, err)
	resp.Body.Close()
	return resp.StatusCode
}

func (s *service) status(key string) onejob.Status {
	job, err := s.jobs.GetByKey(s.Context(), "user-7", key)
	require.NoError(s, err)
	return job.Status()
}

func (s *service) queued() (n int) {
	list, err := s.queue.JobList(s.Context(), river.NewJobListParams().States(rivertype.JobStateAvailable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled, rivertype.JobStateCompleted, rivertype.JobStateCancelled))
	require.NoError(s, err)
	return len(list.Jobs)
}

// Many clicks are one job and one place in the queue.
func TestManyClicksAreEnqueuedOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, func(*service) error { return nil })
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { require.Contains(t, []int{http.StatusAccepted, http.StatusOK}, s.click("k")) })
	}
	group.Wait()
	require.Eventually(t, func() bool { return s.status("k") == onejob.StatusCompleted }, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, 1, s.queued())
	require.Equal(t, int64(1), s.calls.Load())
	require.Equal(t, http.StatusOK, s.click("k"))
}

// Delivered twice, and at once: executed once.
func TestDeliveredTwiceIsExecutedOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, func(*service) error { return nil })
	job, _, err := s.jobs.Create(t.Context(), onejob.Intent{Owner: "user-7", Key: "k", Kind: "order", Params: []byte("{}")})
	require.NoError(t, err)
	for range 5 {
		_, err := s.queue.Insert(t.Context(), workArgs{job.ID}, nil)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		list, err := s.queue.JobList(t.Context(), river.NewJobListParams().States(rivertype.JobStateCompleted))
		require.NoError(t, err)
		return len(list.Jobs) == 5 && s.status("k") == onejob.StatusCompleted
	}, 30*time.Second, 50*time.Millisecond)
	require.Equal(t, int64(1), s.calls.Load())
}

// A doubt is not retried by the queue.
func TestADoubtIsNotRetried(t *testing.T) {
	t.Parallel()
	s := newService(t, func(*service) error { return errors.New("connection reset") })
	require.Equal(t, http.StatusAccepted, s.click("k"))
	require.Eventually(t, func() bool {
		list, err := s.queue.JobList(t.Context(), river.NewJobListParams().States(rivertype.JobStateCancelled))
		require.NoError(t, err)
		return len(list.Jobs) == 1
	}, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, onejob.StatusUnknown, s.status("k"))
	require.Equal(t, int64(1), s.calls.Load())
}
