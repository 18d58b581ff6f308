package grid

import (
	"time"

	fp "github.com/onejob-go/onejob/internal/faultproxy"
)

func postgresFaults() []*fault {
	cut := func(at fp.Point, do fp.Action) func(*trial) (answer, error) {
		return atCommit(at, func(*rig) fp.Action { return do })
	}
	hole := func(at fp.Point) func(*trial) (answer, error) {
		return atCommit(at, func(r *rig) fp.Action {
			r.dialer.expire()
			return fp.Hang
		})
	}
	gone := func(at fp.Point) func(*trial) (answer, error) {
		return atCommit(at, func(r *rig) fp.Action {
			r.tr.tell("the server stays away until the call has returned")
			r.proxy.Retarget(nowhere)
			r.proxy.Sever(fp.RST)
			return fp.RST
		})
	}
	return []*fault{
		{group: "F0", name: "context", inflict: endedBefore},
		{group: "F0", name: "kill -9", child: true, inflict: killedBeforeSending},
		{group: "F4", name: "kill -9", child: true, inflict: killedAfterReply},

		{group: "F1", name: "FIN", inflict: cut(fp.BeforeCommit, fp.FIN)},
		{group: "F1", name: "RST", inflict: cut(fp.BeforeCommit, fp.RST)},
		{group: "F1", name: "black hole", slow: true, inflict: hole(fp.BeforeCommit)},
		{group: "F1", name: "context", inflict: atCommit(fp.BeforeCommit, canceled)},
		{group: "F1", name: "backend terminated", races: true, inflict: atCommit(fp.BeforeCommit, (*rig).terminate)},
		{group: "F1", name: "RST, server stays away", slow: true, away: true, inflict: gone(fp.BeforeCommit)},
		{group: "F1", name: "kill -9", child: true, kills: true, inflict: killedAt(fp.BeforeCommit)},

		{group: "F2", name: "FIN", missing: because("that is F3: the driver reports a clean end so that database/sql sends the statement again")},
		{group: "F2", name: "RST", cuts: true, inflict: cut(fp.AfterCommit, fp.RST)},
		{group: "F2", name: "black hole", slow: true, inflict: hole(fp.AfterCommit)},
		{group: "F2", name: "context", inflict: atCommit(fp.AfterCommit, canceled)},
		{group: "F2", name: "context, late reply", races: true, inflict: atCommit(fp.AfterCommit, func(r *rig) fp.Action {
			r.cancel()
			time.Sleep(2 * time.Millisecond) // so that database/sql hears of it first, mostly
			return fp.Forward
		})},
		{group: "F2", name: "RST, server stays away", slow: true, away: true, cuts: true, inflict: gone(fp.AfterCommit)},
		{group: "F2", name: "kill -9", child: true, kills: true, inflict: killedAt(fp.AfterCommit)},

		{group: "F3", name: "FIN", cuts: true, inflict: cut(fp.AfterCommit, fp.FIN)},
		{group: "F3", name: "RST", missing: because(onlyFIN)},
		{group: "F3", name: "black hole", missing: because(onlyFIN)},
		{group: "F3", name: "context", missing: because(onlyFIN)},

		{group: "F5", name: "FIN", races: true, missing: lockless, inflict: waiting(func(r *rig) { r.proxy.Sever(fp.FIN) })},
		{group: "F5", name: "RST", races: true, missing: lockless, inflict: waiting(func(r *rig) { r.proxy.Sever(fp.RST) })},
		{group: "F5", name: "black hole", races: true, slow: true, missing: lockless, inflict: waiting(func(r *rig) {
			r.proxy.Sever(fp.Hang)
			r.dialer.expire()
		})},
		{group: "F5", name: "context", races: true, missing: lockless, inflict: waiting((*rig).cancelWaiting)},
	}
}

const onlyFIN = "F3 is the second run that only a clean end brings about; with anything else the lost reply is F2"

func lockless(op *operation) string { return op.lockless }

// canceled ends the context, and then the connection: lib/pq waits for the
// reply however long ago the context has ended.
func canceled(r *rig) fp.Action {
	r.cancel()
	return fp.RST
}

func because(reason string) func(*operation) string { return func(*operation) string { return reason } }
