package onejob

import (
	"context"
	"strings"
	"time"
)

// The gate looks once the job row is locked, and locks the qualification: it
// waits for a revocation that is under way and then sees it, where a plain look
// would see the row as it was when the statement began. It says nothing where
// something else was in the way.
func pgGate(provider, contract, model, fingerprint string) string {
	return strings.NewReplacer("{who}", provider, "{contract}", contract, "{model}", model, "{print}", fingerprint).Replace(`, q AS MATERIALIZED (
	SELECT q.runs, q.passes, q.expires_at, q.revoked_at FROM {schema}.qualifications q
	WHERE q.provider = {who} AND q.contract = {contract} AND q.model = {model} AND q.fingerprint = {print}
		AND EXISTS (SELECT 1 FROM j)
	FOR SHARE OF q
), gate AS MATERIALIZED (
	SELECT coalesce((
		SELECT CASE WHEN q.revoked_at IS NOT NULL THEN 'revoked' WHEN q.passes < q.runs THEN 'failed'
			WHEN q.expires_at <= clock_timestamp() THEN 'expired' ELSE '' END FROM q
	), CASE WHEN EXISTS (SELECT 1 FROM {schema}.qualifications o
		WHERE o.provider = {who} AND o.contract = {contract} AND o.model = {model}) THEN 'changed' ELSE 'missing' END) AS says
	FROM j
)`)
}

var (
	pgBeginRequired = pgBeginLocks + pgGate("$4", "$7", "$8", "$9") +
		pgBeginGoes + " AND (SELECT says = '' FROM gate)" + pgBegun + ", (SELECT says FROM gate)" + pgBeginTells

	pgStartRequired = pgStartJob + pgGate("$11", "$14", "$15", "$16") +
		pgStartAttempt + " WHERE (SELECT says = '' FROM gate)" + pgStarted + `
SELECT j.created_at, a.deadline, (SELECT says FROM gate) FROM j LEFT JOIN a ON true`
)

// startRequired is Start with a requirement. Where that is not met the job is
// stored all the same: that the user wants it is not in question.
func (s *PostgresStore) startRequired(ctx context.Context, p CreateParams, try BeginParams) (Record, bool, error) {
	return pgRun2(ctx, s, func(q runner) (Record, bool, error) {
		key, r := try.ProviderKey(0), try.Require
		rows, err := q.query(ctx, pgStartRequired, append(pgCreateArgs(p), try.ID.own(), try.Provider, key,
			try.Timeout.Microseconds(), r.Contract, r.Model, r.Fingerprint)...)
		if err != nil {
			return Record{}, false, err
		}
		var at, deadline time.Time
		var gate string
		created := rows.Next()
		if created {
			err = rows.Scan(moment{&at}, moment{&deadline}, &gate)
		}
		if err = drain(rows, err); err != nil || !created {
			return Record{}, false, err
		}
		rec := p.newJob(at)
		if gate != "" {
			rec.Unqualified = gate
			return rec, false, nil
		}
		rec.Attempt = try.newAttempt(1, 1, key, at, deadline)
		rec.Job.Attempt = rec.Attempt
		return rec, true, nil
	})
}

// Of two runs that end at once the one that is stored later counts.
const pgSaveQualification = `
INSERT INTO {schema}.qualifications AS q (provider, contract, model, fingerprint, runs, passes, evidence,
	qualified_at, expires_at)
SELECT $1::text, $2::text, $3::text, $4::text, $5::int, $6::int, $7::bytea, t.now, t.now + $8::bigint * interval '1 microsecond'
FROM (SELECT clock_timestamp() AS now) t
ON CONFLICT (provider, contract, model, fingerprint) DO UPDATE
SET runs = excluded.runs, passes = excluded.passes, evidence = excluded.evidence,
	qualified_at = excluded.qualified_at, expires_at = excluded.expires_at
RETURNING ` + qualificationColumns

// SaveQualification implements [QualificationStore].
func (s *PostgresStore) SaveQualification(ctx context.Context, q Qualification, ttl time.Duration, _ func() time.Time) (Qualification, error) {
	saved, err := s.qualificationRows(ctx, pgSaveQualification, q.Provider, q.Contract, q.Model, q.Fingerprint,
		q.Runs, q.Passes, bytesOf(q.Evidence), ttl.Microseconds())
	if err != nil || len(saved) == 0 {
		return Qualification{}, err
	}
	return saved[0], nil
}

// The time is taken once the row is locked. An UPDATE alone works out what it
// will write and then waits: an attempt that held the row showed a start later
// than the revocation that came after it.
const pgRevokeQualification = `
WITH locked AS MATERIALIZED (
	SELECT 1 FROM {schema}.qualifications
	WHERE provider = $1 AND contract = $2 AND model = $3 AND fingerprint = $4
	FOR NO KEY UPDATE
), t AS MATERIALIZED (
	SELECT clock_timestamp() AS now FROM locked
)
UPDATE {schema}.qualifications q
SET by = CASE WHEN q.revoked_at IS NULL THEN $5::text ELSE q.by END,
	reason = CASE WHEN q.revoked_at IS NULL THEN $6::text ELSE q.reason END,
	revoked_at = coalesce(q.revoked_at, t.now)
FROM t
WHERE q.provider = $1 AND q.contract = $2 AND q.model = $3 AND q.fingerprint = $4
RETURNING ` + qualificationColumns

// RevokeQualification implements [QualificationStore].
func (s *PostgresStore) RevokeQualification(ctx context.Context, provider string, r Requirement, d Decision, _ func() time.Time) (Qualification, bool, error) {
	revoked, err := s.qualificationRows(ctx, pgRevokeQualification, provider, r.Contract, r.Model, r.Fingerprint, d.By, d.Reason)
	if err != nil || len(revoked) == 0 {
		return Qualification{}, false, err
	}
	return revoked[0], true, nil
}

const pgQualifications = `
SELECT ` + qualificationColumns + `
FROM {schema}.qualifications
WHERE (provider, contract, model, fingerprint) > ($1, $2, $3, $4)
ORDER BY provider, contract, model, fingerprint LIMIT $5`

// Qualifications implements [QualificationStore].
func (s *PostgresStore) Qualifications(ctx context.Context, after *Qualification, limit int) ([]Qualification, error) {
	if after == nil {
		after = &Qualification{} // before all: no name is empty
	}
	return s.qualificationRows(ctx, pgQualifications, after.Provider, after.Contract, after.Model, after.Fingerprint, limit)
}

func (s *PostgresStore) qualificationRows(ctx context.Context, statement string, args ...any) ([]Qualification, error) {
	return pgRun(ctx, s, func(q runner) ([]Qualification, error) { return qualificationRows(ctx, q, statement, args...) })
}

var _ QualificationStore = (*PostgresStore)(nil)
