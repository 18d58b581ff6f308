package onejob

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"
)

// PostgresStore keeps jobs in PostgreSQL, 13 or later. It works through any
// database/sql driver whose errors have SQLState() string (lib/pq, pgx).
//
// Its promises hold on one primary with synchronous_commit on. All times are
// the server's.
type PostgresStore struct {
	db     *sql.DB
	schema string
	sql    statements
	gone   atomic.Int64 // prepared statements that a connection had lost
	schemaCheck
}

// PostgresOptions are the settings of [NewPostgresStore].
type PostgresOptions struct {
	// Schema holds the tables; it is always written out, so search_path does
	// not matter. It must match ^[a-z_][a-z0-9_]{0,30}$ and not begin with pg_. Default:
	// "onejob".
	Schema string
	// Unprepared prepares nothing and sends each statement in a transaction of
	// its own. Set it behind a pooler in transaction mode (PgBouncer), where
	// prepared statements get lost. It costs up to three more round trips per
	// statement on lib/pq.
	//
	// A host's own statements with arguments are not safe there on lib/pq
	// either, outside of transactions: set binary_parameters=yes in the DSN.
	Unprepared bool
}

// NewPostgresStore returns a store on db. It sends nothing: call
// [PostgresStore.Migrate] once before use, or run [PostgresStore.Migrations].
// The error is ErrInvalid, for a nil db or a bad schema name.
//
// Let the pool keep its connections: db.SetMaxIdleConns to the same number as
// db.SetMaxOpenConns. The default of 2 idle ones opens and closes connections
// all the time under load.
func NewPostgresStore(db *sql.DB, opts *PostgresOptions) (*PostgresStore, error) {
	const op = "NewPostgresStore"
	var o PostgresOptions
	if opts != nil {
		o = *opts
	}
	if o.Schema == "" {
		o.Schema = "onejob"
	}
	if db == nil {
		return nil, named(op, invalid("db", "is required"))
	}
	if err := checkName("PostgresOptions.Schema", o.Schema, "pg_"); err != nil {
		return nil, named(op, err)
	}
	s := &PostgresStore{db: db, schema: o.Schema}
	s.sql = statements{db: db, unprepared: o.Unprepared, names: map[string]string{
		"{schema}":      s.quoted(),
		"{job}":         jobColumns,
		"{job-}":        withoutPayload(jobColumns, "NULL::bytea", "j.result"),
		"{entry}":       withoutPayload(jobColumns, "NULL::bytea", "j.params", "j.result"),
		"{attempt}":     attemptColumns("a", "clock_timestamp()"),
		"{other}":       attemptColumns("o", "clock_timestamp()"),
		"{attempt raw}": attemptRaw,
		"{shown}":       shownAttempt,
	}}
	return s, nil
}

// shownAttempt is what Job.Attempt shows: the winner, or the open one.
const shownAttempt = `a.job_id = j.id AND
	(a.id = j.completed_by OR j.completed_by IS NULL AND a.state IN ('started', 'unknown'))`

// attemptRaw are the columns that attemptColumns reads.
const attemptRaw = `a.job_id, a.id, a.number, a.provider, a.state, a.job_version, a.provider_key,
	a.external_ref, a.timeout, a.started_at, a.deadline, a.ended_at, a.cause, a.by, a.reason,
	a.late_at, a.late_size, a.late_digest`

// Outcomes that are expected are rows, not errors: a unique violation would
// abort a host's transaction. The row that was in the way is read by a
// separate statement: one that does both sees its own old snapshot and finds
// no row for a third of the callers in a storm.
const pgCreate = `
INSERT INTO {schema}.jobs (id, owner, key, kind, target, params, opaque, fingerprint,
	fingerprint_version, state, version, created_at)
VALUES ($1, $2::text, $3::text, $4::text, $5::text, $6::bytea, $7, $8::bytea, $9::smallint,
	'open', 1, clock_timestamp())
ON CONFLICT DO NOTHING
RETURNING created_at`

