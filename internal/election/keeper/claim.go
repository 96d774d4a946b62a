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

// claim is what belongs to the term that this run has claimed and does not hold yet.
type claim struct {
	// at is when it was claimed, or gone on with by a run that did not claim it itself. round is the start of the last
	// round of votes of this run that a majority granted: FAILOVER is sent under it. Before there was one it is too long
	// ago for that.
	at, round time.Duration
	// fenced says that enough replicas have promised and reported, and that this one is the best of them.
	fenced bool
	// issued says that FAILOVER was sent: the replica may become PRIMARY; answered is when the engine said that it would.
	issued   bool
	answered time.Duration
	// handed says that it was taken over: another server made it for this one, or an agent before this one.
	handed bool
	// served says that this run served in the term before. A group that is gone before this claim has come to anything
	// has left its databases to the clients of that term; gone says that it was seen to be.
	served, gone bool
	// doubtful says that a FAILOVER may have left the replica in a state that nobody knows; refusal is what the engine
	// said to the last one, nil where it took it or did not answer.
	doubtful bool
	refusal  error
	// open is when a FAILOVER was first accepted, or had no answer, and has had no end since, 0 for none.
	open time.Duration
	// by is how the other replicas stand by, without a role before they were asked; refusals are how often the engine has
	// refused in that way, first at refusedAt.
	by        stand
	refusals  int
	refusedAt time.Duration
	// request that caused it, nil for none.
	request *votes.Request
	// force lets FORCE_FAILOVER_ALLOW_DATA_LOSS be used, once its cost is on record; reports are those that it is
	// estimated by.
	force   bool
	reports []ballot.Report
	// former is the holder of the term before, empty when it is not known, also where another run made the claim; expired
	// says that nobody has released its votes: they had run out, or were this pod's own, or a person's word stood against
	// them. Then its report is not waited for where it is the last one missing and no data loss is allowed, else not by
	// one that may be promoted.
	former  string
	expired bool
}

// standBy is a step of a run that holds no term: it resumes what it held, takes over a claim that was handed to it,
// claims what may be claimed, or follows.
func (k *Keeper) standBy(ctx context.Context, seen ballot.Observation, seenErr error) Outcome {
	leading, ok := k.readVotes(ctx)
	if seenErr != nil {
		// An engine whose group never had a primary serves nobody: it may refuse its agent while the manager makes its
		// logins.
		serves := errors.Is(seenErr, context.DeadlineExceeded) || k.ballot.Served()
		if k.inherited == 0 && ok && leading.Holder.SameRun(k.self) && leading.State != votes.StateReleased && serves {
			// An agent before this one has ended: for how long the engine has not answered, nobody knows.
			k.inherited = k.clock.Now()
		}
		if since := cmp.Or(k.unanswered, k.inherited); since > 0 {
			return k.unleased(ctx, since, "", seenErr)
		}
		return Outcome{Err: seenErr}
	}
	k.inherited = 0
	primary := seen.Exists && seen.Role == ballot.RolePrimary
	if !primary {
		// Nothing is served for which the engine would have to end in time.
		k.unanswered = 0
	}
	if !ok {
		return k.leaderlessPrimary(ctx, seen)
	}
	k.leaderless = 0
	k.witnessed = k.witnessed || !leading.Holder.SameRun(k.self) || leading.State != votes.StateClaimed
	remembered, err := k.remembered()
	if err == nil {
		remembered, err = k.forgetFormer(remembered, leading, seen)
	}
	if err != nil {
		return k.withoutMemory(ctx, seen, err)
	}
	if !leading.Holder.SameRun(k.self) {
		k.unanswered = 0
	}
	bound := remembered.Promise.Term > leading.Term ||
		remembered.Promise.Term == leading.Term && remembered.Promise.To != "" &&
			remembered.Promise.To != leading.Holder.Server
	switch {
	case leading.Term == 0:
		return k.firstTerm(ctx, leading)
	case leading.Holder.SameRun(k.self) && !bound && leading.State == votes.StateClaimed && !primary && seen.Exists &&
		k.ballot.Agreed(leading.Term, k.self):
		return k.takeOver(leading, remembered)
	case leading.Holder.SameRun(k.self) && !bound && leading.State != votes.StateReleased &&
		(primary || !seen.Exists && k.ballot.Agreed(leading.Term, k.self) &&
			(leading.State == votes.StateHeld || !k.ballot.Served())):
		// Only the agent was restarted: the engine goes on in the term that it was given. Before there is a group a claim
		// without a majority is made anew, as for takeOver; once there was one, a claim without it is left to expire.
		k.term, k.state = leading.Term, leading.State
		k.claim = claim{at: k.clock.Now(), fenced: true, issued: true}
		k.renewed = k.clock.Now()
		k.recallVoters(remembered)
		k.chronicle.resume(k)
		return Outcome{Action: "resumed"}
	case primary:
		return k.revoke(
			ctx,
			0,
			fmt.Errorf(
				"group %s: %s is PRIMARY but the votes of term %d are %s's, not of this run",
				k.group,
				k.self.Server,
				leading.Term,
				leading.Holder.Server,
			),
		)
	}
	if seen.Exists {
		// They are greeted, which is good for a quick election but not needed for it.
		_ = k.meetPartners(ctx)
	}
	if out, claimed := k.consider(ctx, leading, seen); claimed || out.Action != "" || out.Err != nil {
		return out
	}
	if out, done := k.comeAlong(ctx, leading, seen); done {
		return out
	}
	return k.rejoin.step(ctx, k, leading, seen)
}

