// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"slices"
	"sync"

	"zombiezen.com/go/sqlite"
)

// interruption can break off what a connection does. SQLite's package has a goroutine for every channel that a
// connection watches: the connection keeps one until it was closed, instead of watching each statement's context.
type interruption struct {
	conn *sqlite.Conn
	done chan struct{}
	// fired says that done is closed: the connection refuses everything until it gets another.
	fired bool
}

func newInterruption(conn *sqlite.Conn) *interruption {
	i := &interruption{conn: conn}
	i.renew()
	return i
}

// fire breaks off the statement in progress, and those that come until settle.
func (i *interruption) fire() {
	if !i.fired {
		i.fired = true
		close(i.done)
	}
}

func (i *interruption) renew() {
	i.done, i.fired = make(chan struct{}), false
	// Statements that were left in the middle of their rows are reset by this.
	i.conn.SetInterrupt(i.done)
}

// settle leaves the connection ready for others: not broken off, and with no statement in the middle of its rows.
func (i *interruption) settle() {
	if i.fired || i.conn.CheckReset() != "" {
		i.renew()
	}
}

// usage guards a connection that one session uses statement by statement, and that the database may take away between
// or (by interrupting) during statements.
type usage struct {
	mu     sync.Mutex
	idle   sync.Cond
	broken error
	// contexts are those of the statements in progress, outermost first (statements nest in procedures).
	contexts   []context.Context
	interrupts *interruption
}

func newUsage(i *interruption) *usage {
	u := &usage{interrupts: i}
	u.idle.L = &u.mu
	return u
}

func (u *usage) use(ctx context.Context) (func(), error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.broken != nil {
		return nil, u.broken
	}
	u.contexts = append(u.contexts, ctx)
	if ctx.Err() != nil {
		u.interrupts.fire()
	}
	left := false
	stop := context.AfterFunc(ctx, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if !left {
			u.interrupts.fire()
		}
	})
	return func() {
		stop()
		u.mu.Lock()
		defer u.mu.Unlock()
		left = true
		u.contexts = u.contexts[:len(u.contexts)-1]
		// The end of a statement within others interrupts them only where it is theirs, too.
		if u.interrupts.fired && !u.interruptedLocked() {
			u.interrupts.renew()
		}
		if len(u.contexts) == 0 {
			u.idle.Broadcast()
		}
	}, nil
}

// interruptedLocked tells whether the statements in progress are to be broken off.
func (u *usage) interruptedLocked() bool {
	if len(u.contexts) == 0 {
		return false
	}
	return u.broken != nil || slices.ContainsFunc(u.contexts, func(ctx context.Context) bool { return ctx.Err() != nil })
}

// interruptAll lets no further statement begin and interrupts those in progress, without waiting: readers hold nothing
// that others need.
func (u *usage) interruptAll(reason error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.broken == nil {
		u.broken = reason
	}
	if len(u.contexts) > 0 {
		u.interrupts.fire()
	}
}

// breakOff is interruptAll, and waits until no statement is in progress.
func (u *usage) breakOff(reason error) {
	u.interruptAll(reason)
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.contexts) > 0 {
		u.idle.Wait()
	}
}

// settle is called when no statement is in progress and none can begin.
func (u *usage) settle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.interrupts.settle()
}