// Create implements [Store].
func (s *PostgresStore) Create(ctx context.Context, p CreateParams) (Record, error) {
	return pgRun(ctx, s, func(q runner) (Record, error) { return s.create(ctx, q, p) })
}

// CreateTx implements [TxStore].
func (s *PostgresStore) CreateTx(ctx context.Context, tx Tx, p CreateParams) (Record, error) {
	if err := s.readyIn(ctx, tx); err != nil {
		return Record{}, err
	}
	rec, err := s.create(ctx, s.sql.in(tx), p)
	return rec, s.forgetful(err)
}

func (s *PostgresStore) create(ctx context.Context, q runner, p CreateParams) (Record, error) {
	rows, err := q.query(ctx, pgCreate, pgCreateArgs(p)...)
	if err != nil {
		return Record{}, err
	}
	var at time.Time
	created := rows.Next()
	if created {
		err = rows.Scan(moment{&at})
	}
	if err = drain(rows, err); err != nil || !created {
		return Record{}, err
	}
	return p.newJob(at), nil
}

func pgCreateArgs(p CreateParams) []any {
	in := p.Intent
	return []any{string(p.ID), in.Owner, in.Key, in.Kind, in.Target, bytesOf(in.Params), in.Opaque,
		p.Fingerprint[:], p.FingerprintVersion}
}

const (
	pgStart = pgStartJob + pgStartAttempt + pgStarted + pgStartTells

	pgStartJob = `
WITH j AS (
	INSERT INTO {schema}.jobs (id, owner, key, kind, target, params, opaque, fingerprint,
		fingerprint_version, state, version, created_at)
	VALUES ($1, $2::text, $3::text, $4::text, $5::text, $6::bytea, $7, $8::bytea, $9::smallint,
		'open', 1, clock_timestamp())
	ON CONFLICT DO NOTHING
	RETURNING id, created_at
)`

	pgStartAttempt = `, a AS (
	INSERT INTO {schema}.attempts (job_id, id, number, provider, state, job_version, provider_key,
		timeout, started_at, deadline)
	SELECT j.id, $10::text, 1, $11::text, 'started', 1, $12::text, $13::bigint, j.created_at,
		j.created_at + $13::bigint * interval '1 microsecond'
	FROM j`

	pgStarted = `
	RETURNING deadline
)`

	pgStartTells = `
SELECT j.created_at, a.deadline FROM j, a`
)

// Start implements [Store].
func (s *PostgresStore) Start(ctx context.Context, p CreateParams, try BeginParams) (Record, bool, error) {
	if try.Require != nil {
		return s.startRequired(ctx, p, try)
	}
	return pgRun2(ctx, s, func(q runner) (Record, bool, error) {
		key := try.ProviderKey(0)
		rows, err := q.query(ctx, pgStart, append(pgCreateArgs(p),
			try.ID.own(), try.Provider, key, try.Timeout.Microseconds())...)
		if err != nil {
			return Record{}, false, err
		}
		var at, deadline time.Time
		begun := rows.Next()
		if begun {
			err = rows.Scan(moment{&at}, moment{&deadline})
		}
		if err = drain(rows, err); err != nil || !begun {
			return Record{}, false, err
		}
		rec := p.newJob(at)
		rec.Attempt = try.newAttempt(1, 1, key, at, deadline)
		rec.Job.Attempt = rec.Attempt
		return rec, true, nil
	})
}

