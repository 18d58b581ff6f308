// Package faultproxy stands between a client and PostgreSQL and breaks the
// connection exactly where it hurts: before the server hears of a commit, or
// between the commit and the reply that tells of it.
package faultproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Point is where in the life of a commit the proxy looks.
type Point int

const (
	// BeforeCommit: the request that would commit a change has come from the
	// client, and the server has not heard of it.
	BeforeCommit Point = iota
	// AfterCommit: the server has committed what may be a change, and the client
	// has not heard of it. The reply to a statement that could have written
	// counts, also where it found nothing to write (INSERT 0 0): a refusal is an
	// answer that can be lost too.
	AfterCommit
)

// Action is what the proxy does there.
type Action int

const (
	Forward Action = iota // nothing
	Swallow               // lose this message or reply, pass on what follows
	FIN                   // end the connection in good order
	RST                   // reset it
	Hang                  // go silent in both directions, for ever
	Delay                 // pass it on after Fault.Delay
)

// Fault is one thing that goes wrong.
type Fault struct {
	At    Point
	Do    Action
	Delay time.Duration
}

// Proxy is one proxy. Its methods may be called at any time.
type Proxy struct {
	// DSN is the address of the database through the proxy.
	DSN string

	decide   atomic.Pointer[func(Point) Fault]
	server   atomic.Pointer[string]
	done     atomic.Int64 // faults that were not Forward
	mu       sync.Mutex
	links    map[*link]bool
	listener net.Listener
}

// New opens a proxy to the database, which closes when the test ends. The
// address must be one of a host and a port, without TLS.
func New(t testing.TB, dsn string) *Proxy {
	t.Helper()
	p, err := Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Open is New without a test.
func Open(dsn string) (*Proxy, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{links: map[*link]bool{}, listener: l}
	p.Retarget(u.Host)
	u.Host = l.Addr().String()
	p.DSN = u.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p, nil
}

// Close ends the proxy and all its connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Sever(FIN)
}

// Retarget sends connections from now on to another host and port.
func (p *Proxy) Retarget(server string) { p.server.Store(&server) }

// Faults returns how many faults there have been.
func (p *Proxy) Faults() int { return int(p.done.Load()) }

// Decide has f say at every commit point what goes wrong there. It is called
// from many goroutines. Nil ends the faults.
func (p *Proxy) Decide(f func(Point) Fault) {
	if f == nil {
		p.decide.Store(nil)
		return
	}
	p.decide.Store(&f)
}

// Once has the next commit point of the fault's kind go wrong, and the
// connections after it be well. The channel is closed when it has happened.
func (p *Proxy) Once(f Fault) <-chan struct{} {
	hit := make(chan struct{})
	var once atomic.Bool
	p.Decide(func(at Point) Fault {
		if at == f.At && once.CompareAndSwap(false, true) {
			close(hit)
			return f
		}
		return Fault{}
	})
	return hit
}

// Sever does it to all connections there are, at once.
func (p *Proxy) Sever(do Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut(do)
	}
}

// at asks what goes wrong and does what can be done here. It reports whether
// the message is to be passed on.
func (p *Proxy) at(point Point, l *link) bool {
	decide := p.decide.Load()
	if decide == nil {
		return true
	}
	f := (*decide)(point)
	if f.Do == Forward || f.At != point {
		return true
	}
	p.done.Add(1)
	switch f.Do {
	case Delay:
		time.Sleep(f.Delay)
		return true
	case Swallow:
		return false
	}
	l.cut(f.Do)
	return false
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	silent         atomic.Bool
	closed         chan struct{}
	once           sync.Once
	status         atomic.Int32 // of the session, as the server told last
	writes         atomic.Bool  // the transaction, or the statement, may change rows
}

func (l *link) cut(do Action) {
	if do == Hang {
		l.silent.Store(true)
		return
	}
	l.once.Do(func() {
		if tcp, ok := l.client.(*net.TCPConn); ok && do == RST {
			_ = tcp.SetLinger(0)
		}
		l.client.Close()
		if l.server != nil {
			l.server.Close()
		}
		close(l.closed)
	})
}

