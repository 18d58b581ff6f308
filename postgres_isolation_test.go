package onejob_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// pgHost is a service on a database of its own, whose default isolation is
// level.
type pgHost struct {
	*testing.T
	db   *sql.DB
	jobs *onejob.Jobs
	op   *onejob.Operator
}

func newPGHost(t *testing.T, level string) *pgHost {
	t.Helper()
	dsn := dbtest.PostgresDSN(t)
	setup := dbtest.OpenPostgres(t, dsn)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	_, err = setup.Exec(fmt.Sprintf("ALTER DATABASE %s SET default_transaction_isolation = '%s'",
		strings.TrimPrefix(u.Path, "/"), level))
	require.NoError(t, err)
	_, err = setup.Exec("CREATE TABLE host_rows (name text NOT NULL)")
	require.NoError(t, err)
	db := dbtest.OpenPostgres(t, dsn)
	var now string
	require.NoError(t, db.QueryRow("SHOW transaction_isolation").Scan(&now))
	require.Equal(t, level, now)
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	jobs := onejob.New(store, nil)
	return &pgHost{t, db, jobs, onejob.NewOperator(jobs)}
}

func (h *pgHost) begin(level sql.IsolationLevel) *sql.Tx {
	h.Helper()
	tx, err := h.db.BeginTx(h.Context(), &sql.TxOptions{Isolation: level})
	require.NoError(h, err)
	h.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func (h *pgHost) exec(tx *sql.Tx, statement string) {
	h.Helper()
	_, err := tx.ExecContext(h.Context(), statement)
	require.NoError(h, err)
}

// snapshot has the transaction see what is committed now, and nothing later.
func (h *pgHost) snapshot(tx *sql.Tx) { h.exec(tx, "SELECT count(*) FROM onejob.jobs") }

func (h *pgHost) rows() (n int) {
	h.Helper()
	require.NoError(h, h.db.QueryRow("SELECT count(*) FROM host_rows").Scan(&n))
	return n
}

func pgIntent(key string) onejob.Intent {
	return onejob.Intent{Owner: "owner-1", Key: key, Kind: "charge"}
}

func pgTry(provider string) onejob.Try {
	return onejob.Try{Provider: provider, Timeout: time.Hour}
}

// racers makes a job with two attempts that can both win.
func (h *pgHost) racers(key string) (a, b onejob.Attempt) {
	h.Helper()
	job, a, err := h.jobs.Start(h.Context(), pgIntent(key), pgTry("primary"))
	require.NoError(h, err)
	_, err = h.op.DetachAttempt(h.Context(), a.ID, onejob.Decision{By: "ada", Reason: "slow"})
	require.NoError(h, err)
	b, err = h.jobs.BeginAttempt(h.Context(), job, pgTry("fallback"))
	require.NoError(h, err)
	return a, b
}

var pgLevels = map[string]sql.IsolationLevel{
	"read committed":  sql.LevelReadCommitted,
	"repeatable read": sql.LevelRepeatableRead,
	"serializable":    sql.LevelSerializable,
}

func TestHostsPostgresTransactionCommitsAllOfIt(t *testing.T) {
	t.Parallel()
	for name, level := range pgLevels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newPGHost(t, "read committed")
			ctx := t.Context()
			_, a, err := h.jobs.Start(ctx, pgIntent("k"), pgTry("primary"))
			require.NoError(t, err)
			for _, commit := range []bool{false, true} {
				tx := h.begin(level)
				h.exec(tx, "INSERT INTO host_rows VALUES ('k')")
				_, created, err := h.jobs.CreateTx(ctx, tx, pgIntent("next"))
				require.NoError(t, err)
				require.True(t, created)
				job, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
				require.NoError(t, err)
				require.Equal(t, []byte("result"), job.Result)
				outside, err := h.jobs.GetByKey(ctx, "owner-1", "k")
				require.NoError(t, err)
				require.Equal(t, onejob.StatusRunning, outside.Status())
				if commit {
					require.NoError(t, tx.Commit())
				} else {
					require.NoError(t, tx.Rollback())
				}
				job, err = h.jobs.GetByKey(ctx, "owner-1", "k")
				require.NoError(t, err)
				require.Equal(t, commit, job.State == onejob.JobCompleted)
				_, err = h.jobs.GetByKey(ctx, "owner-1", "next")
				require.Equal(t, commit, err == nil)
				require.Equal(t, commit, h.rows() == 1)
			}
		})
	}
}