// What the snapshot shows to be in the way is a refusal that costs nothing:
// no lock, no transaction ID, no WAL. Then the job row is locked, or the
// attempt could start on a job whose Complete is just committing. While that
// waits others may begin and even end: the unique indexes on the open attempt
// and on the number refuse what the old snapshot cannot see. A detached attempt
// of this provider may have failed meanwhile, which would change the provider
// key: locked, it shows how it stands now.
//
// IS TRUE keeps the planner from looking by owner: a plan made while the table
// was empty took that index, and then read all of an owner's jobs each time.
const (
	pgBegin = pgBeginLocks + pgBeginGoes + pgBegun + pgBeginTells

	pgBeginLocks = `
WITH seen AS MATERIALIZED (
	SELECT a.id, a.number, a.provider, a.state FROM {schema}.attempts a WHERE a.job_id = $1
), free AS MATERIALIZED (
	SELECT coalesce(max(number), 0) AS last,
		count(*) FILTER (WHERE state = 'failed' AND provider = $4::text) AS failed
	FROM seen
	HAVING count(*) FILTER (WHERE state IN ('started', 'unknown') OR id = $3::text) = 0
		AND coalesce(max(number), 0) < $6::bigint
), j AS MATERIALIZED (
	SELECT j.id, j.version FROM {schema}.jobs j
	WHERE j.id = $1 AND (j.owner = $2) IS TRUE AND j.state = 'open' AND (SELECT true FROM free)
	FOR NO KEY UPDATE
), detached AS MATERIALIZED (
	SELECT a.id FROM {schema}.attempts a
	WHERE a.job_id = (SELECT id FROM j) AND a.provider = $4 AND a.state = 'detached'
	FOR SHARE
)`

	pgBeginGoes = `, t AS MATERIALIZED (
	SELECT j.id, j.version, clock_timestamp() AS now FROM j
	WHERE (SELECT count(*) FROM detached) = (SELECT count(*) FROM seen WHERE provider = $4 AND state = 'detached')`

	pgBegun = `
), begun AS (
	INSERT INTO {schema}.attempts (job_id, id, number, provider, state, job_version, provider_key,
		timeout, started_at, deadline)
	SELECT t.id, $3::text, free.last + 1, $4::text, 'started', t.version,
		left(encode(sha256(convert_to(t.id::text || E'\n' || $4::text || E'\n' || free.failed::text, 'UTF8')), 'hex'), 32),
		$5::bigint, t.now, t.now + $5::bigint * interval '1 microsecond'
	FROM t, free
	ON CONFLICT DO NOTHING
	RETURNING number, job_version, provider_key, started_at, deadline
)
SELECT {job}, {attempt}, clock_timestamp(), (SELECT max(number) FROM seen),
	b.number, b.job_version, b.provider_key, b.started_at, b.deadline`

	pgBeginTells = `
FROM {schema}.jobs j
LEFT JOIN {schema}.attempts a ON a.job_id = j.id AND ({shown} OR a.id = $3)
LEFT JOIN begun b ON true
WHERE j.id = $1 AND (j.owner = $2) IS TRUE`
)

// Begin implements [Store].
func (s *PostgresStore) Begin(ctx context.Context, p BeginParams) (Record, bool, error) {
	return pgRun2(ctx, s, func(q runner) (Record, bool, error) {
		statement, args := pgBegin, []any{string(p.ID.Job()), p.Owner, p.ID.own(), p.Provider,
			p.Timeout.Microseconds(), p.Max}
		var number, version sql.NullInt64
		var key, gate sql.NullString
		var at, deadline time.Time
		extra := []any{&number, &version, &key, moment{&at}, moment{&deadline}}
		if r := p.Require; r != nil {
			statement, args = pgBeginRequired, append(args, r.Contract, r.Model, r.Fingerprint)
			extra = append(extra, &gate)
		}
		rows, err := q.query(ctx, statement, args...)
		if err != nil {
			return Record{}, false, err
		}
		rec, err := scanRecord(rows, p.ID, false, extra...)
		rec.Unqualified = gate.String
		if err = drain(rows, err); err != nil || !number.Valid {
			return rec, false, err
		}
		rec.Attempt = p.newAttempt(int(number.Int64), version.Int64, key.String, at, deadline)
		rec.Job.Attempt = rec.Attempt
		return rec, true, nil
	})
}

