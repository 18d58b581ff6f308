package loadtest

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// selector finds the series that an expression asks for, with their labels.
var selector = regexp.MustCompile(`onejob_[a-z_]+(\{[^}]*\})?`)

// grouping is what a selector must not be mistaken for.
var grouping = regexp.MustCompile(`\b(by|without) \([^)]*\)`)

// A query that names what nobody exports shows an empty panel, and an alert that
// does never fires: neither is an error.
func TestEveryQueryFindsWhatAHostExports(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.leaveADoubt()
	h.work()
	s := startPrometheus(t, strings.TrimPrefix(h.page.URL, "http://"))
	h.keepWorking()

	variables := strings.NewReplacer("$job", ".*", "$__rate_interval", "10s", "$__range", "1m")
	for _, q := range queriesOf(t, loadDashboard(t)) {
		s.requireData(variables.Replace(q.expr), q.panel)
	}
	rules := s.rules()
	require.Len(t, rules, 9)
	for name, r := range rules {
		require.Empty(t, r.LastError, name)
		for _, series := range selector.FindAllString(grouping.ReplaceAllString(r.Query, ""), -1) {
			s.requireData(series, name)
		}
	}

	for _, name := range []string{"OnejobAttemptUnknown", "OnejobAttemptUnknownForHours", "OnejobLateResult"} {
		s.requireState(name, "firing")
	}
	for _, name := range []string{"OnejobOperationsFail", "OnejobDatabaseGivesNoAnswer", "OnejobProviderLeavesDoubts"} {
		s.requireState(name, "pending", "firing")
	}
	require.Equal(t, "inactive", s.rules()["OnejobTelemetryGone"].State)
	require.Equal(t, "inactive", s.rules()["OnejobDoubtsCannotBeCounted"].State)
	for name, r := range s.rules() {
		require.Equal(t, "ok", r.Health, name)
	}
	h.page.Close()
	s.requireState("OnejobTelemetryGone", "pending", "firing")
}

func (s *server) requireState(name string, states ...string) {
	s.Helper()
	var state string
	require.Eventually(s, func() bool {
		state = s.rules()[name].State
		for _, want := range states {
			if state == want {
				return true
			}
		}
		return false
	}, 2*time.Minute, 100*time.Millisecond, name)
}
