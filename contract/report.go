package contract

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
)

// Report is what came of qualifying. As JSON it is the qualification's evidence.
// It holds excerpts of outputs that the contract's own cases brought.
type Report struct {
	Contract    string         `json:"contract"`
	Revision    string         `json:"revision"`
	Route       provider.Route `json:"route"`
	Fingerprint string         `json:"fingerprint"`
	// At is when it began, by this process's clock.
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took_ns"`
	// TTL is how long the proof holds, from At.
	TTL time.Duration `json:"ttl_ns"`
	// Planned is cases times repeats; Runs is how many ended: none where the
	// prompts are wrong.
	Planned int `json:"planned"`
	Runs    int `json:"runs"`
	Passes  int `json:"passes"`
	// Bound is how large the failure rate may still be, at 95 %.
	Bound    float64   `json:"failure_rate_bound"`
	Prompt   Prompt    `json:"prompt"`
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is one way in which a run failed.
type Failure struct {
	Reason Reason `json:"reason"`
	// Case is the offending case; empty: it is about all of them.
	Case string `json:"case,omitempty"`
	// Run is which of the case's runs it was, from 1; 0: none was made.
	Run int `json:"run,omitempty"`
	// Detail says more, for people. Output is the beginning of what came.
	Detail string `json:"detail,omitempty"`
	Output string `json:"output,omitempty"`
}

// Passed says that all planned runs were made and passed.
func (r Report) Passed() bool {
	return r.Planned > 0 && r.Runs == r.Planned && r.Passes == r.Planned && len(r.Failures) == 0
}

// Reasons are the reasons of the failures, each once, the most frequent first.
func (r Report) Reasons() []Reason {
	counts := map[Reason]int{}
	var list []Reason
	for _, f := range r.Failures {
		if counts[f.Reason]++; counts[f.Reason] == 1 {
			list = append(list, f.Reason)
		}
	}
	slices.SortStableFunc(list, func(a, b Reason) int { return counts[b] - counts[a] })
	return list
}

// Requirement is what the runs are proof of.
func (r Report) Requirement() onejob.Requirement {
	return onejob.Requirement{Contract: r.Contract, Model: r.Route.Model, Fingerprint: r.Fingerprint}
}

// String is the report for people.
func (r Report) String() string {
	var b strings.Builder
	word := "qualified"
	if !r.Passed() {
		word = "NOT qualified"
	}
	fmt.Fprintf(&b, "%s: %s (model %s) under contract %s, revision %s\n", word, r.Route.Name, r.Route.Model, r.Contract, r.Revision)
	fmt.Fprintf(&b, "  runs     %d of %d, %d passed, in %v\n", r.Runs, r.Planned, r.Passes, r.Took.Round(time.Millisecond))
	fmt.Fprintf(&b, "  bound    at 95 %% the failure rate is below %.1f %%\n", 100*r.Bound)
	switch {
	case r.Prompt.Wrong:
		b.WriteString("  prompt   wrong: nobody was called\n")
	case !r.Prompt.Rendered:
		b.WriteString("  prompt   not looked at: the provider does not show it\n")
	case !r.Prompt.Counted:
		b.WriteString("  prompt   rendered; not counted: no tokenizer\n")
	case r.Prompt.Window == 0:
		fmt.Fprintf(&b, "  prompt   up to %d tokens and %d for the output; window not known\n", r.Prompt.Tokens, r.Prompt.Room)
	default:
		fmt.Fprintf(&b, "  prompt   up to %d tokens and %d for the output, of %d\n", r.Prompt.Tokens, r.Prompt.Room, r.Prompt.Window)
	}
	r.writeFailures(&b)
	return b.String()
}

// writeFailures shows one failure for each reason and case.
func (r Report) writeFailures(b *strings.Builder) {
	type kind struct {
		Reason
		Case string
	}
	counts := map[kind]int{}
	for _, f := range r.Failures {
		counts[kind{f.Reason, f.Case}]++
	}
	for _, f := range r.Failures {
		n := counts[kind{f.Reason, f.Case}]
		if n == 0 {
			continue
		}
		counts[kind{f.Reason, f.Case}] = 0
		fmt.Fprintf(b, "  failed   %d × %s", n, f.Reason)
		if f.Case != "" {
			fmt.Fprintf(b, ", case %q", f.Case)
		}
		if f.Detail != "" {
			fmt.Fprintf(b, ": %s", f.Detail)
		}
		b.WriteString("\n")
		if f.Output != "" {
			fmt.Fprintf(b, "           %s\n", f.Output)
		}
	}
}

// excerpt is the beginning of a text, on one line.
func excerpt[T ~string | ~[]byte](text T) string {
	const most = 200
	s := string(text)
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	return strings.Map(func(r rune) rune { // a terminal would obey some
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
