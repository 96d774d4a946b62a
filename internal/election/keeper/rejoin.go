// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
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
	// strayFor is for how long after a former primary began to follow the sessions that come to it are ended, at each
	// step. The listener's Service leads to the new primary by then at every site that can be reached; when it does at one
	// site this server cannot see.
	strayFor = 10 * time.Second
	// writersEvery is how often sessions that were refused a write are looked for after that, and writersSeldom how seldom
	// where they come again: then the listener of a site still leads here, and its clients are kept for that long at most
	// once it has moved.
	writersEvery  = 2 * time.Second
	writersSeldom = 10 * time.Second
	// RefusedWithin is how long ago the latest request of a session that was refused a write ended at most, for it to be
	// ended: a look and a moment more. The engine keeps the error of a session that has handled it, and reads since.
	RefusedWithin = writersSeldom + 2*time.Second
)

// rejoin is how a replica comes back behind a primary that another server became.
type rejoin struct {
	// pace is since when what is seen of this replica has been as it is.
	pace
	// followed is when this server, which may be the former primary, began to follow the leading term's holder, 0 once no
	// more stray sessions come.
	followed time.Duration
	// writers is when the sessions that were refused a write are looked for again, and writersPause the pause before that.
	writers, writersPause time.Duration
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
	// held is what the holder's agent says of this replica.
	held heldWord
	paces
}

// rejoinStep is what is due.
type rejoinStep struct {
	// offline and become are OFFLINE and SET (ROLE = SECONDARY), in this order; restart and restartHolder the restart of
	// the endpoint here and at the holder, between the two.
	offline, become        bool
	restart, restartHolder bool
	resume                 []string
	// remember is what has to be remembered first, nil for nothing new.
	remember *Remembered
	// quarantined says that nothing is resumed.
	quarantined bool
	// unsure says that nothing is, because nobody knows yet how far this copy's log goes.
	unsure bool
	// why the role is changed, empty where it is not.
	why cause
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
		case unsure(v.local, *v.fork) && v.unsure < unsurePatience:
			s.unsure = true
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
		v.planResolving(&s)
	case ballot.RoleSecondary:
		v.planSecondary(&s, follows)
		if s.why == "" && !s.quarantined && !s.unsure {
			s.resume = v.seen.Suspended
		}
	}
	return s
}

// follows says whether a replica is a secondary that is connected to the holder of the votes. Engines without a cluster
// need not say who the primary is (sys.dm_hadr_availability_group_states): then the connection counts.
func follows(seen ballot.Observation, leading votes.Record) bool {
	return seen.Role == ballot.RoleSecondary && seen.Connected &&
		(seen.Primary == "" || strings.EqualFold(seen.Primary, leading.Holder.Server))
}

// ahead says whether any copy has log behind the fork, or its end is not known.
func ahead(local []ballot.DatabaseState, f votes.Fork) bool {
	return unsure(local, f) || beyond(local, f)
}

// beyond says whether any copy is known to have log behind the fork.
func beyond(local []ballot.DatabaseState, f votes.Fork) bool {
	for _, d := range local {
		at, ok := f.Databases[d.Name]
		if ok && d.HardenedLSN != "" && votes.CompareLSN(d.HardenedLSN, at) > 0 {
			return true
		}
	}
	return false
}

