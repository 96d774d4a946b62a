// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/endpoint"
	"geosql.dev/operator/internal/election/votes"
)

// maxCommitPending is how long a configuration commit may wait before the lease is no longer renewed, as Microsoft's
// agent has it (mssql-server-ha).
const maxCommitPending = time.Minute

// maxSkew is how far the clocks of engine and agent, which run on one machine, may differ.
const maxSkew = 500 * time.Millisecond

// Options of a Keeper; all are needed.
type Options struct {
	// Group by name.
	Group string
	// Self is the server and its engine's run; Nonce is ignored.
	Self    votes.Holder
	Ballot  *ballot.Ballot
	Engine  Engine
	Peers   Peers
	Memory  Memory
	Clock   ballot.Clock
	Timings ballot.Timings
	// Nonce returns a fresh random string at each call.
	Nonce func() string
	// Random returns a number in [0,1) at each call: rivals must not move in step.
	Random func() float64
	// Former is what another keeper of this run left.
	Former Handover
}

// Keeper is one server's part in one group's election, for one run of its engine. Its methods are called by one
// goroutine at a time.
type Keeper struct {
	group   string
	self    votes.Holder
	ballot  *ballot.Ballot
	engine  Engine
	peers   Peers
	memory  Memory
	clock   ballot.Clock
	timings ballot.Timings
	nonce   func() string
	random  func() float64

	// term is the term that this run holds or claims, 0 when it holds none.
	term  int64
	state votes.State
	// agreed says that a majority has had this run's vote in this term: only then may lower ones be replaced unasked.
	agreed bool
	// renewed is the start of the last round that a majority granted, or when this run went on with a term without one:
	// the votes had been read then, and the engine is given no lease for it.
	renewed time.Duration
	// counted is the start of the last round of this run that a majority granted, 0 when there was none in its term.
	counted time.Duration
	// unanswered is the start of the first round since which the engine has acknowledged no lease, whether it was silent,
	// refused, or could not be asked for one; 0 when the last round's was acknowledged.
	unanswered time.Duration
	// inherited is from when the votes count that another keeper of this run held, or when they were found, until the
	// engine has answered this one.
	inherited time.Duration
	// outstanding is until when a statement without an answer may yet be begun by the engine.
	outstanding time.Duration
	// leaderless is since when no majority could be read while this server held nothing.
	leaderless time.Duration
	// retryAt is when this server may claim again after it failed, failures how often it has in a row.
	retryAt  time.Duration
	failures int
	// paused forbids claims that nobody asked for; manual those of a server that did not hold the last term.
	paused, manual bool
	// atFailover is the role of the other replicas at FAILOVER, SECONDARY unless it is RESOLVING.
	atFailover ballot.Role
	// stayed is the promise for which this replica has stayed SECONDARY, until it was seen what came of it.
	stayed Promise
	// wentOffline is the promise for which this replica was taken OFFLINE last.
	wentOffline Promise
	// unready is the configuration in which the engine has refused FAILOVER with 41142, 0 for none, at unreadyAt.
	unready   int64
	unreadyAt time.Duration
	// inFlight says that a FAILOVER of a claim that was given up may make this replica PRIMARY yet: it is taken OFFLINE
	// before it stands beside another candidate.
	inFlight bool
	// heldSince is when this run became holder, 0 where it found itself as one.
	heldSince time.Duration
	// witnessed says that this keeper has read votes that were no claim of its run: one that it reads later was made
	// within its life.
	witnessed bool
	// ending says that the manager is about to drop the group, or has; dropped that the group was gone then, and has not
	// been seen since.
	ending, dropped bool

	// outbid is the highest term because of which anybody refused to be fenced.
	outbid int64
	// forged is the last request to be fenced when its term, forgedTerm, was not believed; empty for none.
	forged     string
	forgedTerm int64
	// announce says that the partners are to be woken once the votes say that this run is primary; voted is what the last
	// round said that a majority granted.
	announce bool
	voted    votes.State
	// metAt is the newest term in which a look at the holder's votes has come before a renewal.
	metAt int64
	// carried is the configuration of voters that the last round of this run was carried in; ordered are the sites that
	// are to vote, nil for those that do, and waiting says what keeps them from it.
	carried votes.Configuration
	ordered []string
	waiting string
	// visited is when the sites that are to vote were last looked at.
	visited time.Duration
	// partners are the servers of the group's other replicas as last seen, for Wake; data is how many of them hold data.
	partners []string
	data     int

	claim     claim
	chronicle chronicle
	rejoin    rejoin
	endpoint  restarts
	requests  requests
	recalled  *Remembered
	// heard is what was last made of the notes heardOf.
	heard   *gathered
	heardOf []votes.Notes
}

