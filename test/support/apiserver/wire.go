// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"net"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Wire carries connections to an API server on loopback and can be cut as a network is: nothing is refused, nothing
// is closed, nothing arrives.
type Wire struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	now   *phase // what connections that are made now are of
	past  []*phase
	conns map[net.Conn]struct{}
	done  bool
}

// phase is what connections have in common that were made before the same MendForNew.
type phase struct {
	open chan struct{} // closed while data flow
}

func flowing() *phase {
	p := &phase{open: make(chan struct{})}
	close(p.open)
	return p
}

// mend lets data through. The Wire's lock is held.
func (p *phase) mend() {
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

func newWire(t testing.TB, host string) *Wire {
	t.Helper()
	target, _, err := rest.DefaultServerURL(host, "", schema.GroupVersion{}, true)
	if err != nil {
		t.Fatalf("the API server's address %q: %v", host, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening on loopback: %v", err)
	}
	w := &Wire{listener: listener, target: target.Host, now: flowing(), conns: map[net.Conn]struct{}{}}
	go w.accept()
	t.Cleanup(w.close)
	return w
}

// Address on which clients connect.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// Cut lets nothing through until Mend. Connections, old and new, stay open and silent.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.now.open:
		w.now.open = make(chan struct{})
	default:
	}
}

// Mend lets data through again. Connections of before the cut go on where they stopped, as TCP's do after a short one.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.mend()
}

// MendForNew ends a cut for connections that are made from now on. Those of before stay open and silent, as TCP's do
// whose next repetition is far off after a longer one.
func (w *Wire) MendForNew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.past = append(w.past, w.now)
	w.now = flowing()
}

func (w *Wire) phase() *phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *Wire) gate(of *phase) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return of.open
}

func (w *Wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.carry(client)
	}
}

func (w *Wire) carry(client net.Conn) {
	if !w.track(client) {
		return
	}
	defer w.untrack(client)
	of := w.phase()
	<-w.gate(of)
	server, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	if !w.track(server) {
		return
	}
	defer w.untrack(server)
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			defer func() { done <- struct{}{} }()
			buffer := make([]byte, 32<<10)
			for {
				n, err := pair[0].Read(buffer)
				<-w.gate(of)
				if n > 0 {
					if _, err := pair[1].Write(buffer[:n]); err != nil {
						return
					}
				}
				if err != nil {
					return
				}
			}
		}()
	}
	<-done
}

func (w *Wire) track(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		_ = c.Close()
		return false
	}
	w.conns[c] = struct{}{}
	return true
}

func (w *Wire) untrack(c net.Conn) {
	_ = c.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
}

func (w *Wire) close() {
	w.Mend()
	_ = w.listener.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	for _, p := range w.past {
		p.mend()
	}
	for c := range w.conns {
		_ = c.Close()
	}
}