func TestRefusalsLeaveTheHostsPostgresTransactionUsable(t *testing.T) {
	t.Parallel()
	for name, level := range pgLevels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newPGHost(t, "read committed")
			ctx := t.Context()
			loser, winner := h.racers("k")
			_, err := h.jobs.Complete(ctx, winner, []byte("the winner's"))
			require.NoError(t, err)
			missing := winner
			missing.ID = winner.ID[:len(winner.ID)-16] + "0000000000000000"

			tx := h.begin(level)
			h.snapshot(tx)
			other := pgIntent("k")
			other.Kind = "refund"
			_, _, err = h.jobs.CreateTx(ctx, tx, other)
			require.ErrorIs(t, err, onejob.ErrKeyConflict)
			h.exec(tx, "INSERT INTO host_rows VALUES ('a')")
			_, _, err = h.jobs.CreateTx(ctx, tx, onejob.Intent{})
			require.ErrorIs(t, err, onejob.ErrInvalid)
			_, err = h.jobs.CompleteTx(ctx, tx, winner, []byte("another"))
			require.ErrorIs(t, err, onejob.ErrResultMismatch)
			h.exec(tx, "INSERT INTO host_rows VALUES ('b')")
			_, err = h.jobs.CompleteTx(ctx, tx, missing, []byte("result"))
			require.ErrorIs(t, err, onejob.ErrNotFound)
			_, err = h.jobs.CompleteTx(ctx, tx, loser, []byte("the loser's"))
			require.ErrorIs(t, err, onejob.ErrLateResult)
			h.exec(tx, "INSERT INTO host_rows VALUES ('c')")
			require.NoError(t, tx.Commit())
			require.Equal(t, 3, h.rows())
		})
	}
}

func TestHostsPostgresTransactionLosesARace(t *testing.T) {
	t.Parallel()
	for name, level := range pgLevels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newPGHost(t, "read committed")
			ctx := t.Context()
			old := level != sql.LevelReadCommitted // sees its snapshot, not what came after

			tx := h.begin(level)
			h.snapshot(tx)
			job, _, err := h.jobs.Create(ctx, pgIntent("created"))
			require.NoError(t, err)
			found, created, err := h.jobs.CreateTx(ctx, tx, pgIntent("created"))
			if old {
				requireRetryTx(t, err, "40001")
				require.NoError(t, tx.Rollback())
				tx = h.begin(level)
				found, created, err = h.jobs.CreateTx(ctx, tx, pgIntent("created"))
			}
			require.NoError(t, err)
			require.False(t, created)
			require.Equal(t, job.ID, found.ID)
			require.NoError(t, tx.Commit())

			loser, winner := h.racers("completed")
			tx = h.begin(level)
			h.snapshot(tx)
			_, err = h.jobs.Complete(ctx, winner, []byte("the winner's"))
			require.NoError(t, err)
			_, err = h.jobs.CompleteTx(ctx, tx, loser, []byte("the loser's"))
			if old {
				requireRetryTx(t, err, "40001")
				require.NoError(t, tx.Rollback())
				tx = h.begin(level)
				_, err = h.jobs.CompleteTx(ctx, tx, loser, []byte("the loser's"))
			}
			require.ErrorIs(t, err, onejob.ErrLateResult)
			require.NoError(t, tx.Rollback())
		})
	}
}

func TestHostsPostgresTransactionsThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	h := newPGHost(t, "read committed")
	ctx := t.Context()
	txs := []*sql.Tx{h.begin(sql.LevelReadCommitted), h.begin(sql.LevelReadCommitted)}
	for i, tx := range txs {
		_, _, err := h.jobs.CreateTx(ctx, tx, pgIntent(fmt.Sprint(i)))
		require.NoError(t, err)
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, tx := range txs {
		wg.Go(func() {
			_, _, errs[i] = h.jobs.CreateTx(ctx, tx, pgIntent(fmt.Sprint(1-i)))
			if errs[i] != nil {
				_ = tx.Rollback() // and so lets the other one go on
			}
		})
	}
	wg.Wait()
	if errs[0] == nil {
		errs[0], errs[1] = errs[1], errs[0]
	}
	requireRetryTx(t, errs[0], "40P01")
	require.NoError(t, errs[1])
}

func requireRetryTx(t *testing.T, err error, state string) {
	t.Helper()
	require.ErrorIs(t, err, onejob.ErrRetryTx)
	require.NotErrorIs(t, err, onejob.ErrUnavailable)
	var cause interface{ SQLState() string }
	require.ErrorAs(t, err, &cause)
	require.Equal(t, state, cause.SQLState())
}

func TestSqlxTransactionIsATx(t *testing.T) {
	t.Parallel()
	h := newPGHost(t, "read committed")
	ctx := t.Context()
	_, a, err := h.jobs.Start(ctx, pgIntent("k"), pgTry("primary"))
	require.NoError(t, err)
	tx, err := sqlx.NewDb(h.db, "postgres").BeginTxx(ctx, nil)
	require.NoError(t, err)
	defer tx.Rollback()
	_, created, err := h.jobs.CreateTx(ctx, tx, pgIntent("next"))
	require.NoError(t, err)
	require.True(t, created)
	_, err = h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	job, err := h.jobs.GetByKey(ctx, "owner-1", "k")
	require.NoError(t, err)
	require.Equal(t, []byte("result"), job.Result)
}
