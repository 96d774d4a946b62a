// SPDX-License-Identifier: Apache-2.0

// Package electiontest is what tests of ballot and keeper share: a voter in memory, a clock that the test moves, and
// the clock of a bubble. Only tests import it; it knows votes alone, so that tests inside of ballot can use it.
package electiontest

import (
	"context"
	"fmt"
	"time"

	"geosql.dev/operator/internal/election/votes"
)

// Kept is a voter that keeps its vote in memory.
type Kept struct {
	Site    string
	Record  votes.Record
	Version int
	// Absent says that it has no Lease, Silent that it answers nothing until nobody waits any more.
	Absent, Silent bool
}

// Name implements votes.Voter.
func (v *Kept) Name() string { return v.Site }

// Read implements votes.Voter.
func (v *Kept) Read(ctx context.Context) (votes.Record, string, error) {
	if v.Silent {
		<-ctx.Done()
		return votes.Record{}, "", ctx.Err()
	}
	if v.Absent {
		return votes.Record{}, "", votes.ErrAbsent
	}
	return v.Record, fmt.Sprint(v.Version), nil
}

// Swap implements votes.Voter.
func (v *Kept) Swap(_ context.Context, version string, r votes.Record) (string, error) {
	switch {
	case v.Absent:
		return "", votes.ErrAbsent
	case version != fmt.Sprint(v.Version):
		return "", votes.ErrConflict
	}
	v.Record, v.Version = r, v.Version+1
	return fmt.Sprint(v.Version), nil
}

// Moved is a clock that only the test moves, and whoever sleeps.
type Moved struct{ At time.Duration }

// Now implements ballot.Clock.
func (c *Moved) Now() time.Duration { return c.At }

// Sleep implements ballot.Clock: it moves the clock.
func (c *Moved) Sleep(ctx context.Context, d time.Duration) error {
	c.At += d
	return ctx.Err()
}

// Wall implements ballot.Clock.
func (c *Moved) Wall() time.Time { return time.Unix(1_800_000_000, 0).Add(c.At) }

// BubbleClock is the time of a test's bubble (testing/synctest).
type BubbleClock struct{}

// BubbleStart is when every bubble begins.
var BubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Now implements ballot.Clock.
func (BubbleClock) Now() time.Duration { return time.Since(BubbleStart) }

// Wall implements ballot.Clock.
func (BubbleClock) Wall() time.Time { return time.Now() }

// Sleep implements ballot.Clock.
func (BubbleClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
