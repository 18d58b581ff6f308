package onejob

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// fingerprintVector is an intent with what must come of it. The digests were
// computed by another program, in another language: a library that agrees only
// with itself would let an upgrade turn every key into a conflict.
type fingerprintVector struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Target    string   `json:"target"`
	Params    string   `json:"params"`
	Base64    []byte   `json:"params_base64"` // where params are not text
	Opaque    bool     `json:"opaque"`
	Scope     []string `json:"scope"`
	Canonical string   `json:"canonical"` // empty where nothing is canonicalised
	Digest    string   `json:"digest"`
	SameAs    string   `json:"same_as"` // the vector that is the same intent
}

func (v fingerprintVector) intent() Intent {
	in := Intent{Owner: "owner", Key: "key", Kind: v.Kind, Target: v.Target, Opaque: v.Opaque, Scope: v.Scope}
	in.Params = append([]byte(v.Params), v.Base64...)
	return in
}

func readVectors(t *testing.T) []fingerprintVector {
	t.Helper()
	text, err := os.ReadFile("testdata/fingerprint.json")
	require.NoError(t, err)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var vectors []fingerprintVector
	require.NoError(t, dec.Decode(&vectors))
	require.NotEmpty(t, vectors)
	return vectors
}

func TestFingerprintMatchesTheVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			in := v.intent()
			given := bytes.Clone(in.Params)
			print, err := fingerprintOf(in)
			require.NoError(t, err)
			require.Equal(t, v.Digest, hex.EncodeToString(print.sum[:]))
			require.Equal(t, 1, print.version)
			require.Equal(t, given, in.Params, "params are stored as given: the digest must not touch them")
			if v.Canonical == "" {
				return
			}
			canonical, err := canonicalJSON(in.Params)
			require.NoError(t, err)
			require.Equal(t, v.Canonical, string(canonical))
		})
	}
}

// Two vectors agree if and only if the table says so: otherwise a mistake in
// the table would hide a false match.
func TestFingerprintVectorsTellIntentsApart(t *testing.T) {
	t.Parallel()
	byDigest := map[string]string{}
	for _, v := range readVectors(t) {
		if v.SameAs != "" {
			require.Equal(t, byDigest[v.Digest], v.SameAs, v.Name)
			continue
		}
		require.NotContains(t, byDigest, v.Digest, v.Name)
		byDigest[v.Digest] = v.Name
	}
}

func TestFingerprintLeavesOwnerAndKeyOut(t *testing.T) {
	t.Parallel()
	one, err := fingerprintOf(Intent{Owner: "a", Key: "b", Kind: "charge"})
	require.NoError(t, err)
	other, err := fingerprintOf(Intent{Owner: "c", Key: "d", Kind: "charge"})
	require.NoError(t, err)
	require.Equal(t, one, other)
}

