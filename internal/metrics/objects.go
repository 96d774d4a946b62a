// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
)

// Families of the manager that speak of any object, of Sites and of SQLServers.
var (
	Leading = gauge("geosql_manager_leading",
		"1 in the manager that works, 0 in one that stands by. Only the former has the other metrics of objects.")
	Condition = gauge("geosql_condition",
		"A condition of an object: 1 is True, 0 False, -1 Unknown.", "kind", "namespace", "name", "type")
	SiteHeartbeat = gauge("geosql_site_heartbeat_timestamp_seconds",
		"When the site's API server last answered the manager.", "site")
	SiteRoundTrip = gauge("geosql_site_round_trip_seconds",
		"How long the last heartbeat took.", "site")
	SiteLinkRoundTrip = gauge("geosql_site_link_round_trip_seconds",
		"Round trip from a server at the site to one at another site, as agents have measured it.", "site", "to")
	SiteLinkDeclaredRoundTrip = gauge("geosql_site_link_declared_round_trip_seconds",
		"Round trip to another site as either Site declares it.", "site", "to")
	SiteLinkWindow = gauge("geosql_site_link_window_bytes",
		"How much may be on its way on one connection between the servers that measure the link.", "site", "to")
	SiteWatches = gauge("geosql_site_watches",
		"Watches of the manager's controllers that run at the site. It is the same after each engagement.", "site")
	SiteCredentialsExpiry = gauge("geosql_site_credentials_expiry_timestamp_seconds",
		"When the manager's credentials at the site end, where that can be told.", "site")
	ServerCertificateExpiry = gauge("geosql_sqlserver_certificate_expiry_timestamp_seconds",
		"When the server's TLS certificate ends.", "namespace", "server", "site")
	AuthorityExpiry = gauge("geosql_ca_expiry_timestamp_seconds",
		"When a CA of the operator ends: of the servers' certificates (servers), of the manager's own (manager).", "ca")
	ServerStart = gauge("geosql_sqlserver_start_timestamp_seconds",
		"When the engine started.", "namespace", "server", "site")
)

// Hub are all families of the manager.
func Hub() []*Family {
	return concat(
		[]*Family{
			Leading,
			Condition,
			SiteHeartbeat,
			SiteRoundTrip,
			SiteLinkRoundTrip,
			SiteLinkDeclaredRoundTrip,
			SiteLinkWindow,
			SiteWatches,
			SiteCredentialsExpiry,
			AuthorityExpiry,
			ServerCertificateExpiry,
			ServerStart,
		},
		groupFamilies,
		failoverFamilies,
		replicationFamilies,
		drillFamilies,
		backupFamilies,
	)
}

func concat(lists ...[]*Family) []*Family {
	var all []*Family
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// collectTimeout bounds the reading of the objects of a few kinds. They come from the manager's cache, which waits only
// for a kind that it cannot watch.
const collectTimeout = 2 * time.Second

// Objects makes metrics of the status of the hub's objects.
type Objects struct {
	hub         client.Reader
	confirmed   Confirmed
	watching    func() map[v1alpha1.SiteName]int
	authorities func(context.Context) (map[string]time.Time, error)
	leading     atomic.Bool
}

var _ prometheus.Collector = (*Objects)(nil)

// Confirmed gives groups and Sites with the times up to when their statuses are so: those themselves are written only
// when they change.
type Confirmed interface {
	Of(group *v1alpha1.AvailabilityGroup) *v1alpha1.AvailabilityGroup
	Site(site *v1alpha1.Site) *v1alpha1.Site
}

// NewObjects makes the collector. hub reads from a cache. Nothing is told of objects before elected is closed: a
// manager that stands by would tell everything a second time. watching says how many watches run at each site,
// authorities when each CA ends.
func NewObjects(
	hub client.Reader,
	elected <-chan struct{},
	confirmed Confirmed,
	watching func() map[v1alpha1.SiteName]int,
	authorities func(context.Context) (map[string]time.Time, error),
) *Objects {
	o := &Objects{hub: hub, confirmed: confirmed, watching: watching, authorities: authorities}
	go func() {
		<-elected
		o.leading.Store(true)
	}()
	return o
}

// Describe implements prometheus.Collector.
func (o *Objects) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range Hub() {
		descs <- f.Desc()
	}
}

// Collect implements prometheus.Collector. Kinds that cannot be read have no series.
func (o *Objects) Collect(metrics chan<- prometheus.Metric) {
	s := Sink(metrics)
	leading := o.leading.Load()
	s.SetBool(Leading, leading)
	if !leading {
		return
	}
	for _, tell := range []func(context.Context, Sink) error{o.sites, o.servers, o.groups, o.failovers, o.replication,
		o.drills, o.backups, o.others, o.ends} {
		ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
		err := tell(ctx, s)
		cancel()
		if err != nil {
			log.Log.WithName("metrics").Error(err, "objects cannot be read")
		}
	}
}

