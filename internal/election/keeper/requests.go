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

// requests is what this run knows of what people ask for.
type requests struct {
	// answer to be written with the next swap, nil for none.
	answer *votes.Answer
	// pause to be written with the next swap: "true", "false" or nothing; pausedAt is when that was asked for.
	pause, pausedAt string
	// eligible is since when this server may claim, and delay how long it lets rivals go first. delayOf is the term for
	// which delay was found before its votes expired, 0 for none.
	eligible, delay time.Duration
	delayOf         int64
	// expected is when the next step comes that needs no reading of the votes, 0 for none.
	expected time.Duration
	// first is when the open request was first seen by this run.
	first time.Duration
	id    string
}

// expect notes when the next step comes by which the votes that were just read need not be read again. Until then they
// must not be out of sight: see outOfSight.
func (q *requests) expect(now, wait time.Duration, t ballot.Timings) {
	if wait <= t.APITimeout {
		q.expected = now + wait
	}
}

// settle keeps an answer for the next swap.
func (q *requests) settle(k *Keeper, r *votes.Request, outcome votes.AnswerOutcome, reason, message string) {
	q.answer = &votes.Answer{
		ID:      r.ID,
		Outcome: outcome,
		Reason:  reason,
		Message: message,
		Term:    k.term,
		By:      k.self.Server,
		At:      k.clock.Wall().UTC(),
		Issued:  r.Issued,
	}
}

// begin remembers durably that this server began with a request: it is carried out once.
func (q *requests) begin(k *Keeper, r *votes.Request) error {
	remembered, err := k.remembered()
	if err != nil {
		return err
	}
	if remembered.Begun != r.ID {
		leading, _ := k.ballot.Leading()
		remembered.Begun, remembered.BegunIn = r.ID, leading.Term
		if err := k.remember(remembered); err != nil {
			return err
		}
	}
	q.settle(k, r, votes.OutcomeAccepted, "", "")
	return nil
}

// failover is the open Failover that this server may carry out, nil for none.
func (q *requests) failover(k *Keeper, told gathered, leading votes.Record) *votes.Request {
	r := told.open()
	if r == nil || r.Kind != votes.RequestFailover || r.To != "" && !strings.EqualFold(r.To, k.self.Server) {
		return nil
	}
	answer, accepted := told.answers[r.ID]
	remembered, err := k.remembered()
	switch {
	case err != nil || q.lapsed(k, r, 0):
		return nil
	case remembered.Begun == r.ID:
		if accepted && !strings.EqualFold(answer.By, k.self.Server) || !q.unfinished(r, told, remembered.BegunIn, leading) {
			return nil
		}
	case accepted || refuseByHolder(r, leading) != nil:
		return nil
	}
	return r
}

// unfinished says of a Failover that this server has begun with that nothing has come of it yet, not even that it has
// failed: a claim was granted by too few, or came to nothing with its agent. It is gone on with, as nobody has been
// primary since the term that led then.
func (q *requests) unfinished(r *votes.Request, told gathered, begunIn int64, leading votes.Record) bool {
	if begunIn == 0 || leading.Term > begunIn && leading.State == votes.StateHeld ||
		q.answer != nil && q.answer.ID == r.ID && q.answer.Final() {
		return false
	}
	return !slices.ContainsFunc(told.timelines, func(t votes.Timeline) bool {
		return t.Term > begunIn && (t.Promoted != nil || t.RequestID == r.ID && t.Outcome != votes.OutcomeAccepted)
	})
}

// adopt makes a claim that was begun without a request the one of a Failover that has come meanwhile.
func (q *requests) adopt(k *Keeper) error {
	if k.claim.request != nil {
		return nil
	}
	r := q.failover(k, k.told(), k.leadingOf())
	if r == nil {
		return nil
	}
	if err := q.begin(k, r); err != nil {
		return err
	}
	k.claim.request = r
	k.chronicle.mark(func(t *votes.Timeline) { t.Cause, t.RequestID, t.Failover = votes.CauseFailover, r.ID, r.Failover })
	return nil
}

// refuseByHolder says what speaks against a Failover by the term and the holder that it names; nil for nothing.
func refuseByHolder(r *votes.Request, leading votes.Record) *refusal {
	switch {
	case r.ExpectedTerm != 0 && r.ExpectedTerm != leading.Term:
		return &refusal{
			votes.ReasonSuperseded,
			fmt.Sprintf("the request expects term %d, the group is in term %d", r.ExpectedTerm, leading.Term),
		}
	case r.FencedHolder != "" && !r.Fences(leading.Holder):
		return &refusal{
			votes.ReasonOtherHolder,
			fmt.Sprintf("the votes name %q, not the holder that is said to be fenced", leading.Holder.String()),
		}
	}
	return nil
}

// age is for how long this run has seen the request.
func (q *requests) age(k *Keeper, r *votes.Request) time.Duration {
	if q.id != r.ID {
		q.id, q.first = r.ID, k.clock.Now()
	}
	return k.clock.Now() - q.first
}

// lapsed says that nobody may begin with a request any more, and that for some time: by the wall clock, which may be
// behind that of whoever asked, and by how long this run has seen it, which no clock that is set makes shorter.
func (q *requests) lapsed(k *Keeper, r *votes.Request, since time.Duration) bool {
	return r.Expired(k.clock.Wall().Add(-since)) || q.age(k, r) > r.Life()+since
}

// expired says of a request that has expired what may be wrong: one that had when it was first seen was written by
// somebody whose clock is behind, or stood where nobody could read it.
func (q *requests) expired(k *Keeper, r *votes.Request, age time.Duration) string {
	if !r.Expired(k.clock.Wall().Add(-age)) {
		return "nobody began with it in time"
	}
	return fmt.Sprintf(
		"it had expired when %s first read it: it says that it was issued at %s, and here it is %s. If nothing was cut "+
			"off meanwhile, see whether the clock is right where it was asked for",
		k.self.Server,
		r.Issued.UTC().Format(time.RFC3339),
		k.clock.Wall().UTC().Format(time.RFC3339),
	)
}

