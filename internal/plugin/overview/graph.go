// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// Graph has servers in sites and what flows between them.
type Graph struct {
	// Sites in order, those without servers left out.
	Sites []GraphSite
	// Edges in order.
	Edges []Edge
}

// GraphSite is a site with its servers.
type GraphSite struct {
	Name, Region string
	Servers      []Node
}

// Node is a server.
type Node struct {
	// Name of the instance.
	Name string
	// Lines say what it is: roles, and its state unless it is ready.
	Lines []string
	// State is Ready's status, empty when nothing was observed.
	State string
}

// EdgeKind is how an edge is drawn.
type EdgeKind string

const (
	// EdgeSynchronous is log to a synchronous replica.
	EdgeSynchronous EdgeKind = "synchronous"
	// EdgeAsynchronous is log to an asynchronous replica.
	EdgeAsynchronous EdgeKind = "asynchronous"
	// EdgeVotes is configuration to a configuration-only replica.
	EdgeVotes EdgeKind = "configuration only"
	// EdgeReplication is transactional replication.
	EdgeReplication EdgeKind = "replication"
)

// Edge is a flow between two instances.
type Edge struct {
	From, To, Label string
	Kind            EdgeKind
}

// Graph draws the snapshot: servers in their sites, groups from primary to replicas, and replication from publisher
// through distributor to subscriber, with the links' round trips as the Sites declare them.
func (s *Snapshot) Graph() Graph {
	b := &grapher{s: s, lines: map[string][]string{}, sites: map[string]string{}}
	for i := range s.Servers {
		b.sites[key(s.Servers[i].Namespace, s.Servers[i].Name)] = string(s.Servers[i].Spec.Site)
	}
	for i := range s.Groups {
		b.group(&s.Groups[i])
	}
	for i := range s.Publications {
		b.publication(&s.Publications[i])
	}
	for i := range s.Subscriptions {
		b.subscription(&s.Subscriptions[i])
	}
	b.place()
	return b.graph
}

type grapher struct {
	s     *Snapshot
	graph Graph
	// lines of servers and sites of servers, by key.
	lines map[string][]string
	sites map[string]string
}

// key of a server, by its object's name or its instance's.
func key(namespace, server string) string { return namespace + "/" + strings.TrimSuffix(server, "-0") }

func (b *grapher) note(namespace, server, line string) {
	k := key(namespace, server)
	if !slices.Contains(b.lines[k], line) {
		b.lines[k] = append(b.lines[k], line)
	}
}

