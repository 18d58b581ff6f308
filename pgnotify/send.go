package pgnotify

import (
	"context"
	"strings"

	"github.com/onejob-go/onejob"
)

// Notify implements onejob.Notifier: it leaves the word to be sent and returns.
func (n *Notifier) Notify(id onejob.JobID) {
	n.mu.Lock()
	if len(n.held) < maxHeld {
		n.held[id] = struct{}{}
	}
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

func (n *Notifier) notify(ctx context.Context, payload string) {
	ctx, cancel := context.WithTimeout(ctx, sendBound)
	defer cancel()
	if _, err := n.db.ExecContext(ctx, sendStatement, n.channel, payload); err != nil && ctx.Err() == nil {
		n.log.Warn("onejob: a hint was not sent: waiters elsewhere look by themselves")
	}
}
