// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// stepKind is what is done to an object at a site.
type stepKind string

const (
	applyObject  stepKind = "Apply"
	deleteObject stepKind = "Delete"
	// tellObject applies what a site is told of names, unless that has changed since it was read.
	tellObject stepKind = "Tell"
)

// step is one change at one site, with its reason.
type step struct {
	kind   stepKind
	object client.Object
	reason string
}

// published is what a site has under a name.
type published struct {
	// service of that name, whoever made it; nil when there is none.
	service *corev1.Service
	// slices that carry the operator's labels for that Service.
	slices []discoveryv1.EndpointSlice
}

// conflict says that something of that name is not the operator's.
type conflict struct {
	site v1alpha1.SiteName
	text string
}

// plan returns the steps that make the names of one site as desired. Other names with the owner's labels are taken
// away. A Service that the operator did not make for this owner is never touched.
func plan(
	site v1alpha1.SiteName,
	desired []name,
	labels map[string]string,
	has map[string]published,
) ([]step, []conflict) {
	var (
		steps     []step
		conflicts []conflict
	)
	wanted := map[string]bool{}
	for i := range desired {
		n := &desired[i]
		wanted[n.service] = true
		at := has[n.service]
		if at.service != nil && !owned(at.service, n.labels) {
			conflicts = append(conflicts, conflict{site, conflictText(n, site, at.service)})
			continue
		}
		if at.service != nil && n.exposed != nil && at.service.DeletionTimestamp != nil {
			// It is made anew once it is gone (planClosed).
			continue
		}
		steps = append(steps, planService(n, at.service)...)
		steps = append(steps, planSlices(n, at)...)
	}
	for _, service := range slices.Sorted(maps.Keys(has)) {
		// What opens a server goes after all that leads there (planClosed).
		if !wanted[service] && !exposing(labels, service) {
			steps = append(steps, planRemoval(has[service], labels)...)
		}
	}
	return steps, conflicts
}

func planRemoval(at published, labels map[string]string) []step {
	var steps []step
	for i := range at.slices {
		if hasLabels(at.slices[i].Labels, labels) {
			steps = append(steps, step{deleteObject, &at.slices[i], "the name is no longer declared"})
		}
	}
	if at.service != nil && owned(at.service, labels) {
		steps = append(steps, step{deleteObject, at.service, "the name is no longer declared"})
	}
	return steps
}

// conflictText says whose a Service is and what to do.
func conflictText(n *name, site v1alpha1.SiteName, at *corev1.Service) string {
	whose := "is not the operator's"
	for _, label := range []string{v1alpha1.LabelServer, v1alpha1.LabelGroup} {
		if owner := at.Labels[label]; owner != "" && at.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy {
			whose = fmt.Sprintf(
				"is that of %s %s/%s",
				map[string]string{v1alpha1.LabelServer: "SQLServer", v1alpha1.LabelGroup: "AvailabilityGroup"}[label],
				at.Labels[v1alpha1.LabelNamespace],
				owner,
			)
		}
	}
	return fmt.Sprintf(
		"Service %s/%s at site %s %s: rename or delete it, its name is needed",
		n.namespace,
		n.service,
		site,
		whose,
	)
}

func planService(n *name, at *corev1.Service) []step {
	want := n.makeService()
	switch {
	case at == nil:
		return []step{{applyObject, want, "the name does not exist at the site"}}
	case !sameService(want, at) || n.exposed != nil && !n.exposed.same(want, at):
		return []step{{applyObject, want, "the Service differs from what is declared"}}
	}
	return nil
}

func sameService(want, at *corev1.Service) bool {
	if !equality.Semantic.DeepEqual(want.Spec.Selector, at.Spec.Selector) || len(want.Spec.Ports) != len(at.Spec.Ports) ||
		!at.Spec.PublishNotReadyAddresses || at.Spec.Type != want.Spec.Type || !hasLabels(at.Labels, want.Labels) {
		return false
	}
	for i, p := range want.Spec.Ports {
		q := at.Spec.Ports[i]
		if p.Name != q.Name || p.Port != q.Port || p.TargetPort != q.TargetPort || p.Protocol != q.Protocol {
			return false
		}
	}
	return true
}

