package onejob_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// Who asks later whether anything began after a revocation reads the two times.
func TestARevocationThatWaitedIsNotOlderThanWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	need := onejob.Requirement{Contract: "c", Model: "m", Fingerprint: "f"}
	_, err := l.op.SaveQualification(t.Context(), onejob.Qualification{Provider: "second", Requirement: need, Runs: 1, Passes: 1}, time.Hour)
	require.NoError(t, err)
	var q onejob.Qualification
	var begins time.Time
	l.behindA(`SELECT 1 FROM onejob.qualifications FOR SHARE`, nil, func() (err error) {
		q, err = l.op.RevokeQualification(t.Context(), "second", need, lockWord)
		return err
	}, func(tx *sql.Tx) { require.NoError(t, tx.QueryRow(`SELECT clock_timestamp()`).Scan(&begins)) })
	require.False(t, q.RevokedAt.Before(begins), "revoked at %v, what it waited for was at %v", q.RevokedAt, begins)
}

// The words and the time of a decision stay when another one waited for it.
func TestARevocationThatWaitedForAnotherKeepsItsWords(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	need := onejob.Requirement{Contract: "c", Model: "m", Fingerprint: "f"}
	_, err := l.op.SaveQualification(t.Context(), onejob.Qualification{Provider: "second", Requirement: need, Runs: 1, Passes: 1}, time.Hour)
	require.NoError(t, err)
	var q onejob.Qualification
	l.behindA(`UPDATE onejob.qualifications SET revoked_at = clock_timestamp(), by = 'first', reason = 'first'`, nil, func() (err error) {
		q, err = l.op.RevokeQualification(t.Context(), "second", need, lockWord)
		return err
	}, func(*sql.Tx) {})
	require.Equal(t, "first", q.By)
}
