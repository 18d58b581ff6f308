package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/onejob-go/onejob"
	h "github.com/onejob-go/onejob/faults/history"
)

// Round is one thing to do at the same moment as other processes.
type Round struct {
	Do      string         // "click" or "complete"
	Key     string         // of a click
	Others  int            // how many of the clicks carry other input
	Attempt onejob.Attempt // to complete
	Result  []byte
}

// Played is what came of it.
type Played struct {
	Created   int            // how many were told that they made the job
	Jobs      map[string]int // job IDs that were given to those with the usual input
	OtherJobs map[string]int // likewise, to those with other input
	Conflicts map[string]int // job IDs that refusals named
	Code      string         // of a completion
	Winner    string
	Digest    string
	Error     string // anything that no caller should see
}

// rounds plays each round that is asked for, a line of JSON each.
func rounds(c Config, in io.Reader, out io.Writer) error {
	store, closeStore, err := open(c)
	if err != nil {
		return err
	}
	defer closeStore()
	jobs := onejob.New(store, nil)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var r Round
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		p := Played{}
		if r.Do == "click" {
			p = click(jobs, r, c.Goroutines)
		} else {
			job, err := jobs.Complete(context.Background(), r.Attempt, r.Result)
			told := reply(job, nil, err)
			p = Played{Code: told.Code, Winner: told.Winner, Digest: told.Digest}
			if told.Code != h.OK {
				p.Error = told.Error
			}
		}
		if err := answers.Encode(p); err != nil {
			return err
		}
	}
	return lines.Err()
}

// click sends the same intent from many goroutines at once.
func click(jobs *onejob.Jobs, r Round, n int) Played {
	p := Played{Jobs: map[string]int{}, OtherJobs: map[string]int{}, Conflicts: map[string]int{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		all.Go(func() {
			in := onejob.Intent{Owner: "OWNER-1", Key: r.Key, Kind: "charge", Params: []byte(`{"n":1}`)}
			ids := p.Jobs
			if i < r.Others {
				in.Params, ids = []byte(`{"n":2}`), p.OtherJobs
			}
			<-gate
			job, created, err := jobs.Create(context.Background(), in)
			for errors.Is(err, onejob.ErrUnavailable) {
				time.Sleep(10 * time.Millisecond)
				job, created, err = jobs.Create(context.Background(), in)
			}
			mu.Lock()
			defer mu.Unlock()
			var e *onejob.Error
			switch {
			case err == nil:
				ids[string(job.ID)]++
			case errors.Is(err, onejob.ErrKeyConflict) && errors.As(err, &e):
				p.Conflicts[string(e.Job.ID)]++
			default:
				p.Error = fmt.Sprint(err)
			}
			if created {
				p.Created++
			}
		})
	}
	close(gate)
	all.Wait()
	return p
}
