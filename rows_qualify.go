package onejob

import (
	"context"
	"database/sql"
)

const qualificationColumns = `provider, contract, model, fingerprint, runs, passes, evidence,
	qualified_at, expires_at, revoked_at, by, reason`

// scanQualifications reads rows of qualificationColumns.
func scanQualifications(rows *sql.Rows) ([]Qualification, error) {
	var list []Qualification
	for rows.Next() {
		var q Qualification
		var by, reason sql.NullString
		err := rows.Scan(&q.Provider, &q.Contract, &q.Model, &q.Fingerprint, &q.Runs, &q.Passes, &q.Evidence,
			moment{&q.QualifiedAt}, moment{&q.ExpiresAt}, moment{&q.RevokedAt}, &by, &reason)
		if err != nil {
			return nil, err
		}
		q.By, q.Reason, q.Evidence = by.String, reason.String, bytesOf(q.Evidence)
		list = append(list, q)
	}
	return list, nil
}

func qualificationRows(ctx context.Context, q runner, statement string, args ...any) ([]Qualification, error) {
	rows, err := q.query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	list, err := scanQualifications(rows)
	return list, drain(rows, err)
}
