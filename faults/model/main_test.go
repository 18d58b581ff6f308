package model_test

import (
	"flag"
	"sync"
	"testing"

	"github.com/onejob-go/onejob/internal/dbtest"

	"github.com/onejob-go/onejob/faults/figures"
)

// How long sequences are: rapid draws from a geometric distribution with this
// mean, and what is beyond most is cut off. Measured: 13 steps on average.
const (
	meanSteps = "14"
	soakSteps = "10" // forty times as many of them, in an hour
	mostSteps = 60
)

func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	mean := meanSteps
	if figures.Soak() {
		mean = soakSteps
	}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.steps": mean, "rapid.nofailfile": "true"} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	seedGiven, checksGiven = given["rapid.seed"], given["rapid.checks"]
	dbtest.Main(m)
}

// What the command line says about rapid goes before what the run wants.
var seedGiven, checksGiven bool

// rapidFlags guards rapid's flags, which are global: each worker sets its own
// and lets the next one go on once rapid has read them.
var rapidFlags sync.Mutex

// sequences is how many each store gets.
func sequences() int { return figures.N(5_000, 200_000) }
