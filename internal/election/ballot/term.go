// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/operator/internal/election/votes"
)

// Know takes a term for known that this server has promised or held.
func (b *Ballot) Know(term int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if term <= votes.MaxTerm {
		b.reached = max(b.reached, term)
	}
	b.settleLocked()
}

// Promisable is the highest term that may be promised to whoever asks.
func (b *Ballot) Promisable() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return votes.Promisable(b.reached)
}

// Claimable is the highest term that may be claimed; of a vote that is above it nothing is believed.
func (b *Ballot) Claimable() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return votes.Claimable(b.reached)
}

// Beyond names the sites whose votes tell of terms that are not believed, and those; empty for none. They count as
// absent.
func (b *Ballot) Beyond() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, i := range b.members(b.configuration) {
		if v := b.votes[i]; v.beyond {
			all = append(all, fmt.Sprintf("%s has a vote of term %d", b.voters[i].Name(), v.record.Term))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, and terms up to %d are believed", strings.Join(all, ", "), votes.Claimable(b.reached))
}

// settleLocked takes what is believed of the votes that were read: one may be believed only once others have been read,
// too. What is not believed says neither who votes nor which term is the highest.
func (b *Ballot) settleLocked() {
	for again := true; again; {
		again = false
		b.reached = max(b.reached, b.sharedLocked())
		for i := range b.votes {
			v := &b.votes[i]
			if v.err != nil || v.taken {
				continue
			}
			if v.beyond = !v.record.Believed(b.reached); v.beyond {
				continue
			}
			v.taken, again = true, true
			c := v.record.Configuration()
			b.highest[i], b.newest[i] = v.record.Term, c
			if b.votesLocked(i) {
				b.begun = b.begun || v.record.State == votes.StateHeld
				b.adoptLocked(c)
			}
		}
	}
}

// sharedLocked is the highest term that a majority of the votes, as last known, has reached.
func (b *Ballot) sharedLocked() int64 {
	return b.configuration.Reached(func(site string) (int64, bool) {
		i := b.find(site)
		if i < 0 || b.votes[i].err != nil {
			return 0, false
		}
		return b.votes[i].record.Term, true
	})
}

// ReplaceBeyond gives r the votes that tell of terms that are not believed. Who has a majority without them may: no run
// has made them, since none claims above what others believe. Nothing that stands beside such a vote is believed
// either, but who may claim the first term.
func (b *Ballot) ReplaceBeyond(ctx context.Context, r votes.Record) {
	b.mu.Lock()
	present := map[int]vote{}
	for _, i := range b.members(b.configuration) {
		if v := b.votes[i]; v.beyond && b.highest[i] <= r.Term {
			present[i] = v
		}
	}
	b.mu.Unlock()
	for i, v := range present {
		next := b.configured(r.Over(votes.Record{InitialPrimary: v.record.InitialPrimary}))
		if version, err := b.voters[i].Swap(ctx, v.version, next); err == nil {
			b.remember(i, next, version, nil)
		}
	}
}
