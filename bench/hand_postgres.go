package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// handPg is the library's SQL as a service would write it by hand: prepared
// statements on lib/pq, and only what the next step needs is read.
type handPg struct {
	db                                   *sql.DB
	create, start, begin, complete, find *sql.Stmt
}

const (
	handCreate = `
INSERT INTO onejob.jobs (id, owner, key, kind, target, params, opaque, fingerprint,
	fingerprint_version, state, version, created_at)
VALUES ($1, $2, $3, $4, '', $5::bytea, false, $6::bytea, 1, 'open', 1, clock_timestamp())
ON CONFLICT DO NOTHING
RETURNING created_at`

	handStart = `
WITH j AS (
	INSERT INTO onejob.jobs (id, owner, key, kind, target, params, opaque, fingerprint,
		fingerprint_version, state, version, created_at)
	VALUES ($1, $2, $3, $4, '', $5::bytea, false, $6::bytea, 1, 'open', 1, clock_timestamp())
	ON CONFLICT DO NOTHING
	RETURNING id, created_at
), a AS (
	INSERT INTO onejob.attempts (job_id, id, number, provider, state, job_version, provider_key,
		timeout, started_at, deadline)
	SELECT j.id, $7, 1, $8, 'started', 1, $9, $10::bigint, j.created_at,
		j.created_at + $10::bigint * interval '1 microsecond'
	FROM j
	RETURNING deadline
)
SELECT j.created_at, a.deadline FROM j, a`

	handBegin = `
WITH seen AS MATERIALIZED (
	SELECT a.id, a.number, a.provider, a.state FROM onejob.attempts a WHERE a.job_id = $1
), free AS MATERIALIZED (
	SELECT coalesce(max(number), 0) AS last FROM seen
	HAVING count(*) FILTER (WHERE state IN ('started', 'unknown') OR id = $3) = 0
), j AS MATERIALIZED (
	SELECT j.id, j.version FROM onejob.jobs j
	WHERE j.id = $1 AND (j.owner = $2) IS TRUE AND j.state = 'open' AND (SELECT true FROM free)
	FOR NO KEY UPDATE
), t AS MATERIALIZED (
	SELECT j.id, j.version, clock_timestamp() AS now FROM j
)
INSERT INTO onejob.attempts (job_id, id, number, provider, state, job_version, provider_key,
	timeout, started_at, deadline)
SELECT t.id, $3, free.last + 1, $4, 'started', t.version, $5, $6::bigint, t.now,
	t.now + $6::bigint * interval '1 microsecond'
FROM t, free
ON CONFLICT DO NOTHING
RETURNING number, job_version, started_at, deadline`

	handComplete = `
WITH j AS MATERIALIZED (
	SELECT j.id FROM onejob.jobs j WHERE j.id = $1 FOR NO KEY UPDATE
), a AS MATERIALIZED (
	SELECT a.state FROM onejob.attempts a
	WHERE a.job_id = (SELECT id FROM j) AND a.id = $2
	FOR NO KEY UPDATE
), t AS MATERIALIZED (
	SELECT a.state IN ('started', 'unknown', 'detached') AS able, clock_timestamp() AS now FROM a
), won AS (
	UPDATE onejob.jobs j
	SET state = 'completed', version = j.version + 1, completed_by = $2, result = $4::bytea,
		result_digest = $5::bytea, ended_at = t.now
	FROM t
	WHERE j.id = $1 AND j.version = $3 AND j.completed_by IS NULL AND j.state = 'open' AND t.able
	RETURNING j.id, j.version, j.ended_at
), ended AS (
	UPDATE onejob.attempts a
	SET state = CASE WHEN won.id IS NOT NULL THEN 'succeeded' ELSE 'late' END, ended_at = t.now
	FROM t LEFT JOIN won ON true
	WHERE a.job_id = $1 AND a.id = $2 AND t.able
)
SELECT version, ended_at FROM won`

	handFind = `
SELECT id, kind, target, params, opaque, fingerprint, fingerprint_version, state, version, created_at
FROM onejob.jobs WHERE owner = $1 AND key = $2`
)