// planSlices makes the slices so. When a server's address is not known now, what is published stays: the site where it
// runs may only be out of sight.
func planSlices(n *name, at published) []step {
	wanted := map[string]bool{}
	var steps []step
	have := map[string]*discoveryv1.EndpointSlice{}
	for i := range at.slices {
		have[at.slices[i].Name] = &at.slices[i]
	}
	if n.selector == nil && n.keep {
		return planKept(n, at)
	}
	n, _ = n.settled(at)
	for _, want := range n.makeSlices() {
		wanted[want.Name] = true
		old, ok := have[want.Name]
		switch {
		case ok && old.AddressType != want.AddressType:
			// addressType is immutable.
			steps = append(
				steps,
				step{deleteObject, old, "the address family changed"},
				step{applyObject, want, "the address family changed"},
			)
		case !ok:
			steps = append(steps, step{applyObject, want, "the address is not published"})
		case !sameSlice(want, old):
			steps = append(steps, step{applyObject, want, "the published address is not the server's"})
		}
	}
	for i := range at.slices {
		if !wanted[at.slices[i].Name] {
			steps = append(steps, step{deleteObject, &at.slices[i], "the slice is not needed"})
		}
	}
	return steps
}

// settled is the name with a way to each server that is being tried, in place of trials. What is published leads there
// on, by the declared way or a former one: whoever tries goes over, and nobody goes back for not having tried. What
// leads elsewhere or nowhere is led to ports of nodes, which are no worse, and without them to the declared way. tries
// says that a former way serves.
func (n *name) settled(at published) (to *name, tries bool) {
	var keys []string
	for i := range at.slices {
		for _, e := range at.slices[i].Endpoints {
			keys = append(keys, keysAt(&at.slices[i], e)...)
		}
	}
	without := func(ways []endpoint, these func(endpoint) bool) []endpoint {
		return slices.DeleteFunc(slices.Clone(ways), these)
	}
	away := func(e endpoint) bool { return !slices.Contains(keys, e.key()) || slices.Contains(n.barred, e.key()) }
	ofPods := func(e endpoint) bool { return e.targets == nil }
	settled := *n
	settled.endpoints, settled.trials = slices.Clone(n.endpoints), nil
	for _, t := range n.trials {
		way, former := t.declared, without(t.former, away)
		if len(former) == 0 {
			former = without(t.former, ofPods)
		}
		if len(without(t.declared, away)) == 0 && len(former) > 0 {
			way, tries = former, true
		}
		settled.endpoints = append(settled.endpoints, way...)
	}
	slices.SortFunc(settled.endpoints, func(a, b endpoint) int { return strings.Compare(a.address, b.address) })
	return &settled, tries
}

// planKept takes out of what is published the addresses that are known to be nobody's, and those that are barred.
func planKept(n *name, at published) []step {
	if n.living == nil && len(n.barred) == 0 {
		return nil
	}
	leads := func(key string) bool {
		return (n.living == nil || slices.Contains(n.living, key)) && !slices.Contains(n.barred, key)
	}
	var steps []step
	for i := range at.slices {
		old := &at.slices[i]
		left := slices.DeleteFunc(slices.Clone(old.Endpoints), func(e discoveryv1.Endpoint) bool {
			return !slices.ContainsFunc(keysAt(old, e), leads)
		})
		if len(left) < len(old.Endpoints) {
			steps = append(
				steps,
				step{
					applyObject,
					n.makeSlice(old.Name, old.AddressType, left, old.Ports),
					"the published address is that of a pod that is no more, or stands outside of the group",
				},
			)
		}
	}
	return steps
}

// keysAt are the keys of a published endpoint.
func keysAt(s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) (keys []string) {
	for _, p := range s.Ports {
		if p.Name == nil || *p.Name != portTDS || p.Port == nil {
			continue
		}
		for _, address := range e.Addresses {
			keys = append(keys, endpoint{address: address, targets: map[string]int32{portTDS: *p.Port}}.key())
		}
	}
	return keys
}

func sameSlice(want, at *discoveryv1.EndpointSlice) bool {
	return equality.Semantic.DeepEqual(want.Endpoints, at.Endpoints) &&
		equality.Semantic.DeepEqual(want.Ports, at.Ports) &&
		hasLabels(at.Labels, want.Labels)
}

func hasLabels(at, want map[string]string) bool {
	for k, v := range want {
		if at[k] != v {
			return false
		}
	}
	return true
}

// owned reports whether a Service is the one that the operator made for this owner.
func owned(s *corev1.Service, labels map[string]string) bool { return hasLabels(s.Labels, labels) }

func isIPv6(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Is6() && !a.Is4In6()
}
