// SPDX-License-Identifier: Apache-2.0

// Package confirmed knows up to when the statuses of groups and Sites are so. A status is written when something in it
// has changed, not each time that it was found to be so still: that stands in one Lease per namespace, renewed for all
// groups there, for all Sites in one of the operator's namespace, and in the memory of the manager that looks at them.
package confirmed

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Status says up to when the status of one object is confirmed.
type Status struct {
	// Version is the object's resourceVersion whose status was found to be so. Of any other nothing is said.
	Version string `json:"version"`
	// At is when the group's servers were last asked, or when the site's API server last answered.
	At metav1.Time `json:"at"`
	// Silent are the group's instances that did not answer then: of them nothing is confirmed but that.
	Silent []string `json:"silent,omitempty"`
}

// Of is the group with observedAt of every replica as late as it is confirmed. The group itself is not changed.
func (s Status) Of(group *v1alpha1.AvailabilityGroup) *v1alpha1.AvailabilityGroup {
	if s.Version == "" || s.Version != group.ResourceVersion {
		return group
	}
	return s.answered(group)
}

// answered is the group with observedAt as late as the servers are known to have answered, whatever its status says
// else.
func (s Status) answered(group *v1alpha1.AvailabilityGroup) *v1alpha1.AvailabilityGroup {
	group = group.DeepCopy()
	for i := range group.Status.Replicas {
		r := &group.Status.Replicas[i]
		silent := slices.ContainsFunc(s.Silent, func(name string) bool { return strings.EqualFold(name, r.Server) })
		if r.ObservedAt != nil && !silent && r.ObservedAt.Before(&s.At) {
			r.ObservedAt = s.At.DeepCopy()
		}
	}
	return group
}

// Site is the Site with lastHeartbeat as late as it is confirmed. The Site itself is not changed.
func (s Status) Site(site *v1alpha1.Site) *v1alpha1.Site {
	if s.Version == "" || s.Version != site.ResourceVersion || !site.Status.LastHeartbeat.Before(&s.At) {
		return site
	}
	site = site.DeepCopy()
	site.Status.LastHeartbeat = s.At.DeepCopy()
	return site
}

// Statuses of the groups of a namespace, or of Sites, by name.
type Statuses map[string]Status

// Of is the group as far as it is confirmed.
func (s Statuses) Of(group *v1alpha1.AvailabilityGroup) *v1alpha1.AvailabilityGroup {
	return s[group.Name].Of(group)
}

// Site is the Site as far as it is confirmed.
func (s Statuses) Site(site *v1alpha1.Site) *v1alpha1.Site { return s[site.Name].Site(site) }

// Log is what this process has confirmed, of all namespaces. The zero value knows nothing. It is safe for concurrent
// use.
type Log struct {
	mu    sync.Mutex
	known map[types.NamespacedName]Status
	// recalled are the namespaces whose Lease, of the manager before, was read.
	recalled map[string]bool
}

// Confirm says that the status that was read with a group or Site is so, as of a time, but for the silent instances.
func (l *Log) Confirm(obj client.Object, at time.Time, silent ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[types.NamespacedName]Status{}
	}
	l.known[client.ObjectKeyFromObject(obj)] = Status{Version: obj.GetResourceVersion(),
		At: metav1.NewTime(at.Truncate(time.Second)), Silent: slices.Sorted(slices.Values(silent))}
}

// Forget is for an object that is no more.
func (l *Log) Forget(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, name)
}

// Of is the group as far as it is confirmed.
func (l *Log) Of(group *v1alpha1.AvailabilityGroup) *v1alpha1.AvailabilityGroup {
	return l.status(group).Of(group)
}

// Answered is the group with observedAt of every replica as late as its server is known to have answered, also where
// the object has changed since. Whether the rest of its status is so still is not said.
func (l *Log) Answered(group *v1alpha1.AvailabilityGroup) *v1alpha1.AvailabilityGroup {
	return l.status(group).answered(group)
}

// Site is the Site as far as it is confirmed.
func (l *Log) Site(site *v1alpha1.Site) *v1alpha1.Site { return l.status(site).Site(site) }

func (l *Log) status(obj client.Object) Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[client.ObjectKeyFromObject(obj)]
}

// namespaces is what is confirmed, by namespace; without one, of Sites.
func (l *Log) namespaces() map[string]Statuses {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]Statuses{}
	for name, s := range l.known {
		if all[name.Namespace] == nil {
			all[name.Namespace] = Statuses{}
		}
		all[name.Namespace][name.Name] = s
	}
	return all
}

// recall takes over what the manager before has confirmed of objects of which this one has not.
func (l *Log) recall(namespace string, before Statuses) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[types.NamespacedName]Status{}
	}
	if l.recalled == nil {
		l.recalled = map[string]bool{}
	}
	l.recalled[namespace] = true
	for name, s := range before {
		key := types.NamespacedName{Namespace: namespace, Name: name}
		if _, known := l.known[key]; !known {
			l.known[key] = s
		}
	}
}

func (l *Log) recalls(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recalled[namespace]
}

// equal compares what is confirmed, times included.
func equal(a, b Statuses) bool {
	return maps.EqualFunc(a, b, func(x, y Status) bool {
		return x.Version == y.Version && x.At.Equal(&y.At) && slices.Equal(x.Silent, y.Silent)
	})
}
