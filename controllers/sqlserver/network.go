// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	// enginePort is where clients connect.
	enginePort = 1433
	// labelName of the manager's pod, and managerName, are what the chart gives it.
	labelName   = "app.kubernetes.io/name"
	managerName = "geosql-operator"
)

// Peer is another server that connects to this one.
type Peer struct {
	Server v1alpha1.ServerName
	// Site is where it runs; empty while no SQLServer of that name says so.
	Site v1alpha1.SiteName
}

// Network is who connects to a server, by what is declared.
type Network struct {
	// Partners are those to whose engines log is sent, and from which it comes: of its groups.
	Partners []Peer
	// Correspondents are those with which it replicates: publishers, distributors and subscribers.
	Correspondents []Peer
	// Senders are those that may keep backups on its volume, by its sidecar.
	Senders []Peer
	// Ranges are the source ranges of each Site; a site that is not declared has no entry.
	Ranges map[v1alpha1.SiteName][]string
	// Hub is the Site that the hub is, empty when it is none.
	Hub v1alpha1.SiteName
	// Manager is the manager's namespace.
	Manager string
}

// network resolves who connects to the server. It is pure.
func network(d Desired, around Surroundings) Network {
	n := Network{Ranges: map[v1alpha1.SiteName][]string{}}
	for _, s := range around.Sites {
		n.Ranges[v1alpha1.SiteName(s.Name)] = s.Spec.SourceRanges
		if s.Spec.KubeconfigSecretRef == nil {
			n.Hub = v1alpha1.SiteName(s.Name)
		}
	}
	n.Partners = peers(d.Partners, around.Servers)
	myself := func(s v1alpha1.ServerName) bool { return s == d.name() }
	others := slices.DeleteFunc(correspondents(d.name(), around), myself)
	n.Correspondents = peers(others, around.Servers)
	n.Senders = peers(senders(d.name(), around), around.Servers)
	return n
}

// peers are servers with their sites, sorted, each once.
func peers(names []v1alpha1.ServerName, servers []v1alpha1.SQLServer) []Peer {
	sites := map[v1alpha1.ServerName]v1alpha1.SiteName{}
	for _, s := range servers {
		sites[v1alpha1.ServerName(s.Name)] = s.Spec.Site
	}
	var all []Peer
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		all = append(all, Peer{Server: name, Site: sites[name]})
	}
	return all
}

// access is whom a port is open to.
type access struct {
	from []networkingv1.NetworkPolicyPeer
	// missing says by which peers' addresses nothing is known: then the port is open to everybody.
	missing []string
}

// admit opens a port to servers. Those of the same site are known by their pods' labels.
func (a *access) admit(d Desired, all []Peer) {
	here := []string{d.Server.Name}
	for _, p := range all {
		switch {
		case p.Site == "":
			a.missing = append(a.missing, fmt.Sprintf("the SQLServer %s, a peer", p.Server))
		case p.Site == d.Server.Spec.Site:
			here = append(here, string(p.Server))
		default:
			a.site(d.Network, p.Site)
		}
	}
	slices.Sort(here)
	a.from = append(a.from, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{v1alpha1.LabelNamespace: d.Server.Namespace},
		MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: v1alpha1.LabelServer, Operator: metav1.LabelSelectorOpIn, Values: slices.Compact(here)}},
	}})
}

// site opens a port to another site.
func (a *access) site(n Network, site v1alpha1.SiteName) {
	ranges := n.Ranges[site]
	if len(ranges) == 0 {
		a.missing = append(a.missing, fmt.Sprintf("sourceRanges of Site %s", site))
	}
	for _, cidr := range ranges {
		a.from = append(a.from, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}})
	}
}

// manager opens a port to the manager.
func (a *access) manager(d Desired) {
	n := d.Network
	switch n.Hub {
	case "":
		a.missing = append(a.missing, "a Site that is the hub, with sourceRanges")
	case d.Server.Spec.Site:
		a.from = append(a.from, networkingv1.NetworkPolicyPeer{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: n.Manager}},
			PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{labelName: managerName}},
		})
	default:
		a.site(n, n.Hub)
	}
}

// named opens a port to those that the spec names.
func (a *access) named(clients []v1alpha1.NetworkClient) {
	for _, c := range clients {
		peer := networkingv1.NetworkPolicyPeer{NamespaceSelector: c.NamespaceSelector, PodSelector: c.PodSelector}
		if c.CIDR != "" {
			peer.IPBlock = &networkingv1.IPBlock{CIDR: c.CIDR}
		}
		a.from = append(a.from, peer)
	}
}