func openHandPg(ctx context.Context, dsn string) (*handPg, error) {
	db, err := pgPool(dsn, poolSize)
	if err != nil {
		return nil, err
	}
	h := &handPg{db: db}
	for text, stmt := range map[string]**sql.Stmt{
		handCreate: &h.create, handStart: &h.start, handBegin: &h.begin, handComplete: &h.complete, handFind: &h.find,
	} {
		if *stmt, err = db.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// own is an attempt's own part of an ID.
func own() (string, error) {
	id, err := newID()
	if err != nil {
		return "", err
	}
	return id[19:23] + id[24:], nil
}

func providerKey(job string) string {
	sum := sha256.Sum256([]byte(job + "\nprimary\n0"))
	return hex.EncodeToString(sum[:16])
}

func (h *handPg) Create(ctx context.Context, _ int) error {
	_, _, err := h.CreateOrFind(ctx, key())
	return err
}

// CreateOrFind returns the ID of the key's job.
func (h *handPg) CreateOrFind(ctx context.Context, key string) (string, bool, error) {
	id, err := newID()
	if err != nil {
		return "", false, err
	}
	sum := sha256.Sum256(params)
	var at time.Time
	err = h.create.QueryRowContext(ctx, id, "owner-1", key, "charge", params, sum[:]).Scan(&at)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err == nil, err
	}
	var kind, target, state string
	var payload, print []byte
	var opaque bool
	var printVersion, version int
	err = h.find.QueryRowContext(ctx, "owner-1", key).
		Scan(&id, &kind, &target, &payload, &opaque, &print, &printVersion, &state, &version, &at)
	if err == nil && !bytes.Equal(print, sum[:]) {
		err = errors.New("the key was used for other input")
	}
	return id, false, err
}

func (h *handPg) Begin(ctx context.Context, job, owner string) (string, error) {
	a, err := own()
	if err != nil {
		return "", err
	}
	var number, version int
	var started, deadline time.Time
	return a, h.begin.QueryRowContext(ctx, job, owner, a, "primary", providerKey(job), time.Minute.Microseconds()).
		Scan(&number, &version, &started, &deadline)
}

func (h *handPg) Complete(ctx context.Context, job, attempt string) error {
	sum := sha256.Sum256(result)
	var version int
	var at time.Time
	return h.complete.QueryRowContext(ctx, job, attempt, 1, result, sum[:]).Scan(&version, &at)
}

// Start returns the new job's and attempt's IDs.
func (h *handPg) Start(ctx context.Context) (id, a string, err error) {
	if id, err = newID(); err != nil {
		return "", "", err
	}
	if a, err = own(); err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(params)
	var at, deadline time.Time
	err = h.start.QueryRowContext(ctx, id, "owner-1", key(), "charge", params, sum[:], a, "primary", providerKey(id),
		time.Minute.Microseconds()).Scan(&at, &deadline)
	return id, a, err
}

// Cycle is Start and Complete.
func (h *handPg) Cycle(ctx context.Context, _ int) error {
	id, a, err := h.Start(ctx)
	if err != nil {
		return err
	}
	return h.Complete(ctx, id, a)
}

// CycleInTx is a Start, and a Complete in one transaction with a row of the
// host's.
func (h *handPg) CycleInTx(ctx context.Context, _ int) error {
	id, a, err := h.Start(ctx)
	if err != nil {
		return err
	}
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	sum := sha256.Sum256(result)
	var version int
	var at time.Time
	err = tx.StmtContext(ctx, h.complete).QueryRowContext(ctx, id, a, 1, result, sum[:]).Scan(&version, &at)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO receipts VALUES ($1, $2)", id, 1299); err != nil {
		return err
	}
	return tx.Commit()
}

// naive is the cycle as it is usually written: three transactions with SELECTs,
// 13 round trips, statements that are prepared.
type naive struct {
	db                                                   *sql.DB
	find, insert, lock, open, attempt, complete, succeed *sql.Stmt
}

func openNaive(ctx context.Context, dsn string) (*naive, error) {
	db, err := pgPool(dsn, poolSize)
	if err != nil {
		return nil, err
	}
	n := &naive{db: db}
	for text, stmt := range map[string]**sql.Stmt{
		"SELECT id, fingerprint, state FROM onejob.jobs WHERE owner = $1 AND key = $2": &n.find,
		`INSERT INTO onejob.jobs (id, owner, key, kind, target, params, opaque, fingerprint, fingerprint_version, state, version, created_at)
			VALUES ($1, $2, $3, $4, '', $5::bytea, false, $6::bytea, 1, 'open', 1, clock_timestamp())`: &n.insert,
		"SELECT state, version FROM onejob.jobs WHERE id = $1 FOR UPDATE":                            &n.lock,
		"SELECT count(*) FROM onejob.attempts WHERE job_id = $1 AND state IN ('started', 'unknown')": &n.open,
		`INSERT INTO onejob.attempts (job_id, id, number, provider, state, job_version, provider_key, timeout, started_at, deadline)
			VALUES ($1, $2, 1, 'primary', 'started', 1, $3, 60000000, now(), now() + interval '1 minute')`: &n.attempt,
		`UPDATE onejob.jobs SET state = 'completed', version = version + 1, completed_by = $2, result = $3::bytea, result_digest = $4::bytea, ended_at = now()
			WHERE id = $1 AND version = $5 AND completed_by IS NULL`: &n.complete,
		"UPDATE onejob.attempts SET state = 'succeeded', ended_at = now() WHERE job_id = $1 AND id = $2": &n.succeed,
	} {
		if *stmt, err = db.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *naive) tx(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := n.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (n *naive) Create(ctx context.Context, _ int) error {
	_, err := n.create(ctx)
	return err
}

func (n *naive) create(ctx context.Context) (string, error) {
	id, err := newID()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(params)
	k := key()
	return id, n.tx(ctx, func(tx *sql.Tx) error {
		var found, print, state string
		if err := tx.StmtContext(ctx, n.find).QueryRowContext(ctx, "owner-1", k).Scan(&found, &print, &state); err != sql.ErrNoRows {
			return fmt.Errorf("a new key: %v", err)
		}
		_, err := tx.StmtContext(ctx, n.insert).ExecContext(ctx, id, "owner-1", k, "charge", params, sum[:])
		return err
	})
}

// Cycle is three transactions.
func (n *naive) Cycle(ctx context.Context, _ int) error {
	id, err := n.create(ctx)
	if err != nil {
		return err
	}
	a, err := own()
	if err != nil {
		return err
	}
	var state string
	var version, open int
	err = n.tx(ctx, func(tx *sql.Tx) error {
		if err := tx.StmtContext(ctx, n.lock).QueryRowContext(ctx, id).Scan(&state, &version); err != nil {
			return err
		}
		if err := tx.StmtContext(ctx, n.open).QueryRowContext(ctx, id).Scan(&open); err != nil {
			return err
		}
		_, err := tx.StmtContext(ctx, n.attempt).ExecContext(ctx, id, a, providerKey(id))
		return err
	})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(result)
	return n.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.StmtContext(ctx, n.complete).ExecContext(ctx, id, a, result, sum[:], version); err != nil {
			return err
		}
		_, err := tx.StmtContext(ctx, n.succeed).ExecContext(ctx, id, a)
		return err
	})
}
