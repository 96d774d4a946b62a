// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

const (
	// rejoinTimeout bounds the statements of one rejoining step.
	rejoinTimeout = 10 * time.Second
	// strangerPatience is how long a secondary may be without the primary that holds the votes before it is taken OFFLINE
	// to follow it: the engine's own reconnection comes first.
	strangerPatience = 5 * time.Second
	// standingPatience is how long a secondary that is connected to the holder may take no log before it is taken OFFLINE
	// to follow it anew, once in a term: readers lose their connections.
	standingPatience = 15 * time.Second
	// strayFor is for how long after a former primary began to follow the sessions that come to it are ended, at each
	// step. The listener's Service leads to the new primary by then at every site that can be reached; when it does at one
	// site this server cannot see.
	strayFor = 10 * time.Second
)

// rejoin is how a replica comes back behind a primary that another server became.
type rejoin struct {
	// term that was last followed.
	term int64
	// stranger is since when this SECONDARY does not follow the leading term's holder.
	stranger time.Duration
	// standing is since when this SECONDARY is connected to the holder and takes no log, revived whether it was made to
	// follow anew for that in this term.
	standing time.Duration
	revived  bool
	// followed is when this server, which may be the former primary, began to follow the leading term's holder, 0 once no
	// more stray sessions come.
	followed time.Duration
	// quarantined says that databases stay suspended until a person decides.
	quarantined bool
	// toldApart is what the voters were last told about that.
	toldApart string
}

// rejoinView is what is known when a replica's way back is planned.
type rejoinView struct {
	self       string
	leading    votes.Record
	seen       ballot.Observation
	remembered Remembered
	fork       *votes.Fork
	// local copies; only needed when there is a fork that was not cleared.
	local []ballot.DatabaseState
	// bare says that the instance has no database of those that were forked: there is nothing that the others lack.
	bare bool
	// stranger is for how long the replica has not followed the leading holder, in its role SECONDARY.
	stranger time.Duration
	// standing is for how long it has taken no log although it follows; 0 also when that was acted on in this term.
	standing time.Duration
}

// rejoinStep is what is due.
type rejoinStep struct {
	offline, become bool
	resume          []string
	// remember is what has to be remembered first, nil for nothing new.
	remember *Remembered
	// quarantined says that nothing is resumed.
	quarantined bool
}

// forkOpen says whether a fork has to be looked at before anything is resumed. A configuration-only replica has nothing
// that could be lost.
func (v rejoinView) forkOpen() bool {
	return v.fork != nil && v.seen.Mode != ballot.ModeConfigurationOnly && v.fork.Term > v.remembered.Cleared &&
		!strings.EqualFold(v.fork.Server, v.self)
}

// logOpen says whether this replica is not known to have the log of the forced failover.
func (v rejoinView) logOpen() bool {
	return v.fork != nil && !has(v.fork, v.self, v.remembered.Followed)
}

// caughtUp says whether all local copies are synchronized.
func (v rejoinView) caughtUp() bool {
	return len(v.local) > 0 &&
		!slices.ContainsFunc(v.local, func(d ballot.DatabaseState) bool { return d.Suspended || d.State != "SYNCHRONIZED" })
}

// planRejoin decides on one step of the way back. A RESOLVING replica becomes a secondary; a secondary that follows
// somebody else is taken OFFLINE first; suspended databases are resumed, unless a forced failover has left something in
// this copy alone: that is kept until a person decides.
func planRejoin(v rejoinView) rejoinStep {
	var s rejoinStep
	if v.bare && v.forkOpen() {
		// What comes here from now on is the new primary's.
		next := v.remembered
		next.Cleared, next.Quarantined = v.fork.Term, 0
		s.remember, v.remembered = &next, next
	}
	if !v.seen.Exists || v.leading.State != votes.StateHeld || strings.EqualFold(v.leading.Holder.Server, v.self) ||
		v.leading.Term < v.remembered.Promise.Term {
		return s
	}
	follows := follows(v.seen, v.leading)
	if v.forkOpen() {
		next := v.remembered
		switch {
		case ahead(v.local, *v.fork):
			s.quarantined = true
			if next.Quarantined != v.fork.Term {
				next.Quarantined = v.fork.Term
				s.remember = &next
			}
		case v.seen.Role == ballot.RoleResolving || len(v.seen.Suspended) > 0 || follows:
			next.Cleared, next.Quarantined = v.fork.Term, 0
			s.remember = &next
		}
	}
	if v.logOpen() && follows && v.leading.Term >= v.fork.Term && v.caughtUp() {
		next := v.remembered
		if s.remember != nil {
			next = *s.remember
		}
		next.Followed = v.fork.Term
		s.remember = &next
	}
	switch v.seen.Role {
	case ballot.RoleResolving:
		s.become = true
	case ballot.RoleSecondary:
		s.offline = !follows && v.stranger >= strangerPatience || follows && !s.quarantined && v.standing >= standingPatience
		s.become = s.offline
		if !s.offline && !s.quarantined {
			s.resume = v.seen.Suspended
		}
	}
	return s
}

// follows says whether a replica is a secondary that is connected to the holder of the votes.
func follows(seen ballot.Observation, leading votes.Record) bool {
	return seen.Role == ballot.RoleSecondary && seen.Connected && strings.EqualFold(seen.Primary, leading.Holder.Server)
}

// ahead says whether any copy has log behind the fork, or its end is not known.
func ahead(local []ballot.DatabaseState, f votes.Fork) bool {
	for _, d := range local {
		at, ok := f.Databases[d.Name]
		if ok && (d.HardenedLSN == "" || votes.CompareLSN(d.HardenedLSN, at) > 0) {
			return true
		}
	}
	return len(local) == 0 && len(f.Databases) > 0
}

