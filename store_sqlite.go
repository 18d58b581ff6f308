package onejob

import (
	"bytes"
	"context"
	"database/sql"
	"sync/atomic"
	"time"
)

// SQLiteStore keeps jobs in one SQLite file, of SQLite 3.43 or later. Writes go
// through one connection, reads through a pool of their own. Other processes may
// use the file at the same time, on the same machine.
//
// Writes share commits. The caller that finds the writer free carries its own
// out, takes in those that came while the last commit waited for the disk, and
// commits them together: up to 256, or 4 MiB, or what fits in 50 ms, so that
// other processes get their turn. A call returns when its own write is durable.
// A write that fails does not fail its neighbours: the batch is undone, and each
// runs alone. A context bounds the wait, also in a batch in which another caller's
// OnComplete takes long: then the call returns ErrUnavailable. Only who leads a
// batch stays to its end, and without an OnComplete of its own it takes none in.
//
// Its promises hold with synchronous FULL, which is what [OpenSQLite] sets.
// Times are those of Options.Now.
type SQLiteStore struct {
	writer, reader *sql.DB
	own            []*sql.DB // closed by Close
	prefix         string
	sql            statements // on the writer
	reads          statements // on the readers
	queue          *writeQueue
	keeps          bool // its writer connection, in kept
	kept           keptConn
	prepared       atomic.Bool
	schemaCheck
	pragmaCheck
}

// SQLiteOptions are the settings of [NewSQLiteStore] and [OpenSQLite].
type SQLiteOptions struct {
	// Readers is a pool for reads on the same file. Without it reads wait for
	// the writer. OpenSQLite makes its own.
	Readers *sql.DB
	// Prefix begins the names of the tables. It must match
	// ^[a-z_][a-z0-9_]{0,30}$ and not begin with sqlite_. Default: "onejob_".
	Prefix string
	// Driver is the name of the database/sql driver that OpenSQLite uses.
	// Default: "sqlite", of modernc.org/sqlite.
	Driver string
}

// What a statement sees is what is committed, plus its own transaction: each
// runs inside one that was begun IMMEDIATE, so nothing that was read can
// change before it writes.
const sqliteCreate = `
INSERT INTO {p}jobs (id, owner, key, kind, target, params, opaque, fingerprint,
	fingerprint_version, state, version, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'open', 1, ?10)
ON CONFLICT DO NOTHING`

// Create implements [Store]. A key that exists is seen by a reader, which does
// not wait for a write, and costs a tenth of one.
func (s *SQLiteStore) Create(ctx context.Context, p CreateParams) (Record, error) {
	rec, _, err := s.write(ctx, write{
		size: len(p.Intent.Params),
		moot: p.keyExists,
		keep: func() { p.Intent.Params = bytes.Clone(p.Intent.Params) },
		run: func(ctx context.Context, q *ownRunner) (Record, bool, error) {
			rec, err := s.create(ctx, q, p)
			return rec, err == nil, err
		},
	})
	return rec, err
}

const sqliteKeyExists = `SELECT 1 FROM {p}jobs WHERE owner = ?1 AND key = ?2`

// keyExists reports whether there is a job with the key. Most keys are new, so
// it asks for one column only; Jobs then asks for all.
func (p CreateParams) keyExists(ctx context.Context, q runner) (bool, error) {
	var yes int
	return one(ctx, q, []any{&yes}, sqliteKeyExists, p.Intent.Owner, p.Intent.Key)
}

// CreateTx implements [TxStore].
func (s *SQLiteStore) CreateTx(ctx context.Context, tx Tx, p CreateParams) (rec Record, err error) {
	err = s.within(ctx, tx, func(ctx context.Context, q executor) (err error) {
		rec, err = s.create(ctx, q, p)
		return err
	})
	return rec, err
}

func (s *SQLiteStore) create(ctx context.Context, q executor, p CreateParams) (Record, error) {
	now := p.Clock()
	n, err := q.exec(ctx, sqliteCreate, sqliteCreateArgs(p, now)...)
	if err != nil || n == 0 {
		return Record{}, err
	}
	return p.newJob(now), nil
}

