package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheHostsRowsStandOrFallWithTheJob(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, nil), &out)
	for _, line := range []string{
		"kept  all or nothing: the job is running, rows in the ledger: 0\n",
		"kept  one commit: rows in the ledger: 1\n",
		"kept  booked once, and not for the loser: rows in the ledger: 1\n",
		"kept  rolled back together: no job, orders: 0\n",
		"kept  committed together: the job is pending, orders: 1\n",
		"kept  the loser's row was rolled back, shipments: 1\n",
		"kept  its evidence was kept: attempt 1 is late, 17 bytes thrown away\n",
	} {
		require.Contains(t, out.String(), line)
	}
	require.NotContains(t, out.String(), "BROKEN")
}
