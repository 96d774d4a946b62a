// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/endpoint"
	"geosql.dev/operator/internal/election/votes"
)

// ErrNoPrimaryYet is the engine's refusal of SET (ROLE = SECONDARY) while it knows of no primary (error 41104). It says
// so for some seconds after a failover or a JOIN, and may go on saying so on a former primary until the endpoints of
// both sides have been restarted.
var ErrNoPrimaryYet = errors.New("the engine knows of no primary of the group yet")

func isNoPrimaryYet(err error) bool { return errors.Is(err, ErrNoPrimaryYet) }

// errOnlyReplica keeps SET (ROLE = SECONDARY) from a replica that knows of no other with data: the statement fails
// there and makes it the primary (mssql-server-ha, branch sql2017).
var errOnlyReplica = errors.New("its engine knows of no other replica with data, and would make it the primary: " +
	"the group has to be dropped there, or the others added at the primary")

// cause is why a role is changed.
type cause string

const (
	causeResolving cause = "following"
	causeLatched   cause = "restarting the endpoints: the engine goes on knowing no primary"
	causeStranger  cause = "following anew: it does not follow the holder"
	causeStanding  cause = "following anew: it takes no log"
)

// heldWord is what the holder's agent says of a replica.
type heldWord struct {
	// heard is false when it was not asked, or has not answered.
	heard bool
	// moves says that a copy there is SYNCHRONIZED or SYNCHRONIZING, seeded that one is being seeded.
	moves, seeded bool
}

// past says whether what has been so for some time, 0 for never, was long enough ago.
func past(since, patience time.Duration) bool { return since == 0 || since >= patience }

// seeds says whether a copy here is being seeded, which no statement may cancel, and has made progress lately.
func (v rejoinView) seeds(lately time.Duration) bool { return v.seen.Seeding && v.still < lately }

// planResolving is what is due at a RESOLVING replica.
func (v rejoinView) planResolving(s *rejoinStep) {
	switch {
	case v.seeds(resolvingSeeding) || v.joined > 0 && v.joined < joinedPatience:
	case v.latched == 0 && past(v.asked, ballot.BecomeWithin):
		s.become, s.why = true, causeResolving
	case v.latched >= latchedPatience && v.age >= endpoint.Settling && past(v.cured, endpoint.After(v.cures)):
		s.offline, s.restart, s.restartHolder, s.why = true, true, true, causeLatched
	case v.latched > 0 && past(v.asked, roleAgain):
		s.become, s.why = true, causeResolving
	}
}

// estranged says whether a secondary has been without the holder for too long.
func (v rejoinView) estranged() bool {
	wait := max(strangerPatience, v.seen.SessionTimeout+sessionGrace) << min(v.strangers, maxDoublings)
	if v.moved {
		wait = strayedPatience
	}
	return v.seen.Role == ballot.RoleSecondary && !follows(v.seen, v.leading) && v.stranger >= wait
}

// stands says whether a secondary has taken no log for too long although it follows.
func (v rejoinView) stands() bool {
	wait := standingPatience << max(0, min(v.remedies-2, maxDoublings))
	if v.moved {
		wait = movedPatience
	}
	return follows(v.seen, v.leading) && v.standing >= wait
}

// asksHolder says whether a secondary's role is about to be changed, for which the holder's word is evidence.
func (v rejoinView) asksHolder() bool { return v.estranged() || v.stands() }

// planSecondary is what is due at a secondary. One that stands still is made a secondary again, then its endpoint is
// restarted, then the holder's as well. OFFLINE is for one that does not follow, and for one that nobody has fenced and
// that is bound to the primary before: it throws out readers, and is no cure for a copy that takes no log.
func (v rejoinView) planSecondary(s *rejoinStep, follows bool) {
	switch {
	case v.seeds(seedingPatience) || v.held.seeded:
	case !follows && v.estranged():
		// Its own word that it is connected, to somebody, counts unless the holder says that nothing moves here.
		if v.seen.Connected && (!v.held.heard || v.held.moves) {
			return
		}
		s.offline, s.become, s.why = true, true, causeStranger
	case follows && !s.quarantined && v.stands():
		s.why = causeStanding
		switch {
		case v.moved:
			s.offline, s.become = true, true
		case v.remedies == 0:
			s.become = true
		case v.remedies == 1:
			s.restart = true
		case v.age >= endpoint.Settling && past(v.cured, endpoint.After(v.cures)):
			s.restart, s.restartHolder = true, true
		default:
			s.why = ""
		}
	}
}

