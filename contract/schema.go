package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemaAddress is what the schema is called inside the compiler.
const schemaAddress = "https://contract.invalid/schema"

const draft = "https://json-schema.org/draft/2020-12/schema"

// compile knows no other document: a contract that fetches one would change
// with it.
func compile(text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) == 0 {
		return nil, errors.New("is required")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if object, ok := doc.(map[string]any); ok && object["$schema"] != nil && object["$schema"] != draft {
		return nil, errors.New("must be of draft 2020-12: " + draft)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaAddress, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaAddress)
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema with references to other documents: put them into $defs")
}

// keeps asks the schema. An answer is a stranger's text: whatever the validator
// makes of it, a panic is a no.
func (c *Contract) keeps(value any) (violation *Violation) {
	defer func() {
		if recover() != nil {
			violation = &Violation{Reason: ReasonSchema, Where: "it cannot be looked at"}
		}
	}()
	if !sane(value) {
		return &Violation{Reason: ReasonSchema, Where: "a number is out of all bounds"}
	}
	err := c.schema.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return &Violation{Reason: ReasonSchema}
	}
	v := &Violation{Reason: ReasonSchema}
	for leaf := range leaves(invalid) {
		_, place, _ := strings.Cut(leaf.SchemaURL, "#")
		if v.Where == "" {
			v.Where = strings.Join(append([]string{"at " + place}, leaf.ErrorKind.KeywordPath()...), "/")
		}
		if t, ok := leaf.ErrorKind.(*kind.Type); ok && t.Got == "string" && wantsNumber(t.Want) && isNumber(at(value, leaf.InstanceLocation)) {
			v.Reason = ReasonNumberText
		}
	}
	return v
}

// leaves are the errors that have no further cause.
func leaves(err *jsonschema.ValidationError) func(yield func(*jsonschema.ValidationError) bool) {
	return func(yield func(*jsonschema.ValidationError) bool) { walk(err, yield) }
}

func walk(err *jsonschema.ValidationError, yield func(*jsonschema.ValidationError) bool) bool {
	if len(err.Causes) == 0 {
		return yield(err)
	}
	for _, cause := range err.Causes {
		if !walk(cause, yield) {
			return false
		}
	}
	return true
}

func wantsNumber(types []string) bool {
	return slices.Contains(types, "number") || slices.Contains(types, "integer")
}

func isNumber(v any) bool {
	s, ok := v.(string)
	var n json.Number
	return ok && s != "" && json.Unmarshal([]byte(s), &n) == nil && s[0] != '"'
}

// at is the value at a place, or nil.
func at(v any, place []string) any {
	for _, step := range place {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}
