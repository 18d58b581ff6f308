// Command bench measures the library beside SQL written by hand and beside its
// peers, in rounds in which each has its turn, and tells which goals are met.
//
//	go run .                            # all of it, as text
//	go run . -run 'SQLite'              # some of it
//	go run . -growth 1000,5000000       # with tables that were filled before
//	go run . -store ratios.json -doc ../docs/performance.md
//	go run . -check ratios.json         # fails on a loss that repeats
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/onejob-go/onejob/bench/duel"
)

type options struct {
	rules             rules
	filter            *regexp.Regexp
	growth            []int
	store, check, doc string
}

func main() {
	o := options{}
	flag.IntVar(&o.rules.Rounds, "rounds", 11, "rounds of each duel")
	flag.DurationVar(&o.rules.Length, "length", 200*time.Millisecond, "of one side in one round")
	only := flag.String("run", "", "matches whose title this regular expression finds")
	growth := flag.String("growth", "", "numbers of jobs, with commas: also measure at these sizes")
	flag.StringVar(&o.store, "store", "", "write the ratios to this file")
	flag.StringVar(&o.check, "check", "", "compare the ratios with this file's")
	flag.StringVar(&o.doc, "doc", "", "write the tables into this page")
	flag.Parse()
	err := o.parse(*only, *growth)
	if err == nil {
		// Interrupted, it still stops its server and removes its files.
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (o *options) parse(only, growth string) (err error) {
	if o.filter, err = regexp.Compile(only); err != nil {
		return err
	}
	if (o.store != "" || o.doc != "") && (o.rules.Rounds < 11 || o.rules.Length < 200*time.Millisecond) {
		return errors.New("-store and -doc want 11 rounds of 200 ms or more")
	}
	for _, s := range strings.FieldsFunc(growth, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		o.growth = append(o.growth, n)
	}
	return nil
}

func run(ctx context.Context, o options) error {
	f, err := openField(ctx)
	if err != nil {
		return err
	}
	defer f.end()
	r := newReport()
	old := map[string]stored{}
	if o.check != "" {
		if old, err = load(o.check); err != nil {
			return err
		}
	}
	for _, m := range matches() {
		if !o.filter.MatchString(m.title()) {
			continue
		}
		if o.rules.brief() {
			m.ops = min(m.ops, 10)
		}
		runs, err := f.twice(ctx, m, o.rules.Rules, func(results []*duel.Result) bool {
			return m.met(results) && len(losses(m, results, old[m.title()])) == 0
		})
		if err != nil {
			return fmt.Errorf("%s: %w", m.title(), err)
		}
		if o.check != "" {
			r.losses = append(r.losses, lossesOf(m, runs, old)...)
		}
		r.add(m, m.title(), runs...)
	}
	if o.filter.MatchString("disk") && o.check == "" {
		if err := f.tellDisk(ctx, r, o.rules.brief()); err != nil {
			return err
		}
	}
	if len(o.growth) > 0 {
		if err := f.growth(ctx, o, r.add); err != nil {
			return err
		}
	}
	if r.text.Len() == 0 && len(r.goals) == 0 {
		return errors.New("-run finds no match: its titles are those of docs/performance.md")
	}
	return r.finish(o)
}

// rules are those of the duels.
type rules struct{ duel.Rules }

// brief reports whether only to see that all of it runs.
func (r rules) brief() bool { return r.Rounds < 5 }

// twice plays a match, and once more unless it was good: what counts is what
// repeats.
func (f *field) twice(ctx context.Context, m match, rules duel.Rules, good func([]*duel.Result) bool) (runs [][]*duel.Result, err error) {
	// A peer that loses a job shall not hold up the rest.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	for range 2 {
		if err = f.pg.vacuum(ctx); err != nil {
			return nil, err
		}
		results, err := f.play(ctx, m, rules)
		if err != nil {
			return nil, err
		}
		if runs = append(runs, results); good(results) {
			break
		}
	}
	return runs, nil
}
