package chat_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
)

const refusedTemperature = `{"error":{"message":"Unsupported value","param":"temperature"}}`

// hotOnly refuses the parameter temperature, as newer models do.
func hotOnly(w http.ResponseWriter, body map[string]any) {
	if _, ok := body["temperature"]; ok {
		says(http.StatusBadRequest, refusedTemperature)(w, body)
		return
	}
	says(http.StatusOK, hello)(w, body)
}

// temperatures are how the requests had the parameter.
func (s *server) temperatures() (list []bool) {
	for _, r := range s.seen() {
		list = append(list, strings.Contains(r.body, `"temperature"`))
	}
	return list
}

func TestAServerThatRefusesTheTemperatureIsAskedOnceMoreWithoutIt(t *testing.T) {
	t.Parallel()
	s := serve(t, hotOnly)
	p := s.provider(func(c *chat.Config) { c.KeyHeader = "Idempotency-Key" })
	for range 3 {
		reply, err := p.Call(t.Context(), fresh("{}"))
		require.NoError(t, err)
		require.Equal(t, provider.Done, reply.Verdict)
	}
	require.Equal(t, []bool{true, false, false, false}, s.temperatures(), "it is remembered")
	for _, r := range s.seen() {
		require.Equal(t, "no-store", r.header.Get("Cache-Control"))
		require.NotEmpty(t, r.header.Get("Idempotency-Key"))
	}
	_, err := p.Call(t.Context(), request("{}"))
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, false, false, false}, s.temperatures())
}

// But for that one case a call is a request.
func TestNothingElseIsAskedTwice(t *testing.T) {
	t.Parallel()
	hot := func(c *chat.Config) { c.Temperature = ptr(1.0) }
	none := func(*chat.Config) {}
	for name, row := range map[string]struct {
		reply func(w http.ResponseWriter, body map[string]any)
		set   func(c *chat.Config)
		r     provider.Request
		want  provider.Verdict
	}{
		"not fresh":                 {hotOnly, none, request("{}"), provider.Done},
		"not fresh, refused":        {says(http.StatusBadRequest, refusedTemperature), none, request("{}"), provider.NotStarted},
		"not fresh, set":            {hotOnly, hot, request("{}"), provider.NotStarted},
		"set by the host":           {hotOnly, hot, fresh("{}"), provider.NotStarted},
		"another parameter":         {says(http.StatusBadRequest, `{"error":{"param":"seed"}}`), none, fresh("{}"), provider.NotStarted},
		"no parameter":              {says(http.StatusBadRequest, `{"error":{"param":null}}`), none, fresh("{}"), provider.Unknown},
		"no JSON":                   {says(http.StatusBadRequest, `param: temperature`), none, fresh("{}"), provider.Unknown},
		"too many":                  {says(http.StatusTooManyRequests, `{}`), none, fresh("{}"), provider.NotStarted},
		"after it may have worked":  {says(http.StatusInternalServerError, refusedTemperature), none, fresh("{}"), provider.Unknown},
		"in conflict with the same": {says(http.StatusConflict, refusedTemperature), none, fresh("{}"), provider.Unknown},
		"an answer that says so":    {says(http.StatusOK, refusedTemperature), none, fresh("{}"), provider.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, row.reply)
			reply, _ := s.provider(row.set).Call(t.Context(), row.r)
			require.Equal(t, row.want, reply.Verdict)
			s.one()
		})
	}
}

// The second answer is the one that counts, and there is no third request.
func TestTheSecondAnswerCounts(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]provider.Verdict{
		http.StatusBadRequest: provider.NotStarted, http.StatusTooManyRequests: provider.NotStarted,
		http.StatusInternalServerError: provider.Unknown,
	} {
		s := serve(t, func(w http.ResponseWriter, body map[string]any) {
			if _, ok := body["temperature"]; ok {
				hotOnly(w, body)
				return
			}
			says(status, refusedTemperature)(w, body)
		})
		reply, err := s.provider().Call(t.Context(), fresh("{}"))
		require.Error(t, err)
		require.Equal(t, want, reply.Verdict)
		require.Equal(t, []bool{true, false}, s.temperatures())
	}
}

func TestAProviderIsForManyGoroutines(t *testing.T) {
	t.Parallel()
	s := serve(t, hotOnly)
	p := s.provider(func(c *chat.Config) {
		c.Extra = map[string]any{"seed": 1}
		c.FreshHeader = http.Header{"X-No-Cache": {"1"}}
		c.Authorize = func(r *http.Request) error { r.Header.Add("X-No-Cache", "2"); return nil }
	})
	const calls = 16
	var group sync.WaitGroup
	replies := make([]provider.Reply, calls)
	for i := range calls {
		group.Go(func() { replies[i], _ = p.Call(t.Context(), fresh("{}")) })
	}
	group.Wait()
	for _, reply := range replies {
		require.Equal(t, provider.Done, reply.Verdict)
	}
	list := s.seen()
	require.GreaterOrEqual(t, len(list), calls+1)
	require.LessOrEqual(t, len(list), 2*calls)
	for _, r := range list {
		require.Equal(t, []string{"1", "2"}, r.header["X-No-Cache"])
	}
}
