// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// What a holder does that may serve no more: it lets its lease run out, takes the group OFFLINE, ends the engine.

// unleased notes that the engine got no lease for a round, and ends what this run has when it has got none for
// D(1-e)-K: nobody may write by then, and votes that are renewed for a server that cannot serve keep everybody else
// from being elected. It makes no difference whether the engine is silent, refuses its agent (a login that failed, a
// certificate that is not trusted, no memory), or has no such group any more: what it serves then it serves outside the
// group, and ending it ends the sessions that write there. One that answers is asked for OFFLINE first. A claim for
// which no FAILOVER was sent is just given up, unless what was served before is seen to have left the group.
func (k *Keeper) unleased(ctx context.Context, start time.Duration, action string, err error) Outcome {
	if k.unanswered == 0 {
		k.unanswered = start
	}
	if k.clock.Now() < k.unanswered+k.timings.HolderBound()-k.timings.Kill {
		return Outcome{Action: action, Err: err}
	}
	k.unanswered = 0
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Outcome{Action: engineKilled, Err: errors.Join(err, k.engine.Kill())}
	case k.state == votes.StateClaimed && !k.claim.issued && !(k.claim.served && k.claim.gone):
		k.forgo()
		return Outcome{Action: "claim given up", Err: err}
	}
	out := k.revoke(ctx, 0, err)
	if out.Action != takenOffline || k.term == 0 {
		return out
	}
	bounded, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	if _, unseen := k.awaitResolving(bounded); unseen != nil {
		// It may serve still: the votes are left to expire.
		k.forgo()
		out.Err = errors.Join(out.Err, unseen)
		return out
	}
	k.release(ctx)
	// Others come first: what has kept this server from giving a lease may last.
	k.retryAt = k.clock.Now() + k.timings.Expiry
	return out
}

// withoutMajority lets the lease run out, takes the group OFFLINE when it must have, and kills the engine when that is
// still unanswered before the votes expire. A claim that came to nothing yet is just given up. An engine that does not
// answer gets its OFFLINE earlier when the next step may come to it too late: a step can take two API time-outs.
func (k *Keeper) withoutMajority(
	ctx context.Context,
	seen ballot.Observation,
	seenErr error,
	granted ballot.Tally,
) Outcome {
	short := fmt.Errorf("group %s: renewing: %s", k.group, granted)
	leading, known := k.ballot.Leading()
	taken := known && (k.ballot.HighestTerm() > k.term || !leading.Holder.SameRun(k.self))
	by := k.renewed + k.timings.HolderBound() - k.timings.Kill
	over := taken || k.clock.Now() >= k.renewed+k.timings.Acknowledge+k.timings.WriteLease ||
		errors.Is(seenErr, context.DeadlineExceeded) && k.clock.Now() >= by-2*k.timings.APITimeout-k.timings.Kill
	if k.state == votes.StateClaimed && !k.claim.issued && seen.Role != ballot.RolePrimary {
		if over {
			k.forgo()
		}
		return Outcome{Action: "claim not renewed", Err: short}
	}
	if !over {
		return Outcome{Action: leaseNotRenewed, Err: short}
	}
	out := k.revoke(ctx, by, short)
	k.forgo()
	return out
}

// revoke takes the group OFFLINE, and kills the engine when that has no answer by the given time.
func (k *Keeper) revoke(ctx context.Context, by time.Duration, why error) Outcome {
	left := max(by-k.clock.Now(), k.timings.Kill)
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err := k.engine.Offline(ctx, k.group)
	if err == nil {
		return Outcome{Action: takenOffline, Err: why}
	}
	action, killed := engineKilled, k.engine.Kill()
	if killed != nil {
		action = "engine not stopped"
	}
	return Outcome{Action: action, Err: errors.Join(why, fmt.Errorf("OFFLINE on %s: %w", k.self.Server, err), killed)}
}

// leaseNotRenewed is what a holder does that may not serve, and may again.
const leaseNotRenewed = "lease not renewed"

// What revoke has come to when nobody is served any more.
const (
	takenOffline = "taken offline"
	engineKilled = "engine killed"
)
