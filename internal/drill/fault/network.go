// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// network adds the objects of Network and Partition. Packets are dropped or delayed in the namespaces of pods, where a
// server at another site is the ClusterIP of its Service to those who connect to it, and its pod's address to those who
// answer; so both are named. Chaos Mesh delays what pods send and never what they receive from outside of its cluster;
// so what a place receives is delayed where it is sent.
func (b builder) network(where end) error {
	peers, whole := b.w.rest(where), true
	if b.o.Peer != nil {
		peer, err := b.w.find(*b.o.Peer)
		if err != nil {
			return err
		}
		peers, whole = []end{peer}, false
		b.r.Targets = append(b.r.Targets, peer.names()...)
	}
	if whole && where.site != "" && b.o.Kind == v1alpha1.FaultPartition && len(b.w.Sites[where.site].APIServers) == 0 {
		return fmt.Errorf(
			"where the API server of site %s is reached is not known now: a site whose API server still answers has not been "+
				"lost",
			where.site,
		)
	}
	most := maxProbes
	if Transfers(b.o) {
		most = maxTransfers
	}
	b.r.Probes = withTransfers(b.w.probes(where, peers, whole, most), b.o)
	if whole && where.site != "" && nothingPasses(b.o) {
		b.r.Isolated = []string{string(where.site)}
	}
	if b.o.Kind == v1alpha1.FaultPartition {
		b.r.Asked = "no connection between " + words(
			where.names(),
		) + " and " + cmp.Or(
			words(namesOf(peers, whole)),
			"everything else",
		)
		b.partition(where, peers)
		return nil
	}
	b.r.Asked = describe(
		*b.o.Network,
	) + " between " + words(
		where.names(),
	) + " and " + cmp.Or(
		words(namesOf(peers, whole)),
		"everything else",
	)
	for _, spec := range emulation(*b.o.Network) {
		if b.o.Direction != v1alpha1.DirectionFrom {
			b.link(spec, "to", []end{where}, peers)
		}
		if b.o.Direction != v1alpha1.DirectionTo {
			b.link(spec, "to", peers, []end{where})
		}
	}
	return nil
}

// nothingPasses says of a fault of the network that no packet comes through, in one direction at least: no connection
// outlives that.
func nothingPasses(o drill.Occurrence) bool {
	return o.Kind == v1alpha1.FaultPartition || o.Network != nil && o.Network.Loss == 100
}

func namesOf(ends []end, whole bool) []string {
	if whole {
		return nil
	}
	var list []string
	for _, e := range ends {
		list = append(list, e.names()...)
	}
	return list
}

// partition drops at both ends, so that neither packets nor answers pass on whatever way they take.
func (b builder) partition(where end, peers []end) {
	spec := map[string]any{"action": "partition"}
	switch b.o.Direction {
	case v1alpha1.DirectionTo:
		b.link(spec, "to", []end{where}, peers)
	case v1alpha1.DirectionFrom:
		b.link(spec, "to", peers, []end{where})
	default:
		b.link(spec, "both", []end{where}, peers)
		b.link(spec, "both", peers, []end{where})
	}
}

// link adds an object for each site with pods of the ends from, against the addresses that the ends to have there.
func (b builder) link(spec map[string]any, direction string, from, to []end) {
	pods := b.w.pods(from...)
	for _, site := range slices.Sorted(maps.Keys(pods)) {
		addresses := b.w.addresses(site, to...)
		if len(addresses) == 0 {
			continue
		}
		one := maps.Clone(spec)
		one["direction"], one["externalTargets"] = direction, anys(addresses)
		b.add(site, "NetworkChaos", b.selecting(one, pods[site]))
	}
}