// unsure says whether no copy is known to have log behind the fork, and the end of one is not known.
func unsure(local []ballot.DatabaseState, f votes.Fork) bool {
	if beyond(local, f) {
		return false
	}
	for _, d := range local {
		if _, ok := f.Databases[d.Name]; ok && d.HardenedLSN == "" {
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
	v := rejoinView{self: k.self.Server, leading: leading, seen: seen, remembered: remembered, fork: k.told().fork,
		paces: r.since(now)}
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
	if v.unsure = r.unsureFor(now, v.forkOpen() && !v.bare && unsure(v.local, *v.fork)); v.asksHolder() {
		v.held = k.askHolder(ctx, leading)
	}
	s := planRejoin(v)
	if v.leading.State == votes.StateHeld {
		k.tellApart(ctx, v, s.quarantined)
	}
	if out := r.carryOut(ctx, k, s, leading, seen); out != (Outcome{}) {
		return out
	}
	return r.endStrays(ctx, k, seen)
}

// endStrays ends, while the listener may still lead to a former primary, the sessions that have come to it since it
// began to follow. A client's pool would keep them: they can read, and every write in them is refused (error 3906). It
// does so at each step, because a client that comes just after one would be kept until the next, and a last time when
// that time is over. Clients that retry may be many: no step takes longer for them than a call to a voter may, for the
// candidates that ask this agent meanwhile wait for it. Those that are left are ended once they are refused a write.
func (r *rejoin) endStrays(ctx context.Context, k *Keeper, seen ballot.Observation) Outcome {
	since := k.clock.Now() - r.followed
	switch {
	case seen.Role != ballot.RoleSecondary:
		return Outcome{}
	case r.followed == 0:
		return r.endWriters(ctx, k)
	}
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
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

// endWriters ends the sessions that this engine has refused a write, for as long as the server follows: that they came
// is the evidence that the listener of some site, which may be cut off from everybody who knows, still leads here, or
// did until now. Those who only read stay, also where they were refused a write before, unless they are idle and were
// at work within RefusedWithin: the engine does not tell which request the error was of.
func (r *rejoin) endWriters(ctx context.Context, k *Keeper) Outcome {
	now := k.clock.Now()
	if now < r.writers || !k.hasLed() {
		return Outcome{}
	}
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	ended, err := k.engine.EndWriters(ctx, k.group)
	if ended > 0 || err != nil {
		r.writersPause = min(max(2*r.writersPause, writersEvery), writersSeldom)
	} else {
		r.writersPause = writersEvery
	}
	r.writers = now + r.writersPause
	switch {
	case err != nil:
		return Outcome{
			Err: fmt.Errorf("ending the sessions that want to write in group %s on %s: %w", k.group, k.self.Server, err),
		}
	case ended > 0:
		return Outcome{Action: fmt.Sprintf("ended %d sessions that came to write", ended)}
	}
	return Outcome{}
}

// hasLed says whether a listener may ever have led to this server: a term that somebody remembers was its own.
func (k *Keeper) hasLed() bool {
	return slices.ContainsFunc(k.told().timelines, func(t votes.Timeline) bool {
		return strings.EqualFold(t.From, k.self.Server) || strings.EqualFold(t.To, k.self.Server)
	})
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

func (r *rejoin) carryOut(
	ctx context.Context,
	k *Keeper,
	s rejoinStep,
	leading votes.Record,
	seen ballot.Observation,
) Outcome {
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
	if s.why != "" {
		return r.changeRole(ctx, k, s, leading, seen, failed)
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

// changeRole carries out a step that changes the role, or is to make the engine change it. What it costs is counted
// before it is sent: a step that has brought about nothing is not repeated at once.
func (r *rejoin) changeRole(
	ctx context.Context,
	k *Keeper,
	s rejoinStep,
	leading votes.Record,
	seen ballot.Observation,
	failed func(string, error) Outcome,
) Outcome {
	if s.become {
		if alone, err := k.onlyDataReplica(ctx, seen); err != nil || alone {
			if alone {
				err = errOnlyReplica
			}
			return failed(string(s.why), err)
		}
	}
	r.act(k.clock.Now(), s)
	if s.offline {
		if _, err := k.offline(ctx); err != nil {
			return failed(string(s.why), err)
		}
	}
	if err := k.restartEndpoints(ctx, s, leading); err != nil {
		return failed(string(s.why), err)
	}
	if !s.become {
		return Outcome{Action: string(s.why)}
	}
	err := k.engine.BecomeSecondary(ctx, k.group, k.clock.Wall().Add(ballot.BecomeWithin))
	k.unanswerable(err, ballot.BecomeWithin)
	if r.answered(k.clock.Now(), err); errors.Is(err, ErrNoPrimaryYet) {
		return Outcome{Action: "waiting for the primary to be known here"}
	}
	if err != nil {
		return failed("following", err)
	}
	if k.mayHaveLed(ctx, leading) {
		r.followed = k.clock.Now()
	}
	return Outcome{Action: "following " + leading.Holder.Server}
}
