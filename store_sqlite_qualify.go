package onejob

import (
	"context"
	"time"
)

// What the gate says is what is committed: the transaction has the writer, so no
// revocation comes in between.
const sqliteGate = `
SELECT coalesce((
	SELECT CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN passes < runs THEN 'failed'
		WHEN expires_at <= ?5 THEN 'expired' ELSE '' END
	FROM {p}qualifications WHERE provider = ?1 AND contract = ?2 AND model = ?3 AND fingerprint = ?4
), CASE WHEN EXISTS (SELECT 1 FROM {p}qualifications
	WHERE provider = ?1 AND contract = ?2 AND model = ?3) THEN 'changed' ELSE 'missing' END)`

// unqualified says why the requirement is not met, "" where it is.
func (p BeginParams) unqualified(ctx context.Context, q runner) (says string, err error) {
	if p.Require == nil {
		return "", nil
	}
	r := p.Require
	_, err = one(ctx, q, []any{&says}, sqliteGate, p.Provider, r.Contract, r.Model, r.Fingerprint, p.Clock().UnixMicro())
	return says, err
}

// Of two runs that end at once the one that is stored later counts.
const sqliteSaveQualification = `
INSERT INTO {p}qualifications (provider, contract, model, fingerprint, runs, passes, evidence,
	qualified_at, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8 + ?9)
ON CONFLICT (provider, contract, model, fingerprint) DO UPDATE
SET runs = excluded.runs, passes = excluded.passes, evidence = excluded.evidence,
	qualified_at = excluded.qualified_at, expires_at = excluded.expires_at`

// SaveQualification implements [QualificationStore].
func (s *SQLiteStore) SaveQualification(ctx context.Context, q Qualification, ttl time.Duration, clock func() time.Time) (Qualification, error) {
	saved, _, err := s.changeQualification(ctx, q.Provider, q.Requirement, sqliteSaveQualification, func() []any {
		return []any{q.Provider, q.Contract, q.Model, q.Fingerprint, q.Runs, q.Passes, bytesOf(q.Evidence),
			clock().UnixMicro(), ttl.Microseconds()}
	})
	return saved, err
}

const sqliteRevokeQualification = `
UPDATE {p}qualifications
SET by = CASE WHEN revoked_at IS NULL THEN ?5 ELSE by END,
	reason = CASE WHEN revoked_at IS NULL THEN ?6 ELSE reason END,
	revoked_at = coalesce(revoked_at, ?7)
WHERE provider = ?1 AND contract = ?2 AND model = ?3 AND fingerprint = ?4`

// RevokeQualification implements [QualificationStore].
func (s *SQLiteStore) RevokeQualification(ctx context.Context, provider string, r Requirement, d Decision, clock func() time.Time) (Qualification, bool, error) {
	return s.changeQualification(ctx, provider, r, sqliteRevokeQualification, func() []any {
		return []any{provider, r.Contract, r.Model, r.Fingerprint, d.By, d.Reason, clock().UnixMicro()}
	})
}

const (
	sqliteQualification = `
SELECT ` + qualificationColumns + ` FROM {p}qualifications
WHERE provider = ?1 AND contract = ?2 AND model = ?3 AND fingerprint = ?4`

	sqliteQualifications = `
SELECT ` + qualificationColumns + ` FROM {p}qualifications
WHERE (provider, contract, model, fingerprint) > (?1, ?2, ?3, ?4)
ORDER BY provider, contract, model, fingerprint LIMIT ?5`
)

// changeQualification runs a statement and reads the row back. The clock is in
// args: it is read once the transaction has the writer.
func (s *SQLiteStore) changeQualification(ctx context.Context, provider string, r Requirement, statement string, args func() []any) (q Qualification, found bool, err error) {
	err = s.alone(ctx, func(ctx context.Context, e executor) error {
		if _, err := e.exec(ctx, statement, args()...); err != nil {
			return err
		}
		list, err := qualificationRows(ctx, e, sqliteQualification, provider, r.Contract, r.Model, r.Fingerprint)
		if found = err == nil && len(list) > 0; found {
			q = list[0]
		}
		return err
	})
	return q, found && err == nil, err
}

// Qualifications implements [QualificationStore].
func (s *SQLiteStore) Qualifications(ctx context.Context, after *Qualification, limit int) ([]Qualification, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if after == nil {
		after = &Qualification{} // before all: no name is empty
	}
	list, err := qualificationRows(ctx, &s.reads, sqliteQualifications, after.Provider, after.Contract, after.Model, after.Fingerprint, limit)
	return list, s.explained(ctx, err)
}

var _ QualificationStore = (*SQLiteStore)(nil)
