// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"sync"

	"zombiezen.com/go/sqlite"
)

// usage guards a connection that one session uses statement by statement, and that the database may take away between
// or (by interrupting) during statements.
type usage struct {
	mu     sync.Mutex
	idle   sync.Cond
	count  int
	broken error
	// contexts are those of the statements in progress, outermost first (statements nest in procedures).
	contexts []context.Context
	cancels  []context.CancelCauseFunc
	conn     *sqlite.Conn
}

func newUsage(conn *sqlite.Conn) *usage {
	u := &usage{conn: conn}
	u.idle.L = &u.mu
	return u
}

func (u *usage) use(ctx context.Context) (func(), error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.broken != nil {
		return nil, u.broken
	}
	ctx, cancel := context.WithCancelCause(ctx)
	u.contexts, u.cancels = append(u.contexts, ctx), append(u.cancels, cancel)
	u.count++
	u.conn.SetInterrupt(ctx.Done())
	return func() {
		// Ended only when the connection no longer watches it: an end that it sees interrupts the statements outside.
		defer cancel(nil)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.count--
		u.contexts, u.cancels = u.contexts[:u.count], u.cancels[:u.count]
		if u.count > 0 {
			u.conn.SetInterrupt(u.contexts[u.count-1].Done())
		} else {
			u.conn.SetInterrupt(nil)
			u.idle.Broadcast()
		}
	}, nil
}

// breakOff lets no further statement begin, interrupts those in progress, and waits until none is left. It tells
// whether the caller is the first.
func (u *usage) breakOff(reason error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := u.broken == nil
	if first {
		u.broken = reason
	}
	for _, cancel := range u.cancels {
		cancel(reason)
	}
	for u.count > 0 {
		u.idle.Wait()
	}
	return first
}
