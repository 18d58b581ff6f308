package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("operator lists, at one instant",
	testCase{
		name:  "a page ends between attempts that began at once",
		why:   "a clock may stand still for longer than a page: whoever goes on after a time alone leaves out what has the same",
		needs: []ability{operating},
		run: func(h *harness) {
			now := time.Now()
			h.use(onejob.Options{Now: func() time.Time { return now }})
			const n = 210 // a page has 200
			want := map[onejob.AttemptID]int{}
			for i := range n {
				_, a := h.start(fmt.Sprint("k", i))
				want[a.ID] = 1
			}
			seen := map[onejob.AttemptID]int{}
			for entry, err := range h.op.Attempts(h.ctx, onejob.Filter{}) {
				require.NoError(h, err)
				seen[entry.Attempt.ID]++
			}
			require.Equal(h, want, seen)
		},
	},
)
