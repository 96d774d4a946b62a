// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What a holder does that may serve no more: it lets its lease run out, takes the group OFFLINE, ends the engine.

// engineSilent notes an engine that did not answer, and kills it when it has not for D(1-e)-K.
func (k *Keeper) engineSilent(start time.Duration, err error) Outcome {
	if !errors.Is(err, context.DeadlineExceeded) {
		return Outcome{Err: err}
	}
	if k.unanswered == 0 {
		k.unanswered = start
	}
	if k.clock.Now() < k.unanswered+k.timings.holderBound()-k.timings.Kill {
		return Outcome{Err: err}
	}
	k.unanswered = 0
	return Outcome{Action: engineKilled, Err: errors.Join(err, k.engine.Kill())}
}

// withoutMajority lets the lease run out, takes the group OFFLINE when it must have, and kills the engine when that is
// still unanswered before the votes expire. A claim that came to nothing yet is just given up. An engine that does not
// answer gets its OFFLINE earlier when the next step may come to it too late: a step can take two API time-outs.
func (k *Keeper) withoutMajority(ctx context.Context, seen Observation, seenErr error, granted Tally) Outcome {
	short := fmt.Errorf("group %s: renewing: %s", k.group, granted)
	leading, known := k.ballot.Leading()
	taken := known && (k.ballot.HighestTerm() > k.term || !leading.Holder.SameRun(k.self))
	by := k.renewed + k.timings.holderBound() - k.timings.Kill
	over := taken || k.clock.Now() >= k.renewed+k.timings.Acknowledge+k.timings.WriteLease ||
		errors.Is(seenErr, context.DeadlineExceeded) && k.clock.Now() >= by-2*k.timings.APITimeout-k.timings.Kill
	if k.state == StateClaimed && !k.claim.issued && seen.Role != RolePrimary {
		if over {
			k.forgo()
		}
		return Outcome{Action: "claim not renewed", Err: short}
	}
	if !over {
		return Outcome{Action: "lease not renewed", Err: short}
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

// What revoke has come to when nobody is served any more.
const (
	takenOffline = "taken offline"
	engineKilled = "engine killed"
)
