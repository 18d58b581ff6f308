package onejob

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"
)

// The params of all the jobs come as one value, of which each row takes its
// part: an array of bytea would be escaped twice. The rows come in the order of
// the keys, which is the order of their locks.
const pgCreateMany = `
INSERT INTO {schema}.jobs (id, owner, key, kind, target, params, opaque, fingerprint,
	fingerprint_version, state, version, created_at)
SELECT i.id, i.owner, i.key, i.kind, i.target, substring($6::bytea FROM i.off FOR i.size), i.opaque,
	substring($10::bytea FROM 32 * (i.n::int - 1) + 1 FOR 32), i.fingerprint_version, 'open', 1, clock_timestamp()
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $7::int[], $8::int[], $9::bool[], $11::int[])
	WITH ORDINALITY AS i (id, owner, key, kind, target, off, size, opaque, fingerprint_version, n)
ORDER BY i.n
ON CONFLICT DO NOTHING
RETURNING id, created_at`

// OFFSET 0 has each key looked for by itself: a plan made while the table was
// small read all of it once instead, and was kept when it had grown.
const pgFindMany = `
SELECT i.n, {job}, {attempt}, clock_timestamp(), 0
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS i (owner, key, n)
CROSS JOIN LATERAL (SELECT {job} FROM {schema}.jobs j WHERE j.owner = i.owner AND j.key = i.key OFFSET 0) j
LEFT JOIN LATERAL (SELECT {attempt raw} FROM {schema}.attempts a WHERE {shown} OFFSET 0) a ON true`

// CreateMany implements [BatchStore]: one statement stores, and another reads
// the jobs that were in the way.
func (s *PostgresStore) CreateMany(ctx context.Context, params []CreateParams) ([]Record, error) {
	return pgRun(ctx, s, func(q runner) ([]Record, error) {
		recs, err := s.createMany(ctx, q, params)
		if err != nil {
			return nil, err
		}
		var unseen []int
		for i := range recs {
			if recs[i].Job.ID == "" {
				unseen = append(unseen, i)
			}
		}
		if len(unseen) == 0 {
			return recs, nil
		}
		return recs, s.findMany(ctx, q, params, recs, unseen)
	})
}

func (s *PostgresStore) createMany(ctx context.Context, q runner, params []CreateParams) ([]Record, error) {
	var ids, owners, keys, kinds, targets, offsets, sizes, opaques, versions pgArray
	var payloads, prints []byte
	at := make(map[JobID]int, len(params))
	for i, p := range params {
		in := p.Intent
		at[p.ID] = i
		ids.text(string(p.ID))
		owners.text(in.Owner)
		keys.text(in.Key)
		kinds.text(in.Kind)
		targets.text(in.Target)
		offsets.int(len(payloads) + 1)
		sizes.int(len(in.Params))
		opaques.bool(in.Opaque)
		versions.int(p.FingerprintVersion)
		payloads = append(payloads, in.Params...)
		prints = append(prints, p.Fingerprint[:]...)
	}
	rows, err := q.query(ctx, pgCreateMany, ids.String(), owners.String(), keys.String(), kinds.String(), targets.String(),
		bytesOf(payloads), offsets.String(), sizes.String(), opaques.String(), prints, versions.String())
	if err != nil {
		return nil, err
	}
	recs := make([]Record, len(params))
	for err == nil && rows.Next() {
		var id JobID
		var created time.Time
		if err = rows.Scan(&id, moment{&created}); err == nil {
			recs[at[id]] = params[at[id]].newJob(created)
		}
	}
	return recs, drain(rows, err)
}

// findMany fills in the records of the unseen keys, where there are such jobs.
func (s *PostgresStore) findMany(ctx context.Context, q runner, params []CreateParams, recs []Record, unseen []int) error {
	var owners, keys pgArray
	for _, i := range unseen {
		owners.text(params[i].Intent.Owner)
		keys.text(params[i].Intent.Key)
	}
	rows, err := q.query(ctx, pgFindMany, owners.String(), keys.String())
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		var n int
		var j jobRow
		var a attemptRow
		var now time.Time
		var count sql.NullInt64
		dest := a.dest(j.dest([]any{&n}))
		if err = rows.Scan(append(dest, moment{&now}, &count)...); err == nil {
			rec := j.record()
			rec.Now = now
			rec.Job.Attempt = a.of(rec.Job.ID)
			recs[unseen[n-1]] = rec
		}
	}
	return drain(rows, err)
}

// pgArray writes an array as text, which every driver can send.
type pgArray struct{ b strings.Builder }

func (a *pgArray) String() string {
	if a.b.Len() == 0 {
		return "{}"
	}
	return a.b.String() + "}"
}

func (a *pgArray) next() {
	if a.b.Len() == 0 {
		a.b.WriteByte('{')
	} else {
		a.b.WriteByte(',')
	}
}

var pgQuoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (a *pgArray) text(s string) {
	a.next()
	a.b.WriteByte('"')
	_, _ = pgQuoted.WriteString(&a.b, s)
	a.b.WriteByte('"')
}

func (a *pgArray) int(n int) {
	a.next()
	a.b.WriteString(strconv.Itoa(n))
}

func (a *pgArray) bool(v bool) {
	a.next()
	a.b.WriteString(strconv.FormatBool(v))
}
