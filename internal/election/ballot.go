// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"sync"
	"time"
)

// vote is one voter's record as last read.
type vote struct {
	record  Record
	version string
	// err is why the record is not known; ErrAbsent when the voter has none.
	err error
	// changed is when this record was first seen as it is, on the reader's clock.
	changed time.Duration
}

func (v vote) known() bool { return v.err == nil }

// Ballot is one group's votes at all its voters.
type Ballot struct {
	voters     []Voter
	clock      Clock
	apiTimeout time.Duration

	mu    sync.Mutex
	votes []vote
	// highest is the highest term seen at each voter: a lower one later (a restored etcd) counts as absent.
	highest []int64
}

// NewBallot makes the ballot of a group with an odd number of voters.
func NewBallot(voters []Voter, clock Clock, apiTimeout time.Duration) *Ballot {
	b := &Ballot{voters: voters, clock: clock, apiTimeout: apiTimeout,
		votes: make([]vote, len(voters)), highest: make([]int64, len(voters))}
	for i := range b.votes {
		b.votes[i].err = errors.New("not read yet")
	}
	return b
}

// Majority is how many votes decide.
func (b *Ballot) Majority() int { return len(b.voters)/2 + 1 }

// each runs one call per voter in parallel, each bounded by the API time-out.
func (b *Ballot) each(ctx context.Context, call func(ctx context.Context, i int, v Voter)) {
	var wg sync.WaitGroup
	for i, v := range b.voters {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, b.apiTimeout)
			defer cancel()
			call(ctx, i, v)
		})
	}
	wg.Wait()
}

// Read reads all votes and returns the leading record and how many voters agree on it. ok is false when fewer than a
// majority answered: then nothing is known.
func (b *Ballot) Read(ctx context.Context) (leading Record, ok bool) {
	b.each(ctx, func(ctx context.Context, i int, v Voter) {
		record, version, err := v.Read(ctx)
		b.remember(i, record, version, err)
	})
	return b.Leading()
}

// remember stores what a voter said. A term below one seen before is a restored etcd: it counts as absent.
func (b *Ballot) remember(i int, r Record, version string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && r.Term < b.highest[i] {
		err = ErrAbsent
	}
	if err != nil {
		b.votes[i].err = err
		return
	}
	b.highest[i] = r.Term
	if b.votes[i].version != version {
		b.votes[i].changed = b.clock.Now()
	}
	b.votes[i].record, b.votes[i].version, b.votes[i].err = r, version, nil
}

// Leading is the record of the highest term among the votes last read; within a term a Held or Claimed one leads a
// Released one. ok is false when fewer than a majority are known.
func (b *Ballot) Leading() (leading Record, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := 0
	for _, v := range b.votes {
		if !v.known() {
			continue
		}
		known++
		if known == 1 || v.record.Term > leading.Term || v.record.Term == leading.Term && leading.State == StateReleased {
			leading = v.record
		}
	}
	return leading, known >= b.Majority()
}

// UnchangedFor is how long a majority of the records has been seen unchanged, on this clock. It is zero when no
// majority is known. A reader that restarted starts counting again.
func (b *Ballot) UnchangedFor() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	var ages []time.Duration
	for _, v := range b.votes {
		if v.known() {
			ages = append(ages, now-v.changed)
		}
	}
	if len(ages) < b.Majority() {
		return 0
	}
	// The majority-th largest age: at least a majority of the records is that old.
	for i := range ages {
		for j := i + 1; j < len(ages); j++ {
			if ages[j] > ages[i] {
				ages[i], ages[j] = ages[j], ages[i]
			}
		}
	}
	return ages[b.Majority()-1]
}

// Cast swaps r in wherever allowed says that the present record may be replaced, and returns how many voters have it.
// A swap whose answer was lost is read again and counts if the voter has r's nonce.
func (b *Ballot) Cast(ctx context.Context, r Record, allowed func(present Record) bool) int {
	var mu sync.Mutex
	granted := 0
	b.each(ctx, func(ctx context.Context, i int, v Voter) {
		if b.castOne(ctx, i, v, r, allowed) {
			mu.Lock()
			granted++
			mu.Unlock()
		}
	})
	return granted
}

func (b *Ballot) castOne(ctx context.Context, i int, v Voter, r Record, allowed func(Record) bool) bool {
	b.mu.Lock()
	present := b.votes[i]
	b.mu.Unlock()
	for attempt := 0; attempt < 2; attempt++ {
		if !present.known() || attempt > 0 {
			record, version, err := v.Read(ctx)
			b.remember(i, record, version, err)
			b.mu.Lock()
			present = b.votes[i]
			b.mu.Unlock()
			if !present.known() {
				return false
			}
			if present.record.Holder == r.Holder && present.record.Term == r.Term && present.record.State == r.State {
				return true
			}
		}
		if !allowed(present.record) {
			return false
		}
		next := r
		next.InitialPrimary, next.Generation = present.record.InitialPrimary, present.record.Generation
		version, err := v.Swap(ctx, present.version, next)
		if err == nil {
			b.remember(i, next, version, nil)
			return true
		}
	}
	return false
}

// Snapshot is each voter's name with its record, or nil where it is not known.
func (b *Ballot) Snapshot() map[string]*Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]*Record, len(b.voters))
	for i, v := range b.voters {
		out[v.Name()] = nil
		if b.votes[i].known() {
			r := b.votes[i].record
			out[v.Name()] = &r
		}
	}
	return out
}
