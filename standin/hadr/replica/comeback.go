// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"math/rand/v2"
	"time"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/group"
)

const (
	// settle is for how long a new secondary takes no log, where it takes its time.
	settle = 45 * time.Second
	// falsePrimary is for how long a restarted primary is shown as one, where it is.
	falsePrimary = 5 * time.Second
	// minOverrun and maxOverrun are how late an expired write lease is acted on, where it is late.
	minOverrun = time.Second
	maxOverrun = 5 * time.Second
)

// comeback is what matters for a replica that comes back, in answers that are not the usual ones.
type comeback struct {
	// secondary is when SET (ROLE = SECONDARY) was taken last, offline when OFFLINE was.
	secondary, offline time.Time
	// primaryUntil is until when it is shown as PRIMARY although it is not.
	primaryUntil time.Time
	// heard says that it has heard of a primary since the start, primaryOpened when that one's endpoint was opened.
	heard         bool
	primaryOpened time.Time
	// latched is since when SET (ROLE = SECONDARY) is refused, zero when it is not.
	latched time.Time
	// overrun is how late an expired lease is acted on.
	overrun time.Duration
}

func newComeback(host Host) (c comeback) {
	if host.Answers(config.LeaseOverrun) {
		c.overrun = minOverrun + rand.N(maxOverrun-minOverrun)
	}
	return c
}

// saysPrimary shows a restarted primary as one for a moment.
func (g *Group) saysPrimary() {
	if g.host.Answers(config.PrimaryAfterRestart) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.primaryUntil = time.Now().Add(falsePrimary)
	}
}

// shownRoleLocked is the role as the views have it.
func (g *Group) shownRoleLocked() Role {
	if g.role == Resolving && time.Now().Before(g.primaryUntil) {
		return Primary
	}
	return g.role
}

// cameBackLocked notes a change of role by a statement, which ends what is under way.
func (g *Group) cameBackLocked(intent Role) {
	g.stopSeedsLocked()
	g.primaryUntil = time.Time{}
	if intent == Secondary {
		g.secondary = time.Now()
	} else {
		g.offline = time.Now()
	}
}

// settlingLocked tells whether a new secondary takes no log yet.
func (g *Group) settlingLocked() bool {
	return time.Since(g.secondary) < settle && g.host.Answers(config.SlowToSynchronize)
}

// latchedPrimary tells whether SET (ROLE = SECONDARY) is refused: to a replica that was primary, until it was taken
// OFFLINE and both endpoints were opened anew since.
func (g *Group) latchedPrimary() bool {
	opened := g.m.opened()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.st.Led || g.distributed() || g.st.Accepted.Options.ClusterType != group.External ||
		!g.host.Answers(config.FormerPrimaryLatched) {
		return false
	}
	if g.latched.IsZero() {
		g.latched = time.Now()
	}
	if !g.offline.After(g.latched) || !opened.After(g.latched) || !g.primaryOpened.After(g.latched) {
		return true
	}
	g.latched = time.Time{}
	return false
}