// drills opens a port to the clients of drills.
func (a *access) drills() {
	a.from = append(a.from, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: v1alpha1.LabelDrill, Operator: metav1.LabelSelectorOpExists}},
	}})
}

// rule opens ports to whom an access says; to everybody when something is missing, which is noted under name.
func (a *access) rule(name string, ports []int32, gaps *[]gap) networkingv1.NetworkPolicyIngressRule {
	r := networkingv1.NetworkPolicyIngressRule{From: uniquePeers(a.from)}
	for _, port := range ports {
		r.Ports = append(r.Ports, networkingv1.NetworkPolicyPort{
			Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(port))})
	}
	if len(a.missing) > 0 {
		r.From = nil
		slices.Sort(a.missing)
		*gaps = append(*gaps, gap{name, slices.Compact(a.missing)})
	}
	return r
}

// gap is a port that is open to everybody, and what must be known to close it.
type gap struct {
	port    string
	missing []string
}

func uniquePeers(list []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyPeer {
	var unique []networkingv1.NetworkPolicyPeer
	seen := map[string]bool{}
	for _, peer := range list {
		if key := hashOf(peer); !seen[key] {
			seen[key] = true
			unique = append(unique, peer)
		}
	}
	return unique
}

// ingress are the rules that the server's NetworkPolicy should have, and the ports that they leave open.
func ingress(d Desired, o Observed) ([]networkingv1.NetworkPolicyIngressRule, []gap) {
	partners, correspondents := d.Network.Partners, d.Network.Correspondents
	// A replica that left is a partner until the engine trusts it no more: it may be sent the log yet.
	partners = slices.Concat(partners, d.located(formerPartners(d, o.Engine)))
	var (
		gaps                                []gap
		engine, mirroring, agent, elections access
	)
	declared := d.declaredNetwork()
	if len(declared.Clients) > 0 {
		engine.admit(d, slices.Concat(partners, correspondents))
		engine.manager(d)
		engine.named(declared.Clients)
		engine.drills()
	}
	mirroring.admit(d, partners)
	agent.admit(d, slices.Concat(partners, correspondents, d.Network.Senders))
	agent.manager(d)
	agent.named(declared.Scrapers)
	elections.admit(d, partners)
	return []networkingv1.NetworkPolicyIngressRule{
		engine.rule("1433 (clients)", []int32{enginePort}, &gaps),
		mirroring.rule("5022 (mirroring endpoint)", []int32{mirroringPort}, &gaps),
		agent.rule("8443 (agent)", []int32{credentials.AgentPort}, &gaps),
		elections.rule("8444 (elections)", []int32{credentials.ElectionPort}, &gaps),
	}, gaps
}

// declaredNetwork is the spec's, never nil.
func (d Desired) declaredNetwork() v1alpha1.ServerNetwork {
	if n := d.Server.Spec.Network; n != nil {
		return *n
	}
	return v1alpha1.ServerNetwork{}
}

// located are servers with their sites.
func (d Desired) located(names []v1alpha1.ServerName) []Peer { return peers(names, d.servers) }

// networkPolicy is the server's NetworkPolicy with given rules.
func networkPolicy(d Desired, rules []networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: meta(d, d.Server.Name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: podSelector(d)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     rules,
		},
	}
}

// policyMode is whether the server is to have a NetworkPolicy. What nobody said is told by the objects at the site: the
// StatefulSet says with which the server was begun, and one that says nothing is of a release that had none.
func policyMode(d Desired, o Observed) v1alpha1.NetworkPolicyMode {
	switch n := d.declaredNetwork(); {
	case n.NetworkPolicy != "":
		return n.NetworkPolicy
	case len(n.Clients) > 0 || len(n.Scrapers) > 0:
		return v1alpha1.NetworkPolicyManaged
	case o.StatefulSet != nil:
		return cmp.Or(v1alpha1.NetworkPolicyMode(o.StatefulSet.Annotations[annotationNetwork]), v1alpha1.NetworkPolicyNone)
	case o.Pod != nil && o.Policy == nil:
		// Somebody took its StatefulSet away and left the pod.
		return v1alpha1.NetworkPolicyNone
	}
	return v1alpha1.NetworkPolicyManaged
}
