package model_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/model"
)

// inputs are the intents that a sequence draws from. Those of one class are the
// same intent; the last ones break a limit.
var inputs = []model.Intent{
	{Class: "base", Intent: onejob.Intent{Kind: "charge", Params: []byte(`{"a":1,"b":"x"}`)}},
	{Class: "base", Intent: onejob.Intent{Kind: "charge", Params: []byte(` {"b": "\u0078", "a": 1}`)}},
	{Class: "base", Intent: onejob.Intent{Kind: "charge", Params: []byte(`{"a":1,"b":"x"}`)}},
	{Class: "number", Intent: onejob.Intent{Kind: "charge", Params: []byte(`{"a":1.0,"b":"x"}`)}},
	{Class: "none", Intent: onejob.Intent{Kind: "charge"}},
	{Class: "none", Intent: onejob.Intent{Kind: "charge", Params: []byte{}}},
	{Class: "kind", Intent: onejob.Intent{Kind: "mail", Params: []byte(`{"a":1,"b":"x"}`)}},
	{Class: "target", Intent: onejob.Intent{Kind: "charge", Target: "alpha", Params: []byte(`{"a":1,"b":"x"}`)}},
	{Class: "opaque", Intent: onejob.Intent{Kind: "charge", Opaque: true, Params: []byte(`{"a":1,"b":"x"}`)}},
	{Class: "scope", Intent: onejob.Intent{Kind: "charge", Scope: []string{"POST", "/x"}, Params: []byte(`{"a":1,"b":"x"}`)}},
	{Class: "bad", Bad: "Intent.Params", Intent: onejob.Intent{Kind: "charge", Params: []byte(`{"a":1,"a":1}`)}},
	{Class: "bad", Bad: "Intent.Kind", Intent: onejob.Intent{Params: []byte(`{}`)}},
}

var owners = []string{"ann", "bob"}

func oneOf[T any](t *rapid.T, label string, from ...T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, label)]
}

// often is the first in most cases, so that a rare one does not stop every
// sequence. Rapid draws the ends of a range more often than the middle, hence
// what is rare is in the middle, here and below.
func often[T any](t *rapid.T, label string, usual T, rare ...T) T {
	if n := rapid.IntRange(0, 11).Draw(t, label); n >= 7 && n <= 9 {
		return oneOf(t, label+", which", rare...)
	}
	return usual
}

func drawIntent(t *rapid.T) model.Intent {
	in := inputs[0]
	if rapid.IntRange(0, 3).Draw(t, "other input") == 3 {
		in = oneOf(t, "input", inputs...)
	}
	in.Owner = often(t, "owner", owners[0], owners[1])
	in.Key = oneOf(t, "key", "k", "l")
	return in
}

func describe(in model.Intent) string {
	return fmt.Sprintf("%s/%s %s %s", in.Owner, in.Key, in.Class, in.Params)
}

// Times never meet: what is granted ends in five minutes and what passes in
// ten, so that an instant is never a deadline and the seconds that a sequence
// really takes do not count.
func granted(t *rapid.T, label string) time.Duration {
	return oneOf[time.Duration](t, label, 5, 35, 95, 15) * time.Minute
}

func passed(t *rapid.T) time.Duration {
	return oneOf[time.Duration](t, "time", 10, 90, 30) * time.Minute
}

func (m *machine) drawTry(t *rapid.T) onejob.Try {
	try := onejob.Try{Provider: oneOf(t, "provider", "alpha", "beta"), Timeout: granted(t, "timeout")}
	switch rapid.IntRange(0, 19).Draw(t, "try") {
	case 8:
		try.ID = m.drawAttempt(t).ID
	case 12, 13: // repeated as it was, by whoever called
		if len(m.held) > 0 {
			a := oneOf(t, "attempt", m.held...)
			try.ID, try.Provider = a.ID, a.Provider
		}
	case 9:
		try.ID = onejob.AttemptID(string(m.drawJob(t).ID) + "-" + fmt.Sprintf("b000%012x", m.steps))
	case 10:
		if rapid.Bool().Draw(t, "bad timeout") {
			try.Timeout = 0
		} else {
			try.Provider = ""
		}
	}
	return try
}

// Names of things that are not there.
var (
	noJob     = onejob.Job{ID: "00000000-0000-7000-8000-00000000dead", Intent: onejob.Intent{Owner: "ann"}}
	noAttempt = onejob.Attempt{ID: "00000000-0000-7000-8000-00000000dead-b000000000000000", JobVersion: 1}
)

func (m *machine) drawJob(t *rapid.T) onejob.Job {
	n := rapid.IntRange(0, 15).Draw(t, "job")
	if len(m.known) == 0 || n == 9 {
		return noJob
	}
	return m.known[max(0, len(m.known)-1-n/6)]
}

// drawAttempt is one that some caller holds, mostly a late one of the list.
func (m *machine) drawAttempt(t *rapid.T) onejob.Attempt {
	if len(m.held) == 0 {
		return noAttempt
	}
	switch n := rapid.IntRange(0, 31).Draw(t, "attempt"); {
	case n == 17:
		return noAttempt
	case n == 18:
		a := m.held[0]
		a.ID = onejob.AttemptID(string(a.JobID) + "-b000000000000000")
		return a
	case n >= 20:
		return oneOf(t, "any attempt", m.held...)
	default:
		return m.held[max(0, len(m.held)-1-n/7)]
	}
}

func drawDecision(t *rapid.T) onejob.Decision {
	switch rapid.IntRange(0, 19).Draw(t, "decision") {
	case 8:
		return onejob.Decision{Reason: "nobody"}
	case 9:
		return onejob.Decision{By: "eve"}
	case 14, 15, 16, 17:
		return onejob.Decision{By: "eve", Reason: "another word"}
	}
	return onejob.Decision{By: "ada", Reason: "asked"}
}

func drawResult(t *rapid.T) []byte {
	return []byte(often(t, "result", "r", "other", ""))
}

func tail(id onejob.AttemptID) string { return strings.TrimPrefix(string(id), "00000000-0000-7000-") }
