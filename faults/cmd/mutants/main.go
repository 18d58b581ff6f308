// Command mutants plants each wrong version of the library that package
// mutants lists into a copy of the tree, and runs the smallest suite that must
// fail for it:
//
//	cd faults && go run ./cmd/mutants
//
// It prints what caught each, and fails unless all are caught. It starts one
// temporary PostgreSQL server for all runs, unless ONEJOB_TEST_POSTGRES names
// one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/onejob-go/onejob/faults/mutants"
	"github.com/onejob-go/onejob/internal/dbtest"
)

const serverVariable = "ONEJOB_TEST_POSTGRES"

type settings struct {
	pick    *regexp.Regexp
	check   bool
	workers int
	timeout time.Duration
	results string
	doc     string
}

func main() {
	var s settings
	pick := flag.String("run", "", "only mutants whose ID matches this `regexp`")
	flag.BoolVar(&s.check, "check", false, "only apply and compile each mutant")
	flag.IntVar(&s.workers, "p", 1, "how many mutants to run at once")
	flag.DurationVar(&s.timeout, "timeout", 2*time.Minute, "of one suite")
	flag.StringVar(&s.results, "results", "", "keep results in this `file`, so that -run adds to an earlier run")
	flag.StringVar(&s.doc, "doc", "", "write the table as Markdown to this `file`, if there is a result for each mutant")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if s.pick, err = regexp.Compile(*pick); err == nil {
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	var picked []mutants.Mutant
	for _, m := range mutants.All() {
		if s.pick.MatchString(m.ID) {
			picked = append(picked, m)
		}
	}
	if len(picked) == 0 {
		return errors.New("no mutant has such an ID")
	}
	dir, err := os.MkdirTemp("", "onejob-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if !s.check && os.Getenv(serverVariable) == "" {
		cluster, err := dbtest.Start("fsync=off", "full_page_writes=off")
		if err != nil {
			return err
		}
		defer cluster.Stop()
		os.Setenv(serverVariable, cluster.DSN("postgres"))
	}
	r := &runner{settings: s, root: root, dir: dir}
	found, err := r.all(ctx, picked)
	if err != nil {
		return err
	}
	if s.doc != "" {
		all, err := merged(s.results, found)
		if err != nil {
			return err
		}
		if err := writeDoc(s.doc, all); err != nil {
			return err
		}
	}
	return verdict(found, s.check)
}

// verdict is an error unless all is as it should be.
func verdict(found []result, checked bool) error {
	counts := map[outcome]int{}
	for _, r := range found {
		counts[r.Outcome]++
	}
	fmt.Printf("\n%d caught, %d missed, %d equivalent, %d later, %d do not apply, %d do not compile, %d have an unfit suite\n",
		counts[caught], counts[missed], counts[equivalent], counts[later], counts[rotten], counts[broken], counts[unfit])
	if bad := counts[missed] + counts[rotten] + counts[broken] + counts[unfit]; bad > 0 {
		return fmt.Errorf("%d plants are not caught", bad)
	}
	if checked {
		fmt.Printf("%d apply and compile\n", counts[compiles])
	}
	return nil
}
