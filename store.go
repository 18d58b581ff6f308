package onejob

import (
	"context"
	"database/sql"
	"time"
)

// Store keeps jobs and attempts. [PostgresStore] and [SQLiteStore] are the
// two that come with the library; a third party may write another and prove
// it with package storetest.
//
// Each method is one atomic step: all of it is durable when the method
// returns without an error, or none of it ever happens, unless it returns an
// error, after which both are possible. Callers repeat a step whose fate they
// do not know, with the same IDs, so a repeated step must find what the first
// one left and must not do it again.
//
// What must hold, under any number of processes:
//
//   - (owner, key) is unique, forever: two Creates at the same instant leave
//     one row;
//   - at most one attempt of a job is started or unknown;
//   - a job changes only while its state is open, except that Purge empties
//     final ones; each change raises its version by exactly one;
//   - an attempt begins only on an open job, and not while the job is being
//     completed or canceled;
//   - owner, key and IDs are compared byte for byte; params and results are
//     kept byte for byte; an empty payload is kept as empty;
//   - times are whole microseconds; an attempt that is started and past its
//     deadline is reported as unknown by every method, swept or not.
//
// Expected outcomes are never errors: a step that was not applied returns
// false, and the caller asks Find why. Errors are for what the database could
// not answer. A store must return an *Error with ErrUnsupported for a field
// that it does not know, and never ignore it.
type Store interface {
	// Create stores the job unless the owner has the key already. It returns
	// the job that holds the key. A record without an ID means that the holder
	// was not seen: the caller asks Find, and again.
	Create(ctx context.Context, p CreateParams) (Record, error)

	// Start is Create and Begin in one step, all or nothing. It reports false,
	// having done nothing, when the key exists. Where Require is not met it stores
	// the job alone, and returns that with Record.Unqualified.
	Start(ctx context.Context, p CreateParams, try BeginParams) (Record, bool, error)

	// Begin starts the attempt if the job exists under the owner, is open, has
	// no open attempt, has fewer than Max attempts and none with this ID. Its
	// number is the highest of the job plus one, its job version the job's,
	// its deadline now plus Timeout; its provider key counts the failed
	// attempts of this provider at this job.
	//
	// It reports whether this call began it. If not, the record, where it has
	// an ID, says what was in the way, with Record.Attempt and Record.Count;
	// if nothing was, the caller asks Find, and again. Where only Require was in
	// the way it says so in Record.Unqualified.
	Begin(ctx context.Context, p BeginParams) (Record, bool, error)

	// Complete swaps the job to completed if it is open, unwon and at Version,
	// and the attempt is started, unknown or detached, which then has
	// succeeded. It reports whether it did; then OnComplete, where set, has
	// run in the same transaction, and its error has undone everything and is
	// returned as it is.
	//
	// If the swap is lost, an attempt that could have won becomes late, and an
	// attempt other than the winner keeps the evidence (time, size, digest) of
	// the first result that lost. Not a byte of the result is kept.
	Complete(ctx context.Context, p CompleteParams) (Record, bool, error)

	// Settle moves an attempt that is started, unknown or detached to another
	// state. A detached one stays detached when it is to be unknown or
	// detached. It reports whether the attempt was in one of the three.
	Settle(ctx context.Context, p SettleParams) (Record, bool, error)

	// Amend changes an attempt that goes on: its deadline or its external
	// reference. It reports whether the attempt allowed it.
	Amend(ctx context.Context, p AmendParams) (Record, bool, error)

	// CancelJob cancels an open job and leaves its attempts as they are. It
	// reports whether the job was open.
	CancelJob(ctx context.Context, p CancelParams) (Record, bool, error)

	// Find reads one job at one instant. A record without an ID means that
	// there is none under that owner.
	Find(ctx context.Context, p FindParams) (Record, error)
}