// The job row is locked first, then the attempt: the one lock order there is.
// An attempt that is not the winner keeps the evidence of its first loss.
// What is written comes from the locked rows (t), not from the table: a statement
// that waited sees the attempt there as it was before, and PostgreSQL checks the
// row it would make of that against the CHECKs before it finds out.
const pgComplete = `
WITH j AS MATERIALIZED (
	SELECT j.id, j.state, j.version FROM {schema}.jobs j WHERE j.id = $1 FOR NO KEY UPDATE
), a AS MATERIALIZED (
	SELECT a.state, a.ended_at, a.late_at FROM {schema}.attempts a
	WHERE a.job_id = (SELECT id FROM j) AND a.id = $2
	FOR NO KEY UPDATE
), t AS MATERIALIZED (
	SELECT a.state IN ('started', 'unknown', 'detached') AS able, a.*, clock_timestamp() AS now FROM a
), won AS (
	UPDATE {schema}.jobs j
	SET state = 'completed', version = j.version + 1, completed_by = $2::text, result = $4::bytea,
		result_digest = $5::bytea, ended_at = t.now
	FROM t
	WHERE j.id = $1 AND j.version = $3 AND j.completed_by IS NULL AND j.state = 'open'
		AND t.able AND NOT $7
	RETURNING {job-}
), ended AS (
	UPDATE {schema}.attempts a
	SET state = CASE WHEN won.id IS NOT NULL THEN 'succeeded' WHEN t.able THEN 'late' ELSE t.state END,
		ended_at = coalesce(t.ended_at, t.now),
		late_at = CASE WHEN won.id IS NULL THEN coalesce(a.late_at, t.now) END,
		late_size = CASE WHEN won.id IS NULL THEN coalesce(a.late_size, $6::bigint) END,
		late_digest = CASE WHEN won.id IS NULL THEN coalesce(a.late_digest, $5::bytea) END,
		by = CASE WHEN t.able THEN coalesce($8::text, a.by) ELSE a.by END,
		reason = CASE WHEN t.able THEN coalesce($9::text, a.reason) ELSE a.reason END
	FROM t CROSS JOIN j LEFT JOIN won ON true
	WHERE a.job_id = $1 AND a.id = $2
		AND (won.id IS NOT NULL
			OR t.able AND NOT ($7 AND j.state = 'open' AND j.version = $3)
			OR NOT t.able AND t.state <> 'succeeded' AND t.late_at IS NULL)
	RETURNING {attempt raw}
)
SELECT {job}, {attempt}, clock_timestamp(), a.number FROM won j, ended a`

// Complete implements [Store].
func (s *PostgresStore) Complete(ctx context.Context, p CompleteParams) (Record, bool, error) {
	if p.OnComplete == nil {
		return pgRun2(ctx, s, func(q runner) (Record, bool, error) { return s.complete(ctx, q, p) })
	}
	generation := s.sql.generation.Load()
	rec, won, err := s.completeWithHook(ctx, p, s.inOwn)
	if !won && s.unprepare(err, generation) {
		rec, won, err = s.completeWithHook(ctx, p, s.plainly)
	}
	return rec, won && err == nil, err
}

// completeWithHook explains no error of the hook's: its tables are the host's.
func (s *PostgresStore) completeWithHook(ctx context.Context, p CompleteParams, in func(tx *sql.Tx) runner) (rec Record, won bool, err error) {
	var own error
	err = s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		rec, won, err = s.complete(ctx, in(tx), p)
		own = err
		if err != nil || !won {
			return err
		}
		return p.OnComplete(ctx, tx, rec.Job)
	})
	if own != nil {
		err = s.explained(ctx, err)
	}
	return rec, won, err
}

// CompleteTx implements [TxStore].
func (s *PostgresStore) CompleteTx(ctx context.Context, tx Tx, p CompleteParams) (Record, bool, error) {
	if err := s.readyIn(ctx, tx); err != nil {
		return Record{}, false, err
	}
	rec, won, err := s.complete(ctx, s.sql.in(tx), p)
	return rec, won, s.forgetful(err)
}

