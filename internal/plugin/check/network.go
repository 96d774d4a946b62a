// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// place is a site as the network sees it.
type place struct {
	name     string
	exposure v1alpha1.ExposureType
	// declared are spec.sourceRanges; seen are the ranges of pods that the cluster's nodes tell, where it was looked at.
	declared, seen []netip.Prefix
	// nodes are the nodes' own addresses.
	nodes []netip.Addr
	// looked tells that the cluster was looked at.
	looked bool
}

// placeOf is a site as it is declared.
func placeOf(name string, site v1alpha1.SiteSpec) place {
	p := place{name: name, exposure: cmp.Or(site.Exposure.Type, v1alpha1.ExposureFlatNetwork)}
	for _, text := range site.SourceRanges {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			p.declared = append(p.declared, prefix.Masked())
		}
	}
	return p
}

// look adds what a cluster's nodes tell. A node's first range is that of the family of addresses that servers use.
func (p place) look(nodes []corev1.Node) place {
	p.looked = true
	for _, node := range nodes {
		if prefix, err := netip.ParsePrefix(node.Spec.PodCIDR); err == nil {
			p.seen = append(p.seen, prefix.Masked())
		}
		for _, a := range node.Status.Addresses {
			if address, err := netip.ParseAddr(a.Address); err == nil && a.Type == corev1.NodeInternalIP {
				p.nodes = append(p.nodes, address)
				break
			}
		}
	}
	return p
}

// judgeNetwork compares a site's addresses with those of the others, and with what it declares.
func judgeNetwork(p place, others []place) []Finding {
	f := &findings{cluster: p.name}
	for _, other := range others {
		judgeOverlap(f, p, other)
	}
	p.judgeDeclared(f)
	if len(f.list) == 0 {
		f.ok("addresses", "%s, declared %s", p.exposure, ranges(p.declared))
	}
	return f.list
}

// judgeOverlap compares two sites. Pods of a flat network have addresses that lead to one pod wherever they are used.
func judgeOverlap(f *findings, p, other place) {
	flat := p.exposure == v1alpha1.ExposureFlatNetwork && other.exposure == v1alpha1.ExposureFlatNetwork
	if a, b, found := overlap(union(p), union(other)); found && flat {
		f.problem("addresses", "use ranges of pods that differ, or join both with --exposure NodePort or LoadBalancer",
			"%s here and %s at %s overlap; in a FlatNetwork each address is one pod's", a, b, other.name)
		return
	}
	if a, b, found := overlap(p.declared, other.declared); found {
		f.warn("addresses", "name in --source-ranges of each site its nodes, or what translates",
			"the source ranges %s here and %s at %s overlap: NetworkPolicies take the one site's pods for the other's", a, b,
			other.name)
	}
}

// judgeDeclared compares what a site declares with the addresses that it has.
func (p place) judgeDeclared(f *findings) {
	const check = "source-ranges"
	if len(p.declared) == 0 {
		f.warn(check, "join the site with --source-ranges",
			"none is declared: the other sites leave open what its pods need (PeersUnknown)")
		return
	}
	if !p.looked {
		return
	}
	var out []string
	if p.exposure == v1alpha1.ExposureFlatNetwork {
		if len(p.seen) == 0 {
			f.unknown(check, errors.New("the nodes do not tell the ranges of their pods"))
			return
		}
		for _, prefix := range p.seen {
			if !slices.ContainsFunc(p.declared, func(d netip.Prefix) bool {
				return d.Bits() <= prefix.Bits() && d.Contains(prefix.Addr())
			}) {
				out = append(out, prefix.String())
			}
		}
	} else {
		for _, address := range p.nodes {
			if !slices.ContainsFunc(p.declared, func(d netip.Prefix) bool { return d.Contains(address) }) {
				out = append(out, address.String())
			}
		}
	}
	if len(out) > 0 {
		slices.Sort(out)
		f.warn(check, "join the site with --source-ranges that have these, unless something else translates them",
			"%s are here and not in %s: the other sites' NetworkPolicies shut them out",
			strings.Join(slices.Compact(out), ", "), ranges(p.declared))
	}
}

func union(p place) []netip.Prefix { return slices.Concat(p.declared, p.seen) }

// overlap is the first pair that has addresses in common.
func overlap(a, b []netip.Prefix) (netip.Prefix, netip.Prefix, bool) {
	for _, x := range a {
		for _, y := range b {
			if x.Overlaps(y) {
				return x, y, true
			}
		}
	}
	return netip.Prefix{}, netip.Prefix{}, false
}

func ranges(list []netip.Prefix) string {
	var parts []string
	for _, p := range list {
		parts = append(parts, p.String())
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