// New makes a keeper.
func New(o Options) *Keeper {
	o.Self.Nonce = ""
	return &Keeper{group: o.Group, self: o.Self, ballot: o.Ballot, engine: o.Engine, peers: o.Peers, memory: o.Memory,
		clock: o.Clock, timings: o.Timings, nonce: o.Nonce, random: o.Random,
		outstanding: o.Former.Outstanding, inFlight: o.Former.InFlight,
		unanswered: o.Former.Unanswered, inherited: o.Former.Held}
}

// Step does what is due now. It is called every Timings.Renew and returns within about Timings.Acknowledge, unless the
// engine has to be taken OFFLINE or an election is under way.
func (k *Keeper) Step(ctx context.Context) Outcome {
	seen, err := k.observe(ctx)
	if err == nil && seen.Exists {
		k.ballot.Begun()
	}
	var out Outcome
	if k.term > 0 {
		out = k.hold(ctx, seen, err)
	} else {
		out = k.standBy(ctx, seen, err)
	}
	if err == nil && out.Soon == 0 {
		out = k.answerRequests(ctx, seen, out)
		out.Look = k.nextLook()
	}
	k.endpoint.watch(k.clock.Now(), k.term, k.state)
	out.Term, out.State = k.term, k.state
	if err == nil && seen.Exists && out.Role == "" {
		out.Role = seen.Role
	}
	out.Quarantined = k.rejoin.quarantined
	out.Waiting = k.waiting
	out.Beyond = k.beyond()
	return out
}

func (k *Keeper) observe(ctx context.Context) (ballot.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	seen, err := k.engine.Observe(ctx, k.group)
	if err != nil {
		return seen, fmt.Errorf("observing group %s on %s: %w", k.group, k.self.Server, err)
	}
	return seen, nil
}

const (
	// lookAhead is by how much sooner than Renew after a look that found new votes the next one comes. So it moves towards
	// the moment of the holder's renewals, until it comes before one; then the next comes lookAgain after it.
	lookAhead = 30 * time.Millisecond
	lookAgain = 50 * time.Millisecond
	// strides is how many looks of a term that is new to this server cover a whole Renew: until one of them has come
	// before a renewal they move by so much more than lookAhead.
	strides = 4
)

// nextLook is when a server that stands by looks at the votes again, from the beginning of its step, 0 for after Renew.
// A vote ages from when it was first seen: looks that come up to Renew after each renewal would let the votes of a lost
// holder expire that much later. Rounds that wait for a silent voter keep their own time.
func (k *Keeper) nextLook() time.Duration {
	leading, ok := k.ballot.Leading()
	if k.term > 0 || !ok || leading.State != votes.StateHeld || !k.ballot.AllHeard() {
		return 0
	}
	switch age := k.ballot.UnchangedFor(); {
	case age < k.timings.Renew/2 && k.metAt != leading.Term:
		return k.timings.Renew - max(k.timings.Renew/strides, lookAhead)
	case age < k.timings.Renew/2:
		return k.timings.Renew - lookAhead
	case age < k.timings.Renew*3/2:
		k.metAt = leading.Term
		return lookAgain
	}
	return 0
}

