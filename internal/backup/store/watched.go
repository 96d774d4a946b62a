// SPDX-License-Identifier: Apache-2.0

package store

import (
	"net"
	"sync"
	"time"
)

// watched is a connection on which something has to go on while there is a request: its reads and writes end when no
// byte has gone either way for so long. A store that holds a connection open and neither takes a body nor sends one
// would hold up whoever waits for it for ever. The transport's deadlines end with the answer's first byte.
type watched struct {
	net.Conn
	idle time.Duration

	mu sync.Mutex
	// until is what somebody else has set, by which reads and writes end too.
	until time.Time
}

// moved moves the deadline. One that reads the answer waits as long as the other one writes.
func (w *watched) moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Now().Add(w.idle)
	if !w.until.IsZero() && w.until.Before(at) {
		at = w.until
	}
	_ = w.Conn.SetDeadline(at) // a connection that is closed says so where it is used
}

// Read implements net.Conn.
func (w *watched) Read(p []byte) (int, error) {
	w.moved()
	return w.went(w.Conn.Read(p))
}

// Write implements net.Conn.
func (w *watched) Write(p []byte) (int, error) {
	w.moved()
	return w.went(w.Conn.Write(p))
}

func (w *watched) went(n int, err error) (int, error) {
	if n > 0 {
		w.moved()
	}
	return n, err
}

// SetDeadline implements net.Conn.
func (w *watched) SetDeadline(t time.Time) error {
	w.mu.Lock()
	w.until = t
	w.mu.Unlock()
	w.moved()
	return nil
}