func (s *PostgresStore) complete(ctx context.Context, q runner, p CompleteParams) (Record, bool, error) {
	by, reason := words(p.Decision)
	rows, err := q.query(ctx, pgComplete, string(p.ID.Job()), p.ID.own(), p.Version, bytesOf(p.Result),
		p.Digest[:], len(p.Result), p.Drop, by, reason)
	if err != nil {
		return Record{}, false, err
	}
	rec, err := scanRecord(rows, p.ID, false)
	if err = drain(rows, err); err != nil || rec.Job.ID == "" {
		return Record{}, false, err
	}
	rec.Job.Result = bytesOf(p.Result)
	return rec, true, nil
}

// A detached attempt that is to be unknown stays detached: the index would
// refuse it while its successor is open.
const pgSettle = `
WITH j AS MATERIALIZED (
	SELECT {job} FROM {schema}.jobs j WHERE j.id = $1 FOR NO KEY UPDATE
), was AS MATERIALIZED (
	SELECT a.state FROM {schema}.attempts a
	WHERE a.job_id = (SELECT id FROM j) AND a.id = $2 AND a.state IN ('started', 'unknown', 'detached')
	FOR NO KEY UPDATE
), t AS MATERIALIZED (
	SELECT was.state, clock_timestamp() AS now FROM was
), done AS (
	UPDATE {schema}.attempts a
	SET state = CASE WHEN t.state = 'detached' AND $3::text = 'unknown' THEN t.state ELSE $3::text END,
		ended_at = CASE WHEN $3::text IN ('failed', 'canceled') THEN t.now END,
		cause = CASE WHEN $3::text = 'unknown' THEN coalesce(a.cause, $4::text) ELSE coalesce($4::text, a.cause) END,
		by = CASE WHEN t.state = $3::text THEN a.by ELSE coalesce($5::text, a.by) END,
		reason = CASE WHEN t.state = $3::text THEN a.reason ELSE coalesce($6::text, a.reason) END
	FROM t
	WHERE a.job_id = $1 AND a.id = $2
	RETURNING {attempt raw}
)
SELECT {job}, {attempt}, clock_timestamp(), 0, t.state FROM j, done a, t`

// Settle implements [Store].
func (s *PostgresStore) Settle(ctx context.Context, p SettleParams) (Record, bool, error) {
	by, reason := words(p.Decision)
	var was string
	rec, applied, err := s.change(ctx, p.ID, pgSettle, []any{string(p.ID.Job()), p.ID.own(), string(p.To),
		text(p.Cause), by, reason}, &was)
	if !applied || State(was).Open() && rec.Job.State == JobOpen {
		// It was the open attempt, so under the lock there was no other to show.
		return rec, applied, err
	}
	return s.reread(ctx, FindParams{Attempt: p.ID, AnyOwner: true})
}

const pgAmend = `
WITH j AS MATERIALIZED (
	SELECT {job} FROM {schema}.jobs j WHERE j.id = $1 FOR NO KEY UPDATE
), was AS MATERIALIZED (
	SELECT a.state FROM {schema}.attempts a
	WHERE a.job_id = (SELECT id FROM j) AND a.id = $2 AND a.state IN ('started', 'unknown', 'detached')
	FOR NO KEY UPDATE
), t AS MATERIALIZED (
	SELECT was.state, clock_timestamp() AS now, $3::bigint * interval '1 microsecond' AS more FROM was
), done AS (
	UPDATE {schema}.attempts a
	SET deadline = greatest(a.deadline, CASE WHEN $3 > 0 THEN t.now + t.more ELSE a.deadline END),
		timeout = CASE WHEN $3 > 0 AND t.now + t.more > a.deadline THEN $3::bigint ELSE a.timeout END,
		external_ref = coalesce($4::text, a.external_ref)
	FROM t
	WHERE a.job_id = $1 AND a.id = $2
		AND CASE WHEN $3 > 0 THEN t.state = 'started' AND a.deadline > t.now ELSE a.external_ref IS NULL END
	RETURNING {attempt raw}
)
SELECT {job}, {attempt}, clock_timestamp(), 0 FROM j, done a`

