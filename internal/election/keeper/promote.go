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
	"geosql.dev/operator/internal/election/votes"
)

// failoverTimeout bounds the answer to FAILOVER. The lease that it runs under was granted within Acknowledge; the
// answer itself only tells that the role will change.
const failoverTimeout = 3 * time.Second

// rolePoll is the pause between looks at a role that is changing. roleWait is for how long it is looked at without a
// round of votes in between, which takes longer than most changes of role; it is well below Renew.
const (
	rolePoll = 50 * time.Millisecond
	roleWait = 400 * time.Millisecond
)

// promote carries a claim on: fence, decide, and FAILOVER, with the votes of a round that began so lately that the
// engine can acknowledge its lease within Acknowledge of it.
func (k *Keeper) promote(ctx context.Context, start time.Duration) Outcome {
	if k.overdue(start) {
		reason, why := votes.ReasonNoQuorum, fmt.Errorf(
			"group %s: term %d came to nothing within %s", k.group, k.term, k.clock.Now()-k.claim.at)
		if k.claim.refusal != nil {
			reason, why = votes.ReasonEngineRefused, fmt.Errorf("%w: %w", why, k.claim.refusal)
			if r := k.claim.request; r != nil && r.FencedHolder != "" {
				why = fmt.Errorf("%w: ask again without a word that the former holder is fenced", why)
			}
		}
		return k.giveUp(ctx, reason, why)
	}
	asked := k.claim.request != nil
	if err := k.requests.adopt(k); err != nil {
		return Outcome{Err: err}
	}
	if !asked {
		k.heed()
	}
	if !k.claim.fenced {
		return k.fenceAll(ctx)
	}
	return k.failOver(ctx)
}

// fresh says whether the claim's last round leaves the engine time enough to acknowledge its lease.
func (k *Keeper) fresh() bool {
	return !k.claim.issued && k.clock.Now() < k.claim.round+k.timings.Acknowledge-k.timings.Acknowledge/4
}

// fenceAll gathers promises and reports, and decides by them.
func (k *Keeper) fenceAll(ctx context.Context) Outcome {
	forcing := k.claim.request != nil && k.claim.request.AllowDataLoss
	reports, err := k.gatherReports(ctx, forcing)
	if errors.Is(err, ballot.ErrPromised) {
		// A higher term is about: this one is over.
		return k.giveUp(ctx, votes.ReasonSuperseded, err)
	}
	if err != nil {
		return Outcome{Action: "fencing", Err: err}
	}
	d := ballot.Decide(k.self.Server, k.eligible(reports))
	chosen := k.claim.request != nil && k.claim.request.To != ""
	switch {
	case d.Quorate() && d.Eligible && (d.Best == k.self.Server || chosen):
		return k.decided(ctx, d, reports)
	case d.Quorate() && forcing && chosen:
		k.claim.fenced, k.claim.force = true, true
		k.chronicle.fenced(k)
		k.chronicle.estimate(k, reports)
		return Outcome{Action: "another replica has a newer configuration; data loss is allowed", Soon: soon}
	case d.Quorate() && (d.Best == "" || chosen):
		return k.giveUp(
			ctx,
			votes.ReasonNotSynchronized,
			fmt.Errorf(
				"group %s: %s does not know the newest configuration, it may lack acknowledged writes",
				k.group,
				k.self.Server,
			),
		)
	case d.Quorate() && k.claim.handed && k.claim.request == nil && ballot.ReportOf(reports, k.self.Server).Refused:
		// Agents of this release hand nothing to a replica that was refused; one of an earlier release would have it back
		// at once, without end.
		return k.giveUp(ctx, votes.ReasonNotSynchronized,
			fmt.Errorf("group %s on %s: handed back: %w", k.group, k.self.Server, ErrNotSynchronized))
	case d.Quorate():
		return k.yield(ctx, ballot.ReportOf(reports, d.Best))
	case k.outbid > k.term:
		// What was promised may be a former group's; otherwise this run is refused until its terms have come to that, one
		// after another.
		why := fmt.Sprintf("term %d was promised to another", k.outbid)
		if err := k.takeBack(ctx); err != nil {
			return Outcome{Action: why + ": claim not given up", Soon: k.timings.Renew / 4, Err: err}
		}
		cause, request := k.chronicle.cause(), k.claim.request
		k.chronicle.end(k, votes.OutcomeFailed, why)
		out := k.claimNext(ctx, k.leadingOf(), cause, request)
		out.Action = why + ": " + out.Action
		return out
	case forcing && k.clock.Now() >= k.claim.at+k.timings.Renew:
		if best := ballot.Most(k.self.Server, d, reports); !chosen && best != k.self.Server {
			return k.yield(ctx, ballot.ReportOf(reports, best))
		}
		k.claim.fenced, k.claim.force = true, true
		k.chronicle.fenced(k)
		k.chronicle.estimate(k, reports)
		return Outcome{
			Action: fmt.Sprintf("fenced %d replicas of %d needed; data loss is allowed", d.Reported, d.Needed),
			Soon:   soon,
		}
	}
	return Outcome{
		Action: "waiting for reports", Soon: k.timings.Renew / 4,
		Err: fmt.Errorf(
			"group %s: %d of the %d replicas that are needed have reported in term %d",
			k.group,
			d.Reported,
			d.Needed,
			k.term,
		),
	}
}