// orphaned says of a request that has expired that nobody whose it is answers: there is no holder, or no server is
// named, or that one is away. Then any server may answer that stands by, for nobody begins any more. Those whose it is
// come first, and their clocks may be behind.
func (k *Keeper) orphaned(r *votes.Request, age time.Duration) bool {
	grace := maxBehind + 3*k.timings.Renew
	return k.term == 0 && age > 3*k.timings.Renew && k.requests.lapsed(k, r, grace)
}

// maxBehind is by how much the clock of a server that could begin with a request may be behind that of one that says
// that nobody has.
const maxBehind = 10 * time.Second

// abandoned is how long an accepted request may go without an end before its outcome is called unknown.
const abandoned = 90 * time.Second

// answerRequests carries out or refuses what is asked for, as far as it is this server's to do.
func (k *Keeper) answerRequests(ctx context.Context, seen ballot.Observation, out Outcome) Outcome {
	told := k.told()
	if len(told.errs) > 0 && out.Err == nil && k.term > 0 {
		out.Err = fmt.Errorf("group %s: %w", k.group, errors.Join(told.errs...))
	}
	r := told.open()
	if r == nil {
		return out
	}
	age := k.requests.age(k, r)
	holds := k.term > 0 && k.state == votes.StateHeld && seen.Role == ballot.RolePrimary
	meant := strings.EqualFold(r.To, k.self.Server)
	answer, accepted := told.answers[r.ID]
	switch {
	case meant && r.Decides() && (!k.requests.lapsed(k, r, 0) || k.begun(r)):
		// What was begun is brought to its end, however long that takes: Refused means that nothing was touched.
		return k.decideFork(ctx, r, seen, told)
	case holds && (k.chronicle.ledBy(r) || meant && accepted && r.Kind == votes.RequestSwitchover &&
		!strings.EqualFold(answer.By, k.self.Server)):
		// The voter with the request may have been silent when this replica became primary. Who accepted a switchover was
		// primary then, and gave that up.
		k.requests.settle(k, r, votes.OutcomeDone, votes.ReasonPromoted, k.self.Server+" is primary")
	case accepted && holds && age > abandoned:
		k.requests.settle(k, r, votes.OutcomeUnknown, answer.Reason, "nobody has said what became of it")
	case accepted:
		return out
	case k.requests.lapsed(k, r, 0):
		if holds || meant || k.orphaned(r, age) {
			k.requests.settle(k, r, votes.OutcomeRefused, votes.ReasonExpired, k.requests.expired(k, r, age))
		}
	case r.Pauses():
		if holds || age > 3*k.timings.Renew {
			k.settlePause(r, told)
		}
	case r.Kind == votes.RequestSwitchover && holds:
		return k.switchOver(ctx, r, seen)
	case r.Kind == votes.RequestSwitchover && meant && age > k.timings.SuspectAfter():
		k.requests.settle(k, r, votes.OutcomeRefused, votes.ReasonNoPrimary, "no primary is there to hand over")
	case r.Kind == votes.RequestFailover && holds:
		k.refuseFailover(r)
	case r.Kind == votes.RequestFailover && meant:
		leading, known := k.ballot.Leading()
		if no := refuseByHolder(r, leading); known && no != nil {
			k.requests.settle(k, r, votes.OutcomeRefused, no.reason, no.message)
		}
	}
	if k.requests.answer != nil && k.term == 0 {
		k.write(ctx)
	} else if k.requests.answer != nil {
		out.Soon = soon
	}
	return out
}

// settlePause pauses or resumes. A Pause stands on the vote where it was asked for, and its answer is gone when a later
// request was answered: what was paused or resumed since is not undone by whoever reads that vote alone.
func (k *Keeper) settlePause(r *votes.Request, told gathered) {
	if r.Issued.Before(told.pausedAt) {
		k.requests.settle(
			k,
			r,
			votes.OutcomeRefused,
			votes.ReasonSuperseded,
			fmt.Sprintf(
				"it says that it was issued at %s, and the group was paused or resumed at %s: ask again if that is what you "+
					"want, and see whether the clock is right where it was asked for",
				r.Issued.UTC().Format(time.RFC3339),
				told.pausedAt.UTC().Format(time.RFC3339),
			),
		)
		return
	}
	k.requests.pause, k.requests.pausedAt = fmt.Sprint(
		r.Kind == votes.RequestPause,
	), r.Issued.UTC().Format(
		time.RFC3339Nano,
	)
	k.requests.settle(k, r, votes.OutcomeDone, string(r.Kind)+"d", "")
}

// write puts the notes that are due on the votes without changing these.
func (k *Keeper) write(ctx context.Context) {
	notes := k.dueNotes()
	if k.ballot.Note(ctx, notes).Carried {
		k.noted(notes)
	}
}

// refuseFailover answers for a holder that lives: its word is that of a majority of the votes.
func (k *Keeper) refuseFailover(r *votes.Request) {
	switch {
	case r.To == "" || !strings.EqualFold(r.To, k.self.Server):
		k.requests.settle(
			k,
			r,
			votes.OutcomeRefused,
			votes.ReasonHolderAlive,
			fmt.Sprintf("%s serves and renews its votes: ask for a switchover", k.self.Server),
		)
	default:
		k.requests.settle(k, r, votes.OutcomeRefused, votes.ReasonAlreadyPrimary, k.self.Server+" is the primary")
	}
}
