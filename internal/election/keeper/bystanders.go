// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// What the other replicas are while the engine of a candidate is asked for FAILOVER. Their agents' promises are the
// fence in every case: they follow no older term. What keeps a former primary from having anything acknowledged
// meanwhile is its end, which the claim rests on (its votes were released, or have expired and its lease with them),
// and the majority that the engine itself asks at FAILOVER; OFFLINE is a third reason, where the claim rests on a
// person's word alone. docs/decisions.md has what each order rests on.

// stand is one way in which the other replicas stand by.
type stand struct {
	// role is SECONDARY, also RESOLVING where they are that already, or RESOLVING: all are taken OFFLINE.
	role ballot.Role
	// revive makes those SECONDARY that are RESOLVING.
	revive bool
}

func (s stand) String() string {
	switch {
	case s.revive:
		return "all other replicas SECONDARY"
	case s.role == ballot.RoleSecondary:
		return "the other replicas as they are"
	}
	return "the other replicas OFFLINE"
}

// SetRoleAtFailover sets the role in which the other replicas are to be when this server's engine is asked for
// FAILOVER: SECONDARY, or RESOLVING. Where the engine keeps refusing, the other one is tried in the same term.
func (k *Keeper) SetRoleAtFailover(role ballot.Role) { k.atFailover = role }

// The ways in which the other replicas can stand by, in the order in which they are tried.
var (
	staying   = stand{role: ballot.RoleSecondary}
	following = stand{role: ballot.RoleSecondary, revive: true}
	offline   = stand{role: ballot.RoleResolving}
)

// by is how the other replicas stand by in this claim. A request that goes by a person's word, or that allows data
// loss, has them OFFLINE first.
func (k *Keeper) by() stand {
	if k.claim.by.role == "" {
		k.claim.by = staying
		if k.wantsOffline() || k.atFailover == ballot.RoleResolving {
			k.claim.by = offline
		}
	}
	return k.claim.by
}

// wantsOffline says whether the claim's request goes by a person's word, or allows data loss.
func (k *Keeper) wantsOffline() bool {
	r := k.claim.request
	return r != nil && (r.FencedHolder != "" || r.AllowDataLoss)
}

// heed has the others OFFLINE for a request that came when they were asked already to stand by in another way: they
// report anew, before anything is forced.
func (k *Keeper) heed() {
	if k.wantsOffline() && k.claim.by != offline {
		k.claim.by, k.claim.fenced, k.claim.refusals = offline, false, 0
	}
}

// turn goes on to another way after the engine has refused FAILOVER at least twice, for 2 x Renew, and says whether
// there is one: the others are asked for their reports anew. After the last way comes the one before. Once the engine
// has taken a FAILOVER of this claim there is none: it may be at work.
func (k *Keeper) turn() bool {
	c, now := &k.claim, k.clock.Now()
	if c.refusals++; c.refusals == 1 {
		c.refusedAt = now
	}
	if c.force || c.answered > 0 || c.refusals < 2 || now < c.refusedAt+2*k.timings.Renew {
		return false
	}
	next := offline
	switch by := k.by(); {
	case by != following && k.mayRevive():
		next = following
	case by == offline:
		return false
	}
	c.by, c.fenced, c.refusals = next, false, 0
	return true
}

// mayRevive says whether there are replicas that are RESOLVING and may be SECONDARY. Where a person's word is all that
// says that the former holder is gone they may not: a lease of it may run still.
func (k *Keeper) mayRevive() bool {
	if r := k.claim.request; r != nil && r.FencedHolder != "" {
		return false
	}
	return slices.ContainsFunc(k.claim.reports, func(p ballot.Report) bool {
		return p.Role == ballot.RoleResolving && !strings.EqualFold(p.Server, k.self.Server)
	})
}

// standBeside brings this replica into the role in which a candidate wants it, and returns what is seen of it then. A
// replica that may be PRIMARY, or become it by a FAILOVER that was sent before, is taken OFFLINE whatever that role is.
func (k *Keeper) standBeside(ctx context.Context, r ballot.FenceRequest) (ballot.Observation, error) {
	seen, err := k.engine.Observe(ctx, k.group)
	stays, promise := r.Bystanders == ballot.RoleSecondary, Promise{Term: r.Term, To: r.Candidate.Server}
	switch {
	case err != nil || !seen.Exists:
		return seen, err
	case seen.Role != ballot.RoleSecondary && seen.Role != ballot.RoleResolving:
		return k.offline(ctx)
	case k.inFlight:
		if seen, err = k.offlinePatiently(ctx); err == nil {
			k.wentOffline = promise
		}
		return seen, err
	case stays && seen.Role == ballot.RoleSecondary:
		k.stayed = promise
		return seen, nil
	case !stays && seen.Role == ballot.RoleResolving && k.wentOffline == promise:
		// Whoever asked has not waited for the first report.
		return seen, nil
	case !stays:
		if seen, err = k.offlinePatiently(ctx); err == nil {
			k.wentOffline = promise
		}
		return seen, err
	case !r.Revive:
		return seen, nil
	}
	k.wentOffline = Promise{}
	if err := k.engine.BecomeSecondary(ctx, k.group, k.clock.Wall().Add(ballot.BecomeWithin)); err != nil {
		k.unanswerable(err, ballot.BecomeWithin)
		// It has no primary that it could follow: the engine may refuse, and the replica reports what it is.
		return seen, nil
	}
	k.stayed = promise
	return k.awaitSecondary(ctx, seen)
}