// decided goes on when this replica is to be promoted: at once, unless the votes are to be asked anew. Where data loss
// is allowed it is promoted without all the same if the engine takes that, and has cost nothing then.
func (k *Keeper) decided(ctx context.Context, d ballot.Decision, reports []ballot.Report) Outcome {
	k.claim.fenced = true
	k.chronicle.fenced(k)
	fenced := fmt.Sprintf("fenced %d of %d replicas", d.Reported, d.Needed)
	k.claim.reports = reports
	if k.fresh() {
		out := k.failOver(ctx)
		out.Action = fenced + ", " + out.Action
		return out
	}
	return Outcome{Action: fenced, Soon: soon}
}

// eligible are the reports without those of replicas that a forced failover has left behind, unless data loss is
// allowed: neither they nor the configurations that they know count. What this replica's engine has refused before
// counts where the claim may go on to another: nobody else would ask for FAILOVER otherwise.
func (k *Keeper) eligible(reports []ballot.Report) []ballot.Report {
	if !k.mayPass() {
		reports = slices.Clone(reports)
		for i := range reports {
			reports[i].Refused = reports[i].Refused && !strings.EqualFold(reports[i].Server, k.self.Server)
		}
	}
	fork := k.told().fork
	if fork == nil || k.claim.request != nil && k.claim.request.AllowDataLoss {
		return reports
	}
	return slices.DeleteFunc(
		slices.Clone(reports),
		func(r ballot.Report) bool {
			return r.Mode(r.Server) == ballot.ModeSynchronous && !has(fork, r.Server, r.Followed)
		},
	)
}

// yield gives this server's claim to one that has more. A replica that may become PRIMARY is OFFLINE before that.
func (k *Keeper) yield(ctx context.Context, to ballot.Report) Outcome {
	if err := k.takeBack(ctx); err != nil {
		return Outcome{Action: "claim not handed over", Soon: k.timings.Renew / 4, Err: err}
	}
	from, cause, request := k.chronicle.from(k), k.chronicle.cause(), k.claim.request
	k.chronicle.end(k, votes.OutcomeFailed, "handed over to "+to.Server)
	return k.handOver(ctx, to, votes.Timeline{Cause: cause, From: from}, request)
}

// handOver claims the next term for another server's run, which goes on from there. This server has given up its own.
func (k *Keeper) handOver(ctx context.Context, to ballot.Report, t votes.Timeline, request *votes.Request) Outcome {
	term := k.above(k.term)
	t.Term, t.To = term, to.Server
	k.chronicle.begin(k, t, request)
	k.chronicle.claimed(k)
	next := votes.Record{Term: term, State: votes.StateClaimed, Holder: to.Holder, Notes: k.dueNotes()}
	next.Holder.Nonce = k.nonce()
	// Nobody waits for a vote beyond the majority: the other server renews them all.
	done := k.ballot.Hurry()
	granted := k.ballot.Claim(
		ctx,
		next,
		k.timings.SuspectAfter(),
		func(present votes.Record) bool { return present.Holder.SameRun(k.self) },
	)
	done()
	if granted.Carried {
		k.noted(next.Notes)
	}
	k.forgo()
	k.chronicle.forget()
	// Whether or not it was granted, the other one may have to be waited for before this server claims again.
	k.retryAt = k.clock.Now() + 2*k.timings.Renew
	if !granted.Carried {
		return Outcome{
			Action: "hand-over not granted",
			Err:    fmt.Errorf("group %s: handing term %d over to %s: %s", k.group, term, to.Server, granted),
		}
	}
	wake, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	// It looks at the votes by itself within Renew.
	_ = k.peers.Wake(wake, to.Server, k.group)
	return Outcome{Action: fmt.Sprintf("handed term %d over to %s", term, to.Server)}
}

// giveUp releases a claim that cannot succeed now, so that nobody has to wait for it to expire.
func (k *Keeper) giveUp(ctx context.Context, reason string, why error) Outcome {
	// The replica may yet become PRIMARY: it must not, once the votes say Released.
	if err := k.takeBack(ctx); err != nil {
		return Outcome{Action: "claim not released", Soon: k.timings.Renew / 4, Err: errors.Join(why, err)}
	}
	k.chronicle.end(k, votes.OutcomeFailed, why.Error())
	if r := k.claim.request; r != nil {
		k.requests.settle(k, r, votes.OutcomeFailed, reason, why.Error())
	}
	k.release(ctx)
	k.retryAt = k.clock.Now() + k.backoff()
	return Outcome{Action: "claim released", Err: why}
}

