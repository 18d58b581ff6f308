package contract_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

func TestAContractWithoutACheckOfItsInputIsRefused(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(params, output []byte) error{
		"one that says yes":               func(_, _ []byte) error { return nil },
		"one that reads the output alone": func(_, output []byte) error { return json.Unmarshal(output, new(chattest.Sum)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := chattest.Spec()
			s.Check = check
			c, err := contract.New(s)
			require.ErrorIs(t, err, contract.ErrConstant)
			require.Nil(t, c)
		})
	}
	s := chattest.Spec()
	for i := range s.Cases {
		s.Cases[i].Params, s.Cases[i].Good = s.Cases[0].Params, s.Cases[0].Good
	}
	_, err := contract.New(s)
	require.ErrorIs(t, err, contract.ErrConstant, "cases that do not differ")
}

func TestABadSpecIsRefused(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(s *contract.Spec){
		"Spec.Name":                func(s *contract.Spec) { s.Name = strings.Repeat("x", 256) },
		"Spec.Revision":            func(s *contract.Spec) { s.Revision = "" },
		"Spec.Keys":                func(s *contract.Spec) { s.Keys = nil },
		"Spec.Cases must be":       func(s *contract.Spec) { s.Cases = s.Cases[:1] },
		"Spec.Cases[1].Name":       func(s *contract.Spec) { s.Cases[1].Name = s.Cases[0].Name },
		"has no check":             func(s *contract.Spec) { s.Check = nil },
		"Spec.Repeats must":        func(s *contract.Spec) { s.Repeats = -1 },
		"Spec.Repeats times cases": func(s *contract.Spec) { s.Repeats = 50_000 },
		"Spec.TTL":                 func(s *contract.Spec) { s.TTL = 0 },
		"Spec.Markers[0]":          func(s *contract.Spec) { s.Markers[0].Role = "" },
		"Spec.Schema":              func(s *contract.Spec) { s.Schema = nil },
		"Spec.Schema: ":            func(s *contract.Spec) { s.Schema = json.RawMessage(`{"type":`) },
		"references to other":      func(s *contract.Spec) { s.Schema = json.RawMessage(`{"$ref":"https://example.com/s"}`) },
		"of draft 2020-12": func(s *contract.Spec) {
			s.Schema = json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#"}`)
		},
		"Spec.Cases[0].Name":           func(s *contract.Spec) { s.Cases[0].Name = strings.Repeat("x", 256) },
		"its own Good does not pass":   func(s *contract.Spec) { s.Cases[2].Good = []byte(`{}`) },
		`case "two of one": its own G`: func(s *contract.Spec) { s.Cases[1].Good = s.Cases[0].Good },
	} {
		s := chattest.Spec()
		spoil(&s)
		c, err := contract.New(s)
		require.ErrorContains(t, err, want)
		require.Nil(t, c, "it cannot be used all the same")
	}
}

func TestValidateTellsHowAnOutputBreaksTheContract(t *testing.T) {
	t.Parallel()
	c := orderSum(t)
	params := chattest.Spec().Cases[0].Params
	const good = `{"total":120,"unit":"cents","items":1,"comment":"ok"}`
	for output, want := range map[string]contract.Reason{
		good:                     "",
		" \n" + good + "\r\n\t ": "",
		``:                       contract.ReasonNotJSON,
		`Sure! ` + good:          contract.ReasonNotJSON,
		"```json\n" + good:       contract.ReasonNotJSON,
		good[:20]:                contract.ReasonCut,
		good[:len(good)-1]:       contract.ReasonCut,
		good + `{}`:              contract.ReasonTrailing,
		good + `x`:               contract.ReasonTrailing,
		good + "\x00":            contract.ReasonTrailing,
		"{\"total\":\"\xff\"}":   contract.ReasonNotJSON,
		`[` + good + `]`:         contract.ReasonSchema,
		`null`:                   contract.ReasonSchema,
		`{"total":1,"unit":"cents","items":1,"comment":"ok","total":120}`:                     contract.ReasonDuplicate,
		`{"total":1,"unit":"cents","items":1,"comment":"ok","\u0074otal":120}`:                contract.ReasonDuplicate,
		`{"total":120,"unit":"cents","items":1,"comment":"ok","more":[{"a":1,"a":2}]}`:        contract.ReasonDuplicate,
		`{"total":120,"unit":"cents","items":1,"comment":"ok","more":{"total":1}}`:            contract.ReasonExtraKey,
		`{"total":120,"unit":"cents","items":1}`:                                              contract.ReasonMissingKey,
		`{"Total":120,"unit":"cents","items":1,"comment":"ok"}`:                               contract.ReasonExtraKey,
		`{"answer":` + good + `}`:                                                             contract.ReasonWrapped,
		chattest.Schema:                                                                       contract.ReasonEcho,
		`{"total":"120","unit":"cents","items":1,"comment":"ok"}`:                             contract.ReasonNumberText,
		`{"total":"a lot","unit":"cents","items":1,"comment":"ok"}`:                           contract.ReasonSchema,
		`{"total":1e10000000,"unit":"cents","items":1,"comment":"ok"}`:                        contract.ReasonSchema, // a validator's panic
		`{"total":1E+99999999999999999999,"unit":"cents","items":1,"comment":"ok"}`:           contract.ReasonSchema,
		`{"total":` + strings.Repeat("9", 5000) + `,"unit":"cents","items":1,"comment":"ok"}`: contract.ReasonSchema,
		`{"total":120,"unit":"cents","items":1,"comment":[1e999999999]}`:                      contract.ReasonSchema,
		`{"total":-1,"unit":"cents","items":1,"comment":"ok"}`:                                contract.ReasonSchema,
		`{"total":120,"unit":"cents","items":1,"comment":null}`:                               contract.ReasonSchema,
		`{"total":120,"unit":"euros","items":1,"comment":"ok"}`:                               contract.ReasonDropped,
		`{"total":121,"unit":"cents","items":1,"comment":"ok"}`:                               contract.ReasonWrong,
	} {
		err := c.Validate(params, []byte(output))
		if want == "" {
			require.NoError(t, err, output)
			continue
		}
		var v *contract.Violation
		require.ErrorAs(t, err, &v, output)
		require.Equal(t, want, v.Reason, "%s", output)
	}
}

