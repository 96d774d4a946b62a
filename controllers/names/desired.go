// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"maps"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// Desired is an object that has names: a server, or a group for its listener.
type Desired struct {
	object     client.Object
	conditions []metav1.Condition
	// labels mark what belongs to the object at sites.
	labels map[string]string
	// services are the names that the object has, or may have.
	services []string
}

func desireServerNames(_ context.Context, server *v1alpha1.SQLServer) (Desired, error) {
	return Desired{
		object:     server,
		conditions: server.Status.Conditions,
		labels:     ownLabels(server.Namespace, v1alpha1.LabelServer, server.Name),
		services:   allServerNames(v1alpha1.ServerName(server.Name)),
	}, nil
}

func desireGroupNames(_ context.Context, group *v1alpha1.AvailabilityGroup) (Desired, error) {
	return Desired{
		object:     group,
		conditions: group.Status.Conditions,
		labels:     ownLabels(group.Namespace, v1alpha1.LabelGroup, group.Name),
		services:   []string{listenerName(group), listenerName(group) + readOnlySuffix},
	}, nil
}

// Ports of a server's Service.
const (
	// PortTDS is where the engine speaks to clients.
	PortTDS int32 = 1433
	// PortMirroring is the database mirroring endpoint of availability groups.
	PortMirroring int32 = 5022
)

// sliceManager marks the EndpointSlices that this controller writes, so that Kubernetes' own controllers leave them
// alone (label endpointslice.kubernetes.io/managed-by, KEP-0752).
const sliceManager = "geosql.dev"

// port of a name.
type port struct {
	name string
	// service is the port that clients use, target the one at the address.
	service, target int32
}

var serverPorts = []port{
	{portTDS, PortTDS, PortTDS},
	{"mirroring", PortMirroring, PortMirroring},
	{"agent", credentials.AgentPort, credentials.AgentPort},
	{portElection, credentials.ElectionPort, credentials.ElectionPort},
}

// portTDS is the port that all names have.
const portTDS = "tds"

// portElection is the port of sidecars for each other. A Service of an earlier release lacks it: they ask each other at
// the port agent then.
const portElection = "election"

// endpoint is where a server can be reached from another site.
type endpoint struct {
	// address is an IP address.
	address string
	// node on which the server runs, when known.
	node string
	// targets replace the ports' targets, by name (node ports).
	targets map[string]int32
}

// key is an endpoint's address with the port of its engine: two servers on one node, or behind one load balancer, have
// the address in common.
func (e endpoint) key() string {
	port := PortTDS
	if e.targets != nil {
		port = e.targets[portTDS]
	}
	return net.JoinHostPort(e.address, strconv.Itoa(int(port)))
}

func endpointKeys(endpoints []endpoint) (keys []string) {
	for _, e := range endpoints {
		keys = append(keys, e.key())
	}
	return keys
}

// name is a name that must mean the same at every site: a Service and, where it has no selector, an EndpointSlice.
type name struct {
	// service is the name of the Service in namespace.
	namespace, service string
	// labels of Service and slice: they say whose they are.
	labels map[string]string
	ports  []port
	// selector is set where the pods run.
	selector map[string]string
	// exposed is set on a name that opens the server to other sites.
	exposed *exposure
	// endpoints when there is no selector. keep says that they are not known now: those that are published stay.
	endpoints []endpoint
	keep      bool
	// trials are servers besides, to which what is published says the way.
	trials []trial
	// living are the addresses and ports (endpoint.key) to which what keep leaves may lead; nil when those of some servers
	// are not known.
	living []string
	// barred are those to which what stays must not lead.
	barred []string
}

func ownLabels(namespace, label, owner string) map[string]string {
	l := map[string]string(sites.OwnLabels())
	l[v1alpha1.LabelNamespace] = namespace
	l[label] = owner
	return l
}

