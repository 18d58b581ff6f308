package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/onejob-go/onejob"
)

// globals are the flags of every command.
type globals struct {
	DSN        string           `name:"dsn" env:"ONEJOB_DSN" placeholder:"DSN" help:"The database: postgres://…, \"host=… dbname=…\", sqlite:/path or a path. A password on the command line can be seen by all who may list processes: better in the variable, or in ~/.pgpass."`
	Schema     word             `placeholder:"NAME" help:"PostgreSQL: the schema of the tables (onejob)."`
	Prefix     word             `placeholder:"NAME" help:"SQLite: the prefix of the tables (onejob_)."`
	Unprepared bool             `help:"PostgreSQL: prepare nothing. Set it behind a pooler in transaction mode."`
	JSON       bool             `name:"json" help:"One JSON document on stdout, for programs; an error is one on stderr."`
	Version    kong.VersionFlag `help:"Print the version and exit."`
}

// cli is the command line, in the order of need at night.
type cli struct {
	globals

	Open           openCmd           `cmd:"" group:"night" help:"List what is under way or in doubt, oldest first."`
	Show           showCmd           `cmd:"" group:"night" help:"Tell the story of one job, and what may be done about it."`
	Refute         refuteCmd         `cmd:"" group:"night" help:"Decide that an attempt had no effect: it failed."`
	Cancel         cancelCmd         `cmd:"" group:"night" help:"Decide that an attempt shall not win, whatever it did."`
	Detach         detachCmd         `cmd:"" group:"night" help:"Let a job go on beside an attempt, which may still win."`
	CancelJob      cancelJobCmd      `cmd:"" group:"night" help:"Withdraw a job, for good: nothing can win any more."`
	Confirm        confirmCmd        `cmd:"" group:"night" help:"Not here: to say that it happened needs the host's OnComplete. Explains where."`
	Late           lateCmd           `cmd:"" group:"night" help:"List late results: each may mean a refund."`
	Stats          statsCmd          `cmd:"" group:"look" help:"Count jobs and attempts."`
	Doctor         doctorCmd         `cmd:"" group:"look" help:"Look for settings that break the promise or cost speed."`
	Qualifications qualificationsCmd `cmd:"" group:"look" help:"List what providers have proven."`
	Sweep          sweepCmd          `cmd:"" group:"day" help:"Make durable that overdue attempts are unknown. Changes nothing that a reader sees."`
	Purge          purgeCmd          `cmd:"" group:"day" help:"Drop the payloads of jobs that ended long ago, and later their keys."`
	Migrate        migrateCmd        `cmd:"" group:"day" help:"Look at the schema, make it, or take it away."`
}

var groups = []kong.Group{
	{Key: "night", Title: "Commands for a job that is blocked:"},
	{Key: "look", Title: "Commands that look and change nothing:"},
	{Key: "day", Title: "Commands of upkeep, for the day:"},
}

// app is what a command runs with.
type app struct {
	globals
	ctx    context.Context // ends with the first signal
	stdin  *os.File
	stdout io.Writer
	stderr *os.File
}

func run(args []string, stdin, stdout, stderr *os.File) int {
	var c cli
	// Before the flags are parsed: also their errors are for programs then.
	asJSON := slices.Contains(args, "--json")
	parser, err := kong.New(&c, kong.Name("onejob"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Help(help), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.ExplicitGroups(groups), kong.Vars{"version": version()})
	if err != nil {
		return report(err, asJSON, stderr)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return report(usage("%v; see onejob --help", err), asJSON, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	out := &output{to: stdout}
	a := &app{globals: c.globals, ctx: ctx, stdin: stdin, stdout: out, stderr: stderr}
	err = parsed.Run(a)
	if err == nil && out.err != nil {
		err = fail(exitFailed, "what was done could not be told: %v", out.err)
	}
	return report(err, c.JSON, stderr)
}

// output keeps the first error of writing: a script that is cut off, or a list,
// must not look whole.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

const description = `Finds jobs that are blocked, tells what happened to them, and takes your decision.

A job whose attempt is unknown is blocked on purpose: its provider may have acted, and nobody knows. Look with "onejob open" and "onejob show", ask the provider, then decide: refute (it had no effect), cancel (it shall not win), detach (go on beside it). That it happened is said elsewhere: see "onejob confirm".`

// help is kong's, and the exit codes.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	if ctx.Selected() == nil {
		fmt.Fprintf(ctx.Stdout, "\n%s", exitHelp)
	}
	return nil
}

func version() string {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return "onejob " + v
}

// open connects, and refuses flags that are not of this database.
func (g *globals) open(ctx context.Context, x access) (*database, error) {
	at, err := parseDSN(g.DSN)
	if err != nil {
		return nil, err
	}
	if err := g.fits(at.kind); err != nil {
		return nil, err
	}
	open := g.openPostgres
	if at.kind == sqlite {
		open = g.openSQLite
	}
	return open(ctx, at, x)
}

func (g *globals) fits(kind string) error {
	switch {
	case kind == sqlite && g.Schema != "":
		return usage("--schema is for PostgreSQL: the tables of SQLite have a --prefix")
	case kind == sqlite && g.Unprepared:
		return usage("--unprepared is for PostgreSQL behind a pooler")
	case kind == postgres && g.Prefix != "":
		return usage("--prefix is for SQLite: the tables of PostgreSQL are in a --schema")
	}
	return nil
}

// with runs a command on the database.
func (a *app) with(x access, fn func(s *session) error) error {
	d, err := a.open(a.ctx, x)
	if err != nil {
		return err
	}
	jobs := onejob.New(d.store, nil)
	err = fn(&session{app: a, database: d, jobs: jobs, operator: onejob.NewOperator(jobs)})
	if a.ctx.Err() != nil && x.changesNothing() && explained(err).code == exitNoAnswer {
		err = errInterrupted // by us, whatever the database calls it
	}
	if ended := d.Close(); ended != nil {
		a.note("closing the database: %s", clean(ended.Error())) // what was done is done
	}
	return err
}

// session is a command with its database.
type session struct {
	*app
	*database
	jobs     *onejob.Jobs
	operator *onejob.Operator
}
