// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"geosql.dev/operator/test/support/link"
)

// dialWithin bounds a connection over a link.
const dialWithin = time.Minute

// Through is an address on this machine's loopback that leads to another one of the loopback over the link of a spoke:
// who connects to it sits at the spoke, and target at the hub. It is there as long as the test.
func (n *Net) Through(t testing.TB, spoke int, target string) string {
	t.Helper()
	far, err := link.Inside(n.Hub.namespace, func() (net.Listener, error) {
		return net.Listen("tcp", net.JoinHostPort(n.HubAddress(spoke), "0"))
	})
	if err != nil {
		t.Fatalf("listen at the hub: %v", err)
	}
	near, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for a spoke: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = near.Close(); _ = far.Close() })
	go forward(ctx, near, func() (net.Conn, error) {
		return link.Inside(n.Spokes[spoke].namespace, func() (net.Conn, error) {
			return net.DialTimeout("tcp", far.Addr().String(), dialWithin)
		})
	})
	go forward(ctx, far, func() (net.Conn, error) { return net.DialTimeout("tcp", target, dialWithin) })
	return near.Addr().String()
}

// forward carries what comes to a listener on by another connection, until ctx ends.
func forward(ctx context.Context, listener net.Listener, dial func() (net.Conn, error)) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			to, err := dial()
			if err != nil {
				return // who connected sees that it is closed
			}
			defer to.Close()
			defer context.AfterFunc(ctx, func() { _ = from.Close(); _ = to.Close() })()
			done := make(chan struct{})
			go func() { defer close(done); carry(to, from) }()
			carry(from, to)
			<-done
		}()
	}
}

// carry copies until from ends, and tells the other side so. What is under way the other way goes on; where this way
// failed nothing comes of that, and it is ended.
func carry(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
	_ = from.Close()
}