// Violations become an attempt's cause, which is stored and logged.
func TestAViolationQuotesNothing(t *testing.T) {
	t.Parallel()
	s := chattest.Spec()
	s.Check = func(params, output []byte) error {
		if !strings.Contains(string(params), "120") || strings.Contains(string(output), "canary") {
			return errors.New("wrong: " + string(output))
		}
		return nil
	}
	s.Cases[0].Check = s.Check
	s.Check = chattest.Spec().Check
	c, err := contract.New(s)
	require.NoError(t, err)
	for _, output := range []string{
		`{"canary":1}`, `{"total":"canary","unit":"cents","items":1,"comment":""}`, `canary`, `{"canary":1,"canary":2}`,
		`{"total":1,"unit":"canary","items":1,"comment":""}`, `{"total":1,"unit":"cents","items":1,"comment":"canary"}`,
	} {
		err := c.Validate(s.Cases[0].Params, []byte(output))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestTheFingerprintCoversWhatAProofDependsOn(t *testing.T) {
	t.Parallel()
	route := provider.Route{Name: "acme", Model: "m", Revision: "1"}
	print := func(spoil func(s *contract.Spec), r provider.Route) string {
		s := chattest.Spec()
		spoil(&s)
		c, err := contract.New(s)
		require.NoError(t, err)
		return c.Requirement(r).Fingerprint
	}
	same := func(*contract.Spec) {}
	seen := map[string]string{print(same, route): "the original"}
	for what, spoil := range map[string]func(s *contract.Spec){
		"revision":   func(s *contract.Spec) { s.Revision = "2" },
		"schema":     func(s *contract.Spec) { s.Schema = append(s.Schema, ' ') },
		"markers":    func(s *contract.Spec) { s.Markers = s.Markers[:0] },
		"marker":     func(s *contract.Spec) { s.Markers[0].Text += "." },
		"a check":    func(s *contract.Spec) { s.Cases[0].Check = s.Check },
		"no shown":   func(s *contract.Spec) { s.Markers[0].Shown = nil },
		"repeats":    func(s *contract.Spec) { s.Repeats++ },
		"cases":      func(s *contract.Spec) { s.Cases = s.Cases[:3] },
		"case":       func(s *contract.Spec) { s.Cases[0].Params = append(s.Cases[0].Params, ' ') },
		"case order": func(s *contract.Spec) { s.Cases[0], s.Cases[1] = s.Cases[1], s.Cases[0] },
	} {
		p := print(spoil, route)
		require.Empty(t, seen[p], what)
		seen[p] = what
	}
	for _, r := range []provider.Route{{Name: "acme", Model: "n", Revision: "1"}, {Name: "acme", Model: "m", Revision: "2"}} {
		p := print(same, r)
		require.Empty(t, seen[p])
		seen[p] = r.Model
	}
	require.Equal(t, "the original", seen[print(func(s *contract.Spec) { s.TTL *= 2 }, route)])
	require.Equal(t, "the original", seen[print(func(s *contract.Spec) { s.Keys[0], s.Keys[1] = s.Keys[1], s.Keys[0] }, route)])
}

func TestTheBoundIsClopperAndPearsons(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		failures, n int
		want        float64
	}{{0, 3, 0.632}, {0, 10, 0.259}, {0, 30, 0.095}, {0, 60, 0.0487}, {2, 20, 0.283}, {5, 100, 0.1023}, {1, 1, 1}, {0, 0, 1}} {
		require.InDelta(t, row.want, contract.Bound(row.failures, row.n), 0.0005, "%d of %d", row.failures, row.n)
	}
	require.InDelta(t, 0, contract.Bound(0, 100_000), 0.0001)
}

// The caller goes on with his bytes, and so do providers with those they get.
func TestAContractIsItsOwn(t *testing.T) {
	t.Parallel()
	s := chattest.Spec()
	c, err := contract.New(s)
	require.NoError(t, err)
	route := provider.Route{Name: "acme", Model: "m"}
	before := c.Requirement(route)
	s.Schema[0], s.Cases[0].Params[0], s.Cases[0].Good[0], s.Keys[0], s.Markers[0].Text = 'x', 'x', 'x', "x", "x"
	require.Equal(t, before, c.Requirement(route))
	server, p := serve(t, "")
	r, err := c.Qualify(t.Context(), spying{p, func(r provider.Request) { r.Job.Params[0] = ' ' }}, nil)
	require.NoError(t, err)
	require.Equal(t, before, c.Requirement(route))
	require.NotEmpty(t, server.Requests())
	_ = r
}
