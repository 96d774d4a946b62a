// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxCommitPending is how long a configuration commit may wait before the lease is no longer renewed, as Microsoft's
// agent has it (mssql-server-ha).
const maxCommitPending = time.Minute

// maxSkew is how far the clocks of engine and agent, which run on one machine, may differ.
const maxSkew = 500 * time.Millisecond

// Keeper keeps one group's votes and its engine's write lease: the holder's part of the protocol, on one server.
// Its methods are called by one goroutine.
type Keeper struct {
	group   string
	self    Holder
	ballot  *Ballot
	engine  Engine
	clock   Clock
	timings Timings
	nonce   func() string

	// term is the term that this run holds or claims, 0 when it holds none.
	term  int64
	state State
	// renewed is the start of the last round that a majority granted.
	renewed time.Duration
	// unanswered is the start of the first round whose ALTER has had no answer since, 0 when all were answered.
	unanswered time.Duration
	// leaderless is since when no majority could be read while this server held nothing.
	leaderless time.Duration
	// retryAt is when a refused FAILOVER may be tried again.
	retryAt time.Duration
	// paused forbids claims.
	paused bool
}

// SetPaused forbids claims of new terms, or allows them again. What safety asks for is done all the same.
func (k *Keeper) SetPaused(paused bool) { k.paused = paused }

// NewKeeper makes a keeper for one group on one run of one engine; self.Nonce is ignored. nonce returns a fresh
// random string at each call.
func NewKeeper(group string, self Holder, ballot *Ballot, engine Engine, clock Clock, timings Timings, nonce func() string) *Keeper {
	return &Keeper{group: group, self: self, ballot: ballot, engine: engine, clock: clock, timings: timings, nonce: nonce}
}

// Outcome is what one step came to, for logs, metrics and status.
type Outcome struct {
	// Term that this run holds or claims, 0 for none.
	Term int64
	// State of that term.
	State State
	// Role of the local replica, empty when the engine did not answer.
	Role Role
	// Action taken, empty for plain renewal or standing by.
	Action string
	// Err is what went wrong, nil when nothing did.
	Err error
}

// Step does what is due now. It is called every Timings.Renew and returns within about Timings.Acknowledge, unless the
// engine has to be taken OFFLINE.
func (k *Keeper) Step(ctx context.Context) Outcome {
	seen, err := k.observe(ctx)
	var out Outcome
	if k.term > 0 {
		out = k.hold(ctx, seen, err)
	} else {
		out = k.standBy(ctx, seen, err)
	}
	out.Term, out.State = k.term, k.state
	if err == nil && seen.Exists {
		out.Role = seen.Role
	}
	return out
}

func (k *Keeper) observe(ctx context.Context) (Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	seen, err := k.engine.Observe(ctx, k.group)
	if err != nil {
		return seen, fmt.Errorf("observing group %s on %s: %w", k.group, k.self.Server, err)
	}
	return seen, nil
}

// hold renews the votes of this run's term and, with a majority, the engine's lease.
func (k *Keeper) hold(ctx context.Context, seen Observation, seenErr error) Outcome {
	start := k.clock.Now()
	granted := k.cast(ctx, k.term, k.state)
	if granted < k.ballot.Majority() {
		return k.withoutMajority(ctx, granted)
	}
	k.renewed = start
	if seenErr != nil {
		return k.engineSilent(start, seenErr)
	}
	if !seen.Exists {
		return Outcome{}
	}
	switch seen.Role {
	case RolePrimary:
		return k.renewLease(ctx, start, seen)
	case RoleResolving:
		if k.state == StateClaimed {
			return k.failOver(ctx, start)
		}
		// The engine was restarted, or its lease ran out: what it held is over, and only a new term may be served.
		leading, ok := k.ballot.Leading()
		if !ok {
			return Outcome{}
		}
		return k.claim(ctx, leading)
	default:
		return Outcome{Err: fmt.Errorf("server %s holds the votes of group %s but its replica is %s", k.self.Server, k.group, seen.Role)}
	}
}

