package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("limits", slices.Concat(limitsRefused, limitsAccepted)...)

// unquotable stands in every bad value that can hold it: no error may quote it.
const unquotable = "CANARY"

// badInput is input that must be refused as ErrInvalid of that field.
type badInput struct {
	name, field string
	give        func(h *harness, ctx context.Context) error
}

// badTexts are no names, whatever their limit.
var badTexts = map[string]string{
	"NUL":                  unquotable + "\x00",
	"a line break":         unquotable + "\n",
	"a tab":                "\t" + unquotable,
	"DEL":                  unquotable + "\x7f",
	"a C1 control":         unquotable + "\u0085",
	"invalid UTF-8":        unquotable + "\xff",
	"half a rune":          unquotable + "\xe2\x82",
	"an encoded surrogate": unquotable + "\xed\xa0\x80",
	"an overlong code":     unquotable + "\xc0\x80",
}

// textsFor are the bad texts of a field with that limit.
func textsFor(required bool, limit int) map[string]string {
	texts := map[string]string{
		"one byte too many":  unquotable + strings.Repeat("x", limit+1-len(unquotable)),
		"one rune too many":  unquotable + strings.Repeat("é", (limit+2-len(unquotable))/2),
		"far too many bytes": strings.Repeat(unquotable, 100_000),
	}
	if required {
		texts["nothing"] = ""
	}
	for name, text := range badTexts {
		texts[name] = text
	}
	return texts
}

// badJSON is what no params are, unless they are opaque.
var badJSON = map[string]string{
	"a name twice":                  `{"CANARY":1,"CANARY":2}`,
	"a name twice, spelled twice":   `{"CANARY":1,"\u0043ANARY":2}`,
	"a name twice, deep":            `[{"a":[{"CANARY":1,"b":0,"CANARY":1}]}]`,
	"a lone high surrogate":         `"CANARY\ud800"`,
	"a lone low surrogate":          `"CANARY\udc00"`,
	"a pair the wrong way round":    `"CANARY\udc00\ud800"`,
	"a lone surrogate in a name":    `{"CANARY\ud800":1}`,
	"65 levels of arrays":           strings.Repeat("[", 65) + strings.Repeat("]", 65),
	"65 levels of objects":          strings.Repeat(`{"CANARY":`, 65) + "1" + strings.Repeat("}", 65),
	"a hundred thousand levels":     strings.Repeat("[", 100_000),
	"data behind the value":         `{"a":1} CANARY`,
	"two values":                    `{"a":1}{"CANARY":2}`,
	"invalid UTF-8":                 "\"CANARY\xff\"",
	"an encoded surrogate":          "\"CANARY\xed\xa0\x80\"",
	"text that is no JSON":          `CANARY`,
	"no end of a string":            `"CANARY`,
	"no end of an object":           `{"CANARY":1`,
	"a comma too many":              `["CANARY",]`,
	"a comma too many in an object": `{"CANARY":1,}`,
	"no comma":                      `["CANARY" 1]`,
	"no colon":                      `{"CANARY" 1}`,
	"a name without quotes":         `{CANARY:1}`,
	"a control character":           "\"CANARY\n\"",
	"an unknown escape":             `"CANARY\x"`,
	"half an escape":                `"CANARY\u00`,
	"a leading zero":                `[01,"CANARY"]`,
	"no digits after the point":     `[1.,"CANARY"]`,
	"no digits before the point":    `[.5,"CANARY"]`,
	"no digits of an exponent":      `[1e,"CANARY"]`,
	"a plus sign":                   `[+1,"CANARY"]`,
	"a sign by itself":              `[-,"CANARY"]`,
	"not a number":                  `[NaN,"CANARY"]`,
	"a literal in capitals":         `[TRUE,"CANARY"]`,
	"a byte order mark":             "\ufeff\"CANARY\"",
	"white space and nothing else":  " \n",
	"a NUL":                         "\x00",
}

// intentPaths are the ways an intent comes in.
var intentPaths = map[string]func(h *harness, ctx context.Context, in onejob.Intent) error{
	"Create": func(h *harness, ctx context.Context, in onejob.Intent) error {
		_, _, err := h.jobs.Create(ctx, in)
		return err
	},
	"CreateTx": func(h *harness, ctx context.Context, in onejob.Intent) error {
		var none *sql.Tx
		_, _, err := h.jobs.CreateTx(ctx, none, in)
		return err
	},
	"Start": func(h *harness, ctx context.Context, in onejob.Intent) error {
		_, _, err := h.jobs.Start(ctx, in, try("primary"))
		return err
	},
	"Do": func(h *harness, ctx context.Context, in onejob.Intent) error {
		_, err := h.jobs.Do(ctx, in, try("primary"), neverCalled)
		return err
	},
}

func neverCalled(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
	panic("the provider was called")
}

