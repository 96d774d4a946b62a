// SPDX-License-Identifier: Apache-2.0

package names

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
)

const (
	// annotatedKeys names, on a Service of type LoadBalancer, the declared annotations that it was given: one that is
	// declared no longer is known by it. What the cloud annotates is not among them and stays.
	annotatedKeys = "geosql.dev/annotations"
	// resolvedKey has what the load balancer's hostname means. It is written where the server runs, and all sites go by
	// it: two that asked the DNS each for itself would lead to different places, and correct each other.
	resolvedKey = "geosql.dev/resolved"
	// rangedKey says that the ranges of the Service were declared. Those of a Service without it are somebody else's, as
	// a cloud's or an administrator's, and stay.
	rangedKey = "geosql.dev/source-ranges"
)

// maxResolved bounds the addresses of a hostname that are used.
const maxResolved = 8

// nodeServiceName is the Service that opens ports on the nodes of the home site.
func nodeServiceName(server v1alpha1.ServerName) string { return podName(server) + "-node" }

// balancerName is the Service of type LoadBalancer at the home site.
func balancerName(server v1alpha1.ServerName) string { return podName(server) + "-lb" }

// exposing tells of a Service of a server, by its name, that it opens the server to other sites.
func exposing(labels map[string]string, service string) bool {
	server := v1alpha1.ServerName(labels[v1alpha1.LabelServer])
	return server != "" && (service == nodeServiceName(server) || service == balancerName(server))
}

// resolution is what a hostname meant when the DNS last said so.
type resolution struct {
	Hostname  string    `json:"hostname"`
	Addresses []string  `json:"addresses"`
	At        time.Time `json:"at"`
}

// recorded is what a Service says of its hostname; nil when that is nothing, or of another one.
func recorded(s *corev1.Service) *resolution {
	var r resolution
	if s == nil || json.Unmarshal([]byte(s.Annotations[resolvedKey]), &r) != nil || r.Hostname != hostnameOf(s) {
		return nil
	}
	return &r
}

// hostnameOf is the hostname of a load balancer that has no address but that.
func hostnameOf(s *corev1.Service) string {
	if s == nil || len(ingressAddresses(s)) > 0 {
		return ""
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		if i.Hostname != "" && works(i) {
			return i.Hostname
		}
	}
	return ""
}

func ingressAddresses(s *corev1.Service) []string {
	var addresses []string
	for _, i := range s.Status.LoadBalancer.Ingress {
		if a, err := netip.ParseAddr(i.IP); err == nil && usable(a) && works(i) {
			addresses = append(addresses, a.Unmap().String())
		}
	}
	return addresses
}

// works tells that no port of a load balancer is in error: one that forwards some ports alone would let a server be
// found and not replicate.
func works(i corev1.LoadBalancerIngress) bool {
	return !slices.ContainsFunc(i.Ports, func(p corev1.PortStatus) bool { return p.Error != nil })
}

// usable tells that an EndpointSlice takes an address, which a loopback or link-local one it does not.
func usable(a netip.Addr) bool { return a.IsGlobalUnicast() }

// balancedAt are the addresses of a Service's load balancer, sorted; none while it has none.
func balancedAt(s *corev1.Service) []string {
	if s == nil {
		return nil
	}
	addresses := ingressAddresses(s)
	if r := recorded(s); len(addresses) == 0 && r != nil {
		addresses = slices.Clone(r.Addresses)
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// ofFamily are the addresses of the family of another one. Sites reach servers in the family of their pods: whether
// they could in the other one, nobody knows.
func ofFamily(like string, addresses []string) (same []string) {
	for _, a := range addresses {
		if isIPv6(a) == isIPv6(like) {
			same = append(same, a)
		}
	}
	return same
}

// hasClass tells that a Service is of the class that is declared. Kubernetes never changes it.
func hasClass(s *corev1.Service, declared *v1alpha1.LoadBalancerExposure) bool {
	class := ""
	if declared != nil {
		class = declared.Class
	}
	// A class that was not declared may be one that the cluster gives.
	return class == "" || ptr.Deref(s.Spec.LoadBalancerClass, "") == class
}

// shapeOf is how a Service of type LoadBalancer was shaped; nil when nothing was declared of it.
func shapeOf(s *corev1.Service) *v1alpha1.LoadBalancerExposure {
	keys, is := s.Annotations[annotatedKeys]
	if !is {
		return nil
	}
	b := &v1alpha1.LoadBalancerExposure{Annotations: map[string]string{}}
	for key := range strings.SplitSeq(keys, ",") {
		if value, is := s.Annotations[key]; is {
			b.Annotations[key] = value
		}
	}
	if _, is := s.Annotations[rangedKey]; is {
		b.SourceRanges = s.Spec.LoadBalancerSourceRanges
	}
	return b
}

// exposure is how a name opens a server to other sites.
type exposure struct {
	// service is the type of the Service.
	service corev1.ServiceType
	// balancer shapes one of type LoadBalancer, resolved is what its hostname means.
	balancer *v1alpha1.LoadBalancerExposure
	resolved *resolution
	// live is the Service of type LoadBalancer that is there; nil when there is none. replaced says that it is of another
	// class than is declared: until it goes, to be made anew, it stays what it is.
	live     *corev1.Service
	replaced bool
}

// balancing is how a server is opened by its load balancer.
func balancing(v *serverView) *exposure {
	e := &exposure{service: corev1.ServiceTypeLoadBalancer, balancer: v.balancerSpec, live: v.balancer}
	e.resolved = v.resolved()
	if e.live != nil && !hasClass(e.live, v.balancerSpec) {
		e.balancer, e.replaced = shapeOf(e.live), true
	}
	return e
}

// shape makes a Service that opens a server. Traffic goes to the node of the pod alone: the pod sees who connects, as
// its NetworkPolicy and the ranges of the load balancer need it.
func (e *exposure) shape(s *corev1.Service) {
	s.Spec.Type = e.service
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	if e.service != corev1.ServiceTypeLoadBalancer {
		return
	}
	s.Annotations = map[string]string{}
	if b := e.balancer; b != nil {
		maps.Copy(s.Annotations, b.Annotations)
		s.Annotations[annotatedKeys] = strings.Join(slices.Sorted(maps.Keys(b.Annotations)), ",")
		if s.Spec.LoadBalancerSourceRanges = b.SourceRanges; len(b.SourceRanges) > 0 {
			s.Annotations[rangedKey] = "declared"
		}
		if b.Class != "" {
			s.Spec.LoadBalancerClass = ptr.To(b.Class)
		}
	}
	if e.live != nil {
		// A class that is left out would be taken out, which Kubernetes refuses, and all else with it.
		s.Spec.LoadBalancerClass = e.live.Spec.LoadBalancerClass
	}
	if e.resolved != nil {
		// Texts and a time are always encoded.
		text, _ := json.Marshal(e.resolved)
		s.Annotations[resolvedKey] = string(text)
	}
}

// same tells that a Service opens the server as it is wanted. Annotations that others made are theirs.
func (e *exposure) same(want, at *corev1.Service) bool {
	own := func(key string) bool {
		a, has := want.Annotations[key]
		b, is := at.Annotations[key]
		return has == is && a == b
	}
	return at.Spec.ExternalTrafficPolicy == want.Spec.ExternalTrafficPolicy &&
		hasLabels(at.Annotations, want.Annotations) && own(annotatedKeys) && own(resolvedKey) && own(rangedKey) &&
		(len(want.Spec.LoadBalancerSourceRanges) == 0 ||
			slices.Equal(at.Spec.LoadBalancerSourceRanges, want.Spec.LoadBalancerSourceRanges))
}
