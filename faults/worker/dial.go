package worker

import (
	"context"
	"net"
	"time"
)

type dialer struct{ silence time.Duration }

type silentConn struct {
	net.Conn
	silence time.Duration
}

func (c silentConn) Read(b []byte) (int, error) {
	_ = c.SetReadDeadline(time.Now().Add(c.silence))
	return c.Conn.Read(b)
}

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}
func (d dialer) DialTimeout(network, address string, _ time.Duration) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return silentConn{c, d.silence}, nil
}