// A key is always bound as a string: the BLOB 'abc' and the TEXT 'abc' are two
// keys under one UNIQUE.
func sqliteCreateArgs(p CreateParams, now time.Time) []any {
	in := p.Intent
	return []any{string(p.ID), in.Owner, in.Key, in.Kind, in.Target, bytesOf(in.Params), in.Opaque,
		p.Fingerprint[:], p.FingerprintVersion, now.UnixMicro()}
}

const sqliteBeginFirst = `
INSERT INTO {p}attempts (job_id, id, number, provider, state, job_version, provider_key, timeout,
	started_at, deadline)
VALUES (?1, ?2, 1, ?3, 'started', 1, ?4, ?5, ?6, ?7)`

// Start implements [Store].
func (s *SQLiteStore) Start(ctx context.Context, p CreateParams, try BeginParams) (Record, bool, error) {
	keep := func() { p.Intent.Params = bytes.Clone(p.Intent.Params) }
	return s.write(ctx, write{size: len(p.Intent.Params), moot: p.keyExists, keep: keep, run: func(ctx context.Context, q *ownRunner) (Record, bool, error) {
		p := p
		p.Clock = stopped(p.Clock)
		rec, err := s.create(ctx, q, p)
		if err != nil || rec.Job.ID == "" {
			return Record{}, false, err
		}
		try := try
		try.Clock = p.Clock
		if rec.Unqualified, err = try.unqualified(ctx, q); err != nil || rec.Unqualified != "" {
			return rec, false, err
		}
		at, key := rec.Job.CreatedAt, try.ProviderKey(0)
		deadline := at.Add(try.Timeout)
		_, err = q.exec(ctx, sqliteBeginFirst, string(p.ID), try.ID.own(), try.Provider, key,
			try.Timeout.Microseconds(), at.UnixMicro(), deadline.UnixMicro())
		rec.Attempt = try.newAttempt(1, 1, key, at, deadline)
		rec.Job.Attempt = rec.Attempt
		return rec, err == nil, err
	}})
}

const (
	sqliteFailed = `
SELECT count(*) FROM {p}attempts WHERE job_id = ?1 AND provider = ?2 AND state = 'failed'`

	sqliteBegin = `
INSERT INTO {p}attempts (job_id, id, number, provider, state, job_version, provider_key, timeout,
	started_at, deadline)
SELECT j.id, ?3, n.last + 1, ?4, 'started', j.version, ?5, ?6, ?7, ?7 + ?6
FROM {p}jobs j, (SELECT coalesce(max(number), 0) AS last FROM {p}attempts WHERE job_id = ?1) n
WHERE j.id = ?1 AND j.owner = ?2 AND j.state = 'open' AND n.last < ?8
ON CONFLICT DO NOTHING`
)

// Begin implements [Store].
func (s *SQLiteStore) Begin(ctx context.Context, p BeginParams) (Record, bool, error) {
	return s.write(ctx, write{run: func(ctx context.Context, q *ownRunner) (Record, bool, error) { return s.begin(ctx, q, p) }})
}

func (s *SQLiteStore) begin(ctx context.Context, q executor, p BeginParams) (Record, bool, error) {
	p.Clock = stopped(p.Clock)
	says, err := p.unqualified(ctx, q)
	if err == nil && says != "" {
		rec, err := s.find(ctx, q, FindParams{Attempt: p.ID, Owner: p.Owner, Clock: p.Clock})
		rec.Unqualified = says
		return rec, false, err
	}
	if err != nil {
		return Record{}, false, err
	}
	var failed int
	job := string(p.ID.Job())
	if _, err := one(ctx, q, []any{&failed}, sqliteFailed, job, p.Provider); err != nil {
		return Record{}, false, err
	}
	n, err := q.exec(ctx, sqliteBegin, job, p.Owner, p.ID.own(), p.Provider, p.ProviderKey(failed),
		p.Timeout.Microseconds(), p.Clock().UnixMicro(), p.Max)
	if err != nil {
		return Record{}, false, err
	}
	rec, err := s.find(ctx, q, FindParams{Attempt: p.ID, Owner: p.Owner, Clock: p.Clock})
	return rec, n > 0, err
}

