package pgdial_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "o", Key: key, Kind: "charge"}
}

// scene is what an operation works on: a job, its attempt where the operation
// needs one, and the attempt ID to repeat with.
type scene struct {
	jobs    *onejob.Jobs
	job     onejob.Job
	attempt onejob.Attempt
	repeat  onejob.AttemptID
}

// fresh is an intent for which there is no job yet.
func (s *scene) fresh() onejob.Intent { return intent(s.job.Key + " new") }

func (s *scene) try() onejob.Try {
	return onejob.Try{Provider: "acme", Timeout: time.Hour, ID: s.repeat}
}

// minted keeps the ID of the attempt, also of one whose fate is not known.
func (s *scene) minted(a onejob.Attempt, err error) error {
	var e *onejob.Error
	if errors.As(err, &e) && errors.Is(err, onejob.ErrUnavailable) && e.Attempt != nil {
		a = *e.Attempt
	}
	if a.ID != "" {
		s.repeat = a.ID
	}
	return err
}

// operation is one of Jobs, and what must be so in the end. It is repeated
// until it has a definite answer.
type operation struct {
	name          string
	begun, writes bool
	run           func(ctx context.Context, s *scene) error
	want          onejob.Status
}

var errCall = errors.New("the call failed")

var operations = []operation{
	{"Create", false, true, func(ctx context.Context, s *scene) error {
		_, _, err := s.jobs.Create(ctx, s.fresh())
		return err
	}, onejob.StatusPending},
	{"BeginAttempt", false, true, func(ctx context.Context, s *scene) error {
		return s.minted(s.jobs.BeginAttempt(ctx, s.job, s.try()))
	}, onejob.StatusRunning},
	{"Start", false, true, func(ctx context.Context, s *scene) error {
		_, a, err := s.jobs.Start(ctx, s.job.Intent, s.try())
		return s.minted(a, err)
	}, onejob.StatusRunning},
	{"Do", false, true, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.Do(ctx, s.job.Intent, s.try(), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return []byte("result"), nil
		})
		return s.minted(onejob.Attempt{}, err)
	}, onejob.StatusCompleted},
	{"Complete", true, true, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.Complete(ctx, s.attempt, []byte("result"))
		return err
	}, onejob.StatusCompleted},
	{"CompleteTx", true, true, func(ctx context.Context, s *scene) error {
		return s.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := s.jobs.CompleteTx(ctx, tx, s.attempt, []byte("result"))
			return err
		})
	}, onejob.StatusCompleted},
	{"Fail", true, true, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.Fail(ctx, s.attempt, onejob.NoEffect(errCall))
		return err
	}, onejob.StatusPending},
	{"MarkUnknown", true, true, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.MarkUnknown(ctx, s.attempt, errCall)
		return err
	}, onejob.StatusUnknown},
	{"Extend", true, true, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.Extend(ctx, s.attempt, 2*time.Hour)
		return err
	}, onejob.StatusRunning},
	{"SetExternalRef", true, true, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.SetExternalRef(ctx, s.attempt, "ch_1")
		return err
	}, onejob.StatusRunning},
	{"Get", true, false, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.Get(ctx, "o", s.job.ID)
		return err
	}, onejob.StatusRunning},
	{"GetByKey", true, false, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.GetByKey(ctx, "o", s.job.Key)
		return err
	}, onejob.StatusRunning},
	{"GetAttempt", true, false, func(ctx context.Context, s *scene) error {
		_, _, err := s.jobs.GetAttempt(ctx, s.attempt.ID)
		return err
	}, onejob.StatusRunning},
	{"Attempts", true, false, func(ctx context.Context, s *scene) error {
		_, err := s.jobs.Attempts(ctx, "o", s.job.ID)
		return err
	}, onejob.StatusRunning},
}

// prepare sets the scene on a pool that nothing befalls.
func (op operation) prepare(t *testing.T, key string, direct, jobs *onejob.Jobs) *scene {
	t.Helper()
	job, _, err := direct.Create(t.Context(), intent(key))
	require.NoError(t, err)
	s := &scene{jobs: jobs, job: job}
	if op.begun {
		s.attempt, err = direct.BeginAttempt(t.Context(), job, onejob.Try{Provider: "acme", Timeout: time.Hour})
		require.NoError(t, err)
	}
	return s
}

// connection is the one on which an operation failed, by its own address.
func connection(err error) string {
	var e *onejob.Error
	var network *net.OpError
	if !errors.As(err, &e) || !errors.As(e.Cause, &network) || network.Source == nil {
		return ""
	}
	return network.Source.String()
}

// settles repeats the operation, which the network now lets through, and looks
// at what there is. The connections of the pool that went silent before are found
// out one by one, none of them twice. On a busy machine the server itself may
// seem silent on a new one, so there is no number of tries that is enough.
func (op operation) settles(t *testing.T, direct *onejob.Jobs, s *scene) {
	t.Helper()
	var err error
	silent := map[string]bool{}
	for begin := time.Now(); time.Since(begin) < watchdog; {
		within(t, op.name+" repeated", func() { err = op.run(t.Context(), s) })
		if !errors.Is(err, onejob.ErrUnavailable) {
			break
		}
		if c := connection(err); c != "" {
			require.False(t, silent[c], "a connection that was found silent serves again")
			silent[c] = true
		}
	}
	require.NoError(t, err, "repeated")
	key := s.job.Key
	if op.name == "Create" {
		key = s.fresh().Key
	}
	job, err := direct.GetByKey(t.Context(), "o", key)
	require.NoError(t, err)
	require.Equal(t, op.want, job.Status())
	attempts, err := direct.Attempts(t.Context(), "o", job.ID)
	require.NoError(t, err)
	require.LessOrEqual(t, len(attempts), 1, "a repeat began another: %v", attempts)
	if op.want == onejob.StatusCompleted {
		require.Equal(t, attempts[0].ID, job.Attempt.ID)
		require.Equal(t, sha256.Sum256([]byte("result")), sha256.Sum256(job.Result))
	}
}
