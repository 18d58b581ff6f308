package failover

import (
	"sync"

	"github.com/onejob-go/onejob"
)

// calls are the attempts whose provider this process is calling, also past
// their deadline: what a look-up says of such a one proves nothing, for its
// request may not have left yet.
type calls struct {
	mu   sync.Mutex
	open map[onejob.AttemptID]bool
}

func (c *calls) begin(id onejob.AttemptID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[onejob.AttemptID]bool{}
	}
	c.open[id] = true
}

func (c *calls) end(id onejob.AttemptID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}

func (c *calls) under(id onejob.AttemptID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id]
}
