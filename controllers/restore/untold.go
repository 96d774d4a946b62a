// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"bytes"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/internal/agent/orders"
)

// untoldFor is how long a mark stays at a sidecar of an earlier release that answers and says nothing: one that was
// started a moment ago has not read its orders and does not tell, or it knows nothing of Restores.
const untoldFor = 2 * time.Minute

// untold is since when sidecars have said nothing of Restores whose marks they were told, as they were looked at one
// time after the other. When the Restore came to its end shows nothing: its sidecar may have been gone since then, and
// be back for a moment. It is in memory alone: another manager begins anew.
type untold struct {
	mu  sync.Mutex
	all map[types.UID]*looked
}

// looked is the first and the last of such looks.
type looked struct{ first, last time.Time }

// look notes one, and tells when the first was; never when it says something, or cannot be asked. After a while without
// a look nobody knows what was in between: the next is a first one.
func (u *untold) look(restore types.UID, says bool, now time.Time) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.all, func(one types.UID, l *looked) bool {
		return now.Sub(l.last) >= untoldFor || one == restore && says
	})
	if says {
		return time.Time{}
	}
	if u.all == nil {
		u.all = map[types.UID]*looked{}
	}
	if u.all[restore] == nil {
		u.all[restore] = &looked{first: now}
	}
	u.all[restore].last = now
	return u.all[restore].first
}

// marks says that the sidecar was told the mark by which a Restore ends.
func marks(d Desired, o Observed) bool {
	told, err := o.Order.Get()
	mark, failed := marked(d)
	return err == nil && failed == nil && bytes.Equal(told, mark)
}

// marked is the mark by which a Restore ends.
func marked(d Desired) ([]byte, error) {
	return orders.Restore{Name: d.Restore.Name, UID: string(d.Restore.UID), Withdrawn: true}.Encode()
}
