package loadtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is a Prometheus of the test's own.
type server struct {
	*testing.T
	address string
}

// startPrometheus scrapes target each second, with the rules that are shipped.
func startPrometheus(t *testing.T, target string) *server {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs(rulesFile)
	require.NoError(t, err)
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: shop
    static_configs: [{targets: [%q]}]
`, rules, target), 0o600))
	s := &server{T: t, address: freeAddress(t)}
	cmd := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+s.address, "--log.level=warn")
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start(), "missing? run ./ensure")
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + s.address + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// get asks the API of Prometheus.
func (s *server) get(path string, data any) error {
	ctx, cancel := context.WithTimeout(s.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// sample is one of a query's.
type sample struct {
	Metric map[string]string
	Value  [2]any // time, value as text
}

// query evaluates expr; what is no number is not data.
func (s *server) query(expr string) ([]sample, error) {
	var data struct{ Result []sample }
	if err := s.get("/api/v1/query?query="+url.QueryEscape(expr), &data); err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	var found []sample
	for _, r := range data.Result {
		if text := r.Value[1].(string); text != "NaN" && !strings.HasSuffix(text, "Inf") {
			found = append(found, r)
		}
	}
	return found, nil
}

// requireData waits until expr has data.
func (s *server) requireData(expr, why string) {
	s.Helper()
	require.Eventually(s, func() bool {
		found, err := s.query(expr)
		require.NoError(s, err)
		return len(found) > 0
	}, 2*time.Minute, 100*time.Millisecond, "%s: no data for %s", why, expr)
}

// rule is an alert as the server sees it.
type rule struct {
	Name, Query, Health, LastError, State string
}

func (s *server) rules() map[string]rule {
	s.Helper()
	var data struct{ Groups []struct{ Rules []rule } }
	require.NoError(s, s.get("/api/v1/rules", &data))
	found := map[string]rule{}
	for _, group := range data.Groups {
		for _, r := range group.Rules {
			found[r.Name] = r
		}
	}
	return found
}
