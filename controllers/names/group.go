// SPDX-License-Identifier: Apache-2.0

package names

import (
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// groupView is what names need of a group.
type groupView struct {
	namespace, name string
	listener        v1alpha1.Listener
	// primary and readable are servers; primary is nil when nobody is known to be it.
	primary  *serverView
	readable []*serverView
	// servers are all that may stand behind the listener; none when that is not known.
	servers []*serverView
	// barred are servers to which no listener leads, although they may be what it led to: they have databases of the
	// group's ONLINE outside of it.
	barred []*serverView
	// others are the group's servers, as far as they are known, when one is not reached at its pod's address everywhere:
	// pods of two sites may have the same address then, and what is kept must not lead to the wrong one.
	others []*serverView
	// claimant is the server to which a majority gave its votes and which has not been seen as PRIMARY yet; empty when
	// that is not known of any.
	claimant v1alpha1.ServerName
	// links are the declared round-trip times between sites, in both directions.
	links map[link]time.Duration
}

// findPrimary notes where the primary is, or, when there is none, where all are that may stand behind the listener.
func findPrimary[S ~string](g *groupView, primary S, servers []S, find func(S) (*serverView, error)) (err error) {
	if primary != "" {
		if g.primary, err = find(primary); err != nil || g.primary != nil {
			return err
		}
	}
	g.servers, err = findAll(servers, find)
	if len(g.servers) < len(servers) {
		// Of one that is not declared, because the hub was made anew, say, nobody knows where it is.
		g.servers = nil
	}
	return err
}

// findAll finds servers, without those that are not declared.
func findAll[S ~string](servers []S, find func(S) (*serverView, error)) ([]*serverView, error) {
	var found []*serverView
	for _, server := range servers {
		s, err := find(server)
		if err != nil {
			return nil, err
		}
		if s != nil {
			found = append(found, s)
		}
	}
	return found, nil
}

// findOthers notes where the group's servers are, when pods' addresses may be the same at two sites. What cannot be
// read bars nothing: the listener does not wait for it.
func findOthers[S ~string](g *groupView, servers []S, find func(S) (*serverView, error)) {
	if !slices.ContainsFunc(append(slices.Clone(g.readable), g.primary), func(s *serverView) bool {
		return s != nil && s.exposure != v1alpha1.ExposureFlatNetwork
	}) {
		return
	}
	for _, server := range servers {
		if s, err := find(server); err == nil && s != nil {
			g.others = append(g.others, s)
		}
	}
}

// besides are the ways to all of the group's servers but these.
func (g *groupView) besides(at v1alpha1.SiteName, servers ...*serverView) (ways []string) {
	for _, o := range g.others {
		if !slices.ContainsFunc(servers, func(s *serverView) bool { return s.name == o.name }) {
			ways = append(ways, endpointKeys(o.reach(at))...)
		}
	}
	return ways
}

// link is a pair of sites.
type link struct{ from, to v1alpha1.SiteName }

// linksOf the declared Sites. What only one of two sites declares counts for both directions.
func linksOf(list []v1alpha1.Site) map[link]time.Duration {
	links := map[link]time.Duration{}
	declare := func(l link, roundTrip time.Duration, own bool) {
		if _, ok := links[l]; own || !ok {
			links[l] = roundTrip
		}
	}
	for _, own := range []bool{true, false} {
		for i := range list {
			here := v1alpha1.SiteName(list[i].Name)
			for _, l := range list[i].Spec.Links {
				switch {
				case l.RoundTrip == nil:
				case own:
					declare(link{here, l.To}, l.RoundTrip.Duration, true)
				default:
					declare(link{l.To, here}, l.RoundTrip.Duration, false)
				}
			}
		}
	}
	return links
}

// distance between two sites; false when nobody declared it.
func (g *groupView) distance(from, to v1alpha1.SiteName) (time.Duration, bool) {
	if from == to {
		return 0, true
	}
	d, ok := g.links[link{from, to}]
	return d, ok
}

// nearest are those of the servers that are nearest to a site: at the site itself, else at the least declared
// round-trip time, else - nobody declared any - all.
func (g *groupView) nearest(at v1alpha1.SiteName, servers []*serverView) []*serverView {
	var best []*serverView
	least, declared := time.Duration(0), false
	for _, s := range servers {
		d, ok := g.distance(at, s.home)
		switch {
		case ok && (!declared || d < least):
			best, least, declared = []*serverView{s}, d, true
		case ok == declared && (!ok || d == least):
			best = append(best, s)
		}
	}
	return best
}

// living are the addresses and ports at which the servers are reached from a site; nil when it is not known of all.
func (g *groupView) living(at v1alpha1.SiteName) []string {
	var living []string
	for _, s := range g.servers {
		passed := g.passed(s)
		if !s.known && !passed {
			return nil
		}
		if living == nil {
			living = []string{}
		}
		if !passed {
			living = append(living, s.ways(at)...)
		}
	}
	return living
}

// passed says of a server that it is not primary any more and that nobody answers there either: its site is silent, and
// a majority has given its votes to another. Votes are taken from a holder only after its write lease has ended.
func (g *groupView) passed(s *serverView) bool {
	return s.silent && g.claimant != "" && g.claimant != s.name
}

// listenerName of a group and the name for readers.
func listenerName(g *v1alpha1.AvailabilityGroup) string {
	if g.Spec.Listener != nil && g.Spec.Listener.Name != "" {
		return g.Spec.Listener.Name
	}
	return g.Name
}

func listenerPort(g *v1alpha1.AvailabilityGroup) int32 {
	if g.Spec.Listener != nil && g.Spec.Listener.Port != 0 {
		return g.Spec.Listener.Port
	}
	return PortTDS
}

// readOnlySuffix follows the listener's name in the Service for readers.
const readOnlySuffix = "-ro"

// outside are the replicas' servers that have databases of the group's ONLINE outside of it, as its status says.
func outside(g *v1alpha1.AvailabilityGroup) []v1alpha1.ServerName {
	var servers []v1alpha1.ServerName
	for _, replica := range g.Spec.Replicas {
		if slices.ContainsFunc(
			g.Status.Replicas,
			func(s v1alpha1.ReplicaStatus) bool { return isServer(s.Server, replica.Server) && len(s.Outside) > 0 },
		) {
			servers = append(servers, replica.Server)
		}
	}
	return servers
}

// bar keeps the listener and its sister for readers from servers: they lead nowhere rather than there.
func (g *groupView) bar(servers []*serverView) {
	g.barred = servers
	is := func(s *serverView) bool {
		return s != nil && slices.ContainsFunc(servers, func(b *serverView) bool { return b.name == s.name })
	}
	if is(g.primary) {
		g.primary = nil
	}
	g.servers, g.readable = slices.DeleteFunc(g.servers, is), slices.DeleteFunc(g.readable, is)
}

// addresses at which servers are reached from a site, with their ports.
func addresses(at v1alpha1.SiteName, servers []*serverView) (known []string) {
	for _, s := range servers {
		known = append(known, s.ways(at)...)
	}
	return known
}

// groupServers returns the primary and the readable secondaries by the group's status, which its controller writes. A
// secondary counts as readable when the spec lets it be read and the server last said that it is a secondary.
func groupServers(g *v1alpha1.AvailabilityGroup) (primary v1alpha1.ServerName, readable []v1alpha1.ServerName) {
	for _, replica := range g.Spec.Replicas {
		if isServer(g.Status.Primary, replica.Server) {
			primary = replica.Server
			continue
		}
		if !replica.Readable || replica.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		if slices.ContainsFunc(g.Status.Replicas, func(s v1alpha1.ReplicaStatus) bool {
			return isServer(s.Server, replica.Server) && s.Role == "SECONDARY"
		}) {
			readable = append(readable, replica.Server)
		}
	}
	return primary, readable
}

// dataServers are the group's servers that hold data.
func dataServers(g *v1alpha1.AvailabilityGroup) []v1alpha1.ServerName {
	var servers []v1alpha1.ServerName
	for _, replica := range g.Spec.Replicas {
		if replica.AvailabilityMode != v1alpha1.ConfigurationOnly {
			servers = append(servers, replica.Server)
		}
	}
	return servers
}

// isServer compares a name in a status, which may be the object's or the instance's, with an object's.
func isServer(status string, server v1alpha1.ServerName) bool {
	return strings.EqualFold(status, string(server)) || strings.EqualFold(status, podName(server))
}

// groupNames are a group's names at one site: the listener leads to the primary, and its read-only sister to the
// nearest of the readable secondaries that have an address: a reader does not cross a WAN for what its own site has.
// While nobody is known to be primary the listener keeps its last address: a wrong guess costs a refused login, an
// empty Service costs clients that would have been served. An address of a pod that is no more is not kept: nobody
// answers there, and connections are better refused than left hanging. Nor is one at a silent site once another has the
// votes (passed): what a client begins there hangs beyond the election.
func groupNames(g *groupView, at v1alpha1.SiteName) []name {
	labels := ownLabels(g.namespace, v1alpha1.LabelGroup, g.name)
	ports := []port{{"tds", g.listener.Port, PortTDS}}
	write := name{namespace: g.namespace, service: g.listener.Name, ports: ports, labels: labels}
	switch {
	case g.primary == nil || !g.primary.known:
		write.keep, write.living, write.barred = true, g.living(at), addresses(at, g.barred)
	case g.primary.awaits(at):
		write.keep, write.living, write.barred = true, g.primary.ways(at), g.besides(at, g.primary)
	default:
		write.lead(at, g.primary)
		write.barred = g.besides(at, g.primary)
	}
	read := name{namespace: g.namespace, service: g.listener.Name + readOnlySuffix, ports: ports, labels: labels}
	var reached []*serverView
	for _, s := range g.readable {
		read.keep = read.keep || !s.known || s.awaits(at)
		if len(s.reach(at)) > 0 {
			reached = append(reached, s)
		}
	}
	if !slices.ContainsFunc(g.readable, func(s *serverView) bool { return !s.known }) {
		read.living = append([]string{}, addresses(at, g.readable)...)
	}
	for _, s := range g.nearest(at, reached) {
		read.lead(at, s)
	}
	read.barred = append(addresses(at, g.barred), g.besides(at, g.readable...)...)
	if len(reached) > 0 {
		// Readers are better sent to the secondaries that can be seen than to one that may be gone.
		read.keep = false
	}
	return []name{write, read}
}