const (
	sqliteSwap = `
UPDATE {p}jobs
SET state = 'completed', version = version + 1, completed_by = ?2, result = ?4, result_digest = ?5,
	ended_at = ?6
WHERE id = ?1 AND version = ?3 AND completed_by IS NULL AND state = 'open' AND NOT ?7
	AND EXISTS (SELECT 1 FROM {p}attempts
		WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached'))`

	// A job that this attempt has completed while the attempt has not succeeded
	// is one of this very transaction.
	sqliteWin = `
UPDATE {p}attempts
SET state = 'succeeded', ended_at = ?4, by = coalesce(?3, by), reason = coalesce(?5, reason)
WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached')
	AND EXISTS (SELECT 1 FROM {p}jobs WHERE id = ?1 AND completed_by = ?2)`

	// An attempt that is not the winner keeps the evidence of its first loss.
	sqliteLose = `
UPDATE {p}attempts AS a
SET state = CASE WHEN able THEN 'late' ELSE a.state END,
	ended_at = coalesce(a.ended_at, ?3),
	by = CASE WHEN able THEN coalesce(?4, a.by) ELSE a.by END,
	reason = CASE WHEN able THEN coalesce(?5, a.reason) ELSE a.reason END,
	late_at = coalesce(a.late_at, ?3), late_size = coalesce(a.late_size, ?6),
	late_digest = coalesce(a.late_digest, ?7)
FROM (
	SELECT job_id, id, state IN ('started', 'unknown', 'detached') AS able
	FROM {p}attempts WHERE job_id = ?1 AND id = ?2
) t, {p}jobs j
WHERE a.job_id = t.job_id AND a.id = t.id AND j.id = t.job_id
	AND (able AND NOT (?9 AND j.state = 'open' AND j.version = ?8)
		OR NOT able AND a.state <> 'succeeded' AND a.late_at IS NULL)`
)

// Complete implements [Store].
func (s *SQLiteStore) Complete(ctx context.Context, p CompleteParams) (Record, bool, error) {
	run := func(ctx context.Context, q *ownRunner) (Record, bool, error) {
		rec, won, err := s.complete(ctx, q, p)
		if err == nil && won && p.OnComplete != nil {
			err = p.OnComplete(ctx, q.tx, rec.Job)
		}
		return rec, won && err == nil, err
	}
	keep := func() { p.Result = bytes.Clone(p.Result) }
	return s.write(ctx, write{size: len(p.Result), hook: p.OnComplete != nil, keep: keep, run: run})
}

// CompleteTx implements [TxStore].
func (s *SQLiteStore) CompleteTx(ctx context.Context, tx Tx, p CompleteParams) (rec Record, won bool, err error) {
	err = s.within(ctx, tx, func(ctx context.Context, q executor) (err error) {
		rec, won, err = s.complete(ctx, q, p)
		return err
	})
	return rec, won && err == nil, err
}

func (s *SQLiteStore) complete(ctx context.Context, q executor, p CompleteParams) (Record, bool, error) {
	p.Clock = stopped(p.Clock)
	by, reason := words(p.Decision)
	job, own, now := string(p.ID.Job()), p.ID.own(), p.Clock().UnixMicro()
	swapped, err := q.exec(ctx, sqliteSwap, job, own, p.Version, bytesOf(p.Result), p.Digest[:], now, p.Drop)
	if err != nil {
		return Record{}, false, err
	}
	// It decides by what stands: database/sql may have sent the swap twice.
	won, err := q.exec(ctx, sqliteWin, job, own, by, now, reason)
	if err != nil {
		return Record{}, false, err
	}
	if won == 0 && swapped > 0 {
		// What the swap changed is not there any more: what a host's code left
		// running has ended the transaction. This is no loser.
		return Record{}, false, errTxGone
	}
	if won == 0 {
		_, err = q.exec(ctx, sqliteLose, job, own, now, by, reason, len(p.Result), p.Digest[:], p.Version, p.Drop)
		return Record{}, false, err
	}
	return s.winner(ctx, q, p)
}

