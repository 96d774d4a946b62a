// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// SilentFor is how long a manager does not dial an address again that nobody answered at: each object that needs the
// server would wait for it in turn.
const SilentFor = 10 * time.Second

// silence is how long a connection is awaited before nobody counts as answering: one that is refused is refused sooner,
// and the longest round trip between sites is a fraction of a second.
const silence = 3 * time.Second

// errNotAsked is why an address was not dialled.
var errNotAsked = errors.New("nobody has answered there a moment ago, and it is not asked again yet")

// silent are the addresses at which nobody answers.
type silent struct {
	lasts time.Duration

	mu sync.Mutex
	// asked is since when one who has had no answer is dialling, or until when it did; others do not.
	asked map[string]time.Time
}

// dial is a dialler that asks nobody who does not answer, but for one caller from time to time.
func (s *silent) dial(dial func(context.Context, string, string) (net.Conn, error)) func(
	context.Context, string, string) (net.Conn, error) {
	if s.lasts == 0 {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if s.quiet(address) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errNotAsked}
		}
		var done atomic.Bool
		waiting := time.AfterFunc(silence, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !done.Load() {
				s.noteLocked(address)
			}
		})
		conn, err := dial(ctx, network, address)
		// A timer that has just fired must not note one that has answered meanwhile.
		done.Store(true)
		switch waited := !waiting.Stop(); {
		case err != nil && waited:
			s.note(address)
		case err == nil, ctx.Err() == nil:
			// Somebody is there, also one who refuses. A caller that had less time cannot tell.
			s.forget(address)
		}
		return conn, err
	}
}

func (s *silent) quiet(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.asked[address]
	return known && time.Since(last) < s.lasts
}

func (s *silent) note(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(address)
}

func (s *silent) noteLocked(address string) {
	if s.asked == nil {
		s.asked = map[string]time.Time{}
	}
	s.asked[address] = time.Now()
}

func (s *silent) forget(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, address)
}