// Record is what a store knows of one job at one instant.
type Record struct {
	// Job is the job, with its open attempt or its winner.
	Job Job
	// Fingerprint and FingerprintVersion are as they were stored.
	Fingerprint        [32]byte
	FingerprintVersion int
	// ResultDigest is the SHA-256 of the winner's result. Purge keeps it.
	ResultDigest [32]byte
	// Attempt is the attempt asked for by ID; nil when there is none.
	Attempt *Attempt
	// Attempts are all the job's attempts by number, where FindParams.All asked.
	Attempts []Attempt
	// Count is the highest attempt number of the job. It is set by Begin, and
	// by Find where an attempt was asked for.
	Count int
	// Unqualified says why BeginParams.Require is not met; see [Error.Reason].
	Unqualified string
	// Now is the store's clock when the record was read.
	Now time.Time
}

// CreateParams are the params of Store.Create.
type CreateParams struct {
	ID                 JobID
	Intent             Intent // validated; Scope is only in the fingerprint
	Fingerprint        [32]byte
	FingerprintVersion int
	Clock              func() time.Time // for stores without a clock of their own
}

// BeginParams are the params of Store.Begin.
type BeginParams struct {
	ID       AttemptID
	Owner    string
	Provider string
	Timeout  time.Duration // whole microseconds
	Max      int
	Require  *Requirement // of stores that are a QualificationStore; nil asks nothing
	Clock    func() time.Time
}

// ProviderKey derives what the provider gets as its idempotency key, from the
// job, the provider and the number of its failed attempts at this job.
func (p BeginParams) ProviderKey(failed int) string {
	return providerKey(p.ID.Job(), p.Provider, failed)
}

// CompleteParams are the params of Store.Complete.
type CompleteParams struct {
	ID       AttemptID
	Version  int64 // as the caller's attempt carries it
	Result   []byte
	Digest   [32]byte  // SHA-256 of Result
	Decision *Decision // kept on the attempt, where an operator confirms
	// Drop refuses the swap and keeps only the evidence, on a job that cannot
	// be won by this attempt any more; on one that still could, it does nothing.
	Drop bool
	// OnComplete runs in the transaction of the swap, under a context by which
	// the library knows that transaction.
	OnComplete func(ctx context.Context, tx *sql.Tx, job Job) error
	Clock      func() time.Time
}

// SettleParams are the params of Store.Settle.
type SettleParams struct {
	ID AttemptID
	// To is unknown, detached, failed or canceled.
	To State
	// Cause is kept. For unknown, the first one stands.
	Cause string
	// Decision is kept where it is not nil, unless the attempt is in state To
	// already: the first name and reason stand.
	Decision *Decision
	Clock    func() time.Time
}

// AmendParams are the params of Store.Amend. One of Extend and ExternalRef is
// set.
type AmendParams struct {
	ID AttemptID
	// Extend moves the deadline of a started attempt that is not overdue to
	// now plus Extend, and its timeout to Extend, unless the deadline would
	// come earlier.
	Extend time.Duration
	// ExternalRef is set on an attempt that is started, unknown or detached
	// and has none.
	ExternalRef string
	Clock       func() time.Time
}

// CancelParams are the params of Store.CancelJob.
type CancelParams struct {
	ID       JobID
	Decision Decision
	Clock    func() time.Time
}

// FindParams are the params of Store.Find. The job is the one of Attempt, or
// of ID, or of Owner and Key.
type FindParams struct {
	ID      JobID
	Owner   string // required with ID unless AnyOwner, and with Key
	Key     string
	Attempt AttemptID // the job is the one it names; Owner counts where it is set
	// AnyOwner leaves the owner out: for operators and executors.
	AnyOwner bool
	// All asks for all attempts.
	All   bool
	Clock func() time.Time
}

// TxStore is the ability to take part in transactions.
type TxStore interface {
	// Tx runs fn in a transaction of the store's own, in which every statement
	// sees what is committed when it begins and no write can fail for what was
	// read before. It commits if fn returns nil. An error of COMMIT is returned
	// as it is: the fate of the transaction is then not known.
	Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error

	// CreateTx, CompleteTx and FindTx are Create, Complete and Find within tx.
	// They must not make tx unusable: expected outcomes are rows, not errors.
	CreateTx(ctx context.Context, tx Tx, p CreateParams) (Record, error)
	CompleteTx(ctx context.Context, tx Tx, p CompleteParams) (Record, bool, error)
	FindTx(ctx context.Context, tx Tx, p FindParams) (Record, error)
}

