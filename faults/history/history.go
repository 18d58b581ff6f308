// Package history records what callers asked for and what they were told, a
// line before an operation is sent and a line after its reply: a process that
// is killed in between leaves an operation whose fate nobody knows.
package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Call is an operation as it is asked for.
type Call struct {
	ID      string `json:"id"` // unique in the run
	At      int64  `json:"at"`
	Op      string `json:"op"`
	Owner   string `json:"owner"`
	Key     string `json:"key"`
	Input   int    `json:"input"`             // which params, of Create and Start
	Mint    string `json:"mint,omitempty"`    // the job ID it would make
	Attempt string `json:"attempt,omitempty"` // the attempt it names or would begin
	Digest  string `json:"digest,omitempty"`  // of the result it brings
	Result  string `json:"result,omitempty"`  // the result, so that it can be brought again
	Proof   bool   `json:"proof,omitempty"`   // of Fail
	Short   bool   `json:"short,omitempty"`   // the attempt's deadline may pass in the run
}

// Reply is what the caller was told.
type Reply struct {
	ID      string `json:"id"`
	At      int64  `json:"at"`
	Code    string `json:"code"`
	Job     string `json:"job,omitempty"`
	State   string `json:"state,omitempty"`   // the job's
	Version int64  `json:"version,omitempty"` // the job's
	Winner  string `json:"winner,omitempty"`  // the attempt that has won
	Digest  string `json:"digest,omitempty"`  // of the job's result
	Attempt string `json:"attempt,omitempty"` // the one in the way, or asked about
	AState  string `json:"astate,omitempty"`  // its state
	Error   string `json:"error,omitempty"`   // the error's text
	// Texts are all attempts with their states, where the rows were looked at.
	Texts []string `json:"texts,omitempty"`
}

// The codes of replies. Any other is an error that says nothing of what was
// applied.
const (
	OK       = "ok"
	Created  = "created" // by this call
	Conflict = "conflict"
	Open     = "open" // an earlier attempt is in the way
	InDoubt  = "in doubt"
	Complete = "completed"
	Canceled = "canceled"
	Late     = "late"
	Mismatch = "mismatch"
	Ended    = "ended"
	TooMany  = "too many"
	NotFound = "not found"
	Unknown  = "unavailable" // nobody knows
	Refused  = "refused"     // by OnComplete: the host's own rows could not be written
	Wrong    = "wrong"       // an error that the operation must not have
)

// Operation is a call with its reply, nil if none was heard.
type Operation struct {
	Call
	Reply *Reply
}

// Now is a clock that all processes of a machine share and nobody sets.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// Log is the file of one process. Its methods may be called by many goroutines.
type Log struct {
	f  *os.File
	mu sync.Mutex
	// name begins the IDs of this process.
	name string
	n    int
}

// Append opens the log of a process.
func Append(path, name string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &Log{f: f, name: name}, err
}

type line struct {
	Call  *Call  `json:"call,omitempty"`
	Reply *Reply `json:"reply,omitempty"`
}

// write is one system call, so that a kill leaves no half of an older line. What
// the system took survives the process.
func (l *Log) write(v line) {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = l.f.Write(append(b, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// Ask writes down a call, before it is sent, and returns its ID.
func (l *Log) Ask(c Call) string {
	l.mu.Lock()
	l.n++
	c.ID = l.name + "." + strconv.Itoa(l.n)
	l.mu.Unlock()
	c.At = Now()
	l.write(line{Call: &c})
	return c.ID
}

// Hear writes down a reply.
func (l *Log) Hear(id string, r Reply) {
	r.ID, r.At = id, Now()
	l.write(line{Reply: &r})
}

// Read reads the operations of a log. The last line may be half a line. A process
// that was killed before it opened its log has done nothing.
func Read(path string) ([]Operation, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var ops []Operation
	place := map[string]int{}
	var half error
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if half != nil {
			return nil, fmt.Errorf("history: a line in the middle of %s: %w", path, half)
		}
		var v line
		if half = json.Unmarshal(lines.Bytes(), &v); half != nil {
			continue
		}
		if v.Call != nil {
			place[v.Call.ID] = len(ops)
			ops = append(ops, Operation{Call: *v.Call})
			continue
		}
		i, asked := place[v.Reply.ID]
		if !asked {
			return nil, fmt.Errorf("history: a reply to nothing in %s: %s", path, v.Reply.ID)
		}
		ops[i].Reply = v.Reply
	}
	return ops, lines.Err()
}
