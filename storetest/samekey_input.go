package storetest

import (
	"bytes"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var sameKeyInputs = []testCase{
	{
		name: "each field of the fingerprint counts by itself",
		why:  "kind, target, params, opaque and scope tell one intent from another, each alone and no two by being run together",
		run: func(h *harness) {
			base := func(key string) onejob.Intent {
				return onejob.Intent{Owner: "owner-1", Key: key, Kind: "charge", Target: "bank",
					Params: []byte(`{"a":1}`), Scope: []string{"POST", "/charges"}}
			}
			changes := []func(*onejob.Intent){
				func(in *onejob.Intent) { in.Kind = "refund" },
				func(in *onejob.Intent) { in.Target = "card" },
				func(in *onejob.Intent) { in.Target = "" },
				func(in *onejob.Intent) { in.Params = []byte(`{"a":2}`) },
				func(in *onejob.Intent) { in.Params = nil },
				func(in *onejob.Intent) { in.Opaque = true },
				func(in *onejob.Intent) { in.Scope = nil },
				func(in *onejob.Intent) { in.Scope = []string{"PUT", "/charges"} },
				func(in *onejob.Intent) { in.Scope = []string{"/charges", "POST"} },
				func(in *onejob.Intent) { in.Scope = []string{"POST/charges"} },
				func(in *onejob.Intent) { in.Scope = []string{"POST/", "charges"} },
				func(in *onejob.Intent) { in.Scope = []string{"POST", "/charges", ""} },
				func(in *onejob.Intent) { in.Kind, in.Target = "char", "gebank" },
				func(in *onejob.Intent) { in.Kind, in.Target = "chargeb", "ank" },
				func(in *onejob.Intent) { in.Kind = "Charge" },
			}
			for i, change := range changes {
				key := fmt.Sprint("k", i)
				_, created, err := h.jobs.Create(h.ctx, base(key))
				require.NoError(h, err)
				require.True(h, created)
				other := base(key)
				change(&other)
				for _, c := range keyCreations[2:] {
					h.keyConflict(c, other)
				}
				h.keyConflict(keyCreations[0], other)
				_, created, err = h.jobs.Create(h.ctx, base(key))
				require.NoError(h, err)
				require.False(h, created)
			}
		},
	},
	{
		name: "JSON that means the same is the same",
		why:  "order of names, white space and the spelling of strings do not count, and params stay exactly as first given",
		run: func(h *harness) {
			for i, spellings := range [][]string{
				{`{"a": 1, "b": [true, null]}`, `{"b":[true,null],"a":1}`, "\t{\n\"a\":1 ,\r\"b\":[ true , null ]}\n"},
				{`{"b":{"y":1,"x":2},"a":0}`, `{"a":0,"b":{"x":2,"y":1}}`},
				{`{"é":"\u00e9\/\n"}`, `{"\u00E9":"é/\u000a"}`},
				{`"\ud83d\ude00"`, `"😀"`},
				{`[]`, ` [ ] `},
			} {
				var first onejob.Job
				for j, params := range spellings {
					in := intent(fmt.Sprint("k", i))
					in.Params = []byte(params)
					job, created, err := h.jobs.Create(h.ctx, in)
					require.NoError(h, err)
					require.Equal(h, j == 0, created, params)
					require.Equal(h, spellings[0], string(job.Params))
					if j == 0 {
						first = job
					}
					require.Equal(h, first, job)
					require.Equal(h, first, h.holder(in))
				}
			}
		},
	},
	{
		name: "JSON that differs is other input",
		why:  "numbers count as written, since rounding them would make a silent false match, and nothing is taken for equal by guess",
		run: func(h *harness) {
			for i, pair := range [][2]string{
				{``, `null`}, {``, `{}`}, {`null`, `{}`}, {`""`, `null`}, {`0`, `false`},
				{`1`, `1.0`}, {`100`, `1e2`}, {`1e2`, `1E2`}, {`0`, `-0`}, {`0.1`, `0.10`},
				{`9007199254740993`, `9007199254740992`}, {`1e400`, `1e401`}, {`1`, `"1"`},
				{`{"a":9007199254740993}`, `{"a":9007199254740992}`},
				{`[1,2]`, `[2,1]`}, {`{"a":1}`, `{"A":1}`}, {`"é"`, `"e\u0301"`}, {`"a"`, `"a "`},
				{`{"a":1}`, `{"a":1,"b":null}`}, {`[[1],2]`, `[1,[2]]`},
			} {
				for j := range 2 {
					in := intent(fmt.Sprint("k", i, "-", j))
					in.Params = []byte(pair[j])
					_, created, err := h.jobs.Create(h.ctx, in)
					require.NoError(h, err)
					require.True(h, created)
					in.Params = []byte(pair[1-j])
					h.keyConflict(keyCreations[0], in)
				}
			}
		},
	},
	{
		name: "opaque params count byte by byte",
		why:  "what the caller calls opaque is not read as JSON, not for the digest and not for refusing it",
		run: func(h *harness) {
			all := make([]byte, 256)
			for i := range all {
				all[i] = byte(i)
			}
			for i, params := range [][]byte{[]byte(`{"a":1}`), []byte(`{"a":1,"a":2}`), all} {
				in := intent(fmt.Sprint("k", i))
				in.Opaque, in.Params = true, params
				job, created, err := h.jobs.Create(h.ctx, in)
				require.NoError(h, err)
				require.True(h, created)
				require.True(h, job.Opaque)
				require.Equal(h, params, job.Params)
				require.Equal(h, job, h.holder(in))
				in.Params = append(bytes.Clone(params), ' ')
				h.keyConflict(keyCreations[0], in)
			}
		},
	},
	{
		name: "nil and empty params are the same",
		why:  "no input is one input, however it is given, and it is kept as empty: nil means purged",
		run: func(h *harness) {
			for i, opaque := range []bool{false, true} {
				for j, params := range [][]byte{nil, {}} {
					in := intent(fmt.Sprint("k", i, "-", j))
					in.Opaque, in.Params = opaque, params
					job, created, err := h.jobs.Create(h.ctx, in)
					require.NoError(h, err)
					require.True(h, created)
					require.Equal(h, []byte{}, job.Params)
					for _, again := range [][]byte{nil, {}} {
						in.Params = again
						same, created, err := h.jobs.Create(h.ctx, in)
						require.NoError(h, err)
						require.False(h, created)
						require.Equal(h, job, same)
						require.Equal(h, job, h.holder(in))
					}
				}
			}
		},
	},
	{
		name: "the job does not share memory with the caller",
		why:  "params that the caller changes afterwards are not what was asked for",
		run: func(h *harness) {
			in := intent("k")
			in.Params = []byte(`{"a":1}`)
			_, _, err := h.jobs.Create(h.ctx, in)
			require.NoError(h, err)
			in.Params[5] = '2'
			h.keyConflict(keyCreations[0], in)
			require.Equal(h, `{"a":1}`, string(h.holder(in).Params))
		},
	},
}