// askHolder asks the holder's agent for what its engine shows of this replica.
func (k *Keeper) askHolder(ctx context.Context, leading votes.Record) heldWord {
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	r, err := k.peers.Report(ctx, leading.Holder.Server, k.group)
	if err != nil || r.Role != ballot.RolePrimary {
		return heldWord{}
	}
	self := func(server string) bool { return strings.EqualFold(server, k.self.Server) }
	return heldWord{
		heard:  true,
		seeded: slices.ContainsFunc(r.Seeding, self),
		moves: slices.ContainsFunc(r.Databases, func(d ballot.DatabaseState) bool {
			return self(d.Server) && !d.Suspended && (d.State == "SYNCHRONIZED" || d.State == "SYNCHRONIZING")
		}),
	}
}

// onlyDataReplica says whether the engine's configuration of the group has no other replica with data than this one.
func (k *Keeper) onlyDataReplica(ctx context.Context, seen ballot.Observation) (bool, error) {
	if k.data > 0 || seen.Mode == ballot.ModeConfigurationOnly {
		return false, nil
	}
	if _, err := k.inspect(ctx); err != nil {
		return false, fmt.Errorf("looking at the replicas of group %s on %s: %w", k.group, k.self.Server, err)
	}
	return k.data == 0, nil
}

// restartEndpoints restarts the endpoint here, and has the holder's agent restart its own.
func (k *Keeper) restartEndpoints(ctx context.Context, s rejoinStep, leading votes.Record) error {
	if s.restart {
		if err := k.engine.RestartEndpoint(ctx, k.group); err != nil {
			return fmt.Errorf("restarting the endpoint of %s: %w", k.self.Server, err)
		}
	}
	if s.restartHolder {
		// Whoever fences this replica waits for it meanwhile.
		ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout+k.timings.AgentRestart)
		defer cancel()
		if err := k.peers.Reconnect(ctx, leading.Holder.Server, k.group); err != nil {
			return fmt.Errorf("having the endpoint of %s restarted: %w", leading.Holder.Server, err)
		}
	}
	return nil
}

// restarts is when this run's primary began to serve its term, and when its endpoint was last restarted.
type restarts struct {
	term          int64
	held, restart time.Duration
	// restarts of this term.
	restarts int
}

// watch notes since when the term is held.
func (e *restarts) watch(now time.Duration, term int64, state votes.State) {
	if state == votes.StateHeld && e.term != term {
		e.term, e.held, e.restarts = term, now, 0
	}
}

// RestartEndpoint restarts the endpoint of a primary for another replica, whose connections do not come about. It
// breaks those of all replicas for a moment: a new primary refuses, and nothing is done again for a while, nor more
// than twice in a term where the primary feeds another synchronized secondary.
func (k *Keeper) RestartEndpoint(ctx context.Context, feeds bool) error {
	now := k.clock.Now()
	if k.term == 0 || k.state != votes.StateHeld || k.endpoint.term != k.term {
		return fmt.Errorf("%s does not hold group %s: its endpoint is not restarted for others", k.self.Server, k.group)
	}
	// The engine knows of the other groups that the endpoint carries.
	may, err := endpoint.Facts{Server: k.self.Server, Group: k.group, Primary: true, Held: now - k.endpoint.held,
		Feeds: feeds, Spared: endpoint.Spared, Made: k.endpoint.restarts, Ago: now - k.endpoint.restart}.May()
	if !may {
		return err
	}
	// The next renewal of the lease waits for it: no longer than for an agent that is started again. The engine goes on
	// with it when that time is over.
	ctx, cancel := context.WithTimeout(ctx, k.timings.AgentRestart)
	defer cancel()
	if err := k.engine.RestartEndpoint(ctx, k.group); err != nil {
		return err
	}
	k.endpoint.restart = now
	k.endpoint.restarts++
	return nil
}