// notJSONTexts are refused with the rule of a text that is no JSON. The newest
// encoding/json must refuse them too: nothing here is a matter of taste.
var notJSONTexts = []string{
	" ", "\n", "nul", "nulll", "True", "NaN", "Infinity", "-Infinity", "undefined", "-", "+1", ".5", "1.", "1.e5",
	"01", "-01", "00", "1e", "1e+", "1E-", "0x10", "1_000", "--1", "1.2.3", "٣", "[1", "]", "[1]]", "[,]", "[1,]",
	"[,1]", "[1,,2]", "[1 2]", "[1:2]", "{", "}", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`,
	`{"a":1;"b":2}`, `{"a",1}`, `{a:1}`, `{1:1}`, `{null:1}`, `{'a':1}`, `{"a":1}}`, `'a'`, `"a`, `a"`, `"\"`, `"\x41"`,
	`"\a"`, `"\'"`, `"\0"`, `"\u"`, `"\u12"`, `"\u123"`, `"\u123g"`, `"\u 123"`, `"\U00000041"`, `"\`,
	"\"\n\"", "\"\t\"", "\"\x00\"", "\"\x1f\"", "// x\n1", "/* x */1", "1// x", "# x\n1", "[1/**/]", "\x001", "1\x00",
	"\ufeff1", "\ufeff{}", "\u00a0 1", "\u20281", "\v1", "\f1", "1;", "1 2", "{}{}", "{} x", "null null", "\"a\"\"b\"",
	"\xef\xbb\xbf[]",
}

func TestCanonicalJSONRefusesWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	for _, text := range notJSONTexts {
		t.Run(fmt.Sprintf("%+q", text), func(t *testing.T) {
			t.Parallel()
			require.False(t, json.Valid([]byte(text)))
			requireRefused(t, []byte(text), "")
		})
	}
}

// What encoding/json maps to some value is refused here: what two programs read
// in two ways is no identity.
func TestCanonicalJSONRefusesWhatIsAmbiguous(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, rule string }{
		{"name twice", `{"a":1,"a":2}`, ruleTwice},
		{"name twice with the same value", `{"a":1,"a":1}`, ruleTwice},
		{"name twice, not side by side", `{"a":1,"b":2,"c":3,"a":4}`, ruleTwice},
		{"empty name twice", `{"":1,"":2}`, ruleTwice},
		{"name twice through an escape", `{"a":1,"\u0061":2}`, ruleTwice},
		{"name twice through two escapes", `{"\u00E9":1,"\u00e9":2}`, ruleTwice},
		{"name twice, as an escape and as UTF-8", `{"\u00e9":1,"é":2}`, ruleTwice},
		{"name twice, as a pair and as UTF-8", `{"\ud83d\ude00":1,"😀":2}`, ruleTwice},
		{"name twice through a solidus", `{"/":1,"\/":2}`, ruleTwice},
		{"name twice through a control character", `{"\n":1,"\u000a":2}`, ruleTwice},
		{"name twice in an object within", `{"z":{"a":1,"a":2}}`, ruleTwice},
		{"name twice in an array", `[1,[{"a":1,"a":2}]]`, ruleTwice},
		{"name twice at the deepest level", strings.Repeat("[", 63) + `{"a":1,"a":2}` + strings.Repeat("]", 63), ruleTwice},
		{"name twice, the first with an object", `{"a":{"b":1},"a":{"b":1}}`, ruleTwice},

		{"bare continuation byte", "\"\x80\"", ruleUTF8},
		{"byte that begins nothing", "\"\xff\"", ruleUTF8},
		{"two bytes cut to one", "\"\xc3\"", ruleUTF8},
		{"three bytes cut to two", "\"\xe2\x82\"", ruleUTF8},
		{"four bytes cut to three", "\"\xf0\x9f\x98\"", ruleUTF8},
		{"overlong solidus in two bytes", "\"\xc0\xaf\"", ruleUTF8},
		{"overlong solidus in three bytes", "\"\xe0\x80\xaf\"", ruleUTF8},
		{"overlong NUL", "\"\xc0\x80\"", ruleUTF8},
		{"high surrogate as UTF-8", "\"\xed\xa0\x80\"", ruleUTF8},
		{"low surrogate as UTF-8", "\"\xed\xbf\xbf\"", ruleUTF8},
		{"pair of surrogates as UTF-8", "\"\xed\xa0\xbd\xed\xb8\x80\"", ruleUTF8},
		{"beyond the last code point", "\"\xf4\x90\x80\x80\"", ruleUTF8},
		{"Latin-1", "\"caf\xe9\"", ruleUTF8},
		{"in a name", "{\"\xff\":1}", ruleUTF8},

		{"lone high surrogate", `"\ud83d"`, ruleSurrogate},
		{"lone low surrogate", `"\ude00"`, ruleSurrogate},
		{"reversed pair", `"\ude00\ud83d"`, ruleSurrogate},
		{"two high surrogates", `"\ud83d\ud83d"`, ruleSurrogate},
		{"two low surrogates", `"\ude00\ude00"`, ruleSurrogate},
		{"high surrogate and a letter", `"\ud83da"`, ruleSurrogate},
		{"high surrogate and another escape", `"\ud83d\n"`, ruleSurrogate},
		{"high surrogate and an escaped letter", `"\ud83d\u0061"`, ruleSurrogate},
		{"high surrogate and a low one apart", `"\ud83d \ude00"`, ruleSurrogate},
		{"high surrogate at the end of a pair", `"\ud83d\ude00\ud83d"`, ruleSurrogate},
		{"first and last surrogate", `"\udfff"`, ruleSurrogate},
		{"lone surrogate in a name", `{"\ud800":1}`, ruleSurrogate},

		{"65 arrays", strings.Repeat("[", 65) + strings.Repeat("]", 65), ruleDepth},
		{"65 objects", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), ruleDepth},
		{"65 of both", strings.Repeat(`[{"a":`, 32) + "[]" + strings.Repeat("}]", 32), ruleDepth},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.True(t, json.Valid([]byte(test.text)), "encoding/json would take it")
			requireRefused(t, []byte(test.text), test.rule)
		})
	}
}

func TestCanonicalJSONTakes64Levels(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("[", 64) + strings.Repeat("]", 64),
		strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
		// Levels are counted, not brackets.
		"[" + strings.Repeat("[],", 200) + "[]]",
	} {
		out, err := canonicalJSON([]byte(text))
		require.NoError(t, err)
		require.Equal(t, text, string(out))
	}
}

// What is copied to sort an object is that object: params come from outside, and
// may hold thousands of small ones.
func TestCanonicalJSONCopiesNoMoreThanItSorts(t *testing.T) {
	text := []byte("[" + strings.Repeat(`{"b":1,"a":1},`, 16<<10) + "0]")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := canonicalJSON(text)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(out, []byte(`[{"a":1,"b":1},`)))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*len(text)))
}

// A body that a proxy cut off must not become another intent.
func TestCanonicalJSONRefusesADocumentCutAnywhere(t *testing.T) {
	t.Parallel()
	const document = `{"sum": -12.50e+2, "né": ["\u00e9\ud83d\ude00", true, false, null, {"": []}], "😀": {"a\/\\": 0}}`
	_, err := canonicalJSON([]byte(document))
	require.NoError(t, err)
	for i := range len(document) {
		requireRefused(t, []byte(document[:i]), "")
		if i > 0 {
			requireRefused(t, []byte(document[i:]), "")
		}
	}
}

// The rules by which a text that encoding/json takes is refused.
const (
	ruleTwice     = "name twice"
	ruleUTF8      = "valid UTF-8"
	ruleSurrogate = "surrogate"
	ruleDepth     = "deeper than 64"
)

// requireRefused requires the typed error of bad input, which names the place
// and shows nothing of the text.
func requireRefused(t *testing.T, text []byte, rule string) {
	t.Helper()
	out, err := canonicalJSON(text)
	require.ErrorIs(t, err, ErrInvalid, "%q", text)
	require.Nil(t, out)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "Intent.Params", e.Field)
	require.Regexp(t, `\(at byte \d+\)$`, e.rule)
	require.Contains(t, e.rule, rule)
}

// The limits are checked before JSON is, and both before anything is sent: the
// store here is none.
func TestCreateRefusesBadParamsBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	jobs := New(nil, &Options{MaxParams: 8})
	for _, text := range []string{`{"a":1,"a":2}`, "{", "\"\xff\"", `"\ud800"`, `[1,2,3,4]`, "1 2"} {
		_, _, err := jobs.Create(t.Context(), Intent{Owner: "o", Key: "k", Kind: "charge", Params: []byte(text)})
		require.ErrorIs(t, err, ErrInvalid)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "Intent.Params", e.Field)
		require.Equal(t, "Create", e.Op)
	}
}

// addFingerprintVersion makes the program one that knows a second version, for
// as long as the test runs. Such a test is not parallel.
func addFingerprintVersion(t *testing.T) {
	known := fingerprintVersions
	t.Cleanup(func() { fingerprintVersions = known })
	fingerprintVersions = append(known[:len(known):len(known)], func(in Intent) ([32]byte, error) {
		sum, err := fingerprintV1(in)
		return sha256.Sum256(append([]byte("another way: "), sum[:]...)), err
	})
}

func TestFingerprintOfAnOldVersionIsStillCompared(t *testing.T) {
	in := Intent{Kind: "charge", Params: []byte(`{"a":1, "b":2}`)}
	stored, err := fingerprintOf(in)
	require.NoError(t, err)
	require.Equal(t, 1, stored.version)
	addFingerprintVersion(t)

	for _, test := range []struct {
		name   string
		change func(*Intent)
		same   bool
	}{
		{"same", func(*Intent) {}, true},
		{"other spelling", func(in *Intent) { in.Params = []byte(`{"b":2,"a":1}`) }, true},
		{"other params", func(in *Intent) { in.Params = []byte(`{"a":1,"b":3}`) }, false},
		{"other kind", func(in *Intent) { in.Kind = "refund" }, false},
		{"other target", func(in *Intent) { in.Target = "acme" }, false},
		{"opaque", func(in *Intent) { in.Opaque = true }, false},
		{"other scope", func(in *Intent) { in.Scope = []string{"POST"} }, false},
	} {
		again := in
		test.change(&again)
		asked, err := fingerprintOf(again)
		require.NoError(t, err, test.name)
		require.Equal(t, 2, asked.version, test.name)
		require.NotEqual(t, stored.sum, asked.sum, test.name)
		same, err := asked.matches(stored, again)
		require.NoError(t, err, test.name)
		require.Equal(t, test.same, same, test.name)
	}
}

// The answer to a key of an older version is a conflict or the job, never an
// error, and that by way of what callers use.
func TestCreateFindsAJobOfAnOldFingerprintVersion(t *testing.T) {
	in := Intent{Owner: "o", Key: "k", Kind: "charge", Params: []byte(`{"a":1}`)}
	old, err := fingerprintOf(in)
	require.NoError(t, err)
	addFingerprintVersion(t)
	rec := Record{Job: Job{ID: "0", Intent: in}, Fingerprint: old.sum, FingerprintVersion: old.version}
	p, err := New(nil, nil).createParams(in)
	require.NoError(t, err)
	require.Equal(t, 2, p.FingerprintVersion)
	require.NoError(t, checkSame("Create", rec, p, in))

	other := in
	other.Params = []byte(`{"a":2}`)
	p, err = New(nil, nil).createParams(other)
	require.NoError(t, err)
	require.ErrorIs(t, checkSame("Create", rec, p, other), ErrKeyConflict)
}

// A stored version that this program does not know is neither the same nor a
// conflict: either answer could be the wrong one.
func TestFingerprintOfANewerVersionIsRefused(t *testing.T) {
	in := Intent{Kind: "charge"}
	asked, err := fingerprintOf(in)
	require.NoError(t, err)
	for _, version := range []int{0, -1, asked.version + 1, 32767} {
		same, err := asked.matches(fingerprint{version, asked.sum}, in)
		require.ErrorIs(t, err, ErrUnsupported)
		require.NotErrorIs(t, err, ErrKeyConflict)
		require.False(t, same)
	}
}

// decodeJSON reads a text as encoding/json does, numbers as written.
func decodeJSON(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v))
	return v
}

// shape walks through a text that encoding/json takes, and tells how deep it
// is and whether an object has a name twice. It shares no code with what it
// judges.
func shape(t *testing.T, text []byte) (deepest int, twice bool) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	type level struct {
		names  map[string]bool // nil in an array
		inName bool
	}
	stack := []level{{}}
	for dec.More() || len(stack) > 1 {
		token, err := dec.Token()
		require.NoError(t, err)
		top := &stack[len(stack)-1]
		if delim, ok := token.(json.Delim); ok && (delim == ']' || delim == '}') {
			stack = stack[:len(stack)-1]
			continue
		}
		if top.names != nil {
			top.inName = !top.inName
			if name, ok := token.(string); ok && top.inName {
				twice = twice || top.names[name]
				top.names[name] = true
			}
		}
		switch token {
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('{'):
			stack = append(stack, level{names: map[string]bool{}})
		}
		deepest = max(deepest, len(stack)-1)
	}
	return deepest, twice
}

var surrogateEscape = regexp.MustCompile(`\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)

func FuzzCanonicalJSON(f *testing.F) {
	for _, text := range notJSONTexts {
		f.Add([]byte(text))
	}
	for _, text := range []string{
		`{"a":1,"\u0061":2}`, `{"b":[1,{"y":1e400,"x":-0}],"a":{"":null}}`, `"\ud83d\ude00\u00e9\/\u007f\u2028"`, `"\ud83d"`,
		"\"\xed\xa0\x80\"", `{"\"":1,"!":2,"\u0001":3,"#":4}`, `[9007199254740993, 1.0, 1E+2]`, ` [ ] `, `"\u0000\ufffd\uffff"`,
		"{\"\xff\":1,\"\xfe\":2}", strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
		`{"a":{"b":1,"b":2},"a":3}`, `{"a\u0000":1,"a":2,"a\"":3}`, `"\\u0041"`, `"\ud800\udc00\udbff\udfff"`, `"\ud800\u0041"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := canonicalJSON(text)
		if err != nil {
			require.Nil(t, out)
			requireReason(t, text, err)
			return
		}
		require.True(t, json.Valid(text), "accepted, and not JSON")
		require.True(t, utf8.Valid(text), "accepted, and not UTF-8")
		deepest, twice := shape(t, text)
		require.LessOrEqual(t, deepest, 64)
		require.False(t, twice, "accepted with a name twice")
		require.True(t, json.Valid(out))
		require.Equal(t, decodeJSON(t, text), decodeJSON(t, out), "the canonical form means something else")
		again, err := canonicalJSON(out)
		require.NoError(t, err)
		require.Equal(t, out, again, "the canonical form is not its own")
		loose := append(append([]byte("\t\r\n "), text...), '\n')
		again, err = canonicalJSON(loose)
		require.NoError(t, err)
		require.Equal(t, out, again, "white space counts")
	})
}

// requireReason requires that a refused text deserves it: it is no JSON, or it
// breaks the very rule that the error names.
func requireReason(t *testing.T, text []byte, err error) {
	t.Helper()
	require.ErrorIs(t, err, ErrInvalid)
	if !json.Valid(text) {
		return
	}
	var e *Error
	require.ErrorAs(t, err, &e)
	deepest, twice := shape(t, text)
	switch {
	case strings.Contains(e.rule, ruleTwice):
		require.True(t, twice, "refused for a name twice")
	case strings.Contains(e.rule, ruleUTF8):
		require.False(t, utf8.Valid(text), "refused as invalid UTF-8")
	case strings.Contains(e.rule, ruleSurrogate):
		require.Regexp(t, surrogateEscape, string(text), "refused for a lone surrogate")
	case strings.Contains(e.rule, ruleDepth):
		require.Greater(t, deepest, 64, "refused as too deep")
	default:
		t.Fatalf("JSON was refused for no documented reason: %s", e.rule)
	}
}

// splitIntent cuts one text into the fields of an opaque intent: whatever the
// cuts, the fields joined are the text.
func splitIntent(text string, kind, target, params, scope uint8, opaque bool) Intent {
	cut := func(n uint8) string {
		at := min(int(n), len(text))
		head := text[:at]
		text = text[at:]
		return head
	}
	in := Intent{Kind: cut(kind), Target: cut(target), Params: []byte(cut(params)), Opaque: opaque}
	if !opaque {
		// Params that are JSON would change the text; none leaves it alone.
		text, in.Params = string(in.Params)+text, nil
	}
	if scope > 0 {
		in.Scope = append(in.Scope, cut(scope))
	}
	if text != "" {
		in.Scope = append(in.Scope, text)
	}
	return in
}

func FuzzFingerprint(f *testing.F) {
	f.Add("abc", uint8(2), uint8(1), uint8(0), uint8(0), true, uint8(1), uint8(2), uint8(0), uint8(0), true)
	f.Add("abc", uint8(1), uint8(0), uint8(0), uint8(2), true, uint8(1), uint8(0), uint8(0), uint8(1), true)
	f.Add("abc", uint8(3), uint8(0), uint8(0), uint8(0), true, uint8(3), uint8(0), uint8(0), uint8(0), false)
	f.Add("abjsonc", uint8(2), uint8(4), uint8(0), uint8(0), true, uint8(2), uint8(0), uint8(0), uint8(0), false)
	f.Add("a\x00\x00\x00\x00\x00\x00\x00\x01b", uint8(1), uint8(9), uint8(0), uint8(0), true, uint8(10), uint8(0), uint8(0), uint8(0), true)
	f.Add("", uint8(0), uint8(0), uint8(0), uint8(0), true, uint8(0), uint8(0), uint8(0), uint8(1), true)
	f.Fuzz(func(t *testing.T, text string, k1, t1, p1, s1 uint8, o1 bool, k2, t2, p2, s2 uint8, o2 bool) {
		one, other := splitIntent(text, k1, t1, p1, s1, o1), splitIntent(text, k2, t2, p2, s2, o2)
		x, err := fingerprintOf(one)
		require.NoError(t, err)
		y, err := fingerprintOf(other)
		require.NoError(t, err)
		same := one.Kind == other.Kind && one.Target == other.Target && one.Opaque == other.Opaque &&
			bytes.Equal(one.Params, other.Params) && fmt.Sprintf("%q", one.Scope) == fmt.Sprintf("%q", other.Scope)
		require.Equal(t, same, x == y, "%#v %q %#v %q", one, one.Scope, other, other.Scope)
	})
}