// hold renews the votes of this run's term and, with a majority, the engine's lease.
func (k *Keeper) hold(ctx context.Context, seen ballot.Observation, seenErr error) Outcome {
	if k.justClaimed(k.clock.Now()) && seenErr == nil && seen.Exists && seen.Role != ballot.RolePrimary {
		return k.promote(ctx, k.renewed)
	}
	if k.droppedAsOrdered(seen, seenErr) {
		return k.afterDrop(ctx)
	}
	pace, state := ballot.Patient, k.state
	if k.state == votes.StateClaimed {
		pace = ballot.Quick
		if seenErr == nil && seen.Exists && seen.Role == ballot.RolePrimary && k.claim.issued {
			// FAILOVER has done what it was to do: the votes may say so at once, and the listener follow them.
			state = votes.StateHeld
			k.chronicle.primary(k)
		}
	}
	if seenErr == nil && !k.mayServe(seen) {
		k.unanswered = 0
	}
	k.claim.gone = seenErr == nil && !seen.Exists || seenErr != nil && k.claim.gone
	outgrew := k.outgrow(seen)
	granted, start := k.round(ctx, pace, state)
	if !granted.Carried {
		return k.withoutMajority(ctx, seen, seenErr, granted)
	}
	if seenErr != nil {
		return k.unleased(ctx, start, "", seenErr)
	}
	if !seen.Exists {
		if k.state == votes.StateHeld || k.claim.served {
			return k.unleased(
				ctx,
				start,
				"",
				fmt.Errorf("group %s was served by %s and is not there any more", k.group, k.self.Server),
			)
		}
		// A claim ages from when there is a group: the manager makes it after the first term was claimed, in its own time.
		k.claim.at = start
		if k.state == votes.StateClaimed && k.ballot.Outdone(k.term, k.self) {
			return k.claimNext(ctx, k.leadingOf(), votes.CauseRestart, nil)
		}
		return Outcome{}
	}
	switch {
	case seen.Role == ballot.RolePrimary:
		out := k.serve(ctx, start, seen)
		if outgrew != "" {
			// The next round takes the other's vote, before that one asks again.
			out.Action, out.Soon = cmp.Or(out.Action, outgrew), soon
		}
		return out
	case k.state == votes.StateClaimed:
		return k.promote(ctx, start)
	case seen.Role == ballot.RoleResolving:
		// The engine was restarted, or its lease ran out: what it held is over, and only a new term may be served.
		if k.paused || k.told().paused {
			// Votes that are renewed for a replica that serves nobody would keep a person's request from being carried out.
			k.release(ctx)
			return Outcome{Action: "released: paused, and the lease has run out"}
		}
		// A claim is the case before: this run has served.
		out := k.claimNext(ctx, k.leadingOf(), votes.CauseRestart, nil)
		k.claim.served = k.state == votes.StateClaimed
		return out
	case seen.Role == ballot.RoleSecondary:
		held := k.term
		k.release(ctx)
		return Outcome{
			Action: "released",
			Err: fmt.Errorf(
				"server %s held term %d of group %s but its replica is %s",
				k.self.Server,
				held,
				k.group,
				seen.Role,
			),
		}
	}
	// It may serve: its lease is not renewed, and nothing is given up before that has run out.
	return k.unleased(
		ctx,
		start,
		"",
		fmt.Errorf("the role of %s in group %s is not known (%q)", k.self.Server, k.group, seen.Role),
	)
}

// mayServe says whether clients may be served by what was seen: by a primary, by a replica whose role is not known, or
// by databases whose group is gone.
func (k *Keeper) mayServe(seen ballot.Observation) bool {
	if !seen.Exists {
		return k.state == votes.StateHeld || k.claim.served
	}
	return seen.Role != ballot.RoleResolving && seen.Role != ballot.RoleSecondary
}

// round asks for the votes of this run's term anew, and returns when it began.
func (k *Keeper) round(
	ctx context.Context,
	pace ballot.Pace,
	state votes.State,
) (granted ballot.Tally, start time.Duration) {
	start = k.clock.Now()
	if granted = k.cast(ctx, pace, k.term, state); granted.Carried {
		k.renewed, k.counted, k.claim.round, k.voted, k.carried = start, start, start, state, granted.Configuration
	}
	return granted, start
}

// justClaimed says whether a majority has granted this run's claim, or was seen to have granted it to this run by
// another's, so lately that fencing needs no other round of votes before it.
func (k *Keeper) justClaimed(now time.Duration) bool {
	return k.state == votes.StateClaimed && k.agreed && !k.claim.fenced && k.renewed == k.claim.at &&
		now < k.renewed+k.timings.APITimeout
}

// leadingOf is the record of the term that this run holds.
func (k *Keeper) leadingOf() votes.Record {
	return votes.Record{Term: k.term, State: k.state, Holder: k.self}
}

// cast votes for this run, with the notes that are due. A present vote may be replaced when it is
//   - outvoted: of a lower term, and a majority has this one;
//   - own: this run's of the same term, unless it was released and this is no release;
//   - left behind: this run's of a lower term that it goes on from, which a claim does not;
//   - claimed in vain: a rival's claim in the very term that this run holds with a majority. Nobody else can have that
//     majority any more, and the rival does not come back for its vote, without which this run would be one lost voter
//     from losing its lease.
func (k *Keeper) cast(ctx context.Context, pace ballot.Pace, term int64, state votes.State) ballot.Tally {
	notes := k.dueNotes()
	self := k.self
	self.Nonce = k.nonce()
	agreed := k.agreed && term == k.term || k.ballot.Agreed(term, self)
	holds := state == votes.StateHeld && k.ballot.Agreed(term, self)
	next := votes.Record{Term: term, State: state, Holder: self, Notes: notes, Fill: k.notesForNewVoters()}
	granted := k.ballot.Cast(ctx, pace, next, func(present votes.Record) bool {
		lower, same, ours := present.Term < term, present.Term == term, present.Holder.SameRun(self)
		released := present.State == votes.StateReleased
		outvoted := agreed && lower
		own := same && ours && (!released || state == votes.StateReleased)
		leftBehind := lower && ours && !released && state != votes.StateClaimed
		claimedInVain := holds && same && present.State == votes.StateClaimed
		return outvoted || own || leftBehind || claimedInVain
	})
	if granted.Carried {
		k.agreed = k.term == term
		k.noted(notes)
	}
	return granted
}