// sortedBy are the labels of an object: its owner's, by which the operator knows it again, and those by which other
// tools sort it, which it may lack.
func sortedBy(owner map[string]string) map[string]string {
	l := maps.Clone(owner)
	l[v1alpha1.LabelApp], l[v1alpha1.LabelAppComponent] = v1alpha1.App, v1alpha1.ComponentServer
	l[v1alpha1.LabelAppInstance] = owner[v1alpha1.LabelServer] + owner[v1alpha1.LabelGroup]
	return l
}

// makeService is the Service of a name. It has a cluster IP, which DNS gives out: a headless one's addresses are cached
// by clients longer than a failover takes. It publishes addresses that are not ready, since servers must find each
// other while they become ready.
func (n *name) makeService() *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: n.service, Labels: sortedBy(n.labels)},
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			Selector:                 n.selector,
			PublishNotReadyAddresses: true,
		},
	}
	if n.exposed != nil {
		n.exposed.shape(s)
	}
	for _, p := range n.ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: p.name, Port: p.service,
			TargetPort: intstr.FromInt32(p.target), Protocol: corev1.ProtocolTCP})
	}
	return s
}

// makeSlices are the EndpointSlices of a name without selector: one per address family and set of target ports, at
// least one, named so that they are found again.
func (n *name) makeSlices() []*discoveryv1.EndpointSlice {
	if n.selector != nil {
		return nil
	}
	type group struct {
		family    discoveryv1.AddressType
		ports     []discoveryv1.EndpointPort
		endpoints []discoveryv1.Endpoint
	}
	// The first is for addresses whose ports are the pods'; it stands when there are no others.
	first := &group{family: discoveryv1.AddressTypeIPv4, ports: n.slicePorts(nil)}
	groups := []*group{first}
	plain := map[discoveryv1.AddressType]*group{}
	for _, e := range n.endpoints {
		family := addressType(e.address)
		g := plain[family]
		switch {
		case e.targets != nil:
			g = &group{family: family, ports: n.slicePorts(e.targets)}
			groups = append(groups, g)
		case g == nil && len(plain) == 0:
			g, first.family = first, family
			plain[family] = g
		case g == nil:
			g = &group{family: family, ports: first.ports}
			groups, plain[family] = append(groups, g), g
		}
		g.endpoints = append(g.endpoints, discoveryv1.Endpoint{Addresses: []string{e.address},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)}})
	}
	var made []*discoveryv1.EndpointSlice
	for i, g := range groups {
		if i == 0 && len(g.endpoints) == 0 && len(groups) > 1 {
			continue
		}
		made = append(made, n.makeSlice(sliceName(n.service, i), g.family, g.endpoints, g.ports))
	}
	return made
}

func (n *name) makeSlice(
	sliceName string,
	family discoveryv1.AddressType,
	endpoints []discoveryv1.Endpoint,
	ports []discoveryv1.EndpointPort,
) *discoveryv1.EndpointSlice {
	labels := sortedBy(n.labels)
	labels[discoveryv1.LabelServiceName] = n.service
	labels[discoveryv1.LabelManagedBy] = sliceManager
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: n.namespace, Name: sliceName, Labels: labels},
		AddressType: family,
		Endpoints:   endpoints,
		Ports:       ports,
	}
}

func (n *name) slicePorts(targets map[string]int32) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for _, p := range n.ports {
		target := p.target
		if targets != nil {
			var open bool
			if target, open = targets[p.name]; !open {
				continue
			}
		}
		ports = append(
			ports,
			discoveryv1.EndpointPort{Name: ptr.To(p.name), Port: ptr.To(target), Protocol: ptr.To(corev1.ProtocolTCP)},
		)
	}
	return ports
}

func sliceName(service string, i int) string {
	if i == 0 {
		return service + "-geosql"
	}
	return service + "-geosql-" + string(rune('a'+i-1)) //nolint:gosec // one of a few families
}

func addressType(address string) discoveryv1.AddressType {
	if isIPv6(address) {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}
