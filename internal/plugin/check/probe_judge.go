// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/sites/reach"
)

// judge says what both ends found. What an end could not be asked is not known, and never well.
func (p *probing) judge() []Finding {
	var all []Finding
	for i, from := range p.ends {
		f := &findings{cluster: from.name}
		to, found := p.ends[1-i], p.found[i]
		if found.err != nil {
			f.unprobed(obstacle{found.err, "see that namespace " + from.namespace + " lets a small pod of the restricted " +
				"profile run, and that nodes pull its image " + p.image + ", or say --probe-image"})
			all = append(all, f.list...)
			continue
		}
		judgeNames(f, found.is.Names)
		judgeAPIServer(f, from, to, found.is.Connect)
		var back *reach.Way
		if other := p.found[1-i]; other.err == nil {
			back = other.is.Way
		}
		// Where the other pod did not run, nothing of the way was asked.
		if len(found.is.Ports) > 0 {
			judgePorts(f, from, to, found.is.Ports)
			judgeRoundTrip(f, from, to, found.is.Way, p.link)
			judgePackets(f, from, to, found.is.Way, back, p.link)
			judgeClosed(f, to, found.is.Closed)
		}
		all = append(all, f.list...)
	}
	return all
}

func judgeNames(f *findings, names []reach.Name) {
	for _, n := range names {
		if n.Error != "" {
			f.problem("dns", "see that the cluster's DNS runs (kubectl -n kube-system get pods,endpointslices) and that "+
				"policies let pods ask it: servers find each other by names", "its pods do not resolve %s: %s", n.Name, n.Error)
			continue
		}
		f.ok("dns", "its pods resolve %s to %s in %s", n.Name, strings.Join(n.Addresses, ", "), shown(n.Took))
	}
}

func judgeAPIServer(f *findings, from, to end, all []reach.Port) {
	for _, p := range all {
		if p.Failure == "" {
			f.ok("api-server", "its pods connect to that of %s, %s", to.name, p.To)
			continue
		}
		change := fmt.Sprintf("let the pods of %s connect to it, or join %s with --kubeconfig-server URL that they reach: "+
			"votes and names need it", from.name, to.name)
		if p.Failure == reach.NoName {
			change = fmt.Sprintf("let the DNS of %s know the name, or join %s with --kubeconfig-server URL that its pods "+
				"resolve: votes and names need it", from.name, to.name)
		}
		f.problem("api-server", change, "its pods do not connect to that of %s: %s", to.name, p.Error)
	}
}

// judgePorts says which of the other site's ports answer, and groups the others by how they do not.
func judgePorts(f *findings, from, to end, all []reach.Port) {
	const check = "reach"
	var well []string
	var failures []reach.Failure
	ports, whys := map[reach.Failure][]string{}, map[reach.Failure]string{}
	for i, p := range all {
		name := fmt.Sprint(serverPorts[i])
		if to.exposure() == v1alpha1.ExposureNodePort {
			name = fmt.Sprintf("%d (%s)", serverPorts[i], p.To)
		}
		if p.Failure == "" {
			well = append(well, name)
			continue
		}
		if ports[p.Failure] == nil {
			failures = append(failures, p.Failure)
			whys[p.Failure] = p.Error
		}
		ports[p.Failure] = append(ports[p.Failure], name)
	}
	if len(well) == len(all) {
		f.ok(check, "its pods reach those of %s at ports %s", to.name, strings.Join(well, ", "))
	}
	for _, failure := range failures {
		how := map[reach.Failure]string{reach.Silent: "get no answer", reach.Refused: "are turned away",
			reach.NoWay: "find no way", reach.Another: "find something else"}[failure]
		if how == "" {
			how = "fail"
		}
		f.problem(check, toReach(from, to, failure), "connections of its pods to those of %s %s at ports %s: %s",
			to.name, how, strings.Join(ports[failure], ", "), whys[failure])
	}
}

// toReach is what to change so that one site reaches the other.
func toReach(from, to end, failure reach.Failure) string {
	nodes := to.exposure() == v1alpha1.ExposureNodePort
	switch {
	case failure == reach.Another && nodes:
		return fmt.Sprintf("see that %s reaches the nodes of %s by their addresses: something else has one of them",
			from.name, to.name)
	case failure == reach.Another:
		return "see that the ranges of pods differ between all sites, and that nothing else has an address of them"
	case failure == reach.NoWay && !nodes:
		return fmt.Sprintf("lead the ranges of pods of %s from %s there (FlatNetwork), or join %s with --exposure NodePort",
			to.name, from.name, to.name)
	}
	open := "open these ports from the pods of " + from.name + " to those of " + to.name
	if nodes {
		open = "open the range of node ports (30000 to 32767 unless set otherwise) of the nodes of " + to.name + " to " +
			from.name
	}
	return fmt.Sprintf("%s in firewalls; see that no policy of namespace %s at %s keeps pods from connecting there, none "+
		"of %s at %s from being reached, and that the source ranges of %s (%s) have the addresses by which %s sees its "+
		"pods", open, from.namespace, from.name, to.namespace, to.name, from.name,
		ranges(placeOf(from.name, from.site).declared), to.name)
}

