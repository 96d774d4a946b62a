// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// How long a replica that does not come back is left alone. Real groups take 45 to 90 s after a planned failover, and
// up to 150 s after a lost primary, until a secondary is SYNCHRONIZED, with nothing wrong.
const (
	// strangerPatience is how long a secondary may be without the primary that holds the votes before it is taken OFFLINE
	// to follow it, at least sessionGrace more than its session time-out: the engine's own reconnection comes first. It is
	// doubled with each time in a term, up to 1 << maxDoublings.
	strangerPatience = 15 * time.Second
	sessionGrace     = 5 * time.Second
	maxDoublings     = 3
	// strayedPatience and movedPatience are how long a secondary that nobody has fenced may be without a new primary, and
	// how long it may take no log of one that it is connected to. Microsoft's agent makes such bystanders OFFLINE and
	// SECONDARY again right after each promotion (mssql-server-ha).
	strayedPatience = 5 * time.Second
	movedPatience   = 15 * time.Second
	// standingPatience is how long a secondary that follows the holder may take no log, without any progress, before the
	// next remedy.
	standingPatience = 180 * time.Second
	// seedingPatience is how long a copy that is being seeded may show no progress before it counts as one that is not:
	// SET (ROLE = SECONDARY) cancels a seeding. resolvingSeeding is that of a RESOLVING replica, which nobody should seed.
	seedingPatience  = 10 * time.Minute
	resolvingSeeding = time.Minute
	// unsurePatience is how long the end of a copy's log may be unknown after a forced failover before the copy counts as
	// one that has more than the others.
	unsurePatience = time.Minute
	// joinedPatience is for how long a replica that has just joined is left to become a secondary by itself.
	joinedPatience = 15 * time.Second
	// roleAgain is the pause between two SET (ROLE = SECONDARY) that the engine answers with 41104.
	roleAgain = 10 * time.Second
	// latchedPatience is how long it may answer so before the cure: OFFLINE, and the endpoint restarted here and at the
	// holder.
	latchedPatience = 20 * time.Second
)

// pace is since when things are as they are, moments of the clock, 0 for never.
type pace struct {
	// term that was last followed, its holder, and when this keeper first saw it.
	term   int64
	holder string
	began  time.Duration
	// absent says that the group was not there when it was last looked at, joined is when it was after that.
	absent bool
	joined time.Duration
	// stranger is since when this SECONDARY does not follow the leading term's holder, strangers how often it was taken
	// OFFLINE for that in the term.
	stranger  time.Duration
	strangers int
	// moved says that another server holds the term than the one that this replica was last made to follow.
	moved bool
	// standing is since when this SECONDARY is connected to the holder, takes no log, and makes no progress; remedies how
	// often something was done about it in this term.
	standing time.Duration
	remedies int
	// progress is what the engine last said of it, still since when.
	progress string
	still    time.Duration
	// asked is when SET (ROLE = SECONDARY) was last answered, latched since when with 41104, cured when the endpoints were
	// last restarted.
	asked, latched, cured time.Duration
	// cures is how often they were in this term.
	cures int
	// unsure is since when the end of a copy's log is not known.
	unsure time.Duration
}

// paces are for how long things have been as they are, 0 for never.
type paces struct {
	age, joined               time.Duration
	stranger, standing, still time.Duration
	asked, latched, cured     time.Duration
	unsure                    time.Duration
	strangers, remedies       int
	cures                     int
	moved                     bool
}

// since says how long things have been as they are.
func (p *pace) since(now time.Duration) paces {
	ago := func(at time.Duration) time.Duration {
		if at == 0 {
			return 0
		}
		return max(now-at, 1)
	}
	return paces{age: now - p.began, joined: ago(p.joined), stranger: now - p.stranger, standing: now - p.standing,
		still: now - p.still, asked: ago(p.asked), latched: ago(p.latched), cured: ago(p.cured),
		strangers: p.strangers, remedies: p.remedies, cures: p.cures, moved: p.moved}
}

// watch keeps the times. It is asked at each step of a server that follows, or that has no group yet.
func (p *pace) watch(now time.Duration, leading votes.Record, seen ballot.Observation) {
	secondary := seen.Role == ballot.RoleSecondary
	follows := follows(seen, leading)
	fresh := leading.State != votes.StateHeld || leading.Term != p.term
	if fresh {
		p.moved = p.moved || secondary && p.holder != "" && p.holder != leading.Holder.Server
		p.term, p.began, p.holder = leading.Term, now, leading.Holder.Server
		p.strangers, p.remedies, p.cures, p.asked, p.latched = 0, 0, 0, 0, 0
	}
	switch {
	case !seen.Exists:
		p.absent = true
	case p.absent:
		p.absent, p.joined = false, now
	}
	if seen.Progress != p.progress || fresh {
		p.progress, p.still = seen.Progress, now
		p.standing = now
	}
	if !secondary {
		p.moved = false
	} else {
		p.latched = 0
	}
	if fresh || follows || !secondary {
		p.stranger = now
	}
	if follows {
		p.strangers = 0
	}
	if fresh || !follows || len(seen.Standing) == 0 {
		p.standing = now
	}
}

// unsureFor notes whether the end of a copy's log is unknown now, and says for how long it has been.
func (p *pace) unsureFor(now time.Duration, unsure bool) time.Duration {
	switch {
	case !unsure:
		p.unsure = 0
		return 0
	case p.unsure == 0:
		p.unsure = now
	}
	return now - p.unsure
}

// act counts a step that is about to be made.
func (p *pace) act(now time.Duration, s rejoinStep) {
	switch s.why {
	case causeStranger:
		p.strangers++
	case causeStanding:
		p.remedies++
	case causeLatched:
		p.asked = now
	}
	if s.restartHolder {
		p.cured = now
		p.cures++
	}
	p.stranger, p.standing = now, now
	p.moved = p.moved && !s.become
}

// answered notes how SET (ROLE = SECONDARY) was answered. One that has failed otherwise may be repeated at once.
func (p *pace) answered(now time.Duration, err error) {
	switch {
	case err == nil:
		p.asked = now
	case isNoPrimaryYet(err):
		p.asked = now
		if p.latched == 0 {
			p.latched = now
		}
	}
}
