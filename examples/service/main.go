// Service takes orders over HTTP and has a slow bank charge for them. A double
// click, a retry and a crash of the connection charge once.
//
//	go run ./examples/service                          # a tour: what README.md tries with curl
//	go run ./examples/service -listen 127.0.0.1:8080   # the service itself, for curl
//
// What to look at: orders.go, where Wrap makes a handler the attempt, and where
// the handler says that nothing happened; and bank.go, which counts how often it
// has charged. README.md has a curl line for each answer.
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

	_ "modernc.org/sqlite" // needs no C compiler

	"github.com/onejob-go/onejob"
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
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(w)
	listen := flags.String("listen", "", "address to serve on; empty: the tour")
	file := flags.String("db", "", "SQLite file, which several instances may share; empty: a temporary one")
	bankURL := flags.String("bank", "", "address of a bank; empty: one of its own")
	bankOnly := flags.Bool("only-bank", false, "serve the bank alone")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *bankOnly {
		return serve(ctx, w, *listen, newBank())
	}
	store, done, err := open(ctx, *file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if *bankURL == "" {
		b := newBank()
		url, stop, err := background(b)
		if err != nil {
			return err
		}
		defer stop()
		*bankURL = url
	}
	s, err := newShop(onejob.New(store, nil), *bankURL)
	if err != nil {
		return err
	}
	if *listen != "" {
		return serve(ctx, w, *listen, s)
	}
	return tour(ctx, w, s, *bankURL)
}

// open opens a file that stays, or one that goes.
func open(ctx context.Context, file string) (onejob.Store, func() error, error) {
	if file == "" {
		db, err := tempdb.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return db, db.Remove, nil
	}
	store, err := onejob.OpenSQLite(ctx, file, nil)
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, store.Migrate(ctx)
}

// serve serves until ctx ends, and lets what is under way come to its end.
func serve(ctx context.Context, w io.Writer, address string, h http.Handler) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "listening on http://%s\n", l.Addr())
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = s.Shutdown(last) // what is not over then is in doubt
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// background serves on a free port.
func background(h http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go s.Serve(l) // its error is that it was closed
	return "http://" + l.Addr().String(), func() { s.Close() }, nil
}
