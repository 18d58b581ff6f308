package checker

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// plant makes a completed job whose secrets are where they belong.
func plant(t *testing.T, store string) *sql.DB {
	t.Helper()
	var s onejob.Store
	var db *sql.DB
	if store == "sqlite" {
		path := dbtest.SQLitePath(t)
		s = dbtest.OpenSQLite(t, path)
		var err error
		db, err = sql.Open("sqlite", path)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
	} else {
		db = dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
		var err error
		s, err = onejob.NewPostgresStore(db, nil)
		require.NoError(t, err)
	}
	jobs := onejob.New(s, nil)
	_, a, err := jobs.Start(t.Context(), onejob.Intent{Owner: "OWNER-1", Key: "KEY-1", Kind: "charge", Params: []byte(`"PARAMS-1"`)},
		onejob.Try{Provider: "primary", Timeout: time.Hour})
	require.NoError(t, err)
	_, err = jobs.Complete(t.Context(), a, []byte(`"RESULT-1"`))
	require.NoError(t, err)
	return db
}
