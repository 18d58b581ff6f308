package checker

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	h "github.com/onejob-go/onejob/faults/history"
)

// row is a job as it stands at the end, with the states of its attempts by ID.
type row struct {
	id, key, state, winner, digest string
	version                        int64
	attempts                       map[string]string
}

// Tables is where a store keeps its rows: what stands before a table's name.
func Tables(store string) string {
	if store == "sqlite" {
		return "onejob_"
	}
	return "onejob."
}

// read reads the rows without the library, by key.
func read(db *sql.DB, store string) (map[string]*row, error) {
	t := Tables(store)
	text := func(column string) string { return "CAST(" + column + " AS TEXT)" }
	rows, err := db.Query("SELECT " + text("id") + ", key, state, version, " + text("completed_by") + ", result_digest FROM " + t + "jobs")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	byKey, byID := map[string]*row{}, map[string]*row{}
	for rows.Next() {
		r := &row{attempts: map[string]string{}}
		var winner sql.NullString
		var digest []byte
		if err := rows.Scan(&r.id, &r.key, &r.state, &r.version, &winner, &digest); err != nil {
			return nil, err
		}
		if winner.Valid {
			r.winner, r.digest = r.id+"-"+winner.String, hex.EncodeToString(digest[:8])
		}
		byKey[r.key], byID[r.id] = r, r
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	attempts, err := db.Query("SELECT " + text("job_id") + ", " + text("id") + ", state FROM " + t + "attempts")
	if err != nil {
		return nil, err
	}
	defer attempts.Close()
	for attempts.Next() {
		var job, id, state string
		if err := attempts.Scan(&job, &id, &state); err != nil {
			return nil, err
		}
		byID[job].attempts[job+"-"+id] = state
	}
	return byKey, attempts.Err()
}

// canaries stand in what is secret, with the one column each may be in.
var canaries = map[string]string{
	"RESULT-": "jobs.result", "PARAMS-": "jobs.params", "KEY-": "jobs.key", "OWNER-": "jobs.owner",
}

// Secrets looks through every column of every table for a canary that is out of
// its cage, as it is or in hex. tables is what stands before a table's name. A
// loser's result has no cage: the results that may be there are compared with
// the winner's digest elsewhere.
func Secrets(ctx context.Context, db *sql.DB, tables string) (found []string, err error) {
	names, err := tablesOf(ctx, db, tables)
	if err != nil {
		return nil, err
	}
	for _, table := range names {
		rows, err := db.QueryContext(ctx, "SELECT * FROM "+tables+table)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return nil, err
			}
			for i, v := range values {
				for _, canary := range escaped(table+"."+columns[i], v) {
					found = append(found, fmt.Sprintf("%s in %s.%s: %q", canary, table, columns[i], v))
				}
			}
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// escaped returns the canaries that are in a value and may not be in its column.
func escaped(column string, v any) (found []string) {
	text := ""
	switch v := v.(type) {
	case []byte:
		text = string(v)
	case string:
		text = v
	}
	for canary, cage := range canaries {
		caged := column == cage || canary == "KEY-" && column == "jobs.params" // which quote it
		if !caged && (strings.Contains(text, canary) || strings.Contains(strings.ToLower(text), hex.EncodeToString([]byte(canary)))) {
			found = append(found, canary)
		}
	}
	return found
}

// tablesOf asks the catalog, for a table that nobody thought of.
func tablesOf(ctx context.Context, db *sql.DB, tables string) (names []string, err error) {
	query := "SELECT table_name FROM information_schema.tables WHERE table_schema || '.' = $1"
	if strings.HasSuffix(tables, "_") {
		query = "SELECT substr(name, length($1) + 1) FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, length($1)) = $1"
	}
	rows, err := db.QueryContext(ctx, query, tables)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if err == nil && len(names) < 3 {
		err = fmt.Errorf("checker: too few tables to be all of them: %q", names)
	}
	return names, errors.Join(err, rows.Err())
}

// final turns a row into two operations that end a history: what anybody who
// asks now must be told, and how each attempt stands.
func final(key string, r *row, at int64) []h.Operation {
	read := h.Reply{At: at + 1, Code: h.NotFound}
	if r != nil {
		read = h.Reply{At: at + 1, Code: h.OK, Job: r.id, State: r.state, Version: r.version, Winner: r.winner, Digest: r.digest}
		if r.state == completed {
			read.Attempt = r.winner
		}
		for id, state := range r.attempts {
			if r.state != completed && (state == started || state == unknown) {
				read.Attempt, read.AState = id, state
			}
		}
	}
	ops := []h.Operation{{Call: h.Call{ID: "final read", Op: "Get", Key: key, At: at}, Reply: &read}}
	if r != nil {
		list := h.Reply{At: at + 3}
		for id, state := range r.attempts {
			list.Texts = append(list.Texts, id+" "+state)
		}
		slices.Sort(list.Texts)
		ops = append(ops, h.Operation{Call: h.Call{ID: "final list", Op: "List", Key: key, At: at + 2}, Reply: &list})
	}
	return ops
}
