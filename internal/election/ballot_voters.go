// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Configuration of voters, the newest that is known.
func (b *Ballot) Configuration() Configuration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.configuration
}

// Adopt takes a configuration if it is newer than the present one.
func (b *Ballot) Adopt(c Configuration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.adoptLocked(c)
}

func (b *Ballot) adoptLocked(c Configuration) {
	if !c.IsZero() && c.Newer(b.configuration) {
		b.configuration = c
	}
}

// members are the indexes of the voters that vote in a configuration and can be asked.
func (b *Ballot) members(c Configuration) []int {
	var members []int
	for _, site := range c.Sites() {
		if i := b.find(site); i >= 0 {
			members = append(members, i)
		}
	}
	return members
}

func (b *Ballot) find(site string) int {
	return slices.IndexFunc(b.voters, func(v Voter) bool { return v.Name() == site })
}

// quorum says whether the voters of these indexes decide in a configuration.
func (b *Ballot) quorum(c Configuration, has []int) bool {
	return c.Quorum(func(site string) bool { return slices.Contains(has, b.find(site)) })
}

// Tally is what a round of votes came to.
type Tally struct {
	// Granted is how many voters did.
	Granted int
	// Carried says that those decide. It is false when the round met a configuration newer than the one it began with, however
	// many granted: what was granted before may be another's by now.
	Carried bool
	// Configuration that the round began with. All that granted have it if the round was carried.
	Configuration Configuration
}

// String is "2 of 3 votes, a majority of a, b, c needed", for messages.
func (t Tally) String() string {
	return fmt.Sprintf("%d of %d votes, %s needed", t.Granted, len(t.Configuration.Sites()), t.Configuration)
}

// Visit reads the votes of sites that need not vote now, has those be first's that were never anybody's, if it may, and says which
// sites have no vote.
func (b *Ballot) Visit(ctx context.Context, sites []string, within time.Duration, first Record, may func() bool) (without []string) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	answered := make([]bool, len(sites))
	var all sync.WaitGroup
	for n, site := range sites {
		if i := b.find(site); i >= 0 {
			all.Go(func() {
				record, version, err := b.voters[i].Read(ctx)
				b.remember(i, record, version, err)
				if err == nil && record.unused() && !slices.Contains(b.Configuration().Sites(), site) && may() {
					next := b.configured(first.over(record))
					if version, err = b.voters[i].Swap(ctx, version, next); err == nil {
						b.remember(i, next, version, nil)
					}
				}
				answered[n] = err == nil && b.vote(i).known()
			})
		}
	}
	all.Wait()
	for n, site := range sites {
		if !answered[n] {
			without = append(without, site)
		}
	}
	return without
}

// configured is a record with the newest configuration that is known, which a swap never makes an older one.
func (b *Ballot) configured(r Record) Record {
	if c := b.Configuration(); c.Newer(r.Configuration()) || r.Voters == "" {
		r.Voters = c.encode()
	}
	return r
}
