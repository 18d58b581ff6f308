package chat_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// changes are all settings, and whether they may change an answer or what a
// proof is worth.
var changes = map[string]struct {
	answer bool
	set    func(c *chat.Config)
}{
	"URL":             {true, func(c *chat.Config) { c.URL += "?version=2" }},
	"Model":           {true, func(c *chat.Config) { c.Model = "large-3" }},
	"Aliases":         {true, func(c *chat.Config) { c.Aliases = []string{"large-2-0613"} }},
	"System":          {true, func(c *chat.Config) { c.System = "Be brief." }},
	"Messages":        {true, func(c *chat.Config) { c.Revision, c.Messages = "1", asIs }},
	"Revision":        {true, func(c *chat.Config) { c.Revision = "2" }},
	"MaxTokens":       {true, func(c *chat.Config) { c.MaxTokens = 100 }},
	"LegacyMaxTokens": {true, func(c *chat.Config) { c.LegacyMaxTokens = true }},
	"Temperature":     {true, func(c *chat.Config) { c.Temperature = ptr(0.0) }},
	"ResponseFormat":  {true, func(c *chat.Config) { c.ResponseFormat = json.RawMessage(`{"type":"json_object"}`) }},
	"Extra":           {true, func(c *chat.Config) { c.Extra = map[string]any{"seed": 1} }},
	"RefusalFails":    {true, func(c *chat.Config) { c.RefusalFails = true }},
	"Window":          {true, func(c *chat.Config) { c.Window = 8192 }},
	"Name":            {false, func(c *chat.Config) { c.Name = "other" }},
	"Authorize":       {false, func(c *chat.Config) { c.Authorize = func(*http.Request) error { return nil } }},
	"Client":          {false, func(c *chat.Config) { c.Client = &http.Client{} }},
	"KeyHeader":       {false, func(c *chat.Config) { c.KeyHeader = "Idempotency-Key" }},
	"RefHeader":       {false, func(c *chat.Config) { c.RefHeader = "X-Run" }},
	"BeforeWork":      {false, func(c *chat.Config) { c.BeforeWork = []int{503} }},
	"Tokenizer":       {false, func(c *chat.Config) { c.Tokenizer = chattest.Tokenizer{} }},
	"FreshHeader":     {true, func(c *chat.Config) { c.FreshHeader = http.Header{"X-No-Cache": {"1"}} }},
}

func asIs(params []byte) ([]provider.Message, error) {
	return []provider.Message{{Role: "user", Content: string(params)}}, nil
}

func TestTheRevisionChangesWithWhatMayChangeAnAnswer(t *testing.T) {
	t.Parallel()
	revision := func(c chat.Config) string {
		p, err := chat.New(c)
		require.NoError(t, err)
		require.Equal(t, provider.Route{Name: c.Name, Model: c.Model, Revision: p.Route().Revision}, p.Route())
		require.Equal(t, p.Route(), p.Route())
		return p.Route().Revision
	}
	original := revision(valid())
	seen := map[string]string{original: "the original"}
	for field := range reflect.TypeFor[chat.Config]().Fields() {
		change, ok := changes[field.Name]
		require.True(t, ok, "say whether %s may change an answer", field.Name)
		c := valid()
		change.set(&c)
		r := revision(c)
		require.Equal(t, r, revision(c))
		if !change.answer {
			require.Equal(t, original, r, field.Name)
			continue
		}
		require.Empty(t, seen[r], field.Name)
		seen[r] = field.Name
	}
	require.Len(t, changes, reflect.TypeFor[chat.Config]().NumField())
}

// Two settings that differ by where one ends and the next begins are two.
func TestTheRevisionKnowsWhichSettingIsWhich(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i, set := range []func(c *chat.Config){
		func(c *chat.Config) { c.System = "a" },
		func(c *chat.Config) { c.Revision = "a" },
		func(c *chat.Config) { c.Aliases = []string{"a"} },
		func(c *chat.Config) { c.Aliases = []string{"a", "b"} },
		func(c *chat.Config) { c.Aliases = []string{`a","b`} },
		func(c *chat.Config) { c.Temperature = ptr(1.0) },
		func(c *chat.Config) { c.MaxTokens = 1 },
		func(c *chat.Config) { c.Window = 1 },
		func(c *chat.Config) { c.Extra = map[string]any{"seed": 1} },
		func(c *chat.Config) { c.Extra = map[string]any{"seed": "1"} },
	} {
		c := valid()
		set(&c)
		p, err := chat.New(c)
		require.NoError(t, err)
		_, twice := seen[p.Route().Revision]
		require.False(t, twice, "%d", i)
		seen[p.Route().Revision] = i
	}
}

func TestRenderMakesThePromptThatCallSends(t *testing.T) {
	t.Parallel()
	user := provider.Message{Role: "user", Content: `{"a":1}`}
	system := provider.Message{Role: "system", Content: "Be brief."}
	example := provider.Message{Role: "assistant", Content: "42"}
	for name, row := range map[string]struct {
		set  func(c *chat.Config)
		want provider.Prompt
	}{
		"plain":  {func(*chat.Config) {}, provider.Prompt{Messages: []provider.Message{user}}},
		"system": {func(c *chat.Config) { c.System = system.Content }, provider.Prompt{Messages: []provider.Message{system, user}}},
		"room":   {func(c *chat.Config) { c.MaxTokens = 7 }, provider.Prompt{Messages: []provider.Message{user}, Room: 7}},
		"messages": {func(c *chat.Config) {
			c.System = system.Content
			c.Revision, c.Messages = "1", func(params []byte) ([]provider.Message, error) {
				return []provider.Message{example, {Role: "user", Content: string(params)}}, nil
			}
		}, provider.Prompt{Messages: []provider.Message{system, example, user}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, says(http.StatusOK, hello))
			p := s.provider(row.set)
			prompt, err := p.Render([]byte(user.Content))
			require.NoError(t, err)
			require.Equal(t, row.want, prompt)
			_, err = p.Call(t.Context(), request(user.Content))
			require.NoError(t, err)
			var sent struct{ Messages []provider.Message }
			require.NoError(t, json.Unmarshal([]byte(s.one().body), &sent))
			require.Equal(t, row.want.Messages, sent.Messages)
		})
	}
	c := valid()
	wrong := errors.New("no such params")
	c.Revision, c.Messages = "1", func([]byte) ([]provider.Message, error) { return nil, wrong }
	p, err := chat.New(c)
	require.NoError(t, err)
	_, err = p.Render(nil)
	require.ErrorIs(t, err, wrong)
}

func TestTheTokenizerIsThatOfTheSettings(t *testing.T) {
	t.Parallel()
	c := valid()
	p, err := chat.New(c)
	require.NoError(t, err)
	tokenizer, window := p.Tokenizer()
	require.Nil(t, tokenizer)
	require.Zero(t, window)
	c.Tokenizer, c.Window = chattest.Tokenizer{}, 8192
	p, err = chat.New(c)
	require.NoError(t, err)
	tokenizer, window = p.Tokenizer()
	require.Equal(t, chattest.Tokenizer{}, tokenizer)
	require.Equal(t, 8192, window)
}