// sqliteWinner reads what the swap has not just written. It takes two thirds of
// the time of RETURNING, for which SQLite makes a table.
const sqliteWinner = `
SELECT j.owner, j.key, j.kind, j.target, j.params, j.opaque, j.fingerprint, j.fingerprint_version, j.version,
	j.created_at, a.number, a.provider, a.job_version, a.provider_key, a.external_ref, a.timeout, a.started_at,
	a.deadline, a.cause, a.by, a.reason, a.late_at, a.late_size, a.late_digest
FROM {p}jobs j JOIN {p}attempts a ON a.job_id = j.id AND a.id = j.completed_by
WHERE j.id = ?1`

func (s *SQLiteStore) winner(ctx context.Context, q runner, p CompleteParams) (Record, bool, error) {
	var jr jobRow
	var ar attemptRow
	j, a := &jr.job, &ar.attempt
	found, err := one(ctx, q, []any{
		&j.Owner, &j.Key, &j.Kind, &j.Target, &j.Params, &j.Opaque, &jr.print, &jr.version, &j.Version,
		moment{&j.CreatedAt}, &ar.number, &ar.provider, &ar.version, &ar.key, &ar.ref, &ar.timeout, moment{&a.StartedAt},
		moment{&a.Deadline}, &ar.cause, &ar.by, &ar.reason, moment{&a.LateAt}, &ar.lateSize, &ar.digest,
	}, sqliteWinner, string(p.ID.Job()))
	if err != nil || !found {
		return Record{}, false, err
	}
	j.ID, j.State, j.Result, j.EndedAt = p.ID.Job(), JobCompleted, p.Result, p.Clock()
	jr.digest = p.Digest[:]
	ar.id, ar.state, a.EndedAt = text(p.ID.own()), text(string(StateSucceeded)), p.Clock()
	rec := jr.record()
	rec.Now, rec.Attempt = p.Clock(), ar.of(j.ID)
	rec.Job.Attempt = rec.Attempt
	return rec, true, nil
}

// A detached attempt that is to be unknown stays detached: the index would
// refuse it while its successor is open.
const sqliteSettle = `
UPDATE {p}attempts
SET state = CASE WHEN state = 'detached' AND ?3 = 'unknown' THEN state ELSE ?3 END,
	ended_at = CASE WHEN ?3 IN ('failed', 'canceled') THEN ?7 END,
	cause = CASE WHEN ?3 = 'unknown' THEN coalesce(cause, ?4) ELSE coalesce(?4, cause) END,
	by = CASE WHEN state = ?3 THEN by ELSE coalesce(?5, by) END,
	reason = CASE WHEN state = ?3 THEN reason ELSE coalesce(?6, reason) END
WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached')`

// Settle implements [Store].
func (s *SQLiteStore) Settle(ctx context.Context, p SettleParams) (Record, bool, error) {
	by, reason := words(p.Decision)
	return s.change(ctx, FindParams{Attempt: p.ID, AnyOwner: true, Clock: p.Clock}, sqliteSettle, func(now int64) []any {
		return []any{string(p.ID.Job()), p.ID.own(), string(p.To), text(p.Cause), by, reason, now}
	})
}

const sqliteAmend = `
UPDATE {p}attempts
SET deadline = CASE WHEN ?3 > 0 THEN max(deadline, ?5 + ?3) ELSE deadline END,
	timeout = CASE WHEN ?3 > 0 AND ?5 + ?3 > deadline THEN ?3 ELSE timeout END,
	external_ref = coalesce(?4, external_ref)
WHERE job_id = ?1 AND id = ?2
	AND CASE WHEN ?3 > 0 THEN state = 'started' AND deadline > ?5
		ELSE state IN ('started', 'unknown', 'detached') AND external_ref IS NULL END`

