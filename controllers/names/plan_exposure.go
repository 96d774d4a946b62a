// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"geosql.dev/operator/internal/sites"
)

// planClosed takes away the Services of a site that opened the server to others and are declared no more, or are of
// another class than is. Names go before what they lead to: a Service stays while any site leads there, or may. One
// that is replaced serves until then, and nothing else can take its place: it goes once all sites are there to follow.
// waits says which Service stays, or is going, and why; empty when none does.
func planClosed(w Observed, v *siteView, desired []name) (steps []step, waits []string) {
	for _, service := range slices.Sorted(maps.Keys(v.has)) {
		at := v.has[service].service
		if at == nil || !exposing(w.labels, service) || !owned(at, w.labels) {
			continue
		}
		i := slices.IndexFunc(desired, func(n name) bool { return n.service == service })
		reason, keeps := "the server is not exposed by it any more", mayLead
		if i >= 0 {
			if !desired[i].exposed.replaced {
				continue
			}
			reason, keeps = "a load balancer of another class is declared", mayMiss
		}
		which := fmt.Sprintf("Service %s/%s at site %s", at.Namespace, at.Name, v.name)
		if at.DeletionTimestamp != nil {
			waits = append(waits, which+" is being deleted: what made its load balancer takes that away first")
			continue
		}
		var held []string
		for _, other := range w.views {
			if other != v && keeps(w, other, at) {
				held = append(held, string(other.name))
			}
		}
		if len(held) > 0 {
			waits = append(waits, fmt.Sprintf("%s stays: names at %s lead there, or may", which, strings.Join(held, ", ")))
			continue
		}
		steps = append(steps, step{deleteObject, at, reason})
	}
	return steps, waits
}

// mayMiss tells that a site does not answer: it would miss that a Service is replaced, and lead to the former one.
func mayMiss(_ Observed, v *siteView, _ *corev1.Service) bool {
	return v.member == nil && !sites.IsNamespaceGone(v.err) || v.readErr != nil
}

// mayLead tells that names at a site lead to a Service that opens the server, or that nobody can say.
func mayLead(w Observed, v *siteView, service *corev1.Service) bool {
	if v.member == nil {
		return !sites.IsNamespaceGone(v.err)
	}
	if v.readErr != nil {
		return true
	}
	if w.names == nil {
		// The pod is gone: a listener that still leads there leads nowhere already. The server's own names lead nowhere else.
		for _, at := range v.has {
			if slices.ContainsFunc(at.slices, func(s discoveryv1.EndpointSlice) bool { return len(s.Endpoints) > 0 }) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(v.leads, leadsTo(service, w.nodeAddress))
}

// leadsTo tells of a slice that it leads to a Service of type LoadBalancer, or to ports that one opens on a node.
// Another site's nodes may open the same ports, so the node's address counts; a server without one is reached by none.
func leadsTo(service *corev1.Service, nodeAddress string) func(discoveryv1.EndpointSlice) bool {
	addresses := balancedAt(service)
	ports := nodePortsOf(service)
	if service.Spec.Type == corev1.ServiceTypeNodePort {
		addresses = []string{nodeAddress}
	} else {
		// A load balancer's address may be a node's, as with servicelb of K3s: what leads to ports of nodes leads past it.
		for _, p := range serverPorts {
			ports[p.name] = p.service
		}
	}
	return func(s discoveryv1.EndpointSlice) bool {
		opened := slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool {
			return p.Name != nil && p.Port != nil && ports[*p.Name] == *p.Port
		})
		return opened && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return slices.ContainsFunc(e.Addresses, func(a string) bool { return slices.Contains(addresses, a) })
		})
	}
}
