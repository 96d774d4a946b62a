// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"fmt"
	"time"
)

// standBy is a step of a run that holds no term: it resumes what it held, claims what it last held, or follows.
func (k *Keeper) standBy(ctx context.Context, seen Observation, seenErr error) Outcome {
	leading, ok := k.ballot.Read(ctx)
	if seenErr != nil {
		return Outcome{Err: seenErr}
	}
	if !ok {
		return k.leaderlessPrimary(ctx, seen)
	}
	k.leaderless = 0
	primary := seen.Exists && seen.Role == RolePrimary
	switch {
	case leading.Term == 0:
		return k.firstTerm(ctx, leading, seen)
	case leading.Holder.Server != k.self.Server:
		if primary {
			return k.revoke(ctx, 0, fmt.Errorf("group %s: %s is PRIMARY but the votes of term %d are %s's", k.group, k.self.Server, leading.Term, leading.Holder.Server))
		}
		return k.follow(ctx, leading, seen)
	case leading.Holder.SameRun(k.self) && (primary || !seen.Exists) && leading.State != StateReleased:
		// Only the agent was restarted: the engine goes on in the term that it was given.
		k.term, k.state = leading.Term, leading.State
		k.renewed = k.clock.Now()
		return Outcome{Action: "resumed"}
	case primary:
		return k.revoke(ctx, 0, fmt.Errorf("group %s: %s is PRIMARY without votes of its own", k.group, k.self.Server))
	default:
		return k.claim(ctx, leading)
	}
}

// leaderlessPrimary takes a primary OFFLINE that nobody could speak for as long as its lease lasts.
func (k *Keeper) leaderlessPrimary(ctx context.Context, seen Observation) Outcome {
	unknown := fmt.Errorf("group %s: fewer than %d of %d voters answer", k.group, k.ballot.Majority(), len(k.ballot.voters))
	if !seen.Exists || seen.Role != RolePrimary {
		return Outcome{Err: unknown}
	}
	if k.leaderless == 0 {
		k.leaderless = k.clock.Now()
	}
	if k.clock.Now() < k.leaderless+k.timings.WriteLease {
		return Outcome{Err: unknown}
	}
	k.leaderless = 0
	return k.revoke(ctx, 0, unknown)
}

// firstTerm claims term 1 on the server that the group begins on, before the group exists. A group that exists while
// all votes say "never held" has lost its votes: nobody may guess who held them.
func (k *Keeper) firstTerm(ctx context.Context, leading Record, seen Observation) Outcome {
	if leading.InitialPrimary != k.self.Server {
		return Outcome{}
	}
	if seen.Exists {
		err := fmt.Errorf("group %s exists on %s but its votes were lost: a person must say which server holds the newest data", k.group, k.self.Server)
		if seen.Role == RolePrimary {
			return k.revoke(ctx, 0, err)
		}
		return Outcome{Err: err}
	}
	return k.claim(ctx, leading)
}

// claim asks for the next term on the server that held the last one. Evidence that the last holder's engine is over:
// it is this very pod's (whose engine this agent sees RESOLVING, or without the group), or the votes have stayed
// unchanged for D(1+e), in which every lease has run out.
func (k *Keeper) claim(ctx context.Context, leading Record) Outcome {
	now := k.clock.Now()
	if now < k.retryAt {
		return Outcome{}
	}
	if k.paused && leading.Term > 0 {
		return Outcome{Action: "paused: no claim"}
	}
	samePod := leading.Holder.PodUID == k.self.PodUID
	if leading.Term > 0 && !samePod && k.ballot.UnchangedFor() < k.timings.SuspectAfter() {
		return Outcome{Action: "waiting for the votes of the former pod to expire"}
	}
	term := leading.Term + 1
	if granted := k.cast(ctx, term, StateClaimed); granted < k.ballot.Majority() {
		// What was granted may or may not be there: the next step reads it and goes on from it.
		k.term, k.state = 0, ""
		return Outcome{Action: "claim not granted", Err: fmt.Errorf("group %s: %d of %d votes for term %d, %d needed", k.group, granted, len(k.ballot.voters), term, k.ballot.Majority())}
	}
	k.term, k.state, k.renewed = term, StateClaimed, now
	return Outcome{Action: fmt.Sprintf("claimed term %d", term)}
}

// follow makes a RESOLVING or suspended replica a secondary of the primary that holds the votes.
func (k *Keeper) follow(ctx context.Context, leading Record, seen Observation) Outcome {
	if !seen.Exists || leading.State != StateHeld || (seen.Role != RoleResolving && len(seen.Suspended) == 0) {
		return Outcome{}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := k.engine.Follow(ctx, k.group, seen.Suspended); err != nil {
		return Outcome{Action: "following", Err: fmt.Errorf("making %s a secondary of %s in group %s: %w", k.self.Server, leading.Holder.Server, k.group, err)}
	}
	return Outcome{Action: "following"}
}
