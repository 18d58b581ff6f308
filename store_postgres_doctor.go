package onejob

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
)

const pgSettings = `
SELECT
	current_setting('synchronous_commit') AS synchronous_commit,
	current_setting('fsync') AS fsync,
	current_setting('full_page_writes') AS full_page_writes,
	current_setting('default_transaction_isolation') AS isolation,
	current_setting('default_transaction_read_only') AS read_only,
	pg_is_in_recovery() AS standby,
	current_setting('server_encoding') AS encoding,
	current_setting('synchronous_standby_names') AS synchronous_standbys,
	(SELECT count(*) FROM pg_stat_replication) AS standbys`

type pgSettingsRow struct {
	SynchronousCommit   string `db:"synchronous_commit"`
	Fsync               string
	FullPageWrites      string `db:"full_page_writes"`
	Isolation           string
	ReadOnly            string `db:"read_only"`
	Standby             bool
	Encoding            string
	SynchronousStandbys string `db:"synchronous_standbys"`
	Standbys            int
}

// Doctor implements [OperatorStore].
func (s *PostgresStore) Doctor(ctx context.Context) ([]Finding, error) {
	rows, err := s.db.QueryContext(ctx, pgSettings)
	if err != nil {
		return nil, err
	}
	var settings []pgSettingsRow
	err = sqlx.StructScan(rows, &settings)
	if err = drain(rows, err); err != nil || len(settings) != 1 {
		return nil, err
	}
	findings := settings[0].findings()
	findings = append(findings, s.poolFindings(ctx)...)
	have, err := s.versionSeen(ctx)
	if err != nil {
		return nil, err
	}
	return append(findings, schemaFindings(have, len(s.migrations()))...), nil
}

// versionSeen is versionNow in a transaction that only reads: a standby refuses
// to begin any other, and would never be told that it is one.
func (s *PostgresStore) versionSeen(ctx context.Context) (int, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted, ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	return s.version(ctx, tx)
}

func (r pgSettingsRow) findings() []Finding {
	var list []Finding
	find := func(bad bool, setting, value string, breaks bool, advice string) {
		if bad {
			list = append(list, Finding{setting, value, breaks, advice})
		}
	}
	find(r.SynchronousCommit == "off", "synchronous_commit", r.SynchronousCommit, true,
		"a crash loses acknowledged jobs and results: set it to on for this role or database")
	find(r.SynchronousStandbys != "" && r.SynchronousCommit == "local", "synchronous_commit", r.SynchronousCommit, true,
		"a failover loses acknowledged jobs and results: set it to on for this role or database")
	find(r.Fsync == "off", "fsync", r.Fsync, true, "a crash of the machine corrupts the database: set it to on")
	find(r.FullPageWrites == "off", "full_page_writes", r.FullPageWrites, true,
		"a crash of the machine can corrupt the database: set it to on")
	find(r.Standby, "standby", "true", true, "connect to the primary: a standby takes no writes")
	find(r.ReadOnly == "on", "default_transaction_read_only", r.ReadOnly, true,
		"no job can be written: set it to off for this role or database")
	find(r.Isolation != "read committed", "default_transaction_isolation", r.Isolation, false,
		"every lost race is run twice: set it to read committed for this role")
	find(r.Encoding != "UTF8", "server_encoding", r.Encoding, true,
		"keys outside this encoding are refused by the database: create the database with UTF8")
	find(r.Standbys > 0 && r.SynchronousStandbys == "", "synchronous_standby_names", "", false,
		"a promoted asynchronous standby can forget acknowledged keys and results: name one that is synchronous")
	return list
}

// poolFindings looks at the pool. What it keeps when it gets a few connections
// back at once tells its idle limit, for which it has no getter.
func (s *PostgresStore) poolFindings(ctx context.Context) []Finding {
	var list []Finding
	open := s.db.Stats().MaxOpenConnections
	if open == 0 {
		list = append(list, Finding{"MaxOpenConns", "unlimited", false,
			"a storm of requests can use up the server's connections: limit the pool"})
	}
	if open == 0 || open >= probeConns {
		s.probePool(ctx)
	}
	if n := s.gone.Load(); n > 0 {
		list = append(list, Finding{"prepared statements", strconv.FormatInt(n, 10) + " were lost", true,
			"a pooler in transaction mode can run one caller's values with another's statement: set PostgresOptions.Unprepared behind one, and let nothing send DISCARD ALL or DEALLOCATE ALL"})
	}
	if n := s.db.Stats().MaxIdleClosed; n > 0 {
		list = append(list, Finding{"MaxIdleConns", "less than MaxOpenConns (" + strconv.FormatInt(n, 10) + " closed)", false,
			"connections are opened and closed all the time: call db.SetMaxIdleConns with the number given to SetMaxOpenConns"})
	}
	return list
}

// probeConns is one more than database/sql's default idle limit.
const probeConns = 3

// probePool takes connections and gives them back. A pool that is busy is left
// alone: its own closing tells enough.
func (s *PostgresStore) probePool(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for range probeConns {
		c, err := s.db.Conn(ctx)
		if err != nil {
			return
		}
		defer c.Close()
	}
}

func schemaFindings(have, need int) []Finding {
	if have >= need {
		return nil
	}
	return []Finding{{"schema version", strconv.Itoa(have), true,
		"this program needs version " + strconv.Itoa(need) + ": " + runMigrate}}
}
