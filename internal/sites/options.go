// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"geosql.dev/operator/api/v1alpha1"
)

// Options of a Provider. Zero durations take the defaults.
type Options struct {
	// Namespace of the operator, in which the Sites' kubeconfig Secrets are.
	Namespace string
	// Hub is what the hub is known by at sites; the UID of its namespace kube-system unless given.
	Hub string
	// Scheme with the kinds that are read at sites.
	Scheme *runtime.Scheme
	// Source says which sites there are; the Site objects of the hub unless given.
	Source Source
	// Watched are the kinds that are cached at a site; WatchedObjects unless given.
	Watched func(*v1alpha1.Site) []WatchedObject
	// Needed is what the credentials must allow in a namespace for it to be usable; changing StatefulSets unless given.
	Needed authorizationv1.ResourceAttributes
	// Anonymous is for a process that is no hub's: which cluster a site is, and which hub's, it neither asks nor claims.
	Anonymous bool
	// Rate is how much the API server of a site is asked; NewSiteRate unless given.
	Rate *Rate
	// Heartbeat is the time between two heartbeats of a site; 5 s.
	Heartbeat time.Duration
	// UnknownAfter is how long a site may stay silent before its observations count as unknown; 15 s.
	UnknownAfter time.Duration
	// CallTimeout is the deadline of every call to a site; 10 s.
	CallTimeout time.Duration
	// ProbeTimeout is the deadline of a heartbeat; 4 s.
	ProbeTimeout time.Duration
	// SyncTimeout is how long the caches of a site may need to fill; 30 s.
	SyncTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Watched == nil {
		o.Watched = func(*v1alpha1.Site) []WatchedObject { return WatchedObjects() }
	}
	if o.Needed.Verb == "" {
		o.Needed = authorizationv1.ResourceAttributes{Verb: "patch", Group: "apps", Resource: "statefulsets"}
	}
	if o.Rate == nil {
		o.Rate = NewSiteRate()
	}
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&o.Heartbeat, 5*time.Second)
	set(&o.UnknownAfter, 15*time.Second)
	set(&o.CallTimeout, 10*time.Second)
	set(&o.ProbeTimeout, 4*time.Second)
	set(&o.SyncTimeout, 30*time.Second)
	return o
}