// release says at the voters that this run serves its term no more. The replica must be RESOLVING, or its engine ended.
func (k *Keeper) release(ctx context.Context) ballot.Tally {
	term := k.term
	k.forgo()
	return k.cast(ctx, ballot.Quick, term, votes.StateReleased)
}

// EngineEnded is called instead of Step once this run of the engine is seen to have ended: nobody has to wait for its
// votes to expire then. It tells whether there was anything to release.
func (k *Keeper) EngineEnded(ctx context.Context) (Outcome, bool) {
	if k.term == 0 {
		return Outcome{}, false
	}
	term := k.term
	// The others are woken once a majority knows: more they need not read.
	done := k.ballot.Hurry()
	granted := k.release(ctx)
	done()
	out := Outcome{Action: fmt.Sprintf("released term %d: the engine has ended", term)}
	if granted.Granted == 0 {
		out.Err = fmt.Errorf("group %s: no voter took the release of term %d", k.group, term)
	}
	k.wakePartners(ctx)
	return out, true
}

// serve renews the lease of the primary.
func (k *Keeper) serve(ctx context.Context, start time.Duration, seen ballot.Observation) Outcome {
	if seen.CommitPending > maxCommitPending {
		return k.unleased(
			ctx,
			start,
			leaseNotRenewed,
			fmt.Errorf("a configuration commit of group %s has been pending for %s", k.group, seen.CommitPending),
		)
	}
	if seen.Skew > maxSkew || seen.Skew < -maxSkew {
		return k.unleased(
			ctx,
			start,
			leaseNotRenewed,
			fmt.Errorf("the clocks of engine and agent on %s differ by %s", k.self.Server, seen.Skew),
		)
	}
	err := k.alter(ctx, start, func(ctx context.Context, deadline time.Time) error {
		return k.engine.RenewLease(ctx, k.group, k.timings.WriteLease, deadline)
	})
	if err != nil && !k.longerLeaseIsSafe(err, start) {
		return k.unleased(
			ctx,
			start,
			"",
			fmt.Errorf("renewing the write lease of group %s on %s: %w", k.group, k.self.Server, err),
		)
	}
	k.unanswered = 0
	var out Outcome
	if k.state == votes.StateClaimed {
		k.state = votes.StateHeld
		k.claim, k.failures, k.announce, k.inFlight = claim{}, 0, true, false
		k.heldSince = k.clock.Now()
		k.chronicle.promoted(k)
		out = Outcome{Action: "became holder", Soon: soon}
	}
	if k.voted != votes.StateHeld {
		return out
	}
	var forgot error
	if k.clock.Now()-k.heldSince >= endpoint.Settling {
		// The engine recovers on the same volume until then: what waits for the disk would keep the next renewal waiting.
		forgot = k.landed()
	}
	k.regain(ctx)
	if changed := k.changeVoters(ctx); changed.Action != "" || changed.Err != nil {
		return changed
	}
	k.chronicle.follow(ctx, k)
	out.Err = errors.Join(k.meetPartners(ctx), forgot)
	if k.announce {
		// The votes say Held since this round: the others may follow.
		k.announce = false
		k.wakePartners(ctx)
	}
	return out
}

// longerLeaseIsSafe says whether a renewal was refused because the lease runs for longer already, and that one is over,
// and the engine killed if need be, before the votes of the round expire.
func (k *Keeper) longerLeaseIsSafe(err error, start time.Duration) bool {
	var longer LongerLease
	return errors.As(err, &longer) && longer.Left < k.timings.Expiry &&
		k.clock.Now()+longer.Left+k.timings.Overrun+k.timings.Kill <= start+k.timings.HolderBound()
}

// until is what is left until a moment of the clock, and that moment as a time of day for the engine. The time of day
// is read first: where this process stands still between the two readings, the engine's deadline comes earlier than the
// moment, never later.
func (k *Keeper) until(moment time.Duration) (left time.Duration, deadline time.Time) {
	wall := k.clock.Wall()
	left = moment - k.clock.Now()
	return left, wall.Add(left)
}

var errLateVotes = errors.New("the votes took too long: nothing was sent to the engine")

// alter runs a statement that must be acknowledged within Acknowledge of the round's start.
func (k *Keeper) alter(
	ctx context.Context,
	start time.Duration,
	statement func(ctx context.Context, deadline time.Time) error,
) error {
	left, deadline := k.until(start + k.timings.Acknowledge)
	if left <= 0 {
		return errLateVotes
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	return statement(ctx, deadline)
}

// unanswerable notes a statement that had no answer and may be begun by the engine until within from now.
func (k *Keeper) unanswerable(err error, within time.Duration) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, ErrUnanswered) {
		k.outstanding = max(k.outstanding, k.clock.Now()+within)
	}
}
