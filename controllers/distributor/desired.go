// SPDX-License-Identifier: Apache-2.0

// Package distributor reconciles Distributors: the distribution database, the servers that may publish through it, and
// the link from each of them.
package distributor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
)

// Desired is what a Distributor asks for.
type Desired struct {
	Distributor *v1alpha1.Distributor
	System      replication.System
	// Publishers are the servers that publish or may: every data replica of a group. Sorted.
	Publishers []v1alpha1.ServerName
	// SubscribeOnly is the server where its declared edition neither publishes nor distributes.
	SubscribeOnly []v1alpha1.ServerName
	// Free is what the server's volume of data has free, by its status; nil where that does not say.
	Free *int64
	// Missing are objects that are named and do not exist (yet).
	Missing []string
	// Publications that use the distributor, by name.
	Publications []string
	// Ending are those of them that are being deleted, and the Subscriptions to them that are with reclaimPolicy Delete:
	// each with its kind.
	Ending []string
	// Raised are those of the Publications whose log readers may have the right to set subscribers up.
	Raised []string
	// Gone are servers that nobody expects back; read for a deletion alone.
	Gone sites.Gone
}

// adopts says whether what somebody else made may be taken over.
func (d Desired) adopts() bool { return d.Distributor.Annotations[v1alpha1.AdoptAnnotation] == "true" }

// others are the publishers beside the distributor itself.
func (d Desired) others() []v1alpha1.ServerName {
	return slices.DeleteFunc(slices.Clone(d.Publishers), func(s v1alpha1.ServerName) bool { return s == d.System.Server })
}

// Observed is the world around a distributor as it was read, without any decision.
type Observed struct {
	// Servers are the distributor and its publishers.
	Servers map[v1alpha1.ServerName]replication.Server
	// Owner is the agents' user in the distribution database, when there is one.
	Owner replication.Owner
	// OwnerErr is why that is not known.
	OwnerErr error
	// Cleanup and History are the jobs that keep the distribution database small, nil where there is none:
	// DistributionCleanup and HistoryCleanup. They are asked for where the database is there.
	Cleanup, History reconcile.Reading[*mssql.MaintenanceJob]
	// SetUp is the login of log readers that set subscribers up, with who has it; asked for wherever the server answers.
	SetUp reconcile.Reading[SetUp]
	// Size of the distribution database's files in bytes, asked for where it is there.
	Size reconcile.Reading[int64]
}

// gone says why a server does not answer and is not expected to any more, as a clause; empty when it may answer.
func (o Observed) gone(d Desired, server v1alpha1.ServerName) string {
	return replication.GoneWhy(d.Gone, o.Servers, server)
}

