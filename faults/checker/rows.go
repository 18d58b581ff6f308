package checker

import (
	"context"
	"database/sql"
	"encoding/hex"
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

// scan looks through every column of every table for a canary that is out of its
// cage. A loser's result has none: the results that may be there are checked
// against the winner's digest elsewhere.
func scan(ctx context.Context, db *sql.DB, store string) (found []string, err error) {
	for _, table := range []string{"jobs", "attempts"} {
		rows, err := db.QueryContext(ctx, "SELECT * FROM "+Tables(store)+table)
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
				text := ""
				switch v := v.(type) {
				case []byte:
					text = string(v)
				case string:
					text = v
				}
				for canary, column := range canaries {
					// The key is part of the params.
					if column != table+"."+columns[i] && strings.Contains(text, canary) && (canary != "KEY-" || columns[i] != "params") {
						found = append(found, fmt.Sprintf("%s in %s.%s: %q", canary, table, columns[i], text))
					}
				}
			}
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// final turns a row into two operations that end a history: what anybody who
// asks now must be told, and how each attempt stands.
func final(key string, r *row, at int64) []h.Operation {
	read := h.Reply{At: at + 1, Code: h.NotFound}
	if r != nil {
		read = h.Reply{At: at + 1, Code: h.OK, Job: r.id, State: r.state, Version: r.version, Winner: r.winner, Digest: r.digest}
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
