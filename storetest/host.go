package storetest

import (
	"context"
	"database/sql"
	"errors"

	"github.com/stretchr/testify/require"
)

// errHost is an error of the host's own.
var errHost = errors.New("the host's own error")

// hostTable makes a table of the host's, next to the store's. Its statements
// are literal, so that they mean the same on every database.
func (h *harness) hostTable() {
	h.Helper()
	require.NoError(h, h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE host_rows (name varchar(100) NOT NULL)")
		return err
	}))
}

// addHostRow writes a row of the host's within its transaction.
func addHostRow(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO host_rows VALUES ('"+name+"')")
	return err
}

// hostRows counts the host's rows of that name that were committed.
func (h *harness) hostRows(name string) (n int) {
	h.Helper()
	require.NoError(h, h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM host_rows WHERE name = '"+name+"'").Scan(&n)
	}))
	return n
}
