// Package faults keeps requirements until the harness uses them.
package faults

import (
	_ "github.com/anishathalye/porcupine"
	_ "github.com/lib/pq"
	_ "github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"

	_ "github.com/onejob-go/onejob/internal/dbtest"
)