// emulation is what Chaos Mesh calls the parts of a network fault. Bandwidth is an action of its own.
func emulation(n v1alpha1.NetworkFault) []map[string]any {
	var list []map[string]any
	spec := map[string]any{"action": "netem"}
	if n.Latency != nil {
		delay := map[string]any{"latency": milliseconds(n.Latency.Milliseconds())}
		if n.Jitter != nil && n.Jitter.Duration > 0 {
			delay["jitter"] = milliseconds(n.Jitter.Milliseconds())
		}
		spec["delay"] = delay
	}
	for name, percent := range map[string]int32{"loss": n.Loss, "duplicate": n.Duplicate, "corrupt": n.Corrupt} {
		if percent > 0 {
			spec[name] = map[string]any{name: strconv.Itoa(int(percent))}
		}
	}
	if len(spec) > 1 {
		list = append(list, spec)
	}
	if n.Rate != "" {
		// limit and buffer in bytes: a queue as long as a router's, and bursts of a few frames.
		list = append(
			list,
			map[string]any{
				"action":    "bandwidth",
				"bandwidth": map[string]any{"rate": n.Rate, "limit": int64(20971520), "buffer": int64(10000)},
			},
		)
	}
	return list
}

func milliseconds(n int64) string { return strconv.FormatInt(n, 10) + "ms" }

func describe(n v1alpha1.NetworkFault) string {
	var parts []string
	if n.Latency != nil {
		text := "latency +" + seconds(n.Latency)
		if n.Jitter != nil {
			text += " ± " + seconds(n.Jitter)
		}
		parts = append(parts, text)
	}
	for _, p := range []struct {
		name    string
		percent int32
	}{{"loss", n.Loss}, {"duplicates", n.Duplicate}, {"corruption", n.Corrupt}} {
		if p.percent > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %%", p.name, p.percent))
		}
	}
	if n.Rate != "" {
		parts = append(parts, "at most "+n.Rate)
	}
	return words(parts)
}

// probes are ways between servers on both sides of the fault, and of a site that is lost to its API server. Where there
// are more pairs of servers than can be probed, as many servers as possible are among those that are.
func (w World) probes(where end, peers []end, whole bool, most int) []Probe {
	pairs := pairsAcross(where, peers)
	var list []Probe
	port := strconv.Itoa(mssql.Port)
	way := func(from, to Server) {
		list = append(list, Probe{From: from.Name, To: net.JoinHostPort(to.Pod(), port)})
	}
	for _, p := range pairs {
		way(p.peer, p.struck)
		if 2*len(pairs) <= most {
			way(p.struck, p.peer)
		}
	}
	for _, p := range pairs {
		if 2*len(pairs) > most {
			way(p.struck, p.peer)
		}
	}
	if len(list) > most {
		list = list[:most]
	}
	if !whole || where.site == "" {
		return list
	}
	for _, p := range peers {
		for _, t := range p.servers {
			for _, api := range w.Sites[where.site].APIServers {
				return append(list, Probe{From: t.Name, To: api})
			}
		}
	}
	return list
}

// across is a pair of servers on both sides of a fault.
type across struct{ struck, peer Server }

// pairsAcross are all pairs, each server among the first of them.
func pairsAcross(where end, peers []end) []across {
	here, there := where.servers, []Server(nil)
	for _, p := range peers {
		there = append(there, p.servers...)
	}
	var list []across
	known := map[[2]int]bool{}
	for shift := range there {
		for k := range max(len(here), len(there)) {
			if len(here) == 0 {
				break
			}
			i, j := k%len(here), (k+shift)%len(there)
			if !known[[2]int{i, j}] {
				known[[2]int{i, j}] = true
				list = append(list, across{here[i], there[j]})
			}
		}
	}
	return list
}

// withTransfers adds a transfer beside each probe between engines, to the agent at the same name, where connections
// alone do not show the fault.
func withTransfers(list []Probe, o drill.Occurrence) []Probe {
	if !Transfers(o) {
		return list
	}
	for _, p := range list {
		if host, port, err := net.SplitHostPort(p.To); err == nil && port == strconv.Itoa(mssql.Port) {
			list = append(list, Probe{From: p.From, To: credentials.AgentAddress(host), Send: TransferBytes(*o.Network)})
		}
	}
	return list
}