// roundTripSlack is how much more or less than declared a round trip may take, besides half of it.
const roundTripSlack = 5 * time.Millisecond

func judgeRoundTrip(f *findings, from, to end, w *reach.Way, l link.Link) {
	const check = "round-trip"
	if w == nil {
		return // what does not answer has its finding
	}
	if w.Connections == 0 {
		f.add(Unknown, check, "", "none of the connections to %s that were timed was made, though one was before", to.name)
		return
	}
	if w.Lost > 0 {
		f.warn(check, "look for a way that loses packets, or a firewall that bounds connections",
			"%d of %d connections to %s were not made", w.Lost, w.Lost+w.Connections, to.name)
	}
	is, declared := w.RoundTrip, l.RoundTrip
	say := fmt.Sprintf("join %s with --link %s=%s/%s: windows, buffers and forecasts are of what is declared", from.name,
		to.name, shown(is), cmp.Or(l.Bandwidth, "BANDWIDTH"))
	switch {
	case declared == 0:
		f.ok(check, "%s to %s (median of %d connections); no link declares one", shown(is), to.name, w.Connections)
	case is > declared*3/2+roundTripSlack:
		f.warn(check, say, "%s to %s, more than the %s that is declared", shown(is), to.name, declared)
	case is < declared/2-roundTripSlack:
		f.warn(check, say, "%s to %s, less than the %s that is declared", shown(is), to.name, declared)
	default:
		f.ok(check, "%s to %s (median of %d connections), declared as %s", shown(is), to.name, w.Connections, declared)
	}
}

// judgePackets looks whether data arrives that fills packets, on the way from one end to the other: both have tried it.
func judgePackets(f *findings, from, to end, there, back *reach.Way, l link.Link) {
	const check = "packets"
	var sent []reach.Transfer
	if there != nil {
		sent = append(sent, there.There)
	}
	if back != nil {
		sent = append(sent, back.Back)
	}
	if len(sent) == 0 {
		return
	}
	for _, t := range sent {
		if t.Failure != "" {
			f.problem(check, fmt.Sprintf("give the networks of pods at both sites the MTU of what lies between (tunnels leave "+
				"1280 to 1450 bytes of 1500), or have a router there lower the MSS; and let ICMP \"fragmentation needed\" "+
				"through between %s and %s", from.name, to.name),
				"connections are made to %s, and %d bytes do not arrive there: packets%s are lost on the way: %s", to.name, t.Bytes,
				packet(there), t.Error)
			return
		}
	}
	if there != nil && there.Path > 0 && there.Path < there.Interface {
		f.warn(check, fmt.Sprintf("give the network of pods an MTU of %d", there.Path),
			"the way to %s takes packets of %d bytes, its pods send %d: each connection loses some until it learns that, and "+
				"stands still where ICMP is dropped", to.name, there.Path, there.Interface)
		return
	}
	took := sent[0].Took
	for _, t := range sent {
		took = min(took, t.Took)
	}
	roundTrip := l.RoundTrip
	if there != nil {
		roundTrip = max(roundTrip, there.RoundTrip)
	}
	if bound := 2*expected(sent[0].Bytes, roundTrip, l.Bandwidth) + slowSlack; l.Bandwidth != "" && took > bound {
		f.warn(check, "see that the declared bandwidth is there, or declare less: windows, buffers and forecasts are of it",
			"%d bytes took %s to %s; with the %s that are declared they take less than %s", sent[0].Bytes, shown(took), to.name,
			l.Bandwidth, shown(bound))
		return
	}
	f.ok(check, "%d bytes arrive at %s in %s%s", sent[0].Bytes, to.name, shown(took), packets(there))
}

// slowSlack is what a lost packet or a busy machine may cost a transfer.
const slowSlack = 500 * time.Millisecond

// expected is how long a transfer on a new connection takes at most: TCP sends ten packets and doubles that with each
// round trip (RFC 6928).
func expected(bytes int, roundTrip time.Duration, bandwidth string) time.Duration {
	took := 5 * roundTrip
	if bits := link.BitsPerSecond(bandwidth); bits > 0 {
		took += time.Duration(min(float64(8*bytes)/bits, 3600) * float64(time.Second))
	}
	return took
}

func packet(w *reach.Way) string {
	if w == nil || w.Path == 0 {
		return " of full size"
	}
	return fmt.Sprintf(" of %d bytes", w.Path)
}

func packets(w *reach.Way) string {
	if w == nil || w.Path == 0 {
		return ""
	}
	return fmt.Sprintf(", in packets of %d bytes (MTU) with %d of data (MSS)", w.Path, w.Segment)
}

// judgeClosed says that policies are not enforced where one lets nobody through and somebody came. That nobody came
// proves nothing: a firewall may stand between.
func judgeClosed(f *findings, to end, all []reach.Port) {
	for _, p := range all {
		if p.Failure == "" {
			there := &findings{cluster: to.name}
			there.warn("network-policies", enforce+"; kindnet and kube-network-policies need the kernel's nfnetlink_queue and "+
				"nft_queue on each node", "%s was reached there, which its NetworkPolicy does not open: they are not enforced",
				p.To)
			f.list = append(f.list, there.list...)
		}
	}
}

func shown(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