// readVotes reads the votes, unless this is the step in which they were expected to have expired, or rivals to have had
// their time: then what was read just before that is as good, because a claim replaces each vote only in the version in
// which it was seen unchanged, and reading once more would be a round trip in which nobody serves.
func (k *Keeper) readVotes(ctx context.Context) (leading votes.Record, ok bool) {
	late := k.clock.Now() - k.requests.expected
	expected := k.requests.expected > 0 && late >= 0 && late < ballot.QuickGrace
	k.requests.expected = 0
	if expected {
		return k.ballot.Leading()
	}
	return k.ballot.Read(ctx, k.readingPace())
}

// readingPace is Quick where waiting for a voter that has fallen silent would delay a claim: from shortly before the
// votes expire on, and while rivals are let go first.
func (k *Keeper) readingPace() ballot.Pace {
	left := k.timings.SuspectAfter() - k.ballot.UnchangedFor()
	if k.requests.eligible > 0 || left < k.timings.APITimeout && left > -k.timings.APITimeout {
		return ballot.Quick
	}
	return ballot.Patient
}

// withoutMemory keeps a server out of the election whose promises cannot be read.
func (k *Keeper) withoutMemory(ctx context.Context, seen ballot.Observation, err error) Outcome {
	if seen.Exists && seen.Role == ballot.RolePrimary {
		return k.revoke(ctx, 0, err)
	}
	return Outcome{Err: err}
}

