package onejob

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// scanEntries reads rows of the job, the attempt, the clock, a count, and the
// attempt that the job shows.
func scanEntries(rows *sql.Rows) ([]Entry, error) {
	var entries []Entry
	for rows.Next() {
		var j jobRow
		var a, other attemptRow
		var now time.Time
		var count int
		dest := append(a.dest(j.dest(nil)), moment{&now}, &count)
		if err := rows.Scan(other.dest(dest)...); err != nil {
			return nil, err
		}
		e := Entry{Job: j.record().Job}
		e.Job.Params, e.Job.Result = nil, nil
		e.Job.Attempt = other.of(e.Job.ID)
		e.Attempt = *a.of(e.Job.ID)
		entries = append(entries, e)
	}
	return entries, nil
}

// scanAttempts reads rows of a job's ID and its attempt.
func scanAttempts(rows *sql.Rows) ([]Attempt, error) {
	var attempts []Attempt
	for rows.Next() {
		var job JobID
		var a attemptRow
		if err := rows.Scan(a.dest([]any{&job})...); err != nil {
			return nil, err
		}
		attempts = append(attempts, *a.of(job))
	}
	return attempts, nil
}

// scanTexts reads rows of one text.
func scanTexts(rows *sql.Rows) ([]string, error) {
	var texts []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		texts = append(texts, s)
	}
	return texts, nil
}

// statsRow is Stats as a row.
type statsRow struct {
	Open, Completed, Canceled, Purged int64
	Started, Unknown, Detached, Late  int64
	OldestUnknown                     nullMoment `db:"oldest_unknown"`
}

func (r statsRow) stats() Stats {
	return Stats{
		Open: r.Open, Completed: r.Completed, Canceled: r.Canceled, Purged: r.Purged,
		Started: r.Started, Unknown: r.Unknown, Detached: r.Detached, Late: r.Late,
		OldestUnknown: r.OldestUnknown.Time,
	}
}

// nullMoment is a moment that holds its time itself.
type nullMoment struct{ time.Time }

// Scan implements sql.Scanner.
func (m *nullMoment) Scan(v any) error { return moment{&m.Time}.Scan(v) }

// settledRows runs a statement whose rows are IDs of jobs.
func settledRows(ctx context.Context, q runner, statement string, args ...any) ([]JobID, error) {
	rows, err := q.query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	texts, err := scanTexts(rows)
	if err = drain(rows, err); err != nil {
		return nil, err
	}
	ids := make([]JobID, len(texts))
	for i, text := range texts {
		ids[i] = JobID(text)
	}
	return ids, nil
}

func joinIDs(ids []JobID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, ",")
}
