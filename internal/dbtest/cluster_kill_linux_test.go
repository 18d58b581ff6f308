package dbtest

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAKilledClusterIsGoneWithAllItsProcesses(t *testing.T) {
	t.Parallel()
	cluster, err := Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	db, err := sql.Open("postgres", cluster.DSN("postgres"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec("CREATE TABLE kept (n int)")
	require.NoError(t, err)

	for n := range 3 {
		_, err = db.Exec("INSERT INTO kept VALUES ($1)", n)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		ended := make(chan error, 1)
		go func() { // a backend in the midst of something
			conn, err := db.Conn(ctx)
			close(started)
			if err == nil {
				_, err = conn.ExecContext(ctx, "SELECT pg_sleep(600)")
				conn.Close()
			}
			ended <- err
		}()
		<-started
		victims, err := descendants(cluster.cmd.Process.Pid)
		require.NoError(t, err)
		require.Greater(t, len(victims), 4, "a server has more processes than that")

		require.NoError(t, cluster.Kill())
		for _, v := range victims {
			require.True(t, v.gone(), "process %+v lives on", v)
		}
		require.NoError(t, cluster.Kill(), "killing the dead is nothing")
		require.Error(t, <-ended)
		cancel()
		require.NoError(t, cluster.Boot())
	}
	var rows int
	for err := db.QueryRow("SELECT count(*) FROM kept").Scan(&rows); err != nil; { // the pool's dead connections
		err = db.QueryRow("SELECT count(*) FROM kept").Scan(&rows)
	}
	require.Equal(t, 3, rows)
}

func TestAKilledClusterCanBeStopped(t *testing.T) {
	t.Parallel()
	cluster, err := Start("fsync=off")
	require.NoError(t, err)
	require.NoError(t, cluster.Kill())
	require.NoError(t, cluster.Stop())
	require.NoDirExists(t, cluster.dir)
}

func TestAServerThatLosesAChildComesBack(t *testing.T) {
	t.Parallel()
	cluster, err := Start("fsync=off")
	require.NoError(t, err)
	defer cluster.Stop()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		require.NoError(t, cluster.KillChild(rng))
	}
}
