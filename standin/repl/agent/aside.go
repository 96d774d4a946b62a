// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync"
)

// aside writes lines of history over a connection of its own, which is made with the first one: the agent's connection
// to the distributor is in the middle of reading commands.
type aside struct {
	run *agentRun
	// mu is held while a line is written.
	mu   sync.Mutex
	conn *Conn
}

// note writes a line.
func (a *aside) note(ctx context.Context, l line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.write(ctx, l)
}

// progress writes a line while the agent goes on, whose distributor may be a long way off. Where a later line takes the
// place of this one (-HistoryVerboseLevel 1), it does nothing, and says so, when the one before is still on its way.
func (a *aside) progress(ctx context.Context, l line) bool {
	if a.run.args.num("-HistoryVerboseLevel", 1) != 1 {
		a.note(ctx, l)
		return true
	}
	if !a.mu.TryLock() {
		return false
	}
	go func() {
		defer a.mu.Unlock()
		a.write(ctx, l)
	}()
	return true
}

// wait waits until no line is on its way: what is written after it is newer.
func (a *aside) wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
}

// write needs mu. A connection that failed is replaced with the next line.
func (a *aside) write(ctx context.Context, l line) {
	if !a.run.notes(l.status) {
		return
	}
	var err error
	if a.conn == nil {
		t := a.run.distConn.target
		t.Database = a.run.distDB
		a.conn, err = a.run.runner.Connect(ctx, t)
	}
	if err == nil {
		err = a.run.writeLine(ctx, a.conn, l)
	}
	if err != nil {
		a.conn.Close()
		a.conn = nil
		if ctx.Err() == nil {
			a.run.runner.inst.Log().Warn("replication: history could not be written", "agent", a.run.name, "error", err.Error())
		}
	}
}

func (a *aside) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn.Close()
}
