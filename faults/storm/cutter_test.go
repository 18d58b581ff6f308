package storm

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onejob-go/onejob/internal/faultproxy"
)

// cutter says at every commit what goes wrong there: one in a hundred is cut.
type cutter struct {
	mu   sync.Mutex
	rng  *rand.Rand
	cuts atomic.Int64 // between commit and reply, by FIN and RST
}

func newCutter(seed uint64) *cutter { return &cutter{rng: rand.New(rand.NewPCG(seed, 7))} }

func (c *cutter) decide(at faultproxy.Point) faultproxy.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rng.IntN(100) > 0 {
		return faultproxy.Fault{}
	}
	f := faultproxy.Fault{At: at, Delay: time.Duration(c.rng.IntN(30)) * time.Millisecond}
	switch n := c.rng.IntN(20); {
	case n < 8:
		f.Do = faultproxy.FIN
	case n < 16:
		f.Do = faultproxy.RST
	case n < 19:
		f.Do = faultproxy.Delay
	default:
		f.Do = faultproxy.Hang
	}
	if at == faultproxy.AfterCommit && (f.Do == faultproxy.FIN || f.Do == faultproxy.RST) {
		c.cuts.Add(1)
	}
	return f
}
