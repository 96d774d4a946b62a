// SPDX-License-Identifier: Apache-2.0

//go:build integration

package walk_test

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/stage"
)

const (
	publisher   = "tukpub"
	distributor = "dist"
	subscriber  = "dubsub"
	// published is the database that is published; the subscriber's has the same name.
	published = "Content"
	// further is a database that the group has at times.
	further = "Archive"
)

// tables of the published database. A table is in one publication at most.
var tables = []string{"dbo.Article", "dbo.Author", "dbo.Comment"}

// publication as it is declared: its tables and the type of its subscription, if it has one.
type publication struct {
	tables []string
	// subscription is "" without one.
	subscription v1alpha1.SubscriptionType
}

// manifest is what a walk has declared so far.
type manifest struct {
	publications map[string]publication
	// further tells that the group has that database too.
	further bool
}

// first is where each walk begins.
func first() *manifest {
	return &manifest{publications: map[string]publication{
		"articles": {tables: []string{"dbo.Article", "dbo.Comment"}, subscription: v1alpha1.SubscriptionPull},
	}}
}

// free are the tables that no publication has.
func (m *manifest) free() []string {
	return slices.DeleteFunc(slices.Clone(tables), func(table string) bool {
		for _, p := range m.publications {
			if slices.Contains(p.tables, table) {
				return true
			}
		}
		return false
	})
}

// names of the publications, in order.
func (m *manifest) names() []string { return slices.Sorted(maps.Keys(m.publications)) }

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: stage.Namespace, Name: name}
}

// objects that declare the manifest.
func (m *manifest) objects() []client.Object {
	databases := []v1alpha1.DatabaseName{published}
	if m.further {
		databases = append(databases, further)
	}
	group := named(stage.Group)
	group.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	all := []client.Object{
		&v1alpha1.AvailabilityGroup{ObjectMeta: group, Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{
				{Server: publisher, AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
				{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly},
			},
			InitialPrimary: publisher, Databases: databases, Voters: []v1alpha1.SiteName{stage.Site},
		}},
		&v1alpha1.Distributor{ObjectMeta: named("main"), Spec: v1alpha1.DistributorSpec{Server: distributor}},
	}
	for _, name := range m.names() {
		p := m.publications[name]
		var articles []v1alpha1.Article
		for _, table := range p.tables {
			articles = append(articles, v1alpha1.Article{Table: table})
		}
		all = append(all, &v1alpha1.Publication{ObjectMeta: named(name), Spec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{AvailabilityGroup: stage.Group}, Database: published, Distributor: "main",
			Articles: articles, ReclaimPolicy: v1alpha1.ReclaimDelete, Reinitialization: v1alpha1.ReinitializeAutomatic,
		}})
		if p.subscription == "" {
			continue
		}
		all = append(all, &v1alpha1.Subscription{ObjectMeta: named(name), Spec: v1alpha1.SubscriptionSpec{
			Publication: v1alpha1.ObjectName(name), Subscriber: v1alpha1.ServerOrGroup{Server: subscriber},
			Database: published, Type: p.subscription, ReclaimPolicy: v1alpha1.ReclaimDelete,
		}})
	}
	return all
}
