// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// visitAgain is how many renewals lie between two looks at sites that are to vote and did not all answer.
const visitAgain = 5

// SetVoters says which sites are to vote, nil for those that do. Only the holder acts on it.
func (k *Keeper) SetVoters(sites []string) { k.ordered = sites }

// changeVoters takes one step towards the ordered voters, after a round of votes that was carried: it makes the next
// configuration, and the next round is one in it. The order is what safety rests on (model/voters.pml):
//
//   - a configuration that needs majorities of both sets comes between two sets;
//   - the new set is relied on alone once a round was carried in that one, under a stamp of this very term: every
//     majority of the old set then has a vote that tells of it, for as long as there is that set;
//   - this run has its vote at all that are new before the first configuration that needs them: its successor can wait
//     for that one to expire, and cannot claim a vote that was never anybody's. Where a vote is from before, this run
//     must be able to replace it, and what that tells of voters is not believed;
//   - what is made is remembered first: an agent that is restarted in the same term must not make another of the same
//     stamp.
//
// A change that has begun is finished, by whoever holds the term, whatever is ordered meanwhile.
func (k *Keeper) changeVoters(ctx context.Context) Outcome {
	remembered, err := k.remembered()
	if err != nil {
		return Outcome{Err: fmt.Errorf("changing the voters of group %s: %w", k.group, err)}
	}
	// What was not surely saved may be on disk, and then counts.
	k.recallVoters(remembered)
	c := k.ballot.Configuration()
	next := votes.Configuration{Term: k.term, Number: 1}
	if c.Term == k.term {
		next.Number = c.Number + 1
	}
	action, waited := "", k.waiting
	k.waiting = ""
	switch {
	case !k.carried.Same(c):
		return Outcome{}
	case c.Changing() && c.Term != k.term:
		next.Voters, next.Next = c.Voters, c.Next
		action = "going on with the change of voters"
	case c.Changing():
		next.Voters = c.Next
		action = "voters changed"
	case len(k.ordered) == 0 || votes.SameSites(k.ordered, c.Voters):
		return Outcome{}
	default:
		if k.waiting = k.awaitVoters(ctx, c, waited); k.waiting != "" {
			return Outcome{}
		}
		next.Voters, next.Next = c.Voters, k.ordered
		action = "voters are changing"
	}
	remembered.Voters, remembered.VotersBy = &next, k.self.String()
	if err := k.remember(remembered); err != nil {
		return Outcome{Err: fmt.Errorf("changing the voters of group %s: %w", k.group, err)}
	}
	k.ballot.Adopt(next)
	return Outcome{Action: fmt.Sprintf("%s: %s", action, next), Soon: soon}
}

// recallVoters takes the configuration that this very run made in the term that it holds: it may be in no vote yet. One
// of another term is in the votes, or nobody relied on it.
func (k *Keeper) recallVoters(r Remembered) {
	if r.Voters != nil && r.Voters.Term == k.term && r.VotersBy == k.self.String() {
		k.ballot.Adopt(*r.Voters)
	}
}

// forgetVoters forgets the configuration that was made for a group that is not on this engine any more, unless this run
// leads still: another group of that name begins with voters of its own, and its terms may meet those of the former
// one.
func (k *Keeper) forgetVoters(r Remembered, leading votes.Record, seen ballot.Observation) (Remembered, error) {
	if r.Voters == nil || seen.Exists || leading.Holder.SameRun(k.self) {
		return r, nil
	}
	r.Voters, r.VotersBy = nil, ""
	return r, k.remember(r)
}

// alone says that nobody else can have had a majority since this run's last one: its votes cannot have expired.
func (k *Keeper) alone() bool {
	return k.counted > 0 && k.clock.Now() < k.counted+k.timings.HolderBound()
}

// awaitVoters is what the change to the ordered voters waits for, empty for nothing; waited is what it waited for
// before. All that are new must answer, since a majority of them is needed from the next round on.
func (k *Keeper) awaitVoters(ctx context.Context, c votes.Configuration, waited string) string {
	var added []string
	for _, site := range k.ordered {
		if !slices.Contains(c.Voters, site) {
			added = append(added, site)
		}
	}
	now := k.clock.Now()
	if waited != "" && now < k.visited+visitAgain*k.timings.Renew {
		return waited
	}
	k.visited = now
	own := k.leadingOf()
	own.Holder.Nonce = k.nonce()
	if without := k.ballot.Visit(ctx, added, k.timings.APITimeout, own, k.alone); len(without) > 0 {
		return fmt.Sprintf("these sites are to vote, and this server has no vote there yet: %s", strings.Join(without, "; "))
	}
	if !k.ballot.Answering(k.ordered) {
		return fmt.Sprintf("too few of %s have answered in the last round", strings.Join(k.ordered, ", "))
	}
	return ""
}

// notesForNewVoters are, while the voters change, all notes that are known: those that have voted so far may soon be
// asked no more.
func (k *Keeper) notesForNewVoters() votes.Notes {
	if !k.ballot.Configuration().Changing() {
		return votes.Notes{}
	}
	told := k.told()
	var n votes.Notes
	if len(told.timelines) > 0 {
		n.Timelines = votes.EncodeNote(told.timelines)
	}
	if told.fork != nil {
		n.Forced = votes.EncodeNote(*told.fork)
	}
	if len(told.apart) > 0 {
		n.Apart = votes.EncodeNote(told.apart)
	}
	if told.paused {
		n.Paused = "true"
		if !told.pausedAt.IsZero() {
			n.PausedAt = told.pausedAt.UTC().Format(time.RFC3339Nano)
		}
	}
	if told.request != nil {
		n.Request = votes.EncodeNote(*told.request)
	}
	if last := told.last(); last.ID != "" {
		n.Answer = votes.EncodeNote(last)
	}
	return n
}