// step carries out what planRejoin says.
func (r *rejoin) step(ctx context.Context, k *Keeper, leading votes.Record, seen ballot.Observation) Outcome {
	remembered, err := k.remembered()
	if err != nil {
		return Outcome{Err: err}
	}
	now := k.clock.Now()
	r.watch(now, leading, seen)
	v := rejoinView{self: k.self.Server, leading: leading, seen: seen, remembered: remembered,
		fork: k.told().fork, stranger: now - r.stranger}
	if !r.revived {
		v.standing = now - r.standing
	}
	ctx, cancel := context.WithTimeout(ctx, rejoinTimeout)
	defer cancel()
	if seen.Exists && (v.forkOpen() || v.logOpen()) && seen.Mode != ballot.ModeConfigurationOnly {
		i, err := k.engine.Inspect(ctx, k.group)
		if err != nil {
			return Outcome{Err: fmt.Errorf("looking for what %s alone has of group %s: %w", k.self.Server, k.group, err)}
		}
		for _, d := range i.Databases {
			if d.Local {
				v.local = append(v.local, d)
			}
		}
	}
	if v.forkOpen() && len(v.local) == 0 {
		copies, err := k.engine.Copies(ctx, k.group, slices.Sorted(maps.Keys(v.fork.Databases)))
		if err != nil {
			return Outcome{Err: fmt.Errorf("looking for databases of group %s on %s: %w", k.group, k.self.Server, err)}
		}
		v.bare = len(copies) == 0
	}
	s := planRejoin(v)
	if v.leading.State == votes.StateHeld {
		k.tellApart(ctx, v, s.quarantined)
	}
	if out := r.carryOut(ctx, k, s, leading); out != (Outcome{}) {
		return out
	}
	return r.endStrays(ctx, k, seen)
}

// endStrays ends, while the listener may still lead to a former primary, the sessions that have come to it since it
// began to follow. A client's pool would keep them: they can read, and every write in them is refused (error 3906). It
// does so at each step, because a client that comes just after one would be kept until the next, and a last time when
// that time is over.
func (r *rejoin) endStrays(ctx context.Context, k *Keeper, seen ballot.Observation) Outcome {
	since := k.clock.Now() - r.followed
	if r.followed == 0 || seen.Role != ballot.RoleSecondary {
		return Outcome{}
	}
	if err := k.engine.EndSessions(ctx, k.group, since+time.Second); err != nil {
		return Outcome{
			Err: fmt.Errorf(
				"ending the sessions that came to %s while the listener of group %s moved: %w",
				k.self.Server,
				k.group,
				err,
			),
		}
	}
	if since < strayFor {
		return Outcome{}
	}
	r.followed = 0
	return Outcome{Action: "ended sessions that came while the listener moved"}
}

// mayHaveLed says whether a listener may still have led to this server when it began to follow: the leading term was
// taken over from it, or from nobody that one knows. Votes that were restored by hand name a holder that is no server.
func (k *Keeper) mayHaveLed(ctx context.Context, leading votes.Record) bool {
	line := votes.LineOf(k.told().timelines, leading)
	if line == nil || line.From == "" {
		return false
	}
	from := func(server string) bool { return strings.EqualFold(line.From, server) }
	return from(k.self.Server) || k.meetPartners(ctx) == nil && !slices.ContainsFunc(k.partners, from)
}

// watch keeps the times since which this replica does not follow the leading holder, or follows and takes no log.
func (r *rejoin) watch(now time.Duration, leading votes.Record, seen ballot.Observation) {
	secondary := seen.Role == ballot.RoleSecondary
	follows := follows(seen, leading)
	fresh := leading.State != votes.StateHeld || leading.Term != r.term
	if fresh {
		r.term, r.revived = leading.Term, false
	}
	if fresh || follows || !secondary {
		r.stranger = now
	}
	if fresh || !follows || len(seen.Standing) == 0 {
		r.standing = now
	}
}

func (r *rejoin) carryOut(ctx context.Context, k *Keeper, s rejoinStep, leading votes.Record) Outcome {
	r.quarantined = s.quarantined
	if s.remember != nil {
		if err := k.remember(*s.remember); err != nil {
			return Outcome{Err: err}
		}
	}
	failed := func(action string, err error) Outcome {
		return Outcome{
			Action: action,
			Err: fmt.Errorf(
				"making %s a secondary of %s in group %s: %w",
				k.self.Server,
				leading.Holder.Server,
				k.group,
				err,
			),
		}
	}
	if s.offline {
		if _, err := k.offline(ctx); err != nil {
			return failed("following", err)
		}
	}
	if s.become {
		// OFFLINE of one that followed was for the log that it did not take.
		r.revived = r.revived || s.offline && r.standing < r.stranger
		r.stranger = k.clock.Now()
		err := k.engine.BecomeSecondary(ctx, k.group, k.clock.Wall().Add(ballot.BecomeWithin))
		k.unanswerable(err, ballot.BecomeWithin)
		if err != nil {
			return failed("following", err)
		}
		if k.mayHaveLed(ctx, leading) {
			r.followed = k.clock.Now()
		}
		return Outcome{Action: "following " + leading.Holder.Server}
	}
	if len(s.resume) > 0 {
		if err := k.engine.Resume(ctx, k.group, s.resume); err != nil {
			return failed("resuming", err)
		}
		return Outcome{Action: "resumed " + strings.Join(s.resume, ", ")}
	}
	if s.quarantined {
		return Outcome{Action: "quarantined"}
	}
	return Outcome{}
}
