// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	topologies "geosql.dev/operator/controllers/topology"
	"geosql.dev/operator/internal/replication"
)

// copies says what the copy of a Subscription costs that is created, or changed to another type or method, and those of
// the Subscriptions that follow a Publication to another method.
func (p *planner) copies(s topologies.Step) {
	if published, ok := s.Object.(*v1alpha1.Publication); ok && s.Verb == topologies.Change {
		for _, x := range p.subscribed(published.Name) {
			p.compared(published, x, x)
		}
		return
	}
	x, ok := s.Object.(*v1alpha1.Subscription)
	if !ok {
		return
	}
	published := p.published(string(x.Spec.Publication))
	if published == nil {
		return
	}
	cost := p.price(published, x)
	switch method := published.InitializationOf(x); {
	case s.Verb == topologies.Change && !retypes(s.Existing, x):
		p.compared(published, s.Existing, x)
	case method == v1alpha1.InitializeReplicationSupportOnly:
		fmt.Fprintln(p.out, "    it gets no copy: a person brings the data")
	case method == v1alpha1.InitializeBackup && s.Verb == topologies.Change:
		fmt.Fprintln(p.out, "    the other type takes a new copy, which a backup does not bring: once it is registered it "+
			"stays what it is")
	case method == v1alpha1.InitializeBackup:
		fmt.Fprintf(p.out, "    it begins with a backup of all of %s, of which the articles are: %s\n",
			published.Spec.Database, cost)
	case s.Verb == topologies.Change:
		fmt.Fprintf(p.out, "    the other type takes a new copy, made when it is asked for unless reinitialization is "+
			"Automatic: %s\n", cost)
	case method == v1alpha1.InitializeCompare:
		fmt.Fprintf(p.out, "    its tables are kept where all are equal to the publisher's; else its first copy: %s\n", cost)
	default:
		fmt.Fprintf(p.out, "    its first copy: %s\n", cost)
	}
}

// subscribed are the Subscriptions of a Publication that the hub has, by their names.
func (p *planner) subscribed(publication string) (all []*v1alpha1.Subscription) {
	for _, object := range p.observed.Objects {
		if x, is := object.(*v1alpha1.Subscription); is && string(x.Spec.Publication) == publication {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *v1alpha1.Subscription) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// compared says what another method does with tables that a person has brought, or a backup, where it copies.
func (p *planner) compared(published *v1alpha1.Publication, was client.Object, x *v1alpha1.Subscription) {
	before, live := p.live(published.Name), was.(*v1alpha1.Subscription)
	if before == nil || before.Copies(live) || !published.Copies(x) {
		return
	}
	how := "which a person has brought, are compared"
	if replication.BackupBrought(live) {
		how = "which came with a backup, are compared where their articles came later"
	} else if !replication.HandBrought(live) {
		return
	}
	as, then := x.DeepCopy(), "until a new copy is asked for"
	as.Status.Initialization = live.Status.Initialization
	if replication.Agrees(published, as) {
		then = "unless they differ"
	}
	fmt.Fprintf(p.out, "    the tables of %s, %s, and kept %s: %s\n", x.Name, how, then, p.price(published, x))
}

// published is a Publication, as the Topology declares it or else as it is; nil when there is none.
func (p *planner) published(name string) *v1alpha1.Publication {
	for _, x := range p.objects.Publications {
		if x.Name == name {
			return x
		}
	}
	return p.live(name)
}

// live is a Publication as the hub has it, nil when it has none.
func (p *planner) live(name string) *v1alpha1.Publication {
	x, _ := p.observed.Objects[topologies.Key{Kind: "Publication", Name: name}].(*v1alpha1.Publication)
	return x
}

// retypes tells that a Subscription is declared as another type than it is.
func retypes(was client.Object, x *v1alpha1.Subscription) bool {
	kind := func(s *v1alpha1.Subscription) v1alpha1.SubscriptionType {
		return cmp.Or(s.Spec.Type, v1alpha1.SubscriptionPull)
	}
	s, ok := was.(*v1alpha1.Subscription)
	return ok && kind(s) != kind(x)
}

// price of a Subscription's copy, with what is known of the Publication.
func (p *planner) price(published *v1alpha1.Publication, x *v1alpha1.Subscription) string {
	var size *v1alpha1.CopySize
	if live := p.live(published.Name); live != nil {
		size = live.Status.Size
	}
	_, sender := p.publication(published)
	var distributor v1alpha1.ServerName
	for _, d := range p.distributors() {
		if d.Name == string(published.Spec.Distributor) {
			distributor = d.Spec.Server
		}
	}
	route := replication.RouteOf(p.places(), p.sites, sender, distributor, x.Spec.Subscriber.Server)
	return replication.PriceTo(published, x, size, len(published.Spec.Articles), route)
}