// badIntents are the intents that every path must refuse.
func badIntents() []badInput {
	var all []badInput
	add := func(name, field string, change func(*onejob.Intent)) {
		in := intent("k")
		change(&in)
		for path, give := range intentPaths {
			all = append(all, badInput{path + ": " + field + " with " + name, field,
				func(h *harness, ctx context.Context) error { return give(h, ctx, in) }})
		}
	}
	for _, f := range []struct {
		field    string
		required bool
		limit    int
		set      func(*onejob.Intent, string)
	}{
		{"Intent.Owner", true, 128, func(in *onejob.Intent, s string) { in.Owner = s }},
		{"Intent.Key", true, 255, func(in *onejob.Intent, s string) { in.Key = s }},
		{"Intent.Kind", true, 63, func(in *onejob.Intent, s string) { in.Kind = s }},
		{"Intent.Target", false, 63, func(in *onejob.Intent, s string) { in.Target = s }},
	} {
		for name, text := range textsFor(f.required, f.limit) {
			add(name, f.field, func(in *onejob.Intent) { f.set(in, text) })
		}
	}
	for name, text := range badJSON {
		add(name, "Intent.Params", func(in *onejob.Intent) { in.Params = []byte(text) })
	}
	big := `"` + unquotable + strings.Repeat("x", 256<<10-len(unquotable)-1) + `"`
	add("one byte too many", "Intent.Params", func(in *onejob.Intent) { in.Params = []byte(big) })
	add("one opaque byte too many", "Intent.Params", func(in *onejob.Intent) { in.Params, in.Opaque = []byte(big), true })
	return all
}

// refusedInput requires that each input is refused as it should be, and that
// the refusal tells nothing of it.
func (h *harness) refusedInput(ctx context.Context, inputs []badInput) {
	h.Helper()
	for _, bad := range inputs {
		err := bad.give(h, ctx)
		require.ErrorIs(h, err, onejob.ErrInvalid, bad.name)
		e := h.refusal(err, onejob.ErrInvalid)
		require.Equal(h, bad.field, e.Field, bad.name)
		require.NotEmpty(h, e.Op, bad.name)
		require.Contains(h, err.Error(), bad.field, bad.name)
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", *e)} {
			require.NotContains(h, text, unquotable, bad.name)
			require.Less(h, len(text), 1000, bad.name)
		}
	}
	require.Empty(h, h.log.String())
}

// noStore panics whatever is asked of it: its interface is nil.
type noStore struct{ onejob.Store }

// asksNobody puts a store in place that cannot answer.
func (h *harness) asksNobody() {
	h.store = noStore{}
	h.use(onejob.Options{})
}

var limitsRefused = []testCase{
	{
		name: "a bad intent is refused and not stored",
		why:  "the same typed error on every store and every path, naming the field and never quoting it, and nothing is written",
		run: func(h *harness) {
			h.refusedInput(h.ctx, badIntents())
			_, err := h.jobs.GetByKey(h.ctx, "owner-1", "k")
			require.ErrorIs(h, err, onejob.ErrNotFound)
		},
	},
	{
		name:  "a bad intent leaves no row",
		why:   "not under another key or owner either",
		needs: []ability{operating},
		run: func(h *harness) {
			h.refusedInput(h.ctx, badIntents())
			stats, err := h.op.Stats(h.ctx)
			require.NoError(h, err)
			require.Equal(h, onejob.Stats{}, stats)
		},
	},
	{
		name: "a bad intent makes no round trip",
		why:  "what is refused by its form alone costs the database nothing",
		run: func(h *harness) {
			h.asksNobody()
			h.refusedInput(h.ctx, badIntents())
		},
	},
	{
		name:  "a bad intent leaves a transaction usable",
		why:   "the host may go on and commit",
		needs: []ability{transactions},
		run: func(h *harness) {
			var refused error
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				in := intent("k")
				in.Kind = unquotable + "\x00"
				_, _, refused = h.jobs.CreateTx(ctx, tx, in)
				_, _, err := h.jobs.CreateTx(ctx, tx, intent("k"))
				return err
			})
			require.NoError(h, err)
			require.Equal(h, "Intent.Kind", h.refusal(refused, onejob.ErrInvalid).Field)
			require.Equal(h, onejob.StatusPending, h.holder(intent("k")).Status())
		},
	},
	{
		name: "bad input to a step is refused and changes nothing",
		why:  "attempts, results, references and decisions are checked like intents",
		run: func(h *harness) {
			h.refusedInput(h.ctx, badTries(h.create("pending")))
			require.Empty(h, h.attempts(h.holder(intent("pending"))))
			_, err := h.jobs.GetByKey(h.ctx, "owner-1", "new")
			require.ErrorIs(h, err, onejob.ErrNotFound)
			job, a := h.start("k")
			h.refusedInput(h.ctx, badSteps(a))
			require.Equal(h, job, h.holder(job.Intent))
			require.Equal(h, []onejob.Attempt{a}, h.attempts(job))
		},
	},
	{
		name: "bad input to a step makes no round trip",
		why:  "what is refused by its form alone costs the database nothing",
		run: func(h *harness) {
			h.asksNobody()
			id := onejob.AttemptID(string(nowhere) + "-0123456789abcdef")
			h.refusedInput(h.ctx, badTries(onejob.Job{ID: nowhere, Intent: intent("k")}))
			h.refusedInput(h.ctx, badSteps(onejob.Attempt{ID: id, JobID: nowhere, JobVersion: 1}))
			h.noJob("garbage")
			h.noAttempt("garbage")
		},
	},
}
