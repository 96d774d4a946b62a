// SPDX-License-Identifier: Apache-2.0

package names

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"geosql.dev/operator/internal/sites"
)

// planClosed takes away the Services of a site that opened the server to others and are declared no more, or are of
// another class than is. Names go before what they lead to: a Service stays while any site leads there, or may. waits
// tells that one does.
func planClosed(w Observed, v *siteView, desired []name) (steps []step, waits bool) {
	for _, service := range slices.Sorted(maps.Keys(v.has)) {
		at := v.has[service].service
		if at == nil || !exposing(w.labels, service) || !owned(at, w.labels) {
			continue
		}
		i := slices.IndexFunc(desired, func(n name) bool { return n.service == service })
		reason := "the server is not exposed by it any more"
		if i >= 0 {
			if !desired[i].otherClass(at) {
				continue
			}
			reason = "a load balancer of another class is declared"
		}
		if at.DeletionTimestamp != nil || slices.ContainsFunc(w.views, func(other *siteView) bool {
			return other != v && mayLead(w, other, at)
		}) {
			waits = true
			continue
		}
		steps = append(steps, step{deleteObject, at, reason})
	}
	return steps, waits
}

// otherClass tells that a Service cannot become what is wanted, since its class stays what it is.
func (n *name) otherClass(at *corev1.Service) bool {
	return n.exposed != nil && n.exposed.service == corev1.ServiceTypeLoadBalancer && !hasClass(at, n.exposed.balancer)
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
	node := service.Spec.Type == corev1.ServiceTypeNodePort
	if node {
		addresses = []string{nodeAddress}
	}
	return func(s discoveryv1.EndpointSlice) bool {
		opened := !node || slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool {
			return p.Name != nil && p.Port != nil && ports[*p.Name] == *p.Port
		})
		return opened && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return slices.ContainsFunc(e.Addresses, func(a string) bool { return slices.Contains(addresses, a) })
		})
	}
}
