// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"slices"
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

// Attempts is how often something was tried for a server, and how long ago the last time was.
type Attempts struct {
	Made int
	Ago  time.Duration
}

// attempts remembers what this process has tried for servers in vain.
type attempts struct {
	mu   sync.Mutex
	made map[types.NamespacedName]map[v1alpha1.ServerName]attempt
}

type attempt struct {
	made int
	last time.Time
}

// add counts one more.
func (a *attempts) add(group types.NamespacedName, server v1alpha1.ServerName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made == nil {
		a.made = map[types.NamespacedName]map[v1alpha1.ServerName]attempt{}
	}
	if a.made[group] == nil {
		a.made[group] = map[v1alpha1.ServerName]attempt{}
	}
	a.made[group][server] = attempt{a.made[group][server].made + 1, now}
}

// note returns what was tried for the servers that need it still, and forgets the others.
func (a *attempts) note(
	group types.NamespacedName,
	servers []v1alpha1.ServerName,
	now time.Time,
) map[v1alpha1.ServerName]Attempts {
	a.mu.Lock()
	defer a.mu.Unlock()
	tried := map[v1alpha1.ServerName]Attempts{}
	for s, one := range a.made[group] {
		if slices.Contains(servers, s) {
			tried[s] = Attempts{one.made, now.Sub(one.last)}
		} else {
			delete(a.made[group], s)
		}
	}
	if len(a.made[group]) == 0 {
		delete(a.made, group)
	}
	return tried
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