func (b *grapher) edge(kind EdgeKind, namespace, from, to string, parts ...string) {
	if from == "" || to == "" {
		return
	}
	if rtt := b.roundTrip(b.sites[key(namespace, from)], b.sites[key(namespace, to)]); rtt != "" {
		parts = append(parts, rtt)
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	b.graph.Edges = append(
		b.graph.Edges,
		Edge{From: b.id(namespace, from), To: b.id(namespace, to), Label: strings.Join(parts, ", "), Kind: kind},
	)
}

func (b *grapher) id(namespace, server string) string { return b.s.qualified(namespace, host(server)) }

// roundTrip of the link between two sites as either of them declares it.
func (b *grapher) roundTrip(from, to string) string {
	if from == to {
		return ""
	}
	for _, pair := range [][2]string{{from, to}, {to, from}} {
		for i := range b.s.Sites {
			if b.s.Sites[i].Name != pair[0] {
				continue
			}
			for _, l := range b.s.Sites[i].Spec.Links {
				if string(l.To) == pair[1] && l.RoundTrip != nil {
					return fmt.Sprintf("%d ms", l.RoundTrip.Round(time.Millisecond).Milliseconds())
				}
			}
		}
	}
	return ""
}

func (b *grapher) group(g *v1alpha1.AvailabilityGroup) {
	primary := b.primary(g)
	for _, r := range g.Spec.Replicas {
		status := replicaStatus(g, string(r.Server))
		role := "replica"
		if r.Server == g.Spec.InitialPrimary && g.Status.GroupID == "" {
			role = "initial primary"
		}
		if status != nil {
			role = strings.ToLower(status.Role)
		}
		if r.AvailabilityMode == v1alpha1.ConfigurationOnly {
			role = "configuration only"
		}
		b.note(g.Namespace, string(r.Server), g.Name+": "+role)
		if key("", string(r.Server)) == key("", primary) {
			continue
		}
		kind := map[v1alpha1.AvailabilityMode]EdgeKind{v1alpha1.SynchronousCommit: EdgeSynchronous,
			v1alpha1.AsynchronousCommit: EdgeAsynchronous, v1alpha1.ConfigurationOnly: EdgeVotes}[r.AvailabilityMode]
		b.edge(kind, g.Namespace, primary, string(r.Server), g.Name, string(kind), trouble(status))
	}
}

// primary of a group: the one that is or, of a group that is yet to be made, that shall be at first. Empty where none
// is known: initialPrimary says nothing of a group that is there, and may name a server that is gone.
func (b *grapher) primary(g *v1alpha1.AvailabilityGroup) string {
	if g.Status.GroupID == "" {
		return cmp.Or(g.Status.Primary, string(g.Spec.InitialPrimary))
	}
	return g.Status.Primary
}

func replicaStatus(g *v1alpha1.AvailabilityGroup, server string) *v1alpha1.ReplicaStatus {
	for i := range g.Status.Replicas {
		if key("", g.Status.Replicas[i].Server) == key("", server) {
			return &g.Status.Replicas[i]
		}
	}
	return nil
}

// trouble is what stands between a replica and its primary, empty when nothing is known to.
func trouble(r *v1alpha1.ReplicaStatus) string {
	if r == nil {
		return ""
	}
	if r.ConnectedState != "" && r.ConnectedState != "CONNECTED" {
		return r.ConnectedState
	}
	var states []string
	for _, d := range r.Databases {
		if d.SynchronizationState != "SYNCHRONIZED" && !slices.Contains(states, d.SynchronizationState) {
			states = append(states, d.SynchronizationState)
		}
	}
	return strings.Join(states, " and ")
}

func (b *grapher) distributor(namespace, name string) string {
	for i := range b.s.Distributors {
		if d := &b.s.Distributors[i]; d.Namespace == namespace && d.Name == name {
			return string(d.Spec.Server)
		}
	}
	return ""
}

// server that stands for a server or a group: of a group its primary.
func (b *grapher) server(namespace string, x v1alpha1.ServerOrGroup) string {
	if x.Server != "" {
		return string(x.Server)
	}
	for i := range b.s.Groups {
		if g := &b.s.Groups[i]; g.Namespace == namespace && g.Name == string(x.AvailabilityGroup) {
			return b.primary(g)
		}
	}
	return ""
}

func (b *grapher) publication(p *v1alpha1.Publication) {
	distributor := b.distributor(p.Namespace, string(p.Spec.Distributor))
	if distributor != "" {
		b.note(p.Namespace, distributor, "distributor "+string(p.Spec.Distributor))
	}
	how := "log reader"
	switch {
	case p.Spec.Scheduled():
		how = "copied at " + p.Spec.Schedule
	case p.Status.LogReader != nil:
		how += " " + p.Status.LogReader.State
	}
	b.edge(
		EdgeReplication,
		p.Namespace,
		b.server(p.Namespace, p.Spec.Publisher),
		distributor,
		"publication "+p.Name,
		how,
	)
}

func (b *grapher) subscription(x *v1alpha1.Subscription) {
	for i := range b.s.Publications {
		p := &b.s.Publications[i]
		if p.Namespace != x.Namespace || p.Name != string(x.Spec.Publication) {
			continue
		}
		subscriber := b.server(x.Namespace, x.Spec.Subscriber)
		if subscriber != "" {
			b.note(x.Namespace, subscriber, "subscriber to "+p.Name)
		}
		var parts []string
		if n := x.Status.PendingCommands; n != nil {
			parts = append(parts, fmt.Sprintf("%d pending", *n))
		}
		if l := x.Status.Latency; l != nil && l.OverallSeconds != nil {
			parts = append(parts, fmt.Sprintf("latency %d s", *l.OverallSeconds))
		}
		if c := x.Status.Snapshot; c != nil && c.Made != nil {
			parts = append(parts, "copy of "+c.Made.UTC().Format(time.RFC3339))
		}
		kind := strings.ToLower(cmp.Or(string(x.Spec.Type), string(v1alpha1.SubscriptionPull)))
		b.edge(EdgeReplication, x.Namespace, b.distributor(p.Namespace, string(p.Spec.Distributor)), subscriber,
			append([]string{"subscription " + x.Name, kind}, parts...)...)
	}
}

// place puts the servers into their sites.
func (b *grapher) place() {
	regions := map[string]string{}
	for i := range b.s.Sites {
		regions[b.s.Sites[i].Name] = b.s.Sites[i].Spec.Region
	}
	for i := range b.s.Servers {
		x := &b.s.Servers[i]
		site := string(x.Spec.Site)
		at := slices.IndexFunc(b.graph.Sites, func(g GraphSite) bool { return g.Name == site })
		if at < 0 {
			at = len(b.graph.Sites)
			b.graph.Sites = append(b.graph.Sites, GraphSite{Name: site, Region: regions[site]})
		}
		node := Node{Name: b.id(x.Namespace, x.Name), Lines: b.lines[key(x.Namespace, x.Name)]}
		if len(x.Status.Conditions) > 0 {
			status, reason := ready(x.Status.StatusBase, x.Generation)
			node.State = status
			if status != string(metav1.ConditionTrue) {
				node.Lines = append(slices.Clone(node.Lines), reason)
			}
		}
		b.graph.Sites[at].Servers = append(b.graph.Sites[at].Servers, node)
	}
	slices.SortFunc(b.graph.Sites, func(x, y GraphSite) int { return strings.Compare(x.Name, y.Name) })
}
