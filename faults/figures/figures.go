// Package figures counts what a run of the harness did, so that a run that did
// too little is void and not green.
package figures

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// Figure is one line of the table. A run with fewer is void.
type Figure struct {
	Name     string
	CI, Soak int
}

// The names of the figures.
const (
	Operations = "operations whose answers were checked, both stores"
	// StormOperations are those of which each call was written down before it was
	// sent and each reply after it came. The others' answers are checked where they
	// come.
	StormOperations = "… of them in histories that Porcupine checked"
	ServerKills     = "kill -9 of all of PostgreSQL"
	ClientKills     = "kill -9 of client processes in mid-operation"
	Cuts            = "cuts between commit and reply, FIN and RST"
	CellsLeast      = "fault grid: runs of the cell that ran least"
	Cancels         = "context cancels at random points"
	Stops           = "processes stopped and resumed"
	DoubleClick     = "double-click rounds, 64 goroutines in 4 processes on one key"
	Reverse         = "reverse-order rounds"
	AtOnce          = "rounds in which both attempts finish at once"
	SequencesPG     = "random sequences against the model, PostgreSQL"
	SequencesSL     = "random sequences against the model, SQLite"
	RatePG          = "answered operations a second, PostgreSQL, outside downtime"
	RateSL          = "answered operations a second, SQLite"
)

// Table is what a run must reach.
var Table = []Figure{
	{Operations, 150_000, 2_000_000},
	{StormOperations, 40_000, 400_000},
	{ServerKills, 40, 600},
	{ClientKills, 150, 2_500},
	{Cuts, 300, 5_000},
	{CellsLeast, 3, 50},
	{Cancels, 3_000, 50_000},
	{Stops, 20, 300},
	{DoubleClick, 500, 20_000},
	{Reverse, 500, 20_000},
	{AtOnce, 150, 5_000},
	{SequencesPG, 5_000, 200_000},
	{SequencesSL, 5_000, 200_000},
	{RatePG, 200, 200},
	{RateSL, 80, 80},
}

// least are the figures of which the smallest counts, not the sum.
var least = map[string]bool{CellsLeast: true, RatePG: true, RateSL: true}

// Soak reports whether this run is the long one.
func Soak() bool { return os.Getenv("ONEJOB_FAULTS") == "soak" }

// N returns how much to do: ci, or soak in the long run, or a tenth of ci when
// ONEJOB_FAULTS is "quick", for somebody who is at work on a test.
func N(ci, soak int) int {
	switch os.Getenv("ONEJOB_FAULTS") {
	case "soak":
		return soak
	case "quick":
		return max(1, ci/10)
	}
	return ci
}

// Seed returns the seed of this run: ONEJOB_FAULTS_SEED, or a new one. It
// prints it, so that a run can be had again.
func Seed(t testing.TB) uint64 {
	seed := rand.Uint64()
	if s := os.Getenv("ONEJOB_FAULTS_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal("ONEJOB_FAULTS_SEED is not a number: ", s)
		}
		seed = n
	}
	t.Logf("seed: ONEJOB_FAULTS_SEED=%d", seed)
	return seed
}

// Entry is one line of the file of figures.
type Entry struct {
	Name string `json:"figure"`
	N    int    `json:"n"`
}

var mu sync.Mutex

// Add counts n towards a figure, in the file that ONEJOB_FAULTS_FIGURES names,
// and in the test's log.
func Add(t testing.TB, name string, n int) {
	t.Helper()
	t.Logf("figure: %s: %d", name, n)
	path := os.Getenv("ONEJOB_FAULTS_FIGURES")
	if path == "" {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, _ := json.Marshal(Entry{name, n})
	if _, err := fmt.Fprintln(f, string(line)); err != nil {
		t.Fatal(err)
	}
}

// Sum adds the entries up, by name.
func Sum(entries []Entry) map[string]int {
	sums := map[string]int{}
	for _, e := range entries {
		n, seen := sums[e.Name]
		switch {
		case !least[e.Name]:
			sums[e.Name] = n + e.N
		case !seen || e.N < n:
			sums[e.Name] = e.N
		}
	}
	return sums
}
