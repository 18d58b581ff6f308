package loadtest

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/stretchr/testify/require"
)

const dashboardFile = "../dashboard/onejob.json"

// model is the dashboard as a file that every Grafana imports. The SDK would have
// new ones written in the second version of it, which older ones do not know.
//
//lint:ignore SA1019 it is the one that files are in
type model = dashboard.Dashboard

func readDashboard(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	return text
}

var register = sync.OnceFunc(plugins.RegisterDefaultPlugins)

// wrong is what a strict load found; the types say that all is well by an error
// that holds none.
func wrong(err error) error {
	var all cog.BuildErrors
	if errors.As(err, &all) && len(all) == 0 {
		return nil
	}
	return err
}

// load reads a dashboard into Grafana's types, strictly: an unknown field or a
// value of another type is an error. The strict way drops what lies inside a part
// that is well, so panels are also read one by one, and for the values there is a
// second, plain reading.
func load(text []byte) (d model, err error) {
	register()
	if err := wrong(new(model).UnmarshalJSONStrict(text)); err != nil {
		return d, err
	}
	var raw struct{ Panels []json.RawMessage }
	if err := json.Unmarshal(text, &raw); err != nil {
		return d, err
	}
	for _, text := range raw.Panels {
		if err := loadPanel(text); err != nil {
			return d, err
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, err
	}
	return d, d.Validate()
}

func loadPanel(text []byte) error {
	var raw struct {
		Type    string
		Targets []json.RawMessage
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	if raw.Type == "row" {
		return wrong(new(dashboard.RowPanel).UnmarshalJSONStrict(text))
	}
	for _, target := range raw.Targets {
		if err := wrong(new(prometheus.Dataquery).UnmarshalJSONStrict(target)); err != nil {
			return err
		}
	}
	return wrong(new(dashboard.Panel).UnmarshalJSONStrict(text))
}

func loadDashboard(t *testing.T) model {
	t.Helper()
	d, err := load(readDashboard(t))
	require.NoError(t, err)
	return d
}

// query is one of a panel.
type query struct{ panel, expr string }

func queriesOf(t *testing.T, d model) []query {
	t.Helper()
	var list []query
	for _, p := range d.Panels {
		if p.Panel == nil {
			continue
		}
		for _, target := range p.Panel.Targets {
			q, ok := target.(*prometheus.Dataquery)
			if !ok {
				v, isValue := target.(prometheus.Dataquery)
				require.True(t, isValue, "%T", target)
				q = &v
			}
			list = append(list, query{*p.Panel.Title, q.Expr})
		}
	}
	require.Greater(t, len(list), 15)
	return list
}

func TestTheDashboardLoadsStrictly(t *testing.T) {
	t.Parallel()
	d := loadDashboard(t)
	require.Equal(t, "onejob", *d.Uid)
	for _, q := range queriesOf(t, d) {
		require.Contains(t, q.expr, `job=~"$job"`, q.panel)
	}
}

func TestALoadThatIsStrictSeesAMistake(t *testing.T) {
	t.Parallel()
	text := string(readDashboard(t))
	for _, c := range []struct{ was, is string }{
		{`"schemaVersion": 41`, `"schemaVersion": "new"`},
		{`"description": "Maximum over processes."`, `"describtion": "Maximum over processes."`},
		{`"expr": "sum`, `"expression": "sum`},
		{`"graphMode": "area"`, `"graphMode": 7`},
		{`"lineWidth": 1`, `"lineWidth": "thin"`},
		{`"type": "datasource"`, `"type": 1`},
	} {
		require.Contains(t, text, c.was)
		_, err := load([]byte(strings.Replace(text, c.was, c.is, 1)))
		require.Error(t, err, c.is)
	}
}

// Grafana shows panels that overlap, or have one ID, in ways nobody meant.
func TestTheDashboardsPanelsHaveTheirOwnPlace(t *testing.T) {
	t.Parallel()
	taken := map[[2]uint32]string{}
	ids := map[uint32]bool{}
	place := func(id *uint32, pos *dashboard.GridPos, title string) {
		require.NotNil(t, id, title)
		require.False(t, ids[*id], title)
		ids[*id] = true
		require.LessOrEqual(t, pos.X+pos.W, uint32(24), title)
		for x := pos.X; x < pos.X+pos.W; x++ {
			for y := pos.Y; y < pos.Y+pos.H; y++ {
				require.Empty(t, taken[[2]uint32{x, y}], title)
				taken[[2]uint32{x, y}] = title
			}
		}
	}
	for _, p := range loadDashboard(t).Panels {
		if p.Panel != nil {
			require.NotEmpty(t, *p.Panel.Title)
			place(p.Panel.Id, p.Panel.GridPos, *p.Panel.Title)
			continue
		}
		place(&p.RowPanel.Id, p.RowPanel.GridPos, *p.RowPanel.Title)
	}
}
