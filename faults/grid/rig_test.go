package grid

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/onejob-go/onejob/internal/faultproxy"
)

// nowhere is an address at which nobody listens.
const nowhere = "127.0.0.1:1"

// rig is a host behind a proxy.
type rig struct {
	tr     *trial
	proxy  *faultproxy.Proxy
	dialer *dialer
	pool   *sql.DB
	h      *host
	ctx    context.Context
	cancel context.CancelFunc
}

func (tr *trial) rig() (*rig, error) {
	proxy, err := faultproxy.Open(tr.named(tr.address))
	if err != nil {
		return nil, err
	}
	d := &dialer{}
	db, store, err := openPostgres(proxy.DSN, d)
	if err != nil {
		proxy.Close()
		return nil, err
	}
	r := &rig{tr: tr, proxy: proxy, dialer: d, pool: db, h: newHost(store, db, dollar, tr.op, tr.w, tr.logger())}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	warm(r.h)
	return r, nil
}

func (r *rig) close() {
	r.cancel()
	r.proxy.Decide(nil)
	r.proxy.Close()
	r.pool.Close()
}

// call makes the call, and does not wait for ever.
func (r *rig) call() (answer, error) {
	done := r.start()
	return r.await(done)
}

func (r *rig) start() <-chan answer {
	done := make(chan answer, 1)
	go func() { done <- answerOf(r.tr.op, r.tr.op.run(r.ctx, r.h)) }()
	return done
}

func (r *rig) await(done <-chan answer) (answer, error) {
	select {
	case a := <-done:
		return a, nil
	case <-time.After(patience):
		return answer{}, errors.New("the call hangs")
	}
}

// atCommit has one commit go wrong.
func atCommit(at faultproxy.Point, do func(*rig) faultproxy.Action) func(*trial) (answer, error) {
	return func(tr *trial) (answer, error) {
		r, err := tr.rig()
		if err != nil {
			return answer{}, err
		}
		defer r.close()
		var commits, hit atomic.Int32
		r.proxy.Decide(func(point faultproxy.Point) faultproxy.Fault {
			if point != at || int(commits.Add(1)) != tr.op.skip+1 {
				return faultproxy.Fault{}
			}
			hit.Store(1)
			return faultproxy.Fault{At: at, Do: do(r)}
		})
		a, err := r.call()
		tr.tell("%s at commit %d", tr.fault.column(), tr.op.skip+1)
		if err == nil && hit.Load() == 0 {
			err = fmt.Errorf("the fault did not happen: %v", a)
		}
		return a, err
	}
}

// terminate ends the server's side, before it hears of the commit.
func (r *rig) terminate() faultproxy.Action {
	_, err := r.tr.db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, r.tr.name)
	if err == nil {
		err = waitFor(r.ctx, "the backend to end", func() (bool, error) {
			var n int
			err := r.tr.db.QueryRow(`SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, r.tr.name).Scan(&n)
			return n == 0, err
		})
	}
	r.tr.tell("terminated: %v", err)
	return faultproxy.Forward
}

func endedBefore(tr *trial) (answer, error) {
	r, err := tr.rig()
	if err != nil {
		return answer{}, err
	}
	defer r.close()
	r.cancel()
	tr.tell("the context had ended before the call")
	return r.call()
}