// leaderlessPrimary takes a primary OFFLINE that nobody could speak for as long as its lease lasts; at once where a
// group exists whose votes say "never held": it has lost them, and nobody may guess who held them.
func (k *Keeper) leaderlessPrimary(ctx context.Context, seen ballot.Observation) Outcome {
	unknown := fmt.Errorf("group %s: fewer voters answer than %s", k.group, k.ballot.Configuration())
	lost := seen.Exists && k.ballot.NeverUsed()
	if lost {
		unknown = fmt.Errorf(
			"group %s exists on %s but its votes were lost: a person must restore them",
			k.group,
			k.self.Server,
		)
	}
	if !seen.Exists || seen.Role != ballot.RolePrimary {
		return Outcome{Err: unknown}
	}
	if lost {
		return k.revoke(ctx, 0, unknown)
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

// firstTerm claims term 1 on the server that the group begins on, before the group exists: in one that does no vote is
// read that says "never held".
func (k *Keeper) firstTerm(ctx context.Context, leading votes.Record) Outcome {
	if leading.InitialPrimary != k.self.Server {
		return Outcome{}
	}
	return k.claimNext(ctx, leading, votes.CauseInitial, nil)
}

// consider judges whether the next term may be claimed, and claims it. Rivals wait each for a time of its own first,
// and longer if the configuration does not call their replica synchronized.
func (k *Keeper) consider(
	ctx context.Context,
	leading votes.Record,
	seen ballot.Observation,
) (out Outcome, claimed bool) {
	now := k.clock.Now()
	told := k.told()
	paused, manual := k.forbidden(told)
	s := ballot.Standing{
		Self: k.self, Leading: leading, Served: !seen.Exists && k.ballot.Served(), Released: k.ballot.Released(),
		Unchanged: k.ballot.UnchangedFor(), Seen: seen,
		Paused: paused, Manual: manual,
		Behind:  told.fork != nil && !has(told.fork, k.self.Server, k.recalled.Followed),
		Request: k.requests.failover(k, told, leading), Returns: returns(told.timelines, leading, k.self.Server),
	}
	v := ballot.Judge(s, k.timings)
	if !v.Claim {
		k.requests.eligible = 0
		if !s.Released && s.Unchanged < k.timings.SuspectAfter() {
			k.chronicle.trust()
		}
		return Outcome{Action: v.Wait, Soon: k.awaitExpiry(ctx, s, v)}, false
	}
	k.chronicle.suspect(k.clock.Wall())
	if now < k.retryAt {
		return Outcome{}, false
	}
	if k.requests.eligible == 0 {
		k.requests.eligible = now
		if k.requests.delayOf != leading.Term || s.Request != nil {
			k.requests.delay = k.headStart(ctx, leading, s.Request)
		}
		k.requests.delayOf = 0
	}
	if wait := k.requests.eligible + k.requests.delay - now; wait > 0 {
		k.requests.expect(now, wait, k.timings)
		return Outcome{Soon: wait}, true
	}
	k.requests.eligible = 0
	return k.claimNext(ctx, leading, v.Cause, s.Request), true
}

// awaitExpiry is after what time the next step comes when the votes have all but expired, 0 for the usual one: it is to
// come when they have, not at the next renewal after that, and finds out nothing then that can be known before.
func (k *Keeper) awaitExpiry(ctx context.Context, s ballot.Standing, v ballot.Verdict) time.Duration {
	left := k.timings.SuspectAfter() - s.Unchanged
	switch {
	case v.Wait == "" || left <= 0 || left >= 5*k.timings.Renew/4:
		return 0
	case left >= k.timings.Renew:
		// The usual step would come so late that it would read the votes while they expire.
		return left / 2
	}
	k.requests.delay, k.requests.delayOf = k.headStart(ctx, s.Leading, s.Request), s.Leading.Term
	k.requests.expect(k.clock.Now(), left, k.timings)
	return left
}

// has says whether a server has the log of a forced failover.
func has(f *votes.Fork, server string, followed int64) bool {
	return strings.EqualFold(f.Server, server) || followed >= f.Term
}

// headStart is how long this server lets its rivals go first: other synchronous replicas than the holder that is gone.
func (k *Keeper) headStart(ctx context.Context, leading votes.Record, request *votes.Request) time.Duration {
	if request != nil || leading.Holder.Server == k.self.Server {
		return 0
	}
	delay := time.Duration(k.random() * float64(k.timings.Renew) / 4)
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	r, err := k.report(ctx)
	rival := func(p ballot.Replica) bool {
		return p.Mode == ballot.ModeSynchronous && !strings.EqualFold(p.Server, k.self.Server) &&
			!strings.EqualFold(p.Server, leading.Holder.Server)
	}
	switch {
	case err != nil || !r.Ready():
		return delay + 2*k.timings.Renew
	case !slices.ContainsFunc(r.Replicas, rival):
		return 0
	}
	return delay
}

// unserved is the timeline of the leading term when that term never came to serve, nil when it did or nothing is told
// of it.
func unserved(timelines []votes.Timeline, leading votes.Record) *votes.Timeline {
	for i, t := range timelines {
		if t.Term == leading.Term && t.Promoted == nil && leading.State != votes.StateHeld {
			return &timelines[i]
		}
	}
	return nil
}

// served is the server that last served: the leading one, unless its term never came to that.
func served(timelines []votes.Timeline, leading votes.Record) string {
	if t := unserved(timelines, leading); t != nil {
		return t.From
	}
	return leading.Holder.Server
}

// returns says whether this server held the term before the leading one, and the leading one never came to serve: then
// it may take its place again as if it had only been restarted.
func returns(timelines []votes.Timeline, leading votes.Record, self string) bool {
	t := unserved(timelines, leading)
	return t != nil && t.From == self
}

// handedOver is the open switchover to this server for which the holder gave up its term, nil for none. A claim that is
// made where the one that the holder makes for this run is not seen yet, or has no majority, is made for the same.
func (k *Keeper) handedOver(leading votes.Record) *votes.Request {
	told := k.told()
	r := told.open()
	if r == nil || r.Kind != votes.RequestSwitchover || !strings.EqualFold(r.To, k.self.Server) {
		return nil
	}
	_, accepted := told.answers[r.ID]
	if gone := leading.State == votes.StateReleased || leading.State == votes.StateClaimed &&
		leading.Holder.SameRun(k.self); !accepted ||
		!gone {
		return nil
	}
	return r
}

// nextLine begins the timeline of a term that this server claims. Where it claims anew what another server has claimed
// for it, the line is of the same request, which need not have been seen: it is at one voter, and the claim may be at
// another.
func (k *Keeper) nextLine(term int64, cause votes.Cause, leading votes.Record) votes.Timeline {
	timelines := k.told().timelines
	t := votes.Timeline{Term: term, Cause: cause, From: served(timelines, leading), To: k.self.Server}
	if made := unserved(timelines, leading); made != nil && made.RequestID != "" && leading.State == votes.StateClaimed &&
		leading.Holder.SameRun(k.self) {
		t.Cause, t.RequestID, t.Failover = made.Cause, made.RequestID, made.Failover
	}
	return t
}

// claimNext asks for the next term.
func (k *Keeper) claimNext(
	ctx context.Context,
	leading votes.Record,
	cause votes.Cause,
	request *votes.Request,
) Outcome {
	now, served := k.clock.Now(), k.claim.served
	if now < k.retryAt {
		return Outcome{}
	}
	if request == nil {
		request = k.handedOver(leading)
	}
	remembered, err := k.remembered()
	if err != nil {
		return Outcome{Err: err}
	}
	if request != nil {
		if err := k.requests.begin(k, request); err != nil {
			return Outcome{Err: err}
		}
	}
	term := k.above(leading.Term, remembered.Promise.Term, k.outbid)
	if err := k.mayClaim(term, leading.Term, remembered.Promise.Term); err != nil {
		return Outcome{Err: err}
	}
	k.chronicle.begin(k, k.nextLine(term, cause, leading), request)
	expired := !k.ballot.Released()
	if granted := k.ask(ctx, term, leading, request); !granted.Carried {
		// What was granted may or may not be there: the next step reads it and goes on from it.
		k.forgo()
		k.retryAt = now + time.Duration((0.5+k.random())*float64(k.timings.Renew))
		return Outcome{Action: "claim not granted", Err: fmt.Errorf("group %s: claiming term %d: %s", k.group, term, granted)}
	}
	k.term, k.state, k.agreed, k.renewed, k.counted = term, votes.StateClaimed, true, now, now
	k.claim = claim{at: now, round: now, request: request, former: leading.Holder.Server, expired: expired,
		issued: k.inFlight, doubtful: k.inFlight, served: served}
	k.chronicle.claimed(k)
	return Outcome{Action: fmt.Sprintf("claimed term %d", term), Soon: soon}
}

// ask asks for the votes of a new term. Over are, beside votes that are released or stale, those of this run itself,
// those of a former engine of this pod, those of a run that has released its term at any voter, and those of the holder
// that a person says is fenced.
func (k *Keeper) ask(ctx context.Context, term int64, leading votes.Record, request *votes.Request) ballot.Tally {
	notes := k.dueNotes()
	self := k.self
	self.Nonce = k.nonce()
	released := k.ballot.ReleasedRuns()
	granted := k.ballot.Claim(
		ctx,
		votes.Record{Term: term, State: votes.StateClaimed, Holder: self, Notes: notes},
		k.timings.SuspectAfter(),
		func(present votes.Record) bool {
			fenced := request != nil && request.Fences(leading.Holder)
			return present.Term == 0 || present.Holder.Server == self.Server && present.Holder.PodUID == self.PodUID ||
				fenced && present.Holder.SameRun(leading.Holder) ||
				slices.ContainsFunc(
					released,
					func(r votes.Record) bool { return r.Term >= present.Term && r.Holder.SameRun(present.Holder) },
				)
		},
	)
	if granted.Carried {
		k.noted(notes)
	}
	return granted
}

// takeOver goes on with a claim that another server made for this run, or that this run's agent made before it was
// restarted. Everything after the claim is done anew. A majority must have that claim: one without may get no vote
// more, as renewing replaces no other claim's, and is made anew in a term of its own.
func (k *Keeper) takeOver(leading votes.Record, remembered Remembered) Outcome {
	now := k.clock.Now()
	k.term, k.state, k.agreed, k.renewed = leading.Term, votes.StateClaimed, true, now
	// Another one's round, or one of a former life, is none of this clock. What an agent before this one has sent in a
	// claim that is as old nobody knows.
	sent := k.inFlight || !k.witnessed
	k.claim = claim{at: now, round: now - k.timings.Acknowledge, issued: sent, doubtful: sent, handed: true}
	k.recallVoters(remembered)
	k.chronicle.resume(k)
	told := k.told()
	if r := told.request; r != nil && k.chronicle.line != nil && r.ID == k.chronicle.line.RequestID {
		k.claim.request = r
	}
	return Outcome{Action: fmt.Sprintf("took over the claim of term %d", leading.Term), Soon: soon}
}

// forgo ends this run's part in its term without a word to the voters.
func (k *Keeper) forgo() {
	k.inFlight = k.inFlight || k.claim.issued && k.state == votes.StateClaimed
	k.term, k.state, k.agreed, k.counted, k.waiting = 0, "", false, 0, ""
	k.claim = claim{}
}
