package model

import (
	"strings"

	"github.com/onejob-go/onejob"
)

// TxPlan is what a host does in one transaction. Each part may be left out.
type TxPlan struct {
	Create   *Intent
	Complete *onejob.Attempt
	Result   []byte
	// Forbidden writes by another method than the Tx ones, which is refused.
	Forbidden bool
	// Fails makes the function return an error.
	Fails bool
}

// Tx does the plan, all or nothing. The answers of the parts are those within
// the transaction; last is that of the transaction.
func (w *World) Tx(p TxPlan, id onejob.JobID) (parts []Answer, last Answer) {
	before := w.clone()
	lost := false
	if p.Create != nil {
		parts = append(parts, w.Create("CreateTx", *p.Create, id))
	}
	if p.Complete != nil {
		answer := w.Complete("CompleteTx", p.Complete.ID, p.Complete.JobVersion, p.Result, false)
		parts = append(parts, answer)
		if strings.Contains(answer.Is, "LateResult") {
			lost = true
			last = answer
		}
	}
	if p.Forbidden {
		parts = append(parts, Answer{Is: Names(onejob.ErrInvalid), Op: "CancelJob", Field: "ctx"})
	}
	if p.Fails {
		last = Answer{Is: Names(ErrHost)}
	}
	if lost || p.Fails {
		w.jobs = before.jobs
	}
	if lost {
		w.Complete("Tx", p.Complete.ID, p.Complete.JobVersion, p.Result, false)
	}
	return parts, last
}

// clone copies the rows, so that a transaction can be rolled back.
func (w *World) clone() *World {
	c := &World{}
	for _, j := range w.jobs {
		k := *j
		k.attempts = nil
		for _, a := range j.attempts {
			b := *a
			b.job = &k
			k.attempts = append(k.attempts, &b)
			if a == j.winner {
				k.winner = &b
			}
		}
		c.jobs = append(c.jobs, &k)
	}
	return c
}
