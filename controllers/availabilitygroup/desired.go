// SPDX-License-Identifier: Apache-2.0

// Package availabilitygroup reconciles AvailabilityGroups: endpoints and certificates on every replica, votes at the
// voters, the group with its databases and listener, and the status of each replica.
package availabilitygroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// MirroringPort is the port of the database mirroring endpoint on every server.
const MirroringPort = 5022

// certificateLife is how long an endpoint certificate lasts; it is renewed when certificateRenewal of it is left. From
// certificateUrgency before its end on nobody is waited for any more: partners refuse a certificate that has ended.
const (
	certificateLife    = 2 * 365 * 24 * time.Hour
	certificateRenewal = certificateLife / 3
	certificateUrgency = 30 * 24 * time.Hour
)

// Desired is what an AvailabilityGroup asks for.
type Desired struct {
	Group *v1alpha1.AvailabilityGroup
	// Sites of the servers by server, for those that exist.
	Sites map[v1alpha1.ServerName]v1alpha1.SiteName
	// StartsWithFlag are the servers that are declared to start with trace flag 1448.
	StartsWithFlag map[v1alpha1.ServerName]bool
	// Editions of the servers as they are declared.
	Editions map[v1alpha1.ServerName]v1alpha1.Edition
	// Restores are those that are to bring databases into the group.
	Restores []v1alpha1.Restore
	// NeverAnswered are the servers that are being deleted before an engine of theirs has ever answered.
	NeverAnswered map[v1alpha1.ServerName]bool
	// Timings of the votes of new groups that declare none.
	Timings ballot.Timings

	// objects are the servers that are declared, and those that were replicas.
	objects map[v1alpha1.ServerName]*v1alpha1.SQLServer
}

// desire reads the group's servers in the hub.
func (r *Reconciler) desire(ctx context.Context, group *v1alpha1.AvailabilityGroup) (Desired, error) {
	r.confirmed.Recall(ctx, group.Namespace)
	d := Desired{
		Group:          r.confirmed.Answered(group),
		Sites:          map[v1alpha1.ServerName]v1alpha1.SiteName{},
		StartsWithFlag: map[v1alpha1.ServerName]bool{},
		Editions:       map[v1alpha1.ServerName]v1alpha1.Edition{},
		NeverAnswered:  map[v1alpha1.ServerName]bool{},
		Timings:        r.timings,
		objects:        map[v1alpha1.ServerName]*v1alpha1.SQLServer{},
	}
	for _, name := range append(d.servers(), d.former()...) {
		server := &v1alpha1.SQLServer{}
		err := r.hub.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: string(name)}, server)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return d, fmt.Errorf("read SQLServer %s/%s: %w", group.Namespace, name, err)
		default:
			d.objects[name] = server
			d.Sites[name] = server.Spec.Site
			d.StartsWithFlag[name] = server.Spec.Startup != nil &&
				slices.Contains(server.Spec.Startup.TraceFlags, tsql.TraceFlagLogReaderIgnoresAsynchronous)
			d.Editions[name] = server.Spec.DeclaredEdition()
			d.NeverAnswered[name] = !server.DeletionTimestamp.IsZero() && server.Status.Engine == ""
		}
	}
	var err error
	d.Restores, err = databases.Bringing(ctx, r.hub, group.Namespace, d.declarer().Target())
	return d, err
}

func (d Desired) name() string { return d.Group.Name }

func (d Desired) servers() []v1alpha1.ServerName {
	var names []v1alpha1.ServerName
	for _, r := range d.Group.Spec.Replicas {
		names = append(names, r.Server)
	}
	return names
}

// makesGroup says whether a server can be the one that creates the group.
func (d Desired) makesGroup(server v1alpha1.ServerName) bool {
	return slices.ContainsFunc(d.Group.Spec.Replicas, func(r v1alpha1.Replica) bool {
		return r.Server == server && r.AvailabilityMode == v1alpha1.SynchronousCommit
	})
}

func (d Desired) clusterType() tsql.ClusterType {
	if d.Group.Spec.ClusterType == v1alpha1.ClusterNone {
		return tsql.ClusterNone
	}
	return tsql.ClusterExternal
}

// former are the servers that were replicas when the status was last written and no longer are.
func (d Desired) former() []v1alpha1.ServerName {
	var names []v1alpha1.ServerName
	for _, r := range d.Group.Status.Replicas {
		if server := credentials.ServerOf(r.Server); !slices.Contains(d.servers(), server) {
			names = append(names, server)
		}
	}
	return names
}

// fenced says whether votes and a write lease stand between two primaries.
func (d Desired) fenced() bool { return d.clusterType() == tsql.ClusterExternal }

// orders are what the group's agents are told, without voters and timings.
func (d Desired) orders() orders.Group {
	return orders.Group{Name: d.name(), Namespace: d.Group.Namespace,
		Paused:    d.Group.Spec.FailoverPolicy == v1alpha1.FailoverPaused,
		Automatic: d.Group.Spec.FailoverPolicy == v1alpha1.FailoverAutomatic, RoleAtFailover: d.roleAtFailover(),
	}
}

// roleAtFailover is empty for SECONDARY: orders of managers that know of no other one are the same.
func (d Desired) roleAtFailover() ballot.Role {
	if d.Group.Spec.RoleAtFailover == v1alpha1.AtFailoverResolving {
		return ballot.RoleResolving
	}
	return ""
}

