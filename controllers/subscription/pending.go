// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// Counted is a count of what waits for a subscription.
type Counted struct {
	// At is when it was over, Took how long it lasted, also when it came to nothing.
	At   time.Time
	Took time.Duration
	// Commands and the seconds that they may take, nil when they could not be counted in time.
	Commands, Seconds *int64
}

// rest is how many times as long as a count took nobody counts again: the engine reads each command that waits.
const rest = 20

// presentFor is how long a count tells what waits now.
const presentFor = time.Minute

// again is when the next count may begin.
func (c *Counted) again() time.Time { return c.At.Add(rest * c.Took) }

// stands tells that it is too soon to count again.
func (c *Counted) stands(now time.Time) bool { return c != nil && now.Sub(c.At) < rest*c.Took }

// present tells that what was counted is so now.
func (c *Counted) present(now time.Time) bool { return c != nil && now.Sub(c.At) <= presentFor }

// observePending counts what waits for the agent. It is worth a figure in status, and a comparison of tables waits for
// none being left; everything else goes on without it.
func observePending(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if o.AtErr != nil || o.Agent == nil || d.scheduled() {
		return
	}
	if o.Counted = d.Counted; o.Counted.stands(time.Now()) {
		return
	}
	began := time.Now()
	var commands, seconds int64
	err := engines.ReadWithin(ctx, replication.CountTimeout, d.System.Server, d.System.Database,
		func(ctx context.Context, db *mssql.DB) (err error) {
			commands, seconds, err = mssql.ReadPending(ctx, db,
				tsql.PendingCommands(o.At.Original, d.publisherDatabase(), d.subscription()))
			return err
		})
	o.Counted = &Counted{At: time.Now(), Took: time.Since(began)}
	if err == nil {
		o.Pending, o.PendingSeconds = &commands, &seconds
		o.Counted.Commands, o.Counted.Seconds = o.Pending, o.PendingSeconds
	}
}

// counts are the last ones of every subscription. They are in memory alone: another manager counts anew.
type counts struct {
	mu   sync.Mutex
	last map[types.UID]*Counted
}

func (c *counts) of(subscription types.UID) *Counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[subscription]
}

// keep remembers a count. Where nobody counted, as while the distributor does not answer, the one before is kept for
// its rest: the engine is asked no sooner for it. Others go when their rest is over, also those of what is there no
// more.
func (c *counts) keep(subscription types.UID, one *Counted, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.last, func(_ types.UID, last *Counted) bool { return !last.stands(now) })
	if one == nil {
		return
	}
	if c.last == nil {
		c.last = map[types.UID]*Counted{}
	}
	c.last[subscription] = one
}
