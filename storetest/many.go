package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("many", []testCase{
	{
		name:  "each intent is told what Create would tell",
		why:   "in one call: new jobs, one that exists, other input, a purged key, bad input, and a key twice, each at its place and none keeping the others",
		needs: []ability{operating},
		run: func(h *harness) {
			h.inJobStatus("done", onejob.StatusCompleted)
			h.purge(1)
			running := h.inJobStatus("running", onejob.StatusRunning)
			bad := intent("")
			in := []onejob.Intent{
				intent("z"), intent("running"), otherInput("running"), intent("done"), bad, intent("a"), intent("z"), otherInput("a"),
			}
			list, err := h.jobs.CreateMany(h.ctx, in)
			require.NoError(h, err)
			require.Len(h, list, len(in))
			for i, want := range []struct {
				created bool
				err     error
			}{
				{true, nil}, {false, nil}, {false, onejob.ErrKeyConflict}, {false, onejob.ErrKeyRetired},
				{false, onejob.ErrInvalid}, {true, nil}, {false, nil}, {false, onejob.ErrKeyConflict},
			} {
				got := list[i]
				require.Equal(h, want.created, got.Created, "%d", i)
				require.ErrorIs(h, got.Err, want.err, "%d", i)
				if want.err == nil {
					require.Equal(h, h.holder(in[i]), got.Job, "%d", i)
				}
			}
			require.Equal(h, running, list[1].Job)
			require.Equal(h, list[0].Job.ID, list[6].Job.ID)
			require.Equal(h, running, h.refusal(list[2].Err, onejob.ErrKeyConflict).Job)
			require.Equal(h, onejob.Job{}, list[2].Job, "a job with other input is in the error only")
		},
	},
	{
		name: "any bytes are kept",
		why:  "owners, keys and params come back byte for byte, whatever stands between the quotes of an array",
		run: func(h *harness) {
			var in []onejob.Intent
			for i, key := range []string{`"`, `\`, `{`, `},{`, `NULL`, `null`, ` a `, `a,b`, `\"`, `é`, "\u2028", `''`, `$1`, `\x00`} {
				one := intent(key)
				one.Owner, one.Target = key+"o", key+"t"
				one.Opaque = true
				one.Params = []byte(strings.Repeat("\x00\xff"+key, i))
				in = append(in, one)
			}
			list, err := h.jobs.CreateMany(h.ctx, in)
			require.NoError(h, err)
			for i, c := range list {
				require.NoError(h, c.Err)
				require.True(h, c.Created)
				held := h.holder(in[i])
				require.Equal(h, held, c.Job)
				require.Equal(h, in[i].Target, held.Target)
				require.Equal(h, string(in[i].Params), string(held.Params))
				job, created, err := h.jobs.Create(h.ctx, in[i])
				require.NoError(h, err)
				require.False(h, created)
				require.Equal(h, held, job)
			}
		},
	},
	{
		name: "a thousand, and not one more",
		why:  "1,000 intents are stored in one step, 1,001 are ErrInvalid with nothing stored, none is no error",
		run: func(h *harness) {
			in := make([]onejob.Intent, 1001)
			for i := range in {
				in[i] = intent(fmt.Sprint(i))
			}
			_, err := h.jobs.CreateMany(h.ctx, in)
			h.refusal(err, onejob.ErrInvalid)
			_, err = h.jobs.GetByKey(h.ctx, "owner-1", "0")
			require.ErrorIs(h, err, onejob.ErrNotFound)
			for _, created := range []bool{true, false} {
				list, err := h.jobs.CreateMany(h.ctx, in[:1000])
				require.NoError(h, err)
				seen := map[onejob.JobID]bool{}
				for i, c := range list {
					require.NoError(h, c.Err)
					require.Equal(h, created, c.Created)
					require.Equal(h, in[i].Key, c.Job.Key)
					seen[c.Job.ID] = true
				}
				require.Len(h, seen, 1000)
			}
			list, err := h.jobs.CreateMany(h.ctx, nil)
			require.NoError(h, err)
			require.Empty(h, list)
		},
	},
	{
		name: "callers with the same keys in other orders",
		why:  "of any number of simultaneous calls that share keys each key is stored by exactly one, all get its job, and none waits for another in a circle",
		run: func(h *harness) {
			for round := range 5 {
				in := make([]onejob.Intent, 50)
				for i := range in {
					in[i] = intent(fmt.Sprint(round, "-", i))
				}
				lists := make([][]onejob.Created, 16)
				orders := make([][]int, len(lists))
				together(len(lists), func(i int) {
					orders[i] = rand.Perm(len(in))
					mine := make([]onejob.Intent, len(in))
					for at, n := range orders[i] {
						mine[at] = in[n]
					}
					var err error
					lists[i], err = h.jobs.CreateMany(h.ctx, mine)
					require.NoError(h, err)
				})
				ids, made := map[string]onejob.JobID{}, map[string]int{}
				for i, list := range lists {
					for at, c := range list {
						require.NoError(h, c.Err)
						key := in[orders[i][at]].Key
						require.Equal(h, key, c.Job.Key)
						if ids[key] == "" {
							ids[key] = c.Job.ID
						}
						require.Equal(h, ids[key], c.Job.ID)
						if c.Created {
							made[key]++
						}
					}
				}
				for _, one := range in {
					require.Equal(h, 1, made[one.Key], one.Key)
				}
			}
		},
	},
}...)
