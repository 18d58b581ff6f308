package onejob_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// A prepared statement keeps the plan that was made while the tables were
// empty. It must be the right one for full tables: no walk over a table, or
// over all jobs of an owner.
func TestPostgresGenericPlansStayGoodAsTablesGrow(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
	db.SetMaxOpenConns(1)
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	ctx := context.Background()
	_, err = db.ExecContext(ctx, "SET plan_cache_mode = force_generic_plan")
	require.NoError(t, err)

	for name, text := range onejob.HotStatements(store) {
		params := 0
		for _, m := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(text, -1) {
			var n int
			_, err := fmt.Sscan(m[1], &n)
			require.NoError(t, err)
			params = max(params, n)
		}
		_, err := db.ExecContext(ctx, "PREPARE hot AS "+text)
		require.NoError(t, err, name)
		// A driver knows no domains: it would send bytes for a bytea as text.
		var domains int
		require.NoError(t, db.QueryRowContext(ctx, `
SELECT count(*) FROM pg_prepared_statements p, unnest(p.parameter_types) o JOIN pg_type t ON t.oid = o
WHERE p.name = 'hot' AND t.typtype = 'd'`).Scan(&domains))
		require.Zero(t, domains, "%s has a parameter of a domain's type: cast it", name)
		nulls := strings.TrimSuffix(strings.Repeat("NULL, ", params), ", ")
		rows, err := db.QueryContext(ctx, "EXPLAIN EXECUTE hot ("+nulls+")")
		require.NoError(t, err, name)
		var plan []string
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			plan = append(plan, line)
		}
		require.NoError(t, rows.Close())
		whole := strings.Join(plan, "\n")
		require.NotRegexp(t, `Seq Scan on (jobs|attempts)`, whole, name)
		require.NotRegexp(t, `Index Cond: \(\(?owner = \$\d+\)\)?\n`, whole, "%s looks by owner alone", name)
		_, err = db.ExecContext(ctx, "DEALLOCATE hot")
		require.NoError(t, err)
	}
}
