package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("turns", []testCase{
	{
		name: "a store without the ability says so",
		why:  "who asks for turns must be able to tell that there are none from a database that does not answer",
		run: func(h *harness) {
			h.store = struct{ onejob.Store }{h.store}
			h.use(onejob.Options{})
			_, err := h.op.TakeTurn(h.ctx, "purge", "a", time.Hour)
			require.Nil(h, h.refusal(err, onejob.ErrUnsupported).Cause)
		},
	},
	{
		name:  "one holder has the turn",
		why:   "until it ends nobody else gets it, however often they ask; other turns are free",
		needs: []ability{turns},
		run: func(h *harness) {
			require.True(h, h.take("purge", "a", time.Hour))
			for range 3 {
				require.False(h, h.take("purge", "b", time.Hour))
				require.False(h, h.take("purge", "A", time.Microsecond), "holders are compared byte for byte")
			}
			require.True(h, h.take("Purge", "b", time.Hour))
			require.False(h, h.take("Purge", "a", time.Hour))
			require.True(h, h.take("purge", "a", time.Hour), "it is still a's")
		},
	},
	{
		name:  "a turn ends",
		why:   "the holder may be dead: when its time is over the next one has it, and the former holder has not",
		needs: []ability{turns},
		run: func(h *harness) {
			require.True(h, h.take("purge", "a", time.Microsecond))
			h.takeOver("purge", "b")
			require.False(h, h.take("purge", "a", time.Hour))
		},
	},
	{
		name:  "the holder may take it again",
		why:   "for longer, while its work goes on, and for less, when it is done: the last word counts",
		needs: []ability{turns},
		run: func(h *harness) {
			require.True(h, h.take("purge", "a", time.Microsecond))
			require.True(h, h.take("purge", "a", time.Hour))
			require.False(h, h.take("purge", "b", time.Hour))
			require.True(h, h.take("purge", "a", time.Microsecond))
			h.takeOver("purge", "b")
		},
	},
	{
		name:  "who is refused does not make it longer",
		why:   "a fleet that asks all the time would otherwise keep a dead process's turn alive",
		needs: []ability{turns},
		run: func(h *harness) {
			var refused int
			for d := 200 * time.Millisecond; refused == 0; d *= 2 { // longer where the machine is slow
				require.True(h, h.take(d.String(), "a", d))
				for begin := time.Now(); !h.take(d.String(), "b", time.Hour); refused++ {
					require.Less(h, time.Since(begin), 20*time.Second, "asking keeps it from ending")
				}
			}
		},
	},
	{
		name:  "one of many gets it",
		why:   "those who ask at once, for a turn that is free or has just ended, are told apart",
		needs: []ability{turns},
		run: func(h *harness) {
			for round := range 25 {
				name := fmt.Sprint("free-", round)
				if round%2 == 1 {
					require.True(h, h.take(name, "nobody", time.Microsecond))
				}
				var got atomic.Int64
				together(8, func(i int) {
					taken, err := h.op.TakeTurn(h.ctx, name, fmt.Sprint("holder-", i), time.Hour)
					if err != nil {
						h.Errorf("holder %d: %v", i, err)
					}
					if taken {
						got.Add(1)
					}
				})
				if round%2 == 1 && got.Load() == 0 {
					continue // all of them came within its microsecond
				}
				require.Equal(h, int64(1), got.Load(), "round %d", round)
			}
		},
	},
	{
		name:  "bad input is refused",
		why:   "before anything is sent, with one typed error that names the field",
		needs: []ability{turns},
		run: func(h *harness) {
			for _, c := range []struct {
				field, name, holder string
				d                   time.Duration
			}{
				{"name", "", "a", 1}, {"name", strings.Repeat("x", 64), "a", 1}, {"name", "a\x00", "a", 1}, {"name", "\xff", "a", 1},
				{"holder", "n", "", 1}, {"holder", "n", strings.Repeat("x", 129), 1}, {"holder", "n", "a\n", 1},
				{"d", "n", "a", 0}, {"d", "n", "a", -time.Second},
			} {
				_, err := h.op.TakeTurn(h.ctx, c.name, c.holder, c.d)
				require.Equal(h, c.field, h.refusal(err, onejob.ErrInvalid).Field)
			}
			require.True(h, h.take(strings.Repeat("ä", 31)+"x", strings.Repeat("ä", 64), 1<<63-1), "the longest of each")
			require.False(h, h.take(strings.Repeat("ä", 31)+"x", "a", 1))
		},
	},
}...)

// take asks for the turn, and needs an answer.
func (h *harness) take(name, holder string, d time.Duration) bool {
	h.Helper()
	taken, err := h.op.TakeTurn(h.ctx, name, holder, d)
	require.NoError(h, err)
	return taken
}

// takeOver asks until the turn that is there has ended.
func (h *harness) takeOver(name, holder string) {
	h.Helper()
	for begin := time.Now(); !h.take(name, holder, time.Hour); {
		require.Less(h, time.Since(begin), time.Minute, "the turn does not end")
	}
}
