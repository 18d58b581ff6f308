package pgnotify_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/faultproxy"
	"github.com/onejob-go/onejob/pgnotify"
)

// A process that starts during a failover reaches a server that is not promoted
// yet and takes no LISTEN. It must not stay deaf for that.
func TestAServerThatRefusesToListenIsAskedAgain(t *testing.T) {
	t.Parallel()
	primary, err := dbtest.Start()
	require.NoError(t, err)
	t.Cleanup(func() { primary.Stop() })
	standby, err := primary.Standby("next")
	require.NoError(t, err)
	t.Cleanup(func() { standby.Stop() })
	db, err := sql.Open("postgres", standby.DSN("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	log, heard := &dbtest.Log{}, &ear{}
	n, err := pgnotify.OpenSilent(standby.DSN("postgres"), db, log, 3*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	n.Subscribe(heard.hint)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "refused to LISTEN") }, time.Minute, 10*time.Millisecond)
	require.NotContains(t, log.String(), "is there")
	require.NoError(t, standby.Promote())
	require.Eventually(t, func() bool { n.Notify(probe); return heard.count(probe) > 0 }, time.Minute, 50*time.Millisecond)
	require.Contains(t, log.String(), "is there")
}

// A password that is wrong must be seen somewhere.
func TestAConnectionThatCannotBeMadeIsLogged(t *testing.T) {
	t.Parallel()
	log := &dbtest.Log{}
	n, err := pgnotify.OpenSilent("postgres://nobody:secret@127.0.0.1:1/none?sslmode=disable", &sql.DB{}, log, 3*time.Second)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "cannot be made") }, time.Minute, 10*time.Millisecond)
	require.NoError(t, n.Close())
	require.NotContains(t, log.String(), "secret")
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "once is enough")
}

// The driver minds no context on a connection that has fallen silent.
func TestADeadNetworkKeepsNobodyFromClosing(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.New(t, dbtest.PostgresDSN(t))
	db, err := sql.Open("postgres", proxy.DSN)
	require.NoError(t, err)
	require.NoError(t, db.Ping())
	log, heard := &dbtest.Log{}, &ear{}
	n, err := pgnotify.OpenSilent(proxy.DSN, db, log, time.Hour)
	require.NoError(t, err)
	n.Subscribe(heard.hint)
	require.Eventually(t, func() bool { n.Notify(probe); return heard.count(probe) > 0 }, time.Minute, 10*time.Millisecond)
	proxy.Sever(faultproxy.Hang)
	n.Notify(probe)
	closed := make(chan error, 1)
	go func() { closed <- n.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "Close waits for a network that is dead")
	}
}

// What is dropped is told: then all are looked at.
func TestWhatIsDroppedIsTold(t *testing.T) {
	t.Parallel()
	dsn := dbtest.PostgresDSN(t)
	n, err := pgnotify.Open(dsn, dbtest.OpenPostgres(t, dsn), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	heard := &ear{}
	n.Subscribe(heard.hint)
	require.Eventually(t, func() bool { n.Notify(probe); return heard.count(probe) > 0 }, time.Minute, 10*time.Millisecond)
	before := heard.count("")
	for i := range 200_000 {
		n.Notify(onejob.JobID(fmt.Sprintf("00000000-0000-7000-8000-%012d", i)))
	}
	require.Eventually(t, func() bool { return heard.count("") > before }, time.Minute, 10*time.Millisecond)
}
