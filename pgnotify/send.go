package pgnotify

import (
	"context"
	"database/sql"
	"strings"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/hold"
)

// Notify implements onejob.Notifier: it leaves the word to be sent and returns.
func (n *Notifier) Notify(id onejob.JobID) {
	n.mu.Lock()
	if len(n.held) >= maxHeld {
		id = "" // some were dropped: let all be looked at
	}
	n.held[id] = struct{}{}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// send sends what is held. While one statement is under way the next one's is
// gathered: so the busier, the more share one.
func (n *Notifier) send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		for _, payload := range n.take() {
			n.notify(ctx, payload)
		}
	}
}

// take returns the payloads of what is held.
func (n *Notifier) take() (payloads []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var ids []string
	for id := range n.held {
		if ids = append(ids, string(id)); len(ids) == maxTold {
			payloads, ids = append(payloads, strings.Join(ids, ",")), nil
		}
	}
	clear(n.held)
	if len(ids) > 0 {
		payloads = append(payloads, strings.Join(ids, ","))
	}
	return payloads
}

// A hint that is lost in a crash is no loss, so nobody waits for the disk.
const sendStatement = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`

// notify sends one statement, and minds its bound whatever the driver does: on a
// connection that has fallen silent lib/pq waits on. While it does no other is
// begun, for each would take one more connection of the pool. What was not sent is
// told with the next that is.
func (n *Notifier) notify(ctx context.Context, payload string) {
	if n.hangs.Load() {
		n.missed()
		return
	}
	own, cancel := context.WithTimeout(ctx, sendBound)
	defer cancel()
	n.hangs.Store(true)
	_, hangs, err := hold.Call(own, func() (sql.Result, error) {
		return n.db.ExecContext(own, sendStatement, n.channel, payload)
	}, func(sql.Result, error) { n.hangs.Store(false) })
	if !hangs {
		n.hangs.Store(false)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		n.missed()
	default:
		n.mute.Store(false)
	}
}

// missed has waiters elsewhere look at all that they wait for, once something is
// sent again.
func (n *Notifier) missed() {
	n.mu.Lock()
	n.held[""] = struct{}{}
	n.mu.Unlock()
	if n.mute.CompareAndSwap(false, true) {
		n.log.Warn("onejob: hints cannot be sent: waiters elsewhere look by themselves")
	}
}