// Amend implements [Store].
func (s *PostgresStore) Amend(ctx context.Context, p AmendParams) (Record, bool, error) {
	return s.change(ctx, p.ID, pgAmend, []any{string(p.ID.Job()), p.ID.own(), p.Extend.Microseconds(), text(p.ExternalRef)})
}

// The clock is read behind the lock, as everywhere: read in the UPDATE itself,
// the end of the job came before the start of an attempt that it waited for.
const pgCancelJob = `
WITH t AS MATERIALIZED (
	SELECT clock_timestamp() AS now
	FROM (SELECT j.id FROM {schema}.jobs j WHERE j.id = $1 AND j.state = 'open' FOR NO KEY UPDATE) l
), j AS (
	UPDATE {schema}.jobs j
	SET state = 'canceled', version = j.version + 1, ended_at = t.now, by = $2::text, reason = $3::text
	FROM t
	WHERE j.id = $1 AND j.state = 'open'
	RETURNING j.id
)
SELECT id FROM j`

// CancelJob implements [Store].
func (s *PostgresStore) CancelJob(ctx context.Context, p CancelParams) (Record, bool, error) {
	applied, err := pgRun(ctx, s, func(q runner) (bool, error) {
		rows, err := q.query(ctx, pgCancelJob, string(p.ID), p.Decision.By, p.Decision.Reason)
		if err != nil {
			return false, err
		}
		ids, err := scanTexts(rows)
		return len(ids) > 0, drain(rows, err)
	})
	if err != nil || !applied {
		return Record{}, false, err
	}
	return s.reread(ctx, FindParams{ID: p.ID, AnyOwner: true})
}

const (
	pgFindByID = `
SELECT {job}, {attempt}, clock_timestamp(), 0
FROM {schema}.jobs j LEFT JOIN {schema}.attempts a ON {shown}
WHERE j.id = $1 AND ($2 OR j.owner = $3)`

	pgFindByKey = `
SELECT {job}, {attempt}, clock_timestamp(), 0
FROM {schema}.jobs j LEFT JOIN {schema}.attempts a ON {shown}
WHERE j.owner = $1 AND j.key = $2`

	pgFindByAttempt = `
SELECT {job}, {attempt}, clock_timestamp(),
	(SELECT max(number) FROM {schema}.attempts n WHERE n.job_id = j.id)
FROM {schema}.jobs j LEFT JOIN {schema}.attempts a ON a.job_id = j.id AND ({shown} OR a.id = $4)
WHERE j.id = $1 AND ($2 OR j.owner = $3)`

	pgFindAll = `
SELECT {job}, {attempt}, clock_timestamp(), 0
FROM {schema}.jobs j LEFT JOIN {schema}.attempts a ON a.job_id = j.id
WHERE j.id = $1 AND ($2 OR j.owner = $3)
ORDER BY a.number`
)

// Find implements [Store].
func (s *PostgresStore) Find(ctx context.Context, p FindParams) (Record, error) {
	return pgRun(ctx, s, func(q runner) (Record, error) { return s.find(ctx, q, p) })
}

// FindTx implements [TxStore].
func (s *PostgresStore) FindTx(ctx context.Context, tx Tx, p FindParams) (Record, error) {
	return s.find(ctx, s.sql.in(tx), p)
}

func (s *PostgresStore) find(ctx context.Context, q runner, p FindParams) (Record, error) {
	statement, args := pgFindByID, []any{string(p.ID), p.AnyOwner, p.Owner}
	switch {
	case p.Attempt != "":
		statement, args = pgFindByAttempt, []any{string(p.Attempt.Job()), p.AnyOwner, p.Owner, p.Attempt.own()}
	case p.ID == "":
		statement, args = pgFindByKey, []any{p.Owner, p.Key}
	case p.All:
		statement = pgFindAll
	}
	rows, err := q.query(ctx, statement, args...)
	if err != nil {
		return Record{}, err
	}
	rec, err := scanRecord(rows, p.Attempt, p.All)
	return rec, drain(rows, err)
}
