// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

const (
	// lookUpEvery is how often the DNS is asked what a load balancer's hostname means, lookUpAgain after it has not said.
	// Clouds give such names a time to live of a minute.
	lookUpEvery = time.Minute
	lookUpAgain = 10 * time.Second
	// lookUpTimeout bounds one question.
	lookUpTimeout = 2 * time.Second
	// confirmEvery is how often an answer that has not changed is written down again, resolvedValid how long one holds
	// while the DNS leaves the same process without an answer: after that the address may be another customer's of the
	// cloud. resolvedAtMost is how long one holds that nobody has confirmed, whoever is away.
	confirmEvery   = 5 * time.Minute
	resolvedValid  = 15 * time.Minute
	resolvedAtMost = 24 * time.Hour
	// forgetAfter is when a question is forgotten that nobody puts any more.
	forgetAfter = time.Hour
	// leftToSite is the age at which an answer is not left to the home site's own process any more.
	leftToSite = confirmEvery + 2*lookUpEvery
)

// readExposed reads the Services by which the server is opened to other sites, whatever is declared now: while one way
// takes the other's place, both are there. Somebody else's are none.
func (v *serverView) readExposed(ctx context.Context, member *sites.Member, namespace string) error {
	labels := ownLabels(namespace, v1alpha1.LabelServer, string(v.name))
	get := func(name string) (*corev1.Service, error) {
		service := &corev1.Service{}
		err := member.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, service)
		switch {
		case apierrors.IsNotFound(err) || err == nil && !owned(service, labels):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("reading Service %s/%s at site %s: %w", namespace, name, v.home, err)
		}
		return service, nil
	}
	node, err := get(nodeServiceName(v.name))
	if err != nil {
		return err
	}
	if node != nil {
		v.nodePorts = nodePortsOf(node)
	}
	v.balancer, err = get(balancerName(v.name))
	return err
}

func nodePortsOf(s *corev1.Service) map[string]int32 {
	ports := map[string]int32{}
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			ports[p.Name] = p.NodePort
		}
	}
	return ports
}

// reach returns where the server is reached from a site; nothing when it has no address there (yet). It is all ports of
// a server or none. While a load balancer has no address, ports of nodes that are still open serve.
func (v *serverView) reach(from v1alpha1.SiteName) []endpoint {
	way := v.declared(from)
	if len(way) == 0 && v.address != "" && v.exposure == v1alpha1.ExposureLoadBalancer && v.hasNodePorts() {
		return v.byNode()
	}
	return way
}

func (v *serverView) byNode() []endpoint {
	return []endpoint{{address: v.nodeAddress, node: v.node, targets: v.nodePorts}}
}

// declared is the declared way to the server from a site.
func (v *serverView) declared(from v1alpha1.SiteName) []endpoint {
	if v.address == "" {
		return nil
	}
	switch {
	case from == v.home || v.exposure == v1alpha1.ExposureFlatNetwork:
		return []endpoint{{address: v.address, node: v.node}}
	case v.exposure == v1alpha1.ExposureNodePort && v.hasNodePorts():
		return v.byNode()
	case v.exposure == v1alpha1.ExposureLoadBalancer && v.hasBalancer():
		return v.balanced()
	}
	return nil
}

func (v *serverView) hasNodePorts() bool {
	complete := v.nodeAddress != ""
	for _, p := range serverPorts {
		complete = complete && (v.nodePorts[p.name] != 0 || p.name == portElection)
	}
	return complete
}

// balanced is where the load balancer is; nothing while it has no address of the family of the pod's, or what its
// hostname means has been confirmed by nobody for too long.
func (v *serverView) balanced() (at []endpoint) {
	if r := recorded(v.balancer); r != nil && v.now.Sub(r.At) > resolvedAtMost {
		return nil
	}
	for _, address := range ofFamily(v.address, balancedAt(v.balancer)) {
		at = append(at, endpoint{address: address})
	}
	return at
}

// hasBalancer tells that the server's Service of type LoadBalancer serves, with all ports. One of another class than is
// declared serves until it goes.
func (v *serverView) hasBalancer() bool {
	return v.balancer != nil && v.balancer.DeletionTimestamp == nil &&
		!slices.ContainsFunc(serverPorts, func(p port) bool {
			return !slices.ContainsFunc(v.balancer.Spec.Ports, func(s corev1.ServicePort) bool { return s.Port == p.service })
		})
}