// linked are the publishers that are declared and those that the distributor admits, beside itself: a Publication that
// is gone leaves its servers linked. Where nobody expects the distributor's server back, which alone knows whom it
// admits, they are all servers of the namespace but those that say that they have nothing of it. Sorted.
func (o Observed) linked(d Desired) []v1alpha1.ServerName {
	names := d.others()
	if o.gone(d, d.System.Server) != "" {
		names = append(names, slices.DeleteFunc(d.Gone.Servers(), func(name v1alpha1.ServerName) bool {
			return name == d.System.Server || o.apart(d, name)
		})...)
	}
	if at := o.distributor(d); at != nil {
		for _, p := range at.Publishers {
			if name, ours := replication.ServerOf(p.Name); ours && name != d.System.Server &&
				strings.EqualFold(p.Database, d.System.Database) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// apart tells that a server says that it has another distributor, or none. One that may not tell says nothing.
func (o Observed) apart(d Desired, server v1alpha1.ServerName) bool {
	if _, ok := replication.Usable(server, o.Servers[server]); !ok {
		return false
	}
	have := o.Servers[server].State
	return !have.HasDistributor || have.Distributor != "" && !strings.EqualFold(have.Distributor, d.System.Host())
}

// foreign are the instances that the distributor admits and the operator cannot ask, sorted.
func (o Observed) foreign(d Desired) []string {
	at := o.distributor(d)
	if at == nil {
		return nil
	}
	var names []string
	for _, p := range at.Publishers {
		if _, ours := replication.ServerOf(p.Name); !ours && strings.EqualFold(p.Database, d.System.Database) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// published are the databases that a server publishes through the distributor, sorted. That of a database that is not
// ONLINE is known too: sys.databases has it.
func (o Observed) published(d Desired, server v1alpha1.ServerName) []string {
	have := o.Servers[server].State
	if have == nil || have.Distributor != "" && !strings.EqualFold(have.Distributor, d.System.Host()) {
		return nil
	}
	var names []string
	for _, database := range have.Databases {
		if database.Published || database.MergePublished {
			names = append(names, database.Name)
		}
	}
	slices.Sort(names)
	return names
}

// desire finds out what a Distributor asks for: who publishes follows from its list and from the Publications.
func (r *Reconciler) desire(ctx context.Context, object *v1alpha1.Distributor) (Desired, error) {
	d := Desired{Distributor: object, System: replication.SystemOf(object)}
	who, err := r.desireUsers(ctx, &d)
	if err != nil {
		return d, err
	}
	at, err := replication.Resolve(ctx, r.hub, object.Namespace, v1alpha1.ServerOrGroup{Server: object.Spec.Server})
	if err != nil {
		return d, err
	}
	d.SubscribeOnly = at.SubscribeOnly
	if err := r.desireRoom(ctx, &d); err != nil {
		return d, err
	}
	for _, one := range who {
		party, err := replication.Resolve(ctx, r.hub, object.Namespace, one)
		if err != nil {
			return d, err
		}
		if party.Missing != "" {
			d.Missing = append(d.Missing, party.Missing)
			if object.DeletionTimestamp == nil {
				continue
			}
		}
		d.Publishers = append(d.Publishers, party.Servers...)
	}
	slices.Sort(d.Publishers)
	d.Publishers = slices.Compact(d.Publishers)
	err = d.System.ReadPasswords(ctx, r.access)
	if object.DeletionTimestamp == nil {
		return d, err
	}
	if d.Gone, err = sites.ReadGone(ctx, r.hub, object.Namespace, time.Now()); err != nil {
		return d, err
	}
	// An end takes no password of the agents, and its server may have gone with its Secret.
	return d, nil
}

// desireUsers finds out what uses the distributor, and returns who publishes through it.
func (r *Reconciler) desireUsers(ctx context.Context, d *Desired) ([]v1alpha1.ServerOrGroup, error) {
	var publications v1alpha1.PublicationList
	var subscriptions v1alpha1.SubscriptionList
	for _, list := range []client.ObjectList{&publications, &subscriptions} {
		if err := r.hub.List(ctx, list, client.InNamespace(d.Distributor.Namespace)); err != nil {
			return nil, fmt.Errorf("list %T of namespace %s: %w", list, d.Distributor.Namespace, err)
		}
	}
	who := slices.Clone(d.Distributor.Spec.Publishers)
	for _, p := range publications.Items {
		if string(p.Spec.Distributor) != d.Distributor.Name {
			continue
		}
		d.Publications = append(d.Publications, p.Name)
		if p.Status.LogReaderRight != nil {
			d.Raised = append(d.Raised, p.Name)
		}
		// One that is retained may wait for its Subscriptions, which need to know the distributor through it.
		if p.DeletionTimestamp != nil {
			d.Ending = append(d.Ending, "Publication "+p.Name)
		}
		for _, s := range subscriptions.Items {
			if string(s.Spec.Publication) == p.Name && s.DeletionTimestamp != nil &&
				v1alpha1.MayDestroy(&s, s.Spec.ReclaimPolicy) {
				d.Ending = append(d.Ending, "Subscription "+s.Name)
			}
		}
		if !slices.Contains(who, p.Spec.Publisher) {
			who = append(who, p.Spec.Publisher)
		}
	}
	return who, nil
}

// desireRoom finds what the volume of the distribution database has free.
func (r *Reconciler) desireRoom(ctx context.Context, d *Desired) error {
	var server v1alpha1.SQLServer
	key := client.ObjectKey{Namespace: d.Distributor.Namespace, Name: string(d.System.Server)}
	if err := r.hub.Get(ctx, key, &server); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("read SQLServer %s in the hub: %w", key, err)
	}
	for _, v := range server.Status.Volumes {
		if v.Role == "data" {
			d.Free = v.Free
		}
	}
	return nil
}
