package upgrade_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dump returns every table's rows, each as text, in order.
func (p place) dump(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range p.names(t) {
		rows, err := p.db.Query("SELECT * FROM " + p.tables + table)
		require.NoError(t, err)
		all[table] = []string{}
		columns, err := rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			all[table] = append(all[table], rowText(t, rows, columns))
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		slices.Sort(all[table])
	}
	return all
}

func rowText(t *testing.T, rows *sql.Rows, columns []string) string {
	t.Helper()
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	require.NoError(t, rows.Scan(values...))
	var text []string
	for i, v := range values {
		text = append(text, fmt.Sprintf("%s=%q", columns[i], fmt.Sprint(*v.(*any))))
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

// names are the tables', without what stands before them.
func (p place) names(t *testing.T) []string {
	t.Helper()
	return p.texts(t, map[string]string{
		"postgres": "SELECT tablename FROM pg_tables WHERE schemaname = 'onejob' ORDER BY 1",
		"sqlite":   "SELECT substr(name, 8) FROM sqlite_master WHERE type = 'table' AND name LIKE 'onejob\\_%' ESCAPE '\\' ORDER BY 1",
	}[p.kind])
}

func (p place) texts(t *testing.T, query string) (list []string) {
	t.Helper()
	rows, err := p.db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		list = append(list, s)
	}
	require.NoError(t, rows.Err())
	return list
}

// shape is all that the schema consists of, in the database's own words.
func (p place) shape(t *testing.T) []string {
	t.Helper()
	return p.texts(t, map[string]string{
		"sqlite": "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\' ORDER BY 1",
		"postgres": `
SELECT 'column ' || table_name || '.' || column_name || ' ' || coalesce(domain_name, data_type) || ' ' || is_nullable
	|| ' ' || coalesce(column_default, '') FROM information_schema.columns WHERE table_schema = 'onejob'
UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'onejob'
UNION ALL SELECT 'constraint ' || conname || ' ' || pg_get_constraintdef(c.oid) FROM pg_constraint c
	JOIN pg_namespace n ON n.oid = c.connamespace WHERE n.nspname = 'onejob'
UNION ALL SELECT 'type ' || typname FROM pg_type y JOIN pg_namespace n ON n.oid = y.typnamespace WHERE n.nspname = 'onejob'
UNION ALL SELECT 'routine ' || proname FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace WHERE n.nspname = 'onejob'
UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
	JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'onejob' AND NOT g.tgisinternal
ORDER BY 1`,
	}[p.kind])
}