// conditions tells the conditions of an object.
func (s Sink) conditions(kind string, object client.Object, all []metav1.Condition) {
	value := map[metav1.ConditionStatus]float64{
		metav1.ConditionTrue:    1,
		metav1.ConditionFalse:   0,
		metav1.ConditionUnknown: -1,
	}
	for _, c := range all {
		s.Set(Condition, value[c.Status], kind, object.GetNamespace(), object.GetName(), c.Type)
	}
}

// time tells a moment, if there is one.
func (s Sink) time(f *Family, at *metav1.Time, labels ...string) {
	if at != nil && !at.IsZero() {
		s.Set(f, float64(at.Unix()), labels...)
	}
}

// seconds tells a duration, if there is one.
func (s Sink) seconds(f *Family, d *metav1.Duration, labels ...string) {
	if d != nil {
		s.Set(f, d.Seconds(), labels...)
	}
}

func (o *Objects) sites(ctx context.Context, s Sink) error {
	var list v1alpha1.SiteList
	if err := o.hub.List(ctx, &list); err != nil {
		return err
	}
	for site, n := range o.watching() {
		s.Set(SiteWatches, float64(n), string(site))
	}
	for i := range list.Items {
		site := o.confirmed.Site(&list.Items[i])
		s.conditions("Site", site, site.Status.Conditions)
		s.time(SiteHeartbeat, site.Status.LastHeartbeat, site.Name)
		s.seconds(SiteRoundTrip, site.Status.RoundTrip, site.Name)
		s.links(site)
		s.time(SiteCredentialsExpiry, site.Status.CredentialsExpire, site.Name)
	}
	return nil
}

// links tells the links of a Site. What the heartbeat measures has a series of its own.
func (s Sink) links(site *v1alpha1.Site) {
	for _, l := range site.Status.Links {
		if l.Server != "" {
			s.seconds(SiteLinkRoundTrip, l.RoundTrip, site.Name, string(l.To))
		}
		if l.Declared != nil {
			s.seconds(SiteLinkDeclaredRoundTrip, l.Declared.RoundTrip, site.Name, string(l.To))
		}
		if l.Window != nil {
			s.Set(SiteLinkWindow, float64(*l.Window), site.Name, string(l.To))
		}
	}
}

func (o *Objects) servers(ctx context.Context, s Sink) error {
	var list v1alpha1.SQLServerList
	if err := o.hub.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		server := &list.Items[i]
		s.conditions("SQLServer", server, server.Status.Conditions)
		labels := []string{server.Namespace, server.Name, string(server.Spec.Site)}
		s.time(ServerCertificateExpiry, server.Status.CertificateExpires, labels...)
		s.time(ServerStart, server.Status.StartTime, labels...)
	}
	return nil
}

// ends tells when the CAs end, those that could be read.
func (o *Objects) ends(ctx context.Context, s Sink) error {
	all, err := o.authorities(ctx)
	for ca, at := range all {
		s.Set(AuthorityExpiry, float64(at.Unix()), ca)
	}
	return err
}

// others tells the conditions of kinds that have no figures of their own.
func (o *Objects) others(ctx context.Context, s Sink) error {
	var (
		distributors v1alpha1.DistributorList
		logins       v1alpha1.LoginList
		topologies   v1alpha1.TopologyList
		restores     v1alpha1.RestoreList
	)
	for _, list := range []client.ObjectList{&distributors, &logins, &topologies, &restores} {
		if err := o.hub.List(ctx, list); err != nil {
			return err
		}
	}
	for i := range distributors.Items {
		x := &distributors.Items[i]
		s.conditions("Distributor", x, x.Status.Conditions)
		if room := x.Status.Database; room != nil {
			s.Set(DistributionUsed, float64(room.Used), x.Namespace, x.Name)
			if room.Free != nil {
				s.Set(DistributionFree, float64(*room.Free), x.Namespace, x.Name)
			}
		}
	}
	for i := range logins.Items {
		s.conditions("Login", &logins.Items[i], logins.Items[i].Status.Conditions)
	}
	for i := range topologies.Items {
		s.conditions("Topology", &topologies.Items[i], topologies.Items[i].Status.Conditions)
	}
	for i := range restores.Items {
		// What a record of a restore test says the policy's condition says, while it counts.
		if restores.Items[i].Labels[v1alpha1.LabelRestoreTest] != "" {
			continue
		}
		s.conditions("Restore", &restores.Items[i], restores.Items[i].Status.Conditions)
	}
	return nil
}
