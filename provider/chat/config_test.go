package chat_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider/chat"
)

func valid() chat.Config {
	return chat.Config{Name: "acme", URL: "https://api.example.com/v1/chat/completions", Model: "large-2"}
}

func TestNewNamesTheSettingThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		field string
		spoil func(c *chat.Config)
	}{
		"no name":              {"Config.Name", func(c *chat.Config) { c.Name = "" }},
		"long name":            {"Config.Name", func(c *chat.Config) { c.Name = strings.Repeat("x", 64) }},
		"no address":           {"Config.URL", func(c *chat.Config) { c.URL = "" }},
		"relative address":     {"Config.URL", func(c *chat.Config) { c.URL = "/v1/chat/completions" }},
		"no scheme":            {"Config.URL", func(c *chat.Config) { c.URL = "api.example.com/v1" }},
		"another scheme":       {"Config.URL", func(c *chat.Config) { c.URL = "ftp://api.example.com/v1" }},
		"a base alone":         {"Config.URL", func(c *chat.Config) { c.URL = "https://api.example.com/" }},
		"no revision":          {"Config.Revision", func(c *chat.Config) { c.Messages = asIs }},
		"no host":              {"Config.URL", func(c *chat.Config) { c.URL = "https:///v1" }},
		"no address at all":    {"Config.URL", func(c *chat.Config) { c.URL = "https://api.example.com/%zz" }},
		"no model":             {"Config.Model", func(c *chat.Config) { c.Model = "" }},
		"long model":           {"Config.Model", func(c *chat.Config) { c.Model = strings.Repeat("x", 256) }},
		"negative room":        {"Config.MaxTokens", func(c *chat.Config) { c.MaxTokens = -1 }},
		"negative window":      {"Config.Window", func(c *chat.Config) { c.Window = -1 }},
		"format that is none":  {"Config.ResponseFormat", func(c *chat.Config) { c.ResponseFormat = json.RawMessage(`{"type":`) }},
		"empty format":         {"Config.ResponseFormat", func(c *chat.Config) { c.ResponseFormat = json.RawMessage{} }},
		"extra of no JSON":     {"Config.Extra", func(c *chat.Config) { c.Extra = map[string]any{"seed": func() {}} }},
		"extra not a number":   {"Config.Extra", func(c *chat.Config) { c.Extra = map[string]any{"top_p": math.NaN()} }},
		"no temperature":       {"Config.Temperature", func(c *chat.Config) { c.Temperature = ptr(math.NaN()) }},
		"infinite temperature": {"Config.Temperature", func(c *chat.Config) { c.Temperature = ptr(math.Inf(1)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := valid()
			row.spoil(&c)
			_, err := chat.New(c)
			require.ErrorContains(t, err, row.field)
		})
	}
	for _, field := range []string{
		"model", "messages", "stream", "n", "temperature", "max_tokens", "max_completion_tokens", "response_format",
	} {
		c := valid()
		c.Extra = map[string]any{field: 1}
		_, err := chat.New(c)
		require.ErrorContains(t, err, "Config.Extra")
		require.ErrorContains(t, err, field)
	}
	_, err := chat.New(valid())
	require.NoError(t, err)
	c := valid()
	c.Name, c.Model = strings.Repeat("x", 63), strings.Repeat("x", 255)
	_, err = chat.New(c)
	require.NoError(t, err)
}

// What was proven is what is sent: the caller's maps and slices stay his.
func TestWhatChangesAfterNewChangesNothing(t *testing.T) {
	t.Parallel()
	nested := map[string]any{"effort": "low"}
	for name, row := range map[string]struct{ set, change func(c *chat.Config) }{
		"temperature": {func(c *chat.Config) { c.Temperature = ptr(0.5) }, func(c *chat.Config) { *c.Temperature = 2 }},
		"format": {
			func(c *chat.Config) { c.ResponseFormat = json.RawMessage(`{"type":"text"}`) },
			func(c *chat.Config) { copy(c.ResponseFormat, `{"type":"nope"}`) },
		},
		"extra":           {func(c *chat.Config) { c.Extra = map[string]any{"seed": 1} }, func(c *chat.Config) { c.Extra["seed"] = 2 }},
		"extra's content": {func(c *chat.Config) { c.Extra = map[string]any{"reasoning": nested} }, func(*chat.Config) { nested["effort"] = "high" }},
		"fresh header": {
			func(c *chat.Config) { c.FreshHeader = http.Header{"X-No-Cache": {"1"}} },
			func(c *chat.Config) { c.FreshHeader["X-No-Cache"][0] = "0"; c.FreshHeader.Set("X-More", "1") },
		},
		"aliases": {
			func(c *chat.Config) { c.Model, c.Aliases = "largest", []string{"large-2"} },
			func(c *chat.Config) { c.Aliases[0] = "other" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, says(http.StatusOK, hello))
			c := s.config(row.set)
			p, err := chat.New(c)
			require.NoError(t, err)
			first, err := p.Call(t.Context(), fresh("{}"))
			require.NoError(t, err)
			row.change(&c)
			second, err := p.Call(t.Context(), fresh("{}"))
			require.NoError(t, err)
			require.Equal(t, first, second)
			list := s.seen()
			require.Equal(t, list[0], list[1])
		})
	}
}