// awaits tells that the server runs and that no way to it from a site is open yet.
func (v *serverView) awaits(from v1alpha1.SiteName) bool {
	return v.known && v.address != "" && len(v.reach(from)) == 0
}

// ways are the addresses and ports at which the server is reached from a site. While the declared way is not open yet,
// these are those of all others: what leads there stays until then. While it has not been tried, they are both.
func (v *serverView) ways(from v1alpha1.SiteName) []string {
	if v.address == "" {
		return nil
	}
	if v.awaits(from) {
		return endpointKeys(v.former())
	}
	return append(endpointKeys(v.reach(from)), v.untried(from)...)
}

// former are the ways to the server that are not declared, as far as they are there.
func (v *serverView) former() []endpoint {
	ways := []endpoint{{address: v.address}}
	if v.hasNodePorts() {
		ways = append(ways, endpoint{address: v.nodeAddress, targets: v.nodePorts})
	}
	if v.exposure != v1alpha1.ExposureLoadBalancer {
		ways = append(ways, v.balanced()...)
	}
	return ways
}

// awaited says which Service has no address yet, and since when; nothing when none is awaited. before is what was said
// last of the name.
func (v *serverView) awaited(namespace string, before *metav1.Condition, now time.Time) string {
	if v.exposure != v1alpha1.ExposureLoadBalancer || !v.known || v.address == "" || len(v.declared("")) > 0 {
		return ""
	}
	service := fmt.Sprintf("Service %s/%s at site %s", namespace, balancerName(v.name), v.home)
	switch {
	case v.balancer == nil:
		return service + " does not exist yet"
	case v.balancer.DeletionTimestamp != nil:
		return service + " is being deleted: it is made anew once it is gone"
	case !hasClass(v.balancer, v.balancerSpec):
		return service + " is of another class than is declared: it is made anew once all sites answer"
	}
	since := v.balancer.CreationTimestamp.Time
	switch {
	case before == nil:
	case before.Status == metav1.ConditionTrue:
		// It had an address until now.
		since = now
	case before.LastTransitionTime.After(since):
		since = before.LastTransitionTime.Time
	}
	at := since.UTC().Format(time.RFC3339)
	host := hostnameOf(v.balancer)
	if others := balancedAt(v.balancer); len(others) > 0 && v.hasBalancer() && len(ofFamily(v.address, others)) == 0 {
		return fmt.Sprintf("%s has waited since %s for an address of the family of its pod's (%s): its load balancer has %s",
			service, at, v.address, strings.Join(others, ", "))
	}
	if host == "" {
		return fmt.Sprintf("%s has waited for an address of its load balancer since %s: its events say why", service, at)
	}
	return fmt.Sprintf("%s has waited since %s for an address behind its load balancer's hostname %s", service, at, host)
}

// resolved is what the hostname of the load balancer means from now on. An answer that the DNS does not repeat holds
// for a while: that it is silent for a moment must not cut the server off, nor that everything was.
func (v *serverView) resolved() *resolution {
	r, host := recorded(v.balancer), hostnameOf(v.balancer)
	a := v.looked
	switch {
	case host == "":
		return nil
	case a == nil:
		return r
	case len(a.addresses) > 0 && r != nil && slices.Equal(r.Addresses, a.addresses) && a.at.Sub(r.At) < confirmEvery:
		return r
	case len(a.addresses) > 0:
		return &resolution{Hostname: host, Addresses: a.addresses, At: a.at.UTC().Truncate(time.Second)}
	case r != nil && (a.at.Sub(a.silent) < resolvedValid || v.now.Sub(r.At) < resolvedValid):
		// Where this process is told nothing, another one may have been told.
		return r
	}
	return nil
}

// readLeads reads where all names of the namespace lead at the sites, when a Service opens the server: it is taken away
// only once nothing leads there.
func readLeads(ctx context.Context, views []*siteView, namespace string, labels map[string]string) {
	opened := slices.ContainsFunc(views, func(v *siteView) bool {
		for service, at := range v.has {
			if exposing(labels, service) && at.service != nil {
				return true
			}
		}
		return false
	})
	if !opened {
		return
	}
	for _, v := range views {
		if v.member == nil || v.readErr != nil {
			continue
		}
		var list discoveryv1.EndpointSliceList
		err := v.member.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, discoveryv1.LabelManagedBy: sliceManager})
		if err != nil {
			v.readErr = fmt.Errorf("reading the EndpointSlices of namespace %s at site %s: %w", namespace, v.name, err)
		}
		v.leads = list.Items
	}
}
