// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"time"

	"geosql.dev/standin/sqlerr"
)

// leaseValidLocked tells whether the write lease still runs; a group without leases needs none.
func (g *Group) leaseValidLocked() bool {
	if c := g.st.Accepted; c == nil || !c.Options.WriteLease {
		return true
	}
	return BootTime() < g.lease+g.overrun
}

// SetLease sets WRITE_LEASE_VALIDITY: the lease runs for validity from started, the statement's beginning by BootTime.
// It is never shortened.
func (g *Group) SetLease(started, validity time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.st.Accepted.Options.WriteLease {
		return failure(47116, g.name)
	}
	if validity <= 0 {
		return failure(47118, "WRITE_LEASE_VALIDITY", g.name)
	}
	until := started + validity
	now := BootTime()
	if g.lease > now && until < g.lease {
		return failure(47119, g.name)
	}
	if g.role == Primary && g.lease <= now {
		// It expired, and the replica is about to resign: an old lease does not come back to life.
		g.broadcastLocked()
		return sqlerr.New(19407, 2, g.name)
	}
	g.lease = until
	g.broadcastLocked()
	return nil
}

// watchLease makes a primary resign when its lease ends. Admit and WaitHardened look at the clock themselves, so a late
// watcher delays only the change of the role that the views show.
func (l *leadership) watchLease() {
	g := l.g
	for {
		g.mu.Lock()
		wait := time.Hour
		if g.st.Accepted.Options.WriteLease {
			wait = g.lease + g.overrun - BootTime()
		}
		expired := wait <= 0 && g.role == Primary && g.lead == l
		changed := g.changed
		g.mu.Unlock()
		if expired {
			g.resign(l, Resolving, "its write lease expired")
			return
		}
		t := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-t.C:
		case <-changed:
			t.Stop()
		case <-l.ctx.Done():
			t.Stop()
			return
		}
	}
}
