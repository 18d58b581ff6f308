package onejob

import (
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// The columns that make a Job and an Attempt, in the order in which they are
// scanned. They are always listed: with SELECT * a new column would break an
// older binary.
const jobColumns = `j.id, j.owner, j.key, j.kind, j.target, j.params, j.opaque, j.fingerprint,
	j.fingerprint_version, j.state, j.version, j.completed_by, j.result, j.result_digest,
	j.created_at, j.ended_at, j.purged_at, j.by, j.reason`

// attemptColumns lists them for a table alias; now is the store's clock, by
// which an overdue attempt reads as unknown.
func attemptColumns(alias, now string) string {
	return strings.NewReplacer("a.", alias+".", "{now}", now).Replace(
		`a.id, a.number, a.provider,
	CASE WHEN a.state = 'started' AND a.deadline <= {now} THEN 'unknown' ELSE a.state END,
	a.job_version, a.provider_key, a.external_ref, a.timeout, a.started_at, a.deadline,
	a.ended_at, a.cause, a.by, a.reason, a.late_at, a.late_size, a.late_digest`)
}

// jobRow takes jobColumns.
type jobRow struct {
	job         Job
	print       []byte
	version     int
	completedBy sql.NullString
	digest      []byte
	by, reason  sql.NullString
}

func (r *jobRow) dest(before []any) []any {
	j := &r.job
	return append(before,
		&j.ID, &j.Owner, &j.Key, &j.Kind, &j.Target, &j.Params, &j.Opaque, &r.print,
		&r.version, &j.State, &j.Version, &r.completedBy, &j.Result, &r.digest,
		moment{&j.CreatedAt}, moment{&j.EndedAt}, moment{&j.PurgedAt}, &r.by, &r.reason,
	)
}

// record makes the record of a job that has no attempts.
func (r *jobRow) record() Record {
	r.job.By, r.job.Reason = r.by.String, r.reason.String
	if r.job.PurgedAt.IsZero() {
		// Drivers differ in what an empty payload comes back as.
		r.job.Params = bytesOf(r.job.Params)
		if r.job.State == JobCompleted {
			r.job.Result = bytesOf(r.job.Result)
		}
	}
	rec := Record{Job: r.job, FingerprintVersion: r.version}
	copy(rec.Fingerprint[:], r.print)
	copy(rec.ResultDigest[:], r.digest)
	return rec
}

// attemptRow takes attemptColumns, which are all NULL where an outer join
// found none.
type attemptRow struct {
	attempt                                          Attempt
	id, provider, state, key, ref, cause, by, reason sql.NullString
	number, version, timeout, lateSize               sql.NullInt64
	digest                                           []byte
}

func (r *attemptRow) dest(before []any) []any {
	a := &r.attempt
	return append(before,
		&r.id, &r.number, &r.provider, &r.state, &r.version, &r.key, &r.ref, &r.timeout,
		moment{&a.StartedAt}, moment{&a.Deadline}, moment{&a.EndedAt}, &r.cause, &r.by, &r.reason,
		moment{&a.LateAt}, &r.lateSize, &r.digest,
	)
}

// of makes the attempt of a job, nil where the join found none.
func (r *attemptRow) of(job JobID) *Attempt {
	if !r.id.Valid {
		return nil
	}
	a := &r.attempt
	a.ID, a.JobID = attemptID(job, r.id.String), job
	a.Number, a.Provider, a.State = int(r.number.Int64), r.provider.String, State(r.state.String)
	a.JobVersion, a.ProviderKey, a.ExternalRef = r.version.Int64, r.key.String, r.ref.String
	a.Timeout = time.Duration(r.timeout.Int64) * time.Microsecond
	a.Cause, a.By, a.Reason = r.cause.String, r.by.String, r.reason.String
	a.LateSize = r.lateSize.Int64
	copy(a.LateDigest[:], r.digest)
	return a
}

// blocks reports whether the attempt is what Job.Attempt shows: the winner, or
// the open one while there is no winner.
func (r *jobRow) blocks(a *Attempt) bool {
	if r.completedBy.Valid {
		return a.ID.own() == r.completedBy.String
	}
	return a.State.Open()
}

// scanRecord reads rows of jobColumns, attemptColumns, the clock, the highest
// attempt number, and whatever extra takes: one job, a row for each of its
// attempts that were asked for. No rows make an empty record.
func scanRecord(rows *sql.Rows, asked AttemptID, all bool, extra ...any) (Record, error) {
	var rec Record
	for rows.Next() {
		var j jobRow
		var a attemptRow
		var now time.Time
		var count sql.NullInt64
		dest := a.dest(j.dest(make([]any, 0, 48)))
		dest = append(append(dest, moment{&now}, &count), extra...)
		if err := rows.Scan(dest...); err != nil {
			return Record{}, err
		}
		if rec.Job.ID == "" {
			rec = j.record()
			rec.Now, rec.Count = now, int(count.Int64)
		}
		attempt := a.of(rec.Job.ID)
		if attempt == nil {
			continue
		}
		if j.blocks(attempt) {
			rec.Job.Attempt = attempt
		}
		if attempt.ID == asked {
			rec.Attempt = attempt
		}
		if all {
			rec.Attempts = append(rec.Attempts, *attempt)
		}
	}
	return rec, nil
}

// drain ends rows. Its error comes even after a row was read: the server may
// fail at the commit.
func drain(rows *sql.Rows, err error) error {
	for err == nil && rows.Next() {
	}
	if e := rows.Err(); err == nil {
		err = e
	}
	if e := rows.Close(); err == nil {
		err = e
	}
	return err
}

// moment scans a time: a timestamp of PostgreSQL, or the microseconds since
// 1970 that SQLite keeps. NULL is the zero time.
type moment struct{ t *time.Time }

// Scan implements sql.Scanner.
func (m moment) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*m.t = time.Time{}
	case time.Time:
		*m.t = v.UTC()
	case int64:
		*m.t = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("onejob: cannot read a time from %T", v)
	}
	return nil
}

// text is a nullable text parameter: empty is NULL.
func text(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// words are a decision's columns.
func words(d *Decision) (by, reason sql.NullString) {
	if d == nil {
		return by, reason
	}
	return text(d.By), text(d.Reason)
}

// bytesOf makes empty what is nil: NULL means purged.
func bytesOf(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}

// newJob is the record of a job that was stored just now.
func (p CreateParams) newJob(at time.Time) Record {
	in := p.Intent
	in.Params, in.Scope = bytesOf(in.Params), nil
	return Record{
		Job:         Job{ID: p.ID, Intent: in, State: JobOpen, Version: 1, CreatedAt: at},
		Fingerprint: p.Fingerprint, FingerprintVersion: p.FingerprintVersion, Now: at,
	}
}

// newAttempt is the attempt that was begun just now.
func (p BeginParams) newAttempt(number int, version int64, key string, at, deadline time.Time) *Attempt {
	return &Attempt{
		ID: p.ID, JobID: p.ID.Job(), Number: number, Provider: p.Provider, State: StateStarted,
		JobVersion: version, ProviderKey: key, Timeout: p.Timeout, StartedAt: at, Deadline: deadline,
	}
}
