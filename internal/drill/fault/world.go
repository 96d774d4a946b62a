// SPDX-License-Identifier: Apache-2.0

// Package fault is what a fault of a Drill is: which objects it resolves to, and how its effect and its end are seen.
package fault

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Server is where a server of the target is, and how it is reached.
type Server struct {
	Name v1alpha1.ServerName
	Site v1alpha1.SiteName
	// Addresses are those of its pod, and of its pod as other sites reach it; empty while it has none.
	Addresses []string
	// Services are the ClusterIPs of its Service, by site. In the namespace of a pod a packet to the server still has that
	// destination: kube-proxy rewrites it later, on the node.
	Services map[v1alpha1.SiteName]string
}

// Pod is the name of the server's pod, and the name by which engines reach it.
func (s Server) Pod() string { return credentials.HostName(s.Name) }

// Client is a pod in which clients of the drill run.
type Client struct {
	Pod     string
	Address string
}

// Site is what is at a site besides servers.
type Site struct {
	// APIServers are host:port at which others reach its API server.
	APIServers []string
	// LocalAPI are the addresses at which its own pods reach it: that of the Service kubernetes, and of its endpoints.
	LocalAPI []string
	Clients  []Client
}

// World is what faults are resolved against, as it is when their time comes.
type World struct {
	// Namespace of the target, the same at every site.
	Namespace string
	// Drill and RunID name the run.
	Drill, RunID string
	// Group of the target; empty when it has none.
	Group string
	// Term of the group, as its status tells; 0 while that tells none.
	Term    int64
	Servers map[v1alpha1.ServerName]Server
	Sites   map[v1alpha1.SiteName]Site
	// Left is the time until the drill's limit, by which everything ends; 0 while nothing bounds it.
	Left time.Duration
	// Roles of the moment. A role that nobody plays is not there.
	Roles map[v1alpha1.FaultRole]v1alpha1.ServerName
}

// end is one end of a link: servers, and the rest of a site.
type end struct {
	servers []Server
	// site is set when the whole site is meant: with its clients and its API server.
	site v1alpha1.SiteName
}

// find resolves a place.
func (w World) find(p v1alpha1.FaultPlace) (end, error) {
	switch {
	case p.Site != "":
		e := end{site: p.Site}
		for _, name := range slices.Sorted(maps.Keys(w.Servers)) {
			if s := w.Servers[name]; s.Site == p.Site {
				e.servers = append(e.servers, s)
			}
		}
		if len(e.servers) == 0 {
			return e, fmt.Errorf("no server of the target runs at site %s", p.Site)
		}
		return e, nil
	case p.Role != "":
		name, ok := w.Roles[p.Role]
		if !ok {
			return end{}, fmt.Errorf("nobody is %s now", p.Role)
		}
		return w.find(v1alpha1.FaultPlace{Server: name})
	}
	s, ok := w.Servers[p.Server]
	if !ok {
		return end{}, fmt.Errorf("%s is no server of the target", p.Server)
	}
	return end{servers: []Server{s}}, nil
}

// rest is everything but that end: the other servers, the clients and API servers of the sites.
func (w World) rest(e end) []end {
	others := end{}
	for _, name := range slices.Sorted(maps.Keys(w.Servers)) {
		if !slices.ContainsFunc(e.servers, func(s Server) bool { return s.Name == name }) {
			others.servers = append(others.servers, w.Servers[name])
		}
	}
	list := []end{others}
	for _, name := range slices.Sorted(maps.Keys(w.Sites)) {
		if name != e.site {
			list = append(list, end{site: name})
		}
	}
	return list
}

// names for people.
func (e end) names() []string {
	if e.site != "" {
		return []string{"site " + string(e.site)}
	}
	var list []string
	for _, s := range e.servers {
		list = append(list, string(s.Name))
	}
	return list
}

// pods are the names of an end's pods, by site.
func (w World) pods(ends ...end) map[v1alpha1.SiteName][]string {
	pods := map[v1alpha1.SiteName][]string{}
	for _, e := range ends {
		for _, s := range e.servers {
			pods[s.Site] = append(pods[s.Site], s.Pod())
		}
		if e.site != "" {
			for _, c := range w.Sites[e.site].Clients {
				pods[e.site] = append(pods[e.site], c.Pod)
			}
		}
	}
	for site := range pods {
		slices.Sort(pods[site])
		pods[site] = slices.Compact(pods[site])
	}
	return pods
}

// addresses are all destinations under which the ends appear in packets of pods at the site from: the ClusterIPs there,
// the pods' own addresses, those of clients, and the API servers of whole sites.
func (w World) addresses(from v1alpha1.SiteName, ends ...end) []string {
	var list []string
	for _, e := range ends {
		for _, s := range e.servers {
			list = append(list, s.Addresses...)
			if ip := s.Services[from]; ip != "" {
				list = append(list, ip)
			}
		}
		if e.site == "" {
			continue
		}
		site := w.Sites[e.site]
		for _, api := range site.APIServers {
			if host, _, err := net.SplitHostPort(api); err == nil {
				list = append(list, host)
			}
		}
		if e.site == from {
			list = append(list, site.LocalAPI...)
		}
		for _, c := range site.Clients {
			if c.Address != "" {
				list = append(list, c.Address)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
