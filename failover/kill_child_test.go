package failover_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// childEnv holds an errand, in a process that a test has started.
const childEnv = "ONEJOB_FAILOVER_CHILD"

// errand is one Run in a process of its own, which kills itself at a step.
type errand struct {
	DSN, File string
	URLs      []string
	Key       string
	Kill      int // at which step; 0: never
	Patience  time.Duration
}

// childTimeout is an attempt's in the children.
const childTimeout = 700 * time.Millisecond

// The exits of a child that was not killed.
const (
	exitDone    = 0
	exitRefused = 3 // the run ended without a result
	exitBroken  = 4
)

// steps counts what a walk does, and kills the process at one of them. A death
// before a step is the same as one after the step before.
type steps struct {
	at   int64
	done atomic.Int64
}

func (s *steps) next() {
	if s.done.Add(1) == s.at {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func child(raw string) {
	job, err := run(raw)
	switch {
	case err == nil && job.State == onejob.JobCompleted:
		os.Exit(exitDone)
	case errors.As(err, new(*failover.Error)):
		fmt.Println(err)
		os.Exit(exitRefused)
	}
	fmt.Println(err)
	os.Exit(exitBroken)
}

func run(raw string) (onejob.Job, error) {
	var e errand
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		return onejob.Job{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s := &steps{at: int64(e.Kill)}
	store, err := e.open(ctx, s)
	if err != nil {
		return onejob.Job{}, err
	}
	c, err := chattest.Contract()
	if err != nil {
		return onejob.Job{}, err
	}
	http.DefaultTransport = stepTransport{http.DefaultTransport, s}
	var targets []provider.Provider
	for i, url := range e.URLs {
		p, err := chattest.ProviderAt(url, names[i])
		if err != nil {
			return onejob.Job{}, err
		}
		targets = append(targets, p)
	}
	r, err := failover.New(onejob.New(store, nil), failover.Config{
		Kind: "order", Providers: targets, Contract: c, Timeout: childTimeout, Patience: e.Patience, Grace: time.Millisecond,
	})
	if err != nil {
		return onejob.Job{}, err
	}
	return r.Run(ctx, intent(e.Key))
}

func (e errand) open(ctx context.Context, s *steps) (onejob.Store, error) {
	if e.File != "" {
		store, err := onejob.OpenSQLite(ctx, e.File, nil)
		if err != nil {
			return nil, err
		}
		return stepStore{store, store, s}, nil
	}
	db, err := sql.Open("postgres", e.DSN)
	if err != nil {
		return nil, err
	}
	store, err := onejob.NewPostgresStore(db, nil)
	return stepStore{store, store, s}, err
}

// stepTransport may die before a request is sent, once it is written, and when
// its answer is there.
type stepTransport struct {
	http.RoundTripper
	s *steps
}

func (t stepTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.s.next()
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { t.s.next() }})
	defer t.s.next()
	return t.RoundTripper.RoundTrip(r.WithContext(ctx))
}

// stepStore may die before each operation.
type stepStore struct {
	onejob.Store
	onejob.QualificationStore
	s *steps
}

func (s stepStore) Create(ctx context.Context, p onejob.CreateParams) (onejob.Record, error) {
	s.s.next()
	return s.Store.Create(ctx, p)
}

func (s stepStore) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	s.s.next()
	return s.Store.Start(ctx, p, try)
}

func (s stepStore) Begin(ctx context.Context, p onejob.BeginParams) (onejob.Record, bool, error) {
	s.s.next()
	return s.Store.Begin(ctx, p)
}

func (s stepStore) Complete(ctx context.Context, p onejob.CompleteParams) (onejob.Record, bool, error) {
	s.s.next()
	return s.Store.Complete(ctx, p)
}

func (s stepStore) Settle(ctx context.Context, p onejob.SettleParams) (onejob.Record, bool, error) {
	s.s.next()
	return s.Store.Settle(ctx, p)
}

func (s stepStore) Amend(ctx context.Context, p onejob.AmendParams) (onejob.Record, bool, error) {
	s.s.next()
	return s.Store.Amend(ctx, p)
}

func (s stepStore) Find(ctx context.Context, p onejob.FindParams) (onejob.Record, error) {
	s.s.next()
	return s.Store.Find(ctx, p)
}