// cast votes for this run. A present vote may be replaced when it is this run's own of the same term, or of a lower
// term: a majority has the higher one already.
func (k *Keeper) cast(ctx context.Context, term int64, state State) int {
	self := k.self
	self.Nonce = k.nonce()
	return k.ballot.Cast(ctx, Record{Term: term, State: state, Holder: self}, func(present Record) bool {
		return present.Term < term || present.Term == term && present.Holder.SameRun(self)
	})
}

func (k *Keeper) renewLease(ctx context.Context, start time.Duration, seen Observation) Outcome {
	if seen.CommitPending > maxCommitPending {
		return Outcome{Action: "lease not renewed", Err: fmt.Errorf("a configuration commit of group %s has been pending for %s", k.group, seen.CommitPending)}
	}
	if seen.Skew > maxSkew || seen.Skew < -maxSkew {
		return Outcome{Action: "lease not renewed", Err: fmt.Errorf("the clocks of engine and agent on %s differ by %s", k.self.Server, seen.Skew)}
	}
	if err := k.alter(ctx, start, func(ctx context.Context, notAfter time.Duration) error {
		return k.engine.RenewLease(ctx, k.group, k.timings.WriteLease, notAfter)
	}); err != nil {
		return k.engineSilent(start, fmt.Errorf("renewing the write lease of group %s on %s: %w", k.group, k.self.Server, err))
	}
	if k.state == StateClaimed {
		k.state = StateHeld
		return Outcome{Action: "became holder"}
	}
	return Outcome{}
}

// failOver makes this server primary in the term that it claimed; the votes were renewed in this round.
func (k *Keeper) failOver(ctx context.Context, start time.Duration) Outcome {
	err := k.alter(ctx, start, func(ctx context.Context, notAfter time.Duration) error {
		return k.engine.Failover(ctx, k.group, k.timings.WriteLease, notAfter)
	})
	switch {
	case errors.Is(err, ErrNotSynchronized):
		k.cast(ctx, k.term, StateReleased)
		k.term, k.state = 0, ""
		k.retryAt = k.clock.Now() + k.timings.Expiry
		return Outcome{Action: "claim released", Err: fmt.Errorf("group %s on %s: %w", k.group, k.self.Server, err)}
	case err != nil:
		return k.engineSilent(start, fmt.Errorf("failing group %s over to %s: %w", k.group, k.self.Server, err))
	}
	return Outcome{Action: "failover issued"}
}

// alter runs a statement that must be acknowledged within Acknowledge of the round's start.
func (k *Keeper) alter(ctx context.Context, start time.Duration, statement func(ctx context.Context, notAfter time.Duration) error) error {
	left := start + k.timings.Acknowledge - k.clock.Now()
	if left <= 0 {
		return errors.New("the votes took too long: nothing was sent to the engine")
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err := statement(ctx, left)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		k.unanswered = 0
	}
	return err
}

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
	return Outcome{Action: "engine killed", Err: errors.Join(err, k.engine.Kill())}
}

// withoutMajority lets the lease run out, takes the group OFFLINE when it must have, and kills the engine when that is
// still unanswered before the votes expire.
func (k *Keeper) withoutMajority(ctx context.Context, granted int) Outcome {
	short := fmt.Errorf("group %s: %d of %d votes renewed, %d needed", k.group, granted, len(k.ballot.voters), k.ballot.Majority())
	leading, known := k.ballot.Leading()
	taken := known && leading.Term > k.term
	if !taken && k.clock.Now() < k.renewed+k.timings.Acknowledge+k.timings.WriteLease {
		return Outcome{Action: "lease not renewed", Err: short}
	}
	out := k.revoke(ctx, k.renewed+k.timings.holderBound()-k.timings.Kill, short)
	k.term, k.state = 0, ""
	return out
}

// revoke takes the group OFFLINE, and kills the engine when that has no answer by the given time.
func (k *Keeper) revoke(ctx context.Context, by time.Duration, why error) Outcome {
	left := max(by-k.clock.Now(), k.timings.Kill)
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err := k.engine.Offline(ctx, k.group)
	if err == nil {
		return Outcome{Action: "taken offline", Err: why}
	}
	return Outcome{Action: "engine killed", Err: errors.Join(why, fmt.Errorf("OFFLINE on %s: %w", k.self.Server, err), k.engine.Kill())}
}
