package model

import "github.com/onejob-go/onejob"

// Answer is all that an operation said, of the model or of a store.
type Answer struct {
	// Is names the sentinels that hold of the error, sorted by name, and the
	// test's own errors. Nothing means success.
	Is string
	// Op, Field, ErrJob and ErrAttempt are what the *Error carries.
	Op         string
	Field      string
	ErrJob     JobView
	ErrAttempt AttemptView
	// Job and Attempt are what was returned. Beside a refusal the model fills
	// them only where they are promised.
	Job     JobView
	Attempt AttemptView
	Created bool
	N       int
	List    []AttemptView
	Entries []EntryView
	Stats   StatsView
	// Calls is how often the provider was called, Hooks how often OnComplete
	// ran, Hooked what it got last.
	Calls, Hooks int
	Hooked       JobView
	Panicked     bool
	// Text is the error's text. The model has none; the stores must agree.
	Text string
}

// Some is a text that is not promised, but that there is one.
const Some = "some text"

// JobView is a job in a form that == compares. Times are those of the model's
// clock, in the order created, ended, purged; zero means none.
type JobView struct {
	ID, Owner, Key, Kind, Target string
	Params                       string
	Opaque, NilParams, NilResult bool
	Result                       string
	State, Status                string
	Version                      int64
	By, Reason                   string
	Times                        [3]int64
	Attempt                      AttemptView
}

// AttemptView is an attempt, likewise: started, deadline, ended, late.
type AttemptView struct {
	ID, JobID, Provider, State, ProviderKey, Ref, Cause, By, Reason string
	Number                                                          int
	JobVersion, Timeout, LateSize                                   int64
	LateDigest                                                      [32]byte
	Times                                                           [4]int64
}

// EntryView is one line of the operator's list.
type EntryView struct {
	Job     JobView
	Attempt AttemptView
}

// StatsView is [onejob.Stats] without its time, which stands beside it.
type StatsView struct {
	onejob.Stats
	Times [1]int64
}