// BatchStore is the ability to store many jobs in one step. Without it
// [Jobs.CreateMany] stores them one by one.
type BatchStore interface {
	// CreateMany stores the jobs whose keys their owners do not have yet, all of
	// them or none. It returns the jobs that hold the keys, at the places of the
	// params. A record without an ID means that the holder was not seen.
	//
	// The params are sorted by owner and key: rows that are locked in that order
	// cannot deadlock. Of two with one key the first is stored.
	CreateMany(ctx context.Context, params []CreateParams) ([]Record, error)
}

// QualificationStore is the ability to keep what providers have proven, and to
// look at it in the step that begins an attempt (BeginParams.Require).
//
// Begin and Start look once they have locked the job: the qualification of
// this very provider, contract, model and fingerprint must be there, have passed
// all its runs, not be revoked, and not be expired by the store's clock. A
// revocation that has returned is always seen: no attempt begins after it.
type QualificationStore interface {
	// SaveQualification stores q, which expires after ttl, in the place of an
	// earlier one with the same fingerprint. A revocation stands. It returns the
	// row.
	SaveQualification(ctx context.Context, q Qualification, ttl time.Duration, clock func() time.Time) (Qualification, error)
	// RevokeQualification takes it back, and reports whether there is one. The
	// first revocation stands.
	RevokeQualification(ctx context.Context, provider string, r Requirement, d Decision, clock func() time.Time) (Qualification, bool, error)
	// Qualifications lists at most limit of them by provider, contract, model
	// and fingerprint, after the one given (nil begins).
	Qualifications(ctx context.Context, after *Qualification, limit int) ([]Qualification, error)
}

// TurnStore is the ability to give turns: to tell processes apart that would do
// the same work at once. It is a courtesy on which no safety rests.
type TurnStore interface {
	// TakeTurn gives the holder the turn until d from now (whole microseconds),
	// and reports whether it did: it does unless another holder's turn of that
	// name has begun and has not ended, by the store's clock when the row is
	// changed. So of two who ask at once one is refused, and a turn that was taken
	// by a clock that was set back since is free. Who is refused changes nothing.
	TakeTurn(ctx context.Context, name, holder string, d time.Duration, clock func() time.Time) (bool, error)
}

// WaitStore is the ability to look at many jobs at once, for [Jobs.Wait]. Without
// it they are read one by one.
type WaitStore interface {
	// Settled returns those of ids, at most 1,000, for which there is nothing to
	// wait for any more: the job is final or gone, or its open attempt is
	// unknown, swept or not.
	Settled(ctx context.Context, ids []JobID, clock func() time.Time) ([]JobID, error)
}

// OperatorStore is the ability to serve an [Operator]'s queries.
type OperatorStore interface {
	// Page lists at most limit attempts that match f, by start time, job and
	// ID, after the one given (nil begins). No rows stay open.
	Page(ctx context.Context, f Filter, after *Attempt, limit int, clock func() time.Time) ([]Entry, error)
	// Sweep turns at most limit overdue started attempts into unknown.
	Sweep(ctx context.Context, limit int, clock func() time.Time) ([]Attempt, error)
	// Purge empties and removes at most limit jobs; see [Operator.Purge].
	Purge(ctx context.Context, r Retention, limit int, clock func() time.Time) (int, error)
	// Stats counts.
	Stats(ctx context.Context, clock func() time.Time) (Stats, error)
	// Doctor inspects the settings on which the promise rests.
	Doctor(ctx context.Context) ([]Finding, error)
}

// Tx is a host's transaction. Commit is never called: it is here so that a
// pool (*sql.DB, *sqlx.DB, *sql.Conn), with which each statement would commit
// by itself, does not fit. *sql.Tx, *sqlx.Tx and the transactions of bun and
// GORM do.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	Commit() error
}
