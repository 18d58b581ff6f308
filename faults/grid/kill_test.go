package grid

import (
	"fmt"
	"sync/atomic"

	"github.com/onejob-go/onejob/internal/faultproxy"
)

// killedBeforeSending kills a process that is about to dial.
func killedBeforeSending(tr *trial) (answer, error) {
	p, err := tr.spawn(order{Postgres: tr.named(tr.address), Dial: true})
	if err != nil {
		return answer{}, err
	}
	defer p.kill()
	_, err = p.hear(sayStopped)
	tr.tell("killed before it dialed")
	return answer{told: toldNone}, err
}

// killedAfterReply kills a process that has the reply and has told nobody.
func killedAfterReply(tr *trial) (answer, error) {
	p, err := tr.spawn(order{Postgres: tr.named(tr.address)})
	if err != nil {
		return answer{}, err
	}
	defer p.kill()
	a, err := p.answer()
	tr.tell("killed after the call returned %v", a)
	if err == nil && a.told != toldDone {
		err = fmt.Errorf("without a fault the call came to: %v", a)
	}
	return answer{told: toldNone}, err
}

// killedAt kills a process while its commit is on the way, or the reply to it.
func killedAt(at faultproxy.Point) func(*trial) (answer, error) {
	return func(tr *trial) (answer, error) {
		proxy, err := faultproxy.Open(tr.named(tr.address))
		if err != nil {
			return answer{}, err
		}
		defer proxy.Close()
		var commits atomic.Int32
		hit, dead := make(chan struct{}), make(chan struct{})
		proxy.Decide(func(point faultproxy.Point) faultproxy.Fault {
			if point != at || int(commits.Add(1)) != tr.op.skip+1 {
				return faultproxy.Fault{}
			}
			close(hit)
			<-dead
			return faultproxy.Fault{At: at, Do: faultproxy.RST}
		})
		p, err := tr.spawn(order{Postgres: proxy.DSN})
		if err != nil {
			close(dead)
			return answer{}, err
		}
		replied := make(chan string, 1)
		go func() { said, _ := p.hear(""); replied <- said }()
		select {
		case <-hit:
			tr.tell("killed at commit %d", tr.op.skip+1)
		case said := <-replied:
			err = fmt.Errorf("the process said %q before it was to be killed", said)
		}
		p.kill()
		close(dead)
		return answer{told: toldNone}, err
	}
}
