// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"geosql.dev/operator/internal/election/votes"
)

// Configuration of voters, the newest that is known.
func (b *Ballot) Configuration() votes.Configuration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.configuration
}

// Adopt takes a configuration if it is newer than the present one.
func (b *Ballot) Adopt(c votes.Configuration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.adoptLocked(c)
}

func (b *Ballot) adoptLocked(c votes.Configuration) {
	if !c.IsZero() && c.Newer(b.configuration) {
		b.configuration = c
	}
}

// members are the indexes of the voters that vote in a configuration and can be asked.
func (b *Ballot) members(c votes.Configuration) []int {
	var members []int
	for _, site := range c.Sites() {
		if i := b.find(site); i >= 0 {
			members = append(members, i)
		}
	}
	return members
}

// votesLocked says whether a voter votes in the present configuration.
func (b *Ballot) votesLocked(i int) bool {
	return slices.Contains(b.configuration.Sites(), b.voters[i].Name())
}

func (b *Ballot) find(site string) int {
	return slices.IndexFunc(b.voters, func(v votes.Voter) bool { return v.Name() == site })
}

// quorum says whether the voters of these indexes decide in a configuration.
func (b *Ballot) quorum(c votes.Configuration, has []int) bool {
	return c.Quorum(func(site string) bool { return slices.Contains(has, b.find(site)) })
}

// Tally is what a round of votes came to.
type Tally struct {
	// Granted is how many voters did.
	Granted int
	// Carried says that those decide. It is false when the round met a configuration newer than the one it began with,
	// however many granted: what was granted before may be another's by now.
	Carried bool
	// Configuration that the round began with. All that granted have it if the round was carried.
	Configuration votes.Configuration
}

// String is "2 of 3 votes, a majority of a, b, c needed", for messages.
func (t Tally) String() string {
	return fmt.Sprintf("%d of %d votes, %s needed", t.Granted, len(t.Configuration.Sites()), t.Configuration)
}

// Visit reads the votes of sites that do not vote, initialises unused Leases with first if it may, and says of each
// other one what keeps a configuration from needing it, in the order of sites. What such a vote tells is
// believed by nobody: it may be what is left of a former group of the name.
func (b *Ballot) Visit(
	ctx context.Context,
	sites []string,
	within time.Duration,
	first votes.Record,
	may func() bool,
) (without []string) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	said := make([]error, len(sites))
	var all sync.WaitGroup
	for n, site := range sites {
		said[n] = errors.New("no way there")
		if i := b.find(site); i >= 0 {
			all.Go(func() { said[n] = b.visit(ctx, i, first, may) })
		}
	}
	all.Wait()
	for n, site := range sites {
		if said[n] != nil {
			without = append(without, fmt.Sprintf("%s (%v)", site, said[n]))
		}
	}
	return without
}

func (b *Ballot) visit(ctx context.Context, i int, first votes.Record, may func() bool) error {
	record, version, err := b.voters[i].Read(ctx)
	if err == nil {
		err = record.InTheWay(first, b.Configuration())
	}
	if err != nil {
		return err
	}
	if record.Unused() && may() {
		next := b.configured(first.Over(record))
		if version, err = b.voters[i].Swap(ctx, version, next); err != nil {
			return err
		}
		record = next
	}
	b.remember(i, record, version, nil)
	return b.vote(i).err
}

// configured is a record with the newest configuration that is known, which a swap never makes an older one.
func (b *Ballot) configured(r votes.Record) votes.Record {
	if c := b.Configuration(); c.Newer(r.Configuration()) || r.Voters == "" {
		r.Voters = c.Encode()
	}
	return r
}

// Answering says whether a majority of sites has a vote that is known.
func (b *Ballot) Answering(sites []string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return votes.Majority(sites, func(site string) bool {
		i := b.find(site)
		return i >= 0 && b.voteLocked(i).known()
	})
}