// backoff is how long this server leaves the field to others after a claim that failed: longer each time, up to Expiry.
func (k *Keeper) backoff() time.Duration {
	k.failures = min(k.failures+1, 8)
	return min(time.Duration((1+k.random())*float64(k.timings.Renew))<<(k.failures-1), k.timings.Expiry)
}

// awaitPrimary waits for the role that FAILOVER has announced. When it does not come, the next step looks again, with
// fresh votes.
func (k *Keeper) awaitPrimary(ctx context.Context) (seen ballot.Observation, came bool) {
	ctx, cancel := context.WithTimeout(ctx, roleWait)
	defer cancel()
	for until := k.clock.Now() + roleWait; k.clock.Now() < until; {
		seen, err := k.engine.Observe(ctx, k.group)
		if err == nil && seen.Role == ballot.RolePrimary {
			return seen, true
		}
		if err != nil || k.clock.Sleep(ctx, resolvingPoll) != nil {
			break
		}
	}
	return ballot.Observation{}, false
}

// takeBack makes sure that a replica whose FAILOVER was sent, if one was, serves nobody. The votes may expire
// meanwhile: the lease that it was sent with has ended then. It fails as long as the engine may begin with FAILOVER
// after OFFLINE.
func (k *Keeper) takeBack(ctx context.Context) error {
	if !k.claim.issued {
		return nil
	}
	if k.clock.Now() < k.outstanding {
		return fmt.Errorf(
			"taking FAILOVER of group %s on %s back: the engine may begin with it yet", k.group, k.self.Server)
	}
	if _, err := k.offlinePatiently(ctx); err != nil {
		return fmt.Errorf("taking FAILOVER of group %s on %s back: %w", k.group, k.self.Server, err)
	}
	if err := k.landed(); err != nil {
		return fmt.Errorf("forgetting the FAILOVER of group %s on %s: %w", k.group, k.self.Server, err)
	}
	k.claim.issued, k.claim.doubtful = false, false
	return nil
}

// failOver makes this server primary in the term that it claimed, under the claim's last round of votes, and lets the
// votes say so.
func (k *Keeper) failOver(ctx context.Context) Outcome {
	if k.claim.answered > 0 && k.clock.Now() < k.claim.answered+k.timings.Renew {
		return Outcome{Action: "the role is changing", Soon: rolePoll}
	}
	statement, name := k.engine.Failover, "failover"
	if k.claim.force {
		if !k.chronicle.recorded() {
			return Outcome{Action: "the cost of data loss is not on record yet", Soon: soon}
		}
		statement, name = k.engine.Force, "forced failover"
	}
	if left, _ := k.until(k.claim.round + k.timings.Acknowledge); left <= 0 {
		return Outcome{Err: errLateVotes, Soon: soon}
	}
	first, err := k.sending()
	if err != nil {
		return Outcome{Err: err, Soon: k.timings.Renew / 4}
	}
	left, deadline := k.until(k.claim.round + k.timings.Acknowledge)
	if left <= 0 {
		// The disk took the time, and nothing was sent.
		if err = errLateVotes; first && !k.inFlight && !k.claim.issued {
			err = errors.Join(err, k.landed())
		}
		return Outcome{Err: err, Soon: soon}
	}
	bounded, cancel := context.WithTimeout(ctx, failoverTimeout)
	defer cancel()
	k.claim.issued = true
	err = statement(bounded, k.group, k.timings.WriteLease, deadline)
	k.unanswerable(err, left)
	k.claim.note(k.clock.Now(), err)
	if !k.claim.issued {
		err = errors.Join(err, k.landed())
	}
	switch {
	case err == nil:
		k.claim.answered = k.clock.Now()
		seen, came := k.awaitPrimary(ctx)
		if !came {
			return Outcome{Action: name + " issued", Soon: soon}
		}
		out := k.hold(ctx, seen, nil)
		out.Role = seen.Role
		return out
	case errors.Is(err, ErrNotSynchronized) && k.claim.request != nil && k.claim.request.AllowDataLoss && !k.claim.force:
		// What it costs is on record before anything is forced.
		k.claim.force = true
		k.chronicle.estimate(k, k.claim.reports)
		return Outcome{Action: "not synchronized; data loss is allowed", Soon: soon}
	case errors.Is(err, ErrNotSynchronized):
		return k.unsynchronized(ctx, err)
	case errors.Is(err, ErrRefused):
		with := k.by()
		if k.turn() {
			return Outcome{
				Action: fmt.Sprintf("%s refused with %s: now with %s", name, with, k.by()),
				Soon:   soon,
				Err:    fmt.Errorf("failing group %s over to %s: %w", k.group, k.self.Server, err),
			}
		}
	}
	// Refused for now, or not known: the role tells, and the next step tries again.
	return Outcome{
		Action: name + " not answered",
		Soon:   k.timings.Renew / 4,
		Err:    fmt.Errorf("failing group %s over to %s: %w", k.group, k.self.Server, err),
	}
}
