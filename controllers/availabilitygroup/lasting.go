// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
)

// lasting remembers since when this process sees something of servers without interruption.
type lasting struct {
	mu    sync.Mutex
	since map[types.NamespacedName]map[v1alpha1.ServerName]time.Time
}

// note returns for how long it has been so of each of the servers of which it is so now. now has a monotonic reading,
// as time.Now gives it: a clock that is set makes nothing last longer. A process that has just begun counts anew.
func (l *lasting) note(
	group types.NamespacedName,
	servers []v1alpha1.ServerName,
	now time.Time,
) map[v1alpha1.ServerName]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, after, lasted := l.since[group], map[v1alpha1.ServerName]time.Time{}, map[v1alpha1.ServerName]time.Duration{}
	for _, s := range servers {
		since, known := before[s]
		if !known {
			since = now
		}
		after[s], lasted[s] = since, now.Sub(since)
	}
	if l.since == nil {
		l.since = map[types.NamespacedName]map[v1alpha1.ServerName]time.Time{}
	}
	if l.since[group] = after; len(after) == 0 {
		delete(l.since, group)
	}
	return lasted
}
