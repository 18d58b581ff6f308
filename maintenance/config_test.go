package maintenance_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/maintenance"
)

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	jobs := onejob.New(nil, nil)
	run := func(context.Context) (maintenance.Pass, error) { return maintenance.Pass{}, nil }
	week := onejob.Retention{Payloads: 7 * day}
	for says, c := range map[string]maintenance.Config{
		"Config.Sweep must":                     {Sweep: maintenance.Sweep{Every: -1}},
		"Config.Sweep.Every is below":           {Sweep: maintenance.Sweep{Every: 60}},
		"Config.Purge.Every is below":           {Purge: maintenance.Purge{Every: 60, Retention: week}},
		"Reconcile[0].Every is below":           {Reconcile: []maintenance.Reconcile{{Every: 60, Run: run}}},
		"Config.Purge must":                     {Purge: maintenance.Purge{Every: time.Hour, Retention: week, MaxPerTurn: -1}},
		"Retention must not be negative":        {Purge: maintenance.Purge{Retention: onejob.Retention{Payloads: -1}}},
		"Tombstones must not be less":           {Purge: maintenance.Purge{Retention: onejob.Retention{Payloads: 2, Tombstones: 1}}},
		"Retention is required":                 {Purge: maintenance.Purge{Every: time.Hour}},
		"Reconcile[0] must hold":                {Reconcile: []maintenance.Reconcile{{Every: -1, Run: run}}},
		"Reconcile[1].Run is required":          {Reconcile: []maintenance.Reconcile{{Run: run}, {Name: "b", Every: time.Hour}}},
		"Reconcile[1].Name is another's":        {Reconcile: []maintenance.Reconcile{{Run: run}, {Name: "default", Run: run}}},
		"Reconcile[0].Name must be UTF-8 of at": {Reconcile: []maintenance.Reconcile{{Name: strings.Repeat("x", 41), Run: run}}},
	} {
		_, err := maintenance.New(jobs, c)
		require.ErrorContains(t, err, says)
	}
	_, err := maintenance.New(nil, maintenance.Config{})
	require.ErrorContains(t, err, "jobs is required")
	_, err = maintenance.New(jobs, maintenance.Config{Reconcile: []maintenance.Reconcile{{Name: "a\nb", Run: run}}})
	require.ErrorContains(t, err, "control characters")
}
