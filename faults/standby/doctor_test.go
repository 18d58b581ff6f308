package standby

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// findings are Doctor's, by setting, without the two that the tests want.
func findings(t *testing.T, db *sql.DB) map[string]onejob.Finding {
	t.Helper()
	list, err := onejob.NewOperator(jobsOn(t, db)).Doctor(t.Context())
	require.NoError(t, err)
	found := map[string]onejob.Finding{}
	for _, f := range list {
		require.NotEmpty(t, f.Advice)
		found[f.Setting] = f
	}
	delete(found, "fsync")
	return found
}

func TestDoctorSaysWhatAFailoverMayLose(t *testing.T) {
	t.Parallel()
	p := start(t)
	on := func(c *dbtest.Cluster) *sql.DB { return dbtest.OpenPostgres(t, c.DSN("postgres")) }

	t.Log("an asynchronous standby, asked as a superuser and as a host's own role")
	admin := on(p.primary)
	for _, command := range []string{
		"CREATE ROLE host LOGIN",
		"GRANT USAGE ON SCHEMA onejob TO host",
		"GRANT SELECT ON ALL TABLES IN SCHEMA onejob TO host",
	} {
		_, err := admin.Exec(command)
		require.NoError(t, err)
	}
	host := dbtest.OpenPostgres(t, strings.Replace(p.primary.DSN("postgres"), "onejob@", "host@", 1))
	for _, db := range []*sql.DB{admin, host} {
		found := findings(t, db)
		require.Len(t, found, 1)
		require.Contains(t, found["synchronous_standby_names"].Advice, "asynchronous standby can forget")
	}

	t.Log("the standby itself")
	found := findings(t, on(p.standby))
	require.Len(t, found, 1)
	require.Equal(t, onejob.Finding{Setting: "standby", Value: "true", Breaks: true, Advice: found["standby"].Advice}, found["standby"])

	t.Log("a synchronous one")
	p.synchronous(t)
	require.Empty(t, findings(t, on(p.primary)))
	require.Empty(t, findings(t, host))

	t.Log("a synchronous one that no commit waits for")
	for _, value := range []string{"local", "off"} {
		require.NoError(t, p.primary.Set("synchronous_commit", value))
		require.NoError(t, p.primary.Await("SELECT current_setting('synchronous_commit') = '"+value+"'"))
		found := findings(t, on(p.primary))
		require.Len(t, found, 1)
		require.Equal(t, value, found["synchronous_commit"].Value)
		require.True(t, found["synchronous_commit"].Breaks)
	}

	t.Log("none any more")
	require.NoError(t, p.primary.Set("synchronous_standby_names", "", "synchronous_commit", "on"))
	p.failOver(t)
	require.Empty(t, findings(t, on(p.primary)))
}
