// Package model is onejob without a database: jobs and attempts in memory,
// written from what the library promises and not from its code. Random
// sequences of operations run on it and on real stores, and every answer must
// be the same.
package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/onejob-go/onejob"
)

// World is all that is stored, and the clock.
type World struct {
	Now         int64 // microseconds since 1970
	MaxAttempts int
	// Refuse makes OnComplete return an error.
	Refuse bool
	jobs   []*job
}

// NewWorld returns an empty world at an instant.
func NewWorld(now int64, maxAttempts int) *World {
	return &World{Now: now, MaxAttempts: maxAttempts}
}

// Intent is an intent with its meaning: two with the same class are the same
// intent. The model computes no digest, so it cannot share a mistake in one.
type Intent struct {
	onejob.Intent
	Class string
	// Bad is the field that breaks a limit, if one does.
	Bad string
}

type job struct {
	id                     onejob.JobID
	intent                 Intent
	state                  onejob.JobState
	version                int64
	winner                 *attempt
	result                 []byte // the winner's, also after a purge: what is shown depends on purged
	created, ended, purged int64
	decision               onejob.Decision
	attempts               []*attempt
}

type attempt struct {
	job                      *job
	id                       onejob.AttemptID
	number                   int
	provider                 string
	stored                   onejob.State // as a row would hold it, before the deadline rule
	version                  int64
	key                      string
	ref                      string
	timeout                  int64
	started, deadline, ended int64
	cause                    string
	decision                 onejob.Decision
	lateAt, lateSize         int64
	lateDigest               [32]byte
}

// state is what readers see: time turns started into unknown, and does nothing
// else.
func (w *World) state(a *attempt) onejob.State {
	if a.stored == onejob.StateStarted && w.Now >= a.deadline {
		return onejob.StateUnknown
	}
	return a.stored
}

func (a *attempt) canWin() bool {
	return a.stored == onejob.StateStarted || a.stored == onejob.StateUnknown || a.stored == onejob.StateDetached
}

func (j *job) open() *attempt {
	for _, a := range j.attempts {
		if a.stored == onejob.StateStarted || a.stored == onejob.StateUnknown {
			return a
		}
	}
	return nil
}

// shown is the attempt that a reader gets with the job.
func (j *job) shown() *attempt {
	if j.winner != nil {
		return j.winner
	}
	return j.open()
}

func (w *World) byID(id onejob.JobID) *job {
	for _, j := range w.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

func (w *World) byKey(owner, key string) *job {
	for _, j := range w.jobs {
		if j.intent.Owner == owner && j.intent.Key == key {
			return j
		}
	}
	return nil
}

// byAttempt finds the job that an attempt's ID names, and the attempt; either
// may be missing.
func (w *World) byAttempt(id onejob.AttemptID) (*job, *attempt) {
	j := w.byID(id.Job())
	if j == nil {
		return nil, nil
	}
	i := slices.IndexFunc(j.attempts, func(a *attempt) bool { return a.id == id })
	if i < 0 {
		return j, nil
	}
	return j, j.attempts[i]
}

// providerKey changes only with proof that an attempt of this provider had no
// effect: nothing else allows another key.
func (j *job) providerKey(provider string) string {
	generation := 0
	for _, a := range j.attempts {
		if a.provider == provider && a.stored == onejob.StateFailed {
			generation++
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", j.id, provider, generation))
	return hex.EncodeToString(sum[:16])
}

// Jobs returns the IDs of all jobs that stand, in the order of their making.
func (w *World) Jobs() []onejob.JobID {
	var ids []onejob.JobID
	for _, j := range w.jobs {
		ids = append(ids, j.id)
	}
	return ids
}

// Known returns the IDs of all attempts that stand.
func (w *World) Known() []onejob.AttemptID {
	var ids []onejob.AttemptID
	for _, j := range w.jobs {
		for _, a := range j.attempts {
			ids = append(ids, a.id)
		}
	}
	return ids
}
