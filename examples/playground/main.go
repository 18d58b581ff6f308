// Playground shows a race in ten seconds: a page with a button, providers that
// are slow, silent or lie, what they really did, and the timeline of the job,
// live.
//
//	go run ./examples/playground                          # the story as text, played against its own server
//	go run ./examples/playground -listen 127.0.0.1:8080   # the page, to be opened in a browser
//
// What to look at: playground.click, which is all that a service needs against
// double clicks; and carry, where whoever comes second learns that it lost. The
// jobs are in embedded SQLite, in a directory that goes away again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/onejob-go/onejob/examples/internal/tempdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet("playground", flag.ContinueOnError)
	flags.SetOutput(w)
	listen := flags.String("listen", "", "address to serve the page on; empty: the story as text")
	if err := flags.Parse(args); err != nil {
		return err
	}
	db, err := tempdb.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Remove()) }()
	if *listen == "" {
		return story(ctx, w, db)
	}
	p, err := newPlayground(ctx, db, forPeople())
	if err != nil {
		return err
	}
	defer p.close()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "playground: open http://%s/ in a browser; Ctrl-C ends it\n", l.Addr())
	return serve(ctx, l, p)
}

// serve serves until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = s.Shutdown(last) // who is still there has waited long enough
	})
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