// pass writes unless the link is silent: then it takes everything and gives
// nothing, until somebody ends the connection.
func (l *link) pass(to io.Writer, message []byte) error {
	if l.silent.Load() {
		return nil
	}
	_, err := to.Write(message)
	return err
}

func (p *Proxy) serve(client net.Conn) {
	l := &link{client: client, closed: make(chan struct{})}
	up, err := net.Dial("tcp", *p.server.Load())
	if err != nil {
		client.Close()
		return
	}
	l.server = up
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	go func() {
		_ = p.questions(l)
		l.cut(FIN)
	}()
	_ = p.answers(l)
	if l.silent.Load() {
		<-l.closed // a dead server does not wake a black hole
	}
	l.cut(FIN)
}

// The messages that matter. A client sends Parse once per statement, then
// Bind, Execute and Sync; or Query. The server ends its answer to Sync and to
// Query with ReadyForQuery, which tells whether a transaction is open.
const (
	parse, bind, execute, sync_, query = 'P', 'B', 'E', 'S', 'Q'
	errorResponse, commandComplete     = 'E', 'C'
	readyForQuery, idle                = 'Z', 'I'
)

var changes = regexp.MustCompile(`(?i)\b(insert\s+into|update|delete\s+from)\b`)
var locks = regexp.MustCompile(`(?i)\bfor\s+(no\s+key\s+)?update\b`)
var commit = regexp.MustCompile(`(?i)^\s*(commit|end)\b`)

// questions passes on what the client says. What it sends between two Syncs
// goes together, so that a cut never leaves half of it.
func (p *Proxy) questions(l *link) error {
	statements := map[string]string{} // prepared: name → text
	var batch bytes.Buffer
	var text string // of the statement that is bound
	for first := true; ; first = false {
		kind, message, err := read(l.client, first)
		if err != nil {
			return err
		}
		batch.Write(message)
		switch body := message[min(5, len(message)):]; {
		case first:
		case kind == parse:
			name, rest, _ := bytes.Cut(body, []byte{0})
			statement, _, _ := bytes.Cut(rest, []byte{0})
			statements[string(name)] = string(statement)
			continue
		case kind == bind:
			_, rest, _ := bytes.Cut(body, []byte{0})
			name, _, _ := bytes.Cut(rest, []byte{0})
			text = statements[string(name)]
			continue
		case kind == query:
			text = string(bytes.TrimRight(body, "\x00"))
		case kind == execute:
			l.writes.Store(l.writes.Load() || writes(text))
			continue
		}
		if kind == query {
			l.writes.Store(l.writes.Load() || writes(text))
		}
		ends := l.status.Load() == idle || commit.MatchString(text)
		if ends && l.writes.Load() && !p.at(BeforeCommit, l) {
			batch.Reset()
			l.writes.Store(false)
			continue
		}
		if err := l.pass(l.server, batch.Bytes()); err != nil {
			return err
		}
		batch.Reset()
		text = ""
	}
}

func writes(statement string) bool {
	return changes.MatchString(locks.ReplaceAllString(statement, ""))
}

// answers passes on what the server says. The reply to a commit is held until
// it is whole: only then has the server committed.
func (p *Proxy) answers(l *link) error {
	var reply bytes.Buffer
	undone := false // the server refused, or rolled back
	for {
		kind, message, err := read(l.server, false)
		if err != nil {
			return err
		}
		reply.Write(message)
		undone = undone || kind == errorResponse || kind == commandComplete && bytes.HasPrefix(message[5:], []byte("ROLLBACK"))
		if kind != readyForQuery && l.writes.Load() {
			continue
		}
		if kind == readyForQuery {
			l.status.Store(int32(message[5]))
			if message[5] == idle && l.writes.Swap(false) && !undone && !p.at(AfterCommit, l) {
				reply.Reset()
				continue
			}
			undone = false
		}
		if err := l.pass(l.client, reply.Bytes()); err != nil {
			return err
		}
		reply.Reset()
	}
}

// read reads one message: a type, a length that counts itself, and the rest.
// The first of a connection has no type.
func read(from io.Reader, first bool) (byte, []byte, error) {
	head := make([]byte, 5, 512)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(from, head); err != nil {
		return 0, nil, err
	}
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	message := append(head, make([]byte, size)...)
	_, err := io.ReadFull(from, message[len(head):])
	return head[0], message, err
}
