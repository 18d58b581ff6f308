// Package contract says what an answer must be, and lets a provider prove that
// its answers are that before anything depends on it.
//
// An answer that passes a JSON Schema may still be wrong: a model may invent a
// key, drop the system prompt, or answer the same to everybody. So a [Contract]
// also has the exact keys, words that the prompt must hold, and cases: real
// inputs with checks that compare the output with the input. [Contract.Qualify]
// runs them all through the call path of production, [Save] keeps what
// came of it, [Contract.Validate] looks at each answer in production.
package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
)

// Spec is what a contract is made of. All but Markers, Check and Repeats is
// required.
type Spec struct {
	// Name is the contract's, 1 to 255 bytes. Revision names this version of it:
	// change it whenever a check changes, for functions are the one part that the
	// fingerprint cannot see.
	Name, Revision string
	// Schema is a JSON Schema of draft 2020-12. Formats are asserted; references
	// to other documents are refused.
	Schema json.RawMessage
	// Keys are the top-level keys that an output has: these, all of them, each
	// once. None is optional, so that two providers cannot differ in what they
	// leave out; let a key's value be null instead.
	Keys []string
	// Markers are texts that the prompt must hold.
	Markers []Marker
	// Check compares any output with the params it was made of. It is run on all
	// cases, and on each output in production. It must be safe for use by many
	// goroutines and must not quote either in its error.
	Check func(params, output []byte) error
	// Cases are what a provider is tried with, two or more.
	Cases []Case
	// Repeats is how often each case is run. Default: 10. With no failure in n
	// runs a failure rate of 26 % (n = 10) or 4.9 % (n = 60) is still possible,
	// at 95 %: [Report] has the bound.
	Repeats int
	// TTL is how long a qualification holds.
	TTL time.Duration
}

// Marker is a text that the prompt must hold in a message of that role: what
// was rendered is looked at before anything is called.
type Marker struct {
	Role, Text string
	// Shown tells from an output whether the provider has read the marker; nil:
	// nothing tells. What is between the adapter and the model may drop a system
	// prompt that was rendered well.
	Shown func(params, output []byte) error
}

// Case is a real input.
type Case struct {
	Name   string
	Params []byte
	// Good is an answer that would be right. It is never sent: it shows that the
	// contract can tell a right answer from a constant one.
	Good []byte
	// Check is this case's own, beside [Spec.Check]; a case needs one of them.
	Check func(params, output []byte) error
}

// Contract is a Spec that can tell right from wrong. It is safe for use by many
// goroutines.
type Contract struct {
	spec   Spec
	schema *jsonschema.Schema
}

// ErrConstant is the error of a contract that a constant answer would fulfil:
// none of its checks reads the input.
var ErrConstant = errors.New("contract: a constant answer would pass: no check tells the good answer of one case from that of another")

// New checks the spec: limits, the schema, that each case's good answer passes,
// and that no case's good answer passes all cases (else [ErrConstant]). The
// error names the field or the case.
func New(s Spec) (*Contract, error) {
	s.Schema, s.Keys, s.Markers = slices.Clone(s.Schema), slices.Clone(s.Keys), slices.Clone(s.Markers)
	s.Cases = slices.Clone(s.Cases)
	for i := range s.Cases { // the caller goes on with his bytes
		s.Cases[i].Params, s.Cases[i].Good = slices.Clone(s.Cases[i].Params), slices.Clone(s.Cases[i].Good)
	}
	if s.Repeats == 0 {
		s.Repeats = 10
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	schema, err := compile(s.Schema)
	if err != nil {
		return nil, fmt.Errorf("contract: Spec.Schema: %w", err)
	}
	c := &Contract{spec: s, schema: schema}
	if err := c.tellsApart(); err != nil {
		return nil, err
	}
	return c, nil
}

func (s *Spec) check() error {
	switch {
	case s.Name == "" || len(s.Name) > 255:
		return errors.New("contract: Spec.Name must have 1 to 255 bytes")
	case s.Revision == "":
		return errors.New("contract: Spec.Revision is required")
	case len(s.Keys) == 0:
		return errors.New("contract: Spec.Keys is required: the top-level keys that an output has")
	case len(s.Cases) < 2:
		return errors.New("contract: Spec.Cases must be two or more: a constant answer passes one")
	case s.Repeats < 1:
		return errors.New("contract: Spec.Repeats must be positive")
	case s.Repeats > maxRuns/len(s.Cases):
		return fmt.Errorf("contract: Spec.Repeats times cases must be at most %d", maxRuns)
	case s.TTL <= 0:
		return errors.New("contract: Spec.TTL must be positive")
	}
	for i, m := range s.Markers {
		if !slices.Contains(roles, m.Role) || m.Text == "" {
			return fmt.Errorf("contract: Spec.Markers[%d] needs a text and a role, one of %v", i, roles)
		}
	}
	names := map[string]bool{}
	for i, c := range s.Cases {
		switch {
		case c.Name == "" || len(c.Name) > 255 || names[c.Name]:
			return fmt.Errorf("contract: Spec.Cases[%d].Name must have 1 to 255 bytes and be its own", i)
		case c.Check == nil && s.Check == nil:
			return fmt.Errorf("contract: case %q has no check: set Case.Check or Spec.Check", c.Name)
		}
		names[c.Name] = true
	}
	return nil
}

// roles are those of the chat format.
var roles = []string{"system", "developer", "user", "assistant", "tool"}

const maxRuns = 100_000

// tellsApart tries the contract on its own good answers.
func (c *Contract) tellsApart() error {
	for _, one := range c.spec.Cases {
		if err := c.judge(one, one.Params, one.Good); err != nil {
			return fmt.Errorf("contract: case %q: its own Good does not pass: %w: %s", one.Name, err, detail(err)) // it is the host's own text
		}
		constant := !slices.ContainsFunc(c.spec.Cases, func(other Case) bool {
			return c.judge(other, other.Params, one.Good) != nil
		})
		if constant {
			return fmt.Errorf("%w (case %q)", ErrConstant, one.Name)
		}
	}
	return nil
}

// judge is all that is asked of an output of a case.
func (c *Contract) judge(one Case, params, output []byte) error {
	if err := c.Validate(params, output); err != nil {
		return err
	}
	if one.Check != nil {
		return checked(ReasonWrong, one.Check, params, output)
	}
	return nil
}

// Name is the contract's name.
func (c *Contract) Name() string { return c.spec.Name }

// Requirement is what an attempt of this provider needs, for onejob's
// Try.Require: a qualification under this contract as it is now.
func (c *Contract) Requirement(r provider.Route) onejob.Requirement {
	return onejob.Requirement{Contract: c.spec.Name, Model: r.Model, Fingerprint: c.fingerprint(r)}
}
