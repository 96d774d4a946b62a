// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"context"
	"slices"
	"time"

	"geosql.dev/operator/internal/election/votes"
)

// Outbid says whether a run has a majority in a term, and a vote of a higher one, or another's of this one, has been
// seen for some time, or was before it was restored.
func (b *Ballot) Outbid(term int64, holder votes.Holder, since time.Duration) bool {
	if !b.Agreed(term, holder) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range b.members(b.configuration) {
		v := b.voteLocked(i)
		above := v.record.Term > term || v.record.Term == term && !v.record.Holder.SameRun(holder)
		if v.known() && above && b.clock.Now()-v.changed >= since || v.restoredAs != "" && b.highest[i] > term {
			return true
		}
	}
	return false
}

// Restored are the voters whose votes count as absent for being older than what was seen there, which was of no higher
// term than this.
func (b *Ballot) Restored(term int64) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(
		b.members(b.configuration),
		func(i int) bool { return b.votes[i].restoredAs == "" || b.highest[i] > term },
	)
}

// ReplaceRestored gives r such a vote. A swap whose answer was lost is read in the next round.
func (b *Ballot) ReplaceRestored(ctx context.Context, i int, r votes.Record) {
	present := b.vote(i)
	next := b.configured(r.Over(present.restored))
	if version, err := b.voters[i].Swap(ctx, present.restoredAs, next); err == nil {
		b.remember(i, next, version, nil)
	}
}