// Amend implements [Store].
func (s *SQLiteStore) Amend(ctx context.Context, p AmendParams) (Record, bool, error) {
	return s.change(ctx, FindParams{Attempt: p.ID, AnyOwner: true, Clock: p.Clock}, sqliteAmend, func(now int64) []any {
		return []any{string(p.ID.Job()), p.ID.own(), p.Extend.Microseconds(), text(p.ExternalRef), now}
	})
}

const sqliteCancelJob = `
UPDATE {p}jobs SET state = 'canceled', version = version + 1, ended_at = ?4, by = ?2, reason = ?3
WHERE id = ?1 AND state = 'open'`

// CancelJob implements [Store].
func (s *SQLiteStore) CancelJob(ctx context.Context, p CancelParams) (Record, bool, error) {
	return s.change(ctx, FindParams{ID: p.ID, AnyOwner: true, Clock: p.Clock}, sqliteCancelJob, func(now int64) []any {
		return []any{string(p.ID), p.Decision.By, p.Decision.Reason, now}
	})
}

// change runs an update of one row, and reads the job where it was applied.
func (s *SQLiteStore) change(ctx context.Context, after FindParams, statement string, args func(now int64) []any) (Record, bool, error) {
	return s.write(ctx, write{run: func(ctx context.Context, q *ownRunner) (Record, bool, error) {
		after := after
		after.Clock = stopped(after.Clock)
		n, err := q.exec(ctx, statement, args(after.Clock().UnixMicro())...)
		if err != nil || n == 0 {
			return Record{}, false, err
		}
		rec, err := s.find(ctx, q, after)
		return rec, err == nil, err
	}})
}

const (
	sqliteFindByID = `
SELECT {job}, {attempt}, ?4, 0
FROM {p}jobs j LEFT JOIN {p}attempts a ON {shown}
WHERE j.id = ?1 AND (?2 OR j.owner = ?3)`

	sqliteFindByKey = `
SELECT {job}, {attempt}, ?4, 0
FROM {p}jobs j LEFT JOIN {p}attempts a ON {shown}
WHERE j.owner = ?1 AND j.key = ?2`

	sqliteFindByAttempt = `
SELECT {job}, {attempt}, ?4, (SELECT max(number) FROM {p}attempts n WHERE n.job_id = j.id)
FROM {p}jobs j LEFT JOIN {p}attempts a ON a.job_id = j.id AND ({shown} OR a.id = ?5)
WHERE j.id = ?1 AND (?2 OR j.owner = ?3)`

	sqliteFindAll = `
SELECT {job}, {attempt}, ?4, 0
FROM {p}jobs j LEFT JOIN {p}attempts a ON a.job_id = j.id
WHERE j.id = ?1 AND (?2 OR j.owner = ?3)
ORDER BY a.number`
)

// Find implements [Store].
func (s *SQLiteStore) Find(ctx context.Context, p FindParams) (_ Record, err error) {
	if err := s.ready(ctx); err != nil {
		return Record{}, err
	}
	defer func() { err = s.explained(ctx, err) }()
	return s.find(ctx, &s.reads, p)
}

// FindTx implements [TxStore].
func (s *SQLiteStore) FindTx(ctx context.Context, tx Tx, p FindParams) (Record, error) {
	return s.find(context.WithoutCancel(ctx), s.sql.in(tx), p)
}

func (s *SQLiteStore) find(ctx context.Context, q runner, p FindParams) (Record, error) {
	now := p.Clock().UnixMicro()
	statement, args := sqliteFindByID, []any{string(p.ID), p.AnyOwner, p.Owner, now}
	switch {
	case p.Attempt != "":
		statement, args = sqliteFindByAttempt, []any{string(p.Attempt.Job()), p.AnyOwner, p.Owner, now, p.Attempt.own()}
	case p.ID == "":
		statement, args = sqliteFindByKey, []any{p.Owner, p.Key, nil, now}
	case p.All:
		statement = sqliteFindAll
	}
	rows, err := q.query(ctx, statement, args...)
	if err != nil {
		return Record{}, err
	}
	rec, err := scanRecord(rows, p.Attempt, p.All)
	return rec, drain(rows, err)
}