// configuration of voters as it was last seen; the one that the group begins with while there is none.
func (d Desired) configuration() votes.Configuration {
	status := d.Group.Status
	var c votes.Configuration
	switch {
	case status.GroupID == "" || len(status.Voters) == 0:
		c.Voters = siteStrings(d.declaredVoters())
	case status.VoterConfiguration != nil:
		c = votes.Configuration{Term: status.VoterConfiguration.Term, Number: status.VoterConfiguration.Number,
			Voters: status.VoterConfiguration.Voters, Next: status.VoterConfiguration.Next}
	default:
		for _, v := range status.Voters {
			c.Voters = append(c.Voters, v.Site)
		}
	}
	return c
}

// voters are the sites that vote by that configuration.
func (d Desired) voters() []v1alpha1.SiteName { return siteNames(d.configuration().Sites()) }

func siteNames(sites []string) []v1alpha1.SiteName {
	names := make([]v1alpha1.SiteName, len(sites))
	for i, s := range sites {
		names[i] = v1alpha1.SiteName(s)
	}
	return names
}

func siteStrings(names []v1alpha1.SiteName) []string {
	sites := make([]string, len(names))
	for i, n := range names {
		sites[i] = string(n)
	}
	return sites
}

// declaredVoters are the declared sites, or those of the replicas when their number is odd.
func (d Desired) declaredVoters() []v1alpha1.SiteName {
	if len(d.Group.Spec.Voters) > 0 {
		return d.Group.Spec.Voters
	}
	var sites []v1alpha1.SiteName
	for _, s := range d.servers() {
		if site, ok := d.Sites[s]; ok && !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	if len(sites)%2 == 0 && len(sites) > 0 {
		sites = sites[:len(sites)-1]
	}
	return sites
}

// required is REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT: what is declared, else by the rule of Microsoft's agent
// (mssql-server-ha): 0 for exactly two synchronous replicas, otherwise half of them, rounded down.
func (d Desired) required() int {
	if n := d.Group.Spec.RequiredSynchronizedSecondaries; n != nil {
		return int(*n)
	}
	synchronous := 0
	for _, r := range d.Group.Spec.Replicas {
		if r.AvailabilityMode == v1alpha1.SynchronousCommit {
			synchronous++
		}
	}
	return requiredOf(synchronous)
}

// requiredNow is required for as long as replicas of group that are declared no more, or not as synchronous, are so
// still. Next to a configuration-only replica the engine takes 0 only (error 47108).
func (d Desired) requiredNow(group *mssql.Group) int {
	switch {
	case witness(group) != nil:
		return 0
	case d.Group.Spec.RequiredSynchronizedSecondaries != nil:
		return d.required()
	}
	synchronous := map[string]bool{}
	for _, r := range d.Group.Spec.Replicas {
		if r.AvailabilityMode == v1alpha1.SynchronousCommit {
			synchronous[host(r.Server)] = true
		}
	}
	for _, r := range group.Replicas {
		if r.Mode == string(tsql.SynchronousCommit) {
			synchronous[strings.ToLower(r.Server)] = true
		}
	}
	return requiredOf(len(synchronous))
}

func requiredOf(synchronous int) int {
	if synchronous == 2 {
		return 0
	}
	return synchronous / 2
}

// adopts says whether the group may take in databases that somebody else made.
func (d Desired) adopts() bool { return d.Group.Annotations[v1alpha1.AdoptAnnotation] == "true" }

func (d Desired) listenerName() string {
	if l := d.Group.Spec.Listener; l != nil && l.Name != "" {
		return l.Name
	}
	return d.Group.Name
}

func (d Desired) listenerPort() int {
	if l := d.Group.Spec.Listener; l != nil && l.Port != 0 {
		return int(l.Port)
	}
	return 1433
}

// listenerIP is the declared address, empty when none is.
func (d Desired) listenerIP() string {
	if l := d.Group.Spec.Listener; l != nil {
		return l.IP
	}
	return ""
}

func (d Desired) databases() []string {
	var names []string
	for _, n := range d.Group.Spec.Databases {
		names = append(names, string(n.Name))
	}
	return names
}

// replica is a declared replica as T-SQL declares it.
func replica(r v1alpha1.Replica) tsql.Replica {
	mode := map[v1alpha1.AvailabilityMode]tsql.AvailabilityMode{
		v1alpha1.SynchronousCommit:  tsql.SynchronousCommit,
		v1alpha1.AsynchronousCommit: tsql.AsynchronousCommit,
		v1alpha1.ConfigurationOnly:  tsql.ConfigurationOnly,
	}[r.AvailabilityMode]
	out := tsql.Replica{
		Server: host(r.Server), EndpointURL: endpointURL(r.Server), Mode: mode,
		ManualSeeding: r.Seeding == v1alpha1.SeedingManual, Readable: r.Readable,
	}
	if r.SessionTimeout != nil {
		out.SessionTimeout = r.SessionTimeout.Duration
	}
	return out
}

// host is the instance's name, which is also what every site resolves.
func host(server v1alpha1.ServerName) string { return credentials.HostName(server) }

func endpointURL(server v1alpha1.ServerName) string {
	return fmt.Sprintf("TCP://%s:%d", host(server), MirroringPort)
}

// certificateName of a server's endpoint; the generation tells a renewed one from the one before.
func certificateName(server v1alpha1.ServerName, generation int) string {
	return fmt.Sprintf("geosql_%s_%d", server, generation)
}
