package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/lib/pq"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/pgdial"
)

// postgresWords follow the library's predicates, store_postgres_operator.go.
func postgresWords(schema string) words {
	s := `"` + schema + `".`
	return words{
		now: `SELECT clock_timestamp()`,
		hasVersions: `
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = '` + schema + `' AND c.relname = 'migrations')`,
		version: `SELECT coalesce(max(version), 0) FROM ` + s + `migrations`,
		duePayloads: `
SELECT count(*) FROM ` + s + `jobs j
WHERE j.purged_at IS NULL AND j.state <> 'open'
	AND j.created_at <= now() - $1::bigint * interval '1 microsecond'
	AND j.ended_at <= now() - $1::bigint * interval '1 microsecond'
	AND NOT EXISTS (SELECT 1 FROM ` + s + `attempts a
		WHERE a.job_id = j.id AND a.state IN ('started', 'unknown'))`,
		dueTombstones: `
SELECT count(*) FROM ` + s + `jobs j
WHERE j.purged_at IS NOT NULL
	AND j.created_at <= now() - $1::bigint * interval '1 microsecond'
	AND j.ended_at <= now() - $1::bigint * interval '1 microsecond'`,
		count: `SELECT count(*) FROM `,
		// The domain is one of onejob's own.
		elsewhere: `
SELECT string_agg(n.nspname, ', ' ORDER BY n.nspname) FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.typname = 'onejob_attempt_id'`,
	}
}

func (g *globals) openPostgres(ctx context.Context, at address, x access) (*database, error) {
	cfg, err := pq.NewConfig(at.dsn)
	if err != nil {
		// The driver's text quotes parts of the DSN, which may be of the password.
		return nil, usage("the DSN cannot be read as one of PostgreSQL: in a URL, write what is special in a password as %%40 for @, %%2F for /, and so on; %s", dsnHelp)
	}
	if cfg.ApplicationName == "" && cfg.FallbackApplicationName == "" {
		cfg.ApplicationName = "onejob"
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTime
	}
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, usage("the DSN has a setting that the driver refuses; %s", dsnHelp)
	}
	dialer := pgdial.Dialer{}
	if x == surveys || x == works || x >= migrates {
		dialer.Silence = -1 // a count, a purge or an index takes as long as it takes
	}
	connector.Dialer(dialer)
	db := sql.OpenDB(connector)
	// As doctor advises: it looks at this pool too.
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	pg, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: string(g.Schema), Unprepared: g.Unprepared})
	if err != nil {
		db.Close()
		return nil, err
	}
	schema := string(g.Schema)
	if schema == "" {
		schema = "onejob"
	}
	d := &database{store: pg, kind: postgres, own: db, words: postgresWords(schema), end: db.Close, names: "--schema"}
	d.where = fmt.Sprintf("schema %s of database %s at %s", schema, safe(cfg.Database), safe(cfg.Host+":"+strconv.Itoa(int(cfg.Port))))
	err = d.ping(ctx)
	if err == nil {
		err = d.locate(ctx, schema, cfg.Host)
	}
	if err == nil {
		err = d.ready(ctx, x)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return d, nil
}

// locate asks the server which it is: a DSN may name several, and the settings
// tell only of the first. Over a socket it has no address.
func (d *database) locate(ctx context.Context, schema, host string) error {
	var at string
	err := d.ask(ctx, &at, `SELECT current_database() || E'\n' || coalesce(host(inet_server_addr()) || ':' || inet_server_port(), '')`)
	if err != nil {
		return d.asked(err)
	}
	name, server, _ := strings.Cut(at, "\n")
	configured := d.where[strings.LastIndex(d.where, " at ")+len(" at "):]
	if strings.Contains(host, ",") || server == "" || strings.HasSuffix(configured, server) {
		configured = ""
	}
	switch {
	case server == "":
		server = safe(host) + " (a socket)"
	case configured != "":
		server = configured + " (" + server + ")"
	}
	d.where = fmt.Sprintf("schema %s of database %s at %s", schema, safe(name), server)
	return nil
}

// ping makes the first connection. The driver minds no context while the server
// owes its first answer, so a signal leaves that behind.
func (d *database) ping(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() { answer <- d.own.PingContext(ctx) }()
	select {
	case <-ctx.Done():
		return errInterrupted
	case err := <-answer:
		if err != nil && ctx.Err() != nil {
			return errInterrupted
		}
		return ofConnecting(err, d.where)
	}
}
