// Package pgnotify tells the processes that share a PostgreSQL database which
// jobs need no more waiting, by NOTIFY and LISTEN of lib/pq:
//
//	notifier, err := pgnotify.Open(dsn, db, nil)
//	defer notifier.Close()
//	jobs := onejob.New(store, &onejob.Options{Notifier: notifier})
//
// What is told is a hint: it makes Jobs.Wait look at once instead of soon. So
// nothing is lost when the connection is, or when a process has no Notifier.
//
// The word is sent after the commit that it tells of, in a statement of its own,
// and many share one: a NOTIFY in the commit would have all commits of the
// database queue behind one lock.
package pgnotify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/hold"
	"github.com/onejob-go/onejob/pgdial"
)

const (
	// A payload of NOTIFY is less than 8,000 bytes; an ID and its comma are 37.
	maxTold = 200
	// What is not sent yet is held up to here, some 64 KiB, and dropped beyond.
	maxHeld = 1024
	// How long a NOTIFY may take, which waits for no row.
	sendBound = 5 * time.Second
	// A listener that has lost its connection dials again after these.
	minReconnect, maxReconnect = 100 * time.Millisecond, 10 * time.Second
)

// Options are the settings of [Open]. The zero value of each field means its
// default.
type Options struct {
	// Schema is that of PostgresOptions: its processes share one channel.
	// Default: "onejob".
	Schema string
	// Logger gets a line when the connection is lost and when it is back.
	// Default: silence.
	Logger *slog.Logger
}

// Notifier is an onejob.Notifier. It keeps one connection to listen, and sends
// over the pool that it was given. Jobs that live as long as the process may share
// it: it keeps hold of each.
type Notifier struct {
	db       *sql.DB
	channel  string
	log      *slog.Logger
	silence  time.Duration // after which the connection counts as dead
	listener *pq.Listener
	stop     context.CancelFunc
	running  sync.WaitGroup
	wake     chan struct{}

	mu    sync.Mutex
	hints []func(onejob.JobID)
	held  map[onejob.JobID]struct{}

	hangs  atomic.Bool // a statement got no answer, and may yet
	mute   atomic.Bool // nothing can be sent, and that was logged
	opened atomic.Bool // the server has taken LISTEN once
	deaf   atomic.Bool // nothing is heard, and that was logged
}

var _ onejob.Notifier = (*Notifier)(nil)

// Open returns a Notifier that listens at dsn and sends over db. It does not wait
// for the connection: while there is none, and whenever it is lost, waiters look
// by themselves, and it is made again for as long as the Notifier is open. The dsn
// has to lead to the primary itself: a pooler in transaction mode does not carry
// LISTEN, and a standby takes none.
func Open(dsn string, db *sql.DB, opts *Options) (*Notifier, error) {
	return open(dsn, db, opts, pgdial.DefaultSilence)
}

func open(dsn string, db *sql.DB, opts *Options, silence time.Duration) (*Notifier, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Schema == "" {
		o.Schema = "onejob"
	}
	// What the store refuses is refused, by the same rule. This sends nothing.
	if _, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: o.Schema}); err != nil {
		return nil, fmt.Errorf("pgnotify: %w", err)
	}
	if _, err := pq.NewConnector(dsn); err != nil {
		// The driver's text may quote the password.
		return nil, errors.New("pgnotify: dsn is not one of lib/pq's: check it with sql.Open")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{
		db: db, channel: "onejob_" + o.Schema, log: o.Logger, silence: silence,
		wake: make(chan struct{}, 1), held: map[onejob.JobID]struct{}{},
	}
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.listener = pq.NewDialListener(pgdial.Dialer{Silence: silence}, dsn, minReconnect, maxReconnect, n.event)
	for _, run := range []func(context.Context){n.listen, n.receive, n.send} {
		n.running.Go(func() { run(ctx) })
	}
	return n, nil
}

// Close ends the connection and the goroutines. Where the network is dead it
// returns after five seconds, and they end once the connection counts as dead. What
// was not sent yet is dropped, and so is what comes after.
func (n *Notifier) Close() error {
	n.stop()
	ctx, cancel := context.WithTimeout(context.Background(), sendBound)
	defer cancel()
	_, hangs, err := hold.Call(ctx, func() (struct{}, error) {
		defer n.running.Wait()
		err := n.listener.Close()
		go func() { // or the driver's goroutine waits for ever to hand over what came
			for range n.listener.NotificationChannel() {
			}
		}()
		return struct{}{}, err
	}, func(struct{}, error) {})
	if err != nil && !hangs {
		return fmt.Errorf("pgnotify: it was closed before: %w", err)
	}
	return nil
}

// Subscribe implements onejob.Notifier.
func (n *Notifier) Subscribe(hint func(id onejob.JobID)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hints = append(n.hints, hint)
}

func (n *Notifier) tell(id onejob.JobID) {
	n.mu.Lock()
	hints := n.hints
	n.mu.Unlock()
	for _, hint := range hints {
		hint(id)
	}
}

// event hears of the listener's connection. The error's text may name the host
// or the user, so it is not logged: try the DSN with psql.
func (n *Notifier) event(event pq.ListenerEventType, _ error) {
	switch event {
	case pq.ListenerEventDisconnected, pq.ListenerEventConnectionAttemptFailed:
		n.isDeaf("the connection that listens cannot be made, or was lost")
	case pq.ListenerEventReconnected:
		n.listens()
	}
}

func (n *Notifier) isDeaf(why string) {
	if n.deaf.CompareAndSwap(false, true) {
		n.log.Warn("onejob: " + why + ": waiters look by themselves until it listens; it is tried again")
	}
}

func (n *Notifier) listens() {
	if n.opened.Load() && n.deaf.CompareAndSwap(true, false) {
		n.log.Info("onejob: the connection that listens is there")
	}
}

// listen opens the channel. The driver does so again after each reconnection, but
// only once the server has taken it: a standby refuses, until it is promoted.
func (n *Notifier) listen(ctx context.Context) {
	for {
		err := n.listener.Listen(n.channel)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			n.opened.Store(true)
			n.listens()
			n.tell("") // what was told before was not heard
			return
		}
		n.isDeaf("the server refused to LISTEN")
		select {
		case <-ctx.Done():
			return
		case <-time.After(n.silence / 3):
		}
	}
}

// receive passes on what is heard. A nil notification says that the connection
// was lost and is back.
func (n *Notifier) receive(ctx context.Context) {
	// More often than the silence, or a connection on which nothing is said is
	// taken for a dead one.
	ping := time.NewTicker(n.silence / 3)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			// In its own time: on a dead connection it waits as long as pgdial does.
			go n.listener.Ping() // its error is the event's to tell
		case told, open := <-n.listener.NotificationChannel():
			switch {
			case !open:
				return
			case told == nil:
				n.tell("")
			default:
				for id := range strings.SplitSeq(told.Extra, ",") {
					n.tell(onejob.JobID(id))
				}
			}
		}
	}
}
