package main

import (
	"context"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/onejob-go/onejob"
)

// slowProxy lets each message of the client wait before it passes it on, as a
// network would. It returns the address through it.
func slowProxy(dsn string, wait time.Duration) (string, func(), error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", nil, err
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	u.Host = l.Addr().String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				upstream, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer upstream.Close()
				go func() {
					_, _ = io.Copy(client, upstream)
					client.Close()
				}()
				buf := make([]byte, 64<<10)
				for {
					n, err := client.Read(buf)
					if n > 0 {
						time.Sleep(wait)
						if _, err := upstream.Write(buf[:n]); err != nil {
							return
						}
					}
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	return u.String(), func() { l.Close() }, nil
}

func (f *field) openSlow(ctx context.Context) error {
	dsn, done, err := slowProxy(f.pg.cluster.DSN("postgres"), time.Millisecond)
	if err != nil {
		return err
	}
	f.close = append(f.close, done)
	db, err := pgPool(dsn, 2)
	if err != nil {
		return err
	}
	n, err := openNaive(ctx, dsn)
	if err != nil {
		return err
	}
	f.close = append(f.close, func() { db.Close() }, func() { n.db.Close() })
	store, err := onejob.NewPostgresStore(db, nil)
	if err != nil {
		return err
	}
	ours := pg{jobs: onejob.New(store, nil)}
	f.add("slow Start + Complete", ours.Cycle)
	f.add("slow three transactions", n.Cycle)
	return nil
}
