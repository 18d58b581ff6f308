package main

import "time"

// progress tells people on stderr how far a long run has come.
type progress struct {
	a     *app
	total int
	done  int
	told  time.Time
}

func (a *app) progress(total int) *progress { return &progress{a: a, total: total, told: time.Now()} }

// step tells after every hundred, and every two seconds.
func (p *progress) step() {
	p.done++
	if p.done%100 == 0 && p.done < p.total || time.Since(p.told) > 2*time.Second {
		p.told = time.Now()
		p.a.note("%d of %d done", p.done, p.total)
	}
}
