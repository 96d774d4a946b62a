// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"net/netip"
	"slices"

	"geosql.dev/operator/hack/bed/netem/emulator"
)

// Plan returns the classes that each node needs so that all links are as
// asked: one class per remote site, named after it, with the site's pods and
// nodes as destinations. A link to a site without a running node is planned
// for its pods only. Every node has an entry.
func Plan(sites []Site, nodes []Node, asked Asked) map[string][]emulator.Class {
	plan := map[string][]emulator.Class{}
	for _, node := range nodes {
		classes := []emulator.Class{}
		for _, remote := range sites {
			link := asked.Link(node.Site, remote.Name)
			if remote.Name == node.Site || link.Effective().Transparent() {
				continue
			}
			classes = append(classes, emulator.Class{Name: remote.Name, To: destinations(remote, nodes), Rule: link.Effective()})
		}
		plan[node.Name] = classes
	}
	return plan
}

// destinations are a site's pods, and its nodes, which is where its API server
// listens.
func destinations(site Site, nodes []Node) []netip.Prefix {
	to := []netip.Prefix{site.PodSubnet}
	for _, node := range nodes {
		if node.Site != site.Name {
			continue
		}
		for _, address := range node.Addresses {
			to = append(to, netip.PrefixFrom(address, address.BitLen()))
		}
	}
	slices.SortFunc(to, netip.Prefix.Compare)
	return slices.Compact(to)
}