// offlinePatiently takes a replica OFFLINE that is no primary, however soon whoever asked stops waiting: an OFFLINE
// that is given up half-way would have to begin anew each time. A primary must not be waited for so long.
func (k *Keeper) offlinePatiently(ctx context.Context) (ballot.Observation, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.timings.OfflineWithin())
	defer cancel()
	return k.offline(ctx)
}

// awaitSecondary waits for the role that SET (ROLE = SECONDARY) has announced, for a moment.
func (k *Keeper) awaitSecondary(ctx context.Context, before ballot.Observation) (ballot.Observation, error) {
	for until := k.clock.Now() + k.timings.APITimeout; ; {
		seen, err := k.engine.Observe(ctx, k.group)
		if err != nil || seen.Role == ballot.RoleSecondary {
			return seen, err
		}
		if k.clock.Now() >= until || k.clock.Sleep(ctx, resolvingPoll) != nil {
			return before, nil
		}
	}
}

// comeAlong takes a replica OFFLINE that has stayed SECONDARY while another was made primary, once, as Microsoft's
// agent does after a promotion: the next step makes it a secondary of the new primary. One that takes that one's log
// already is left alone. It says whether there was anything to do.
func (k *Keeper) comeAlong(
	ctx context.Context,
	leading votes.Record,
	seen ballot.Observation,
) (out Outcome, done bool) {
	if k.stayed.Term == 0 || leading.State != votes.StateHeld || leading.Term < k.stayed.Term {
		return Outcome{}, false
	}
	if !seen.Exists || seen.Role != ballot.RoleSecondary || strings.EqualFold(leading.Holder.Server, k.self.Server) ||
		follows(seen, leading) && len(seen.Standing) == 0 {
		k.stayed = Promise{}
		return Outcome{}, false
	}
	now, err := k.offlinePatiently(ctx)
	if err != nil && now.Role == ballot.RoleSecondary {
		// It is not RESOLVING for long enough to be seen so: it has begun to follow by itself.
		k.stayed = Promise{}
	}
	if err != nil {
		return Outcome{Action: "following", Err: fmt.Errorf(
			"taking %s OFFLINE to follow %s in group %s: %w", k.self.Server, leading.Holder.Server, k.group, err)}, true
	}
	k.stayed = Promise{}
	return Outcome{Action: "taken offline to follow " + leading.Holder.Server, Soon: soon}, true
}

// unsynchronized goes on after the engine has answered FAILOVER with 41142: it knows what no view tells. Its report
// says so from now on, as long as the configuration is the same, and a replica that may be promoted by the reports is
// let.
func (k *Keeper) unsynchronized(ctx context.Context, refusal error) Outcome {
	own := ballot.ReportOf(k.claim.reports, k.self.Server)
	k.unready, k.unreadyAt = own.Sequence, k.clock.Now()
	reports := slices.Clone(k.claim.reports)
	for i := range reports {
		if strings.EqualFold(reports[i].Server, k.self.Server) {
			reports[i].Refused = true
		}
	}
	why := fmt.Errorf("group %s on %s: %w", k.group, k.self.Server, refusal)
	d := ballot.Decide(k.self.Server, k.eligible(reports))
	chosen := k.claim.request != nil && k.claim.request.To != ""
	next := ballot.ReportOf(reports, d.Best)
	if !k.mayPass() || k.claim.force || chosen || !d.Quorate() || d.Best == "" || d.Best == k.self.Server || next.Refused {
		return k.giveUp(ctx, votes.ReasonNotSynchronized, why)
	}
	out := k.yield(ctx, next)
	out.Err = errors.Join(why, out.Err)
	return out
}

// mayPass says whether a claim may go on to another replica because this one's engine has refused it: not where nobody
// but the last holder may begin by itself, and nobody asked.
func (k *Keeper) mayPass() bool {
	paused, manual := k.forbidden(k.told())
	return k.claim.request != nil || !manual && !paused
}

// forbidden says which claims nobody may make unasked: all, or those of a server that did not hold the last term. With
// fewer than three voters nobody but that one does.
func (k *Keeper) forbidden(told gathered) (paused, manual bool) {
	return k.paused || told.paused, k.manual || len(k.ballot.Configuration().Voters) < 3
}

// refuses says whether the engine has refused FAILOVER with 41142 in a configuration, so lately that it need not be
// asked again: what it lacked may have come to it since without another configuration.
func (k *Keeper) refuses(sequence int64) bool {
	return k.unready != 0 && k.unready == sequence && k.clock.Now() < k.unreadyAt+3*k.timings.Expiry
}

// note keeps what the engine said to a FAILOVER. After 41142 nothing was begun, unless by one before; any other refusal
// leaves open what became of the replica, and of a FAILOVER before, which may be why the engine refuses.
func (c *claim) note(now time.Duration, err error) {
	c.refusal = nil
	switch {
	case errors.Is(err, ErrNotSynchronized):
		c.refusal, c.open, c.issued = err, 0, c.doubtful
		return
	case errors.Is(err, ErrRefused):
		c.refusal = err
	default:
		c.open = cmp.Or(c.open, now)
	}
	c.doubtful = true
}

// overdue says whether a claim has come to nothing. One whose FAILOVER the engine has taken, or not answered, has the
// time that it may take, whatever it says to the next: a replica that was made SECONDARY a moment ago recovers its
// databases first.
func (k *Keeper) overdue(start time.Duration) bool {
	end := k.claim.at + k.timings.Expiry
	if k.claim.open > 0 {
		end = max(end, k.claim.open+k.timings.FailoverWithin())
	}
	return start > end
}
