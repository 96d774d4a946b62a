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
	secondary   = "quisec"
	witness     = "dubcfg"
	distributor = "dist"
	subscriber  = "dubsub"
	// published is the database that is published; the subscriber's has the same name.
	published = "Content"
	// further is a database that the group has at times.
	further = "Archive"
	// outlet is a table that the subscriber has, and publishes at times, in the database that it receives.
	outlet = "dbo.Outlet"
	// application is a Login, and its name on the server.
	application = "app"
)

// tables of the published database. A table is in one publication at most.
var tables = []string{"dbo.Article", "dbo.Author", "dbo.Comment"}

// publication as it is declared: its tables and the type of its subscription, if it has one.
type publication struct {
	tables []string
	// narrow are those of them of which the column Note is not published.
	narrow []string
	// subscription is "" without one.
	subscription v1alpha1.SubscriptionType
	// compares asks for a registration without a copy where the tables are equal.
	compares bool
	// retains leaves publication and subscription running when they are declared no more.
	retains bool
}

// manifest is what a walk has declared so far.
type manifest struct {
	publications map[string]publication
	// further tells that the group has that database too.
	further bool
	// login tells that applications have a login at the subscriber.
	login bool
	// spare tells that there is another server, with an asynchronous replica of the group.
	spare bool
	// swapped tells that its replica is the synchronous one, and the other secondary's is not.
	swapped bool
	// outlet tells that the subscriber publishes a table of the database that it receives.
	outlet bool
}

// first is where each walk begins.
func first() *manifest {
	return &manifest{publications: map[string]publication{
		"articles": {tables: []string{"dbo.Article", "dbo.Comment"}, subscription: v1alpha1.SubscriptionPull},
	}}
}

// clone is a manifest that later edits do not change.
func (m *manifest) clone() *manifest {
	c := *m
	c.publications = maps.Clone(m.publications)
	return &c
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
	all := []client.Object{
		m.group(),
		&v1alpha1.Distributor{ObjectMeta: named("main"), Spec: v1alpha1.DistributorSpec{Server: distributor}},
	}
	for _, name := range m.names() {
		all = append(all, m.publications[name].objects(name)...)
	}
	if m.outlet {
		all = append(all, publishes("outlet", v1alpha1.ServerOrGroup{Server: subscriber}, v1alpha1.ReclaimDelete,
			v1alpha1.Article{Table: outlet}))
	}
	if m.login {
		all = append(all, &v1alpha1.Login{ObjectMeta: named(application), Spec: v1alpha1.LoginSpec{
			Target:            v1alpha1.ServerOrGroup{Server: subscriber},
			PasswordSecretRef: &v1alpha1.SecretReference{Name: application + "-password"},
			Users: []v1alpha1.LoginUser{{Database: published, Roles: []v1alpha1.RoleName{"db_datareader"},
				Permissions: []v1alpha1.DatabasePermission{"SELECT"}}},
			ReclaimPolicy: v1alpha1.ReclaimDelete,
		}})
	}
	return all
}

// databases of the group.
func (m *manifest) databases() []v1alpha1.Database {
	if m.further {
		return []v1alpha1.Database{{Name: published}, {Name: further}}
	}
	return []v1alpha1.Database{{Name: published}}
}

// partners are the other replicas than the first primary.
func (m *manifest) partners() []v1alpha1.ServerName {
	if m.spare {
		return []v1alpha1.ServerName{secondary, witness, stage.Spare}
	}
	return []v1alpha1.ServerName{secondary, witness}
}

// secondaries are the synchronous and the asynchronous one; the second is "" where there is none.
func (m *manifest) secondaries() (synchronous, asynchronous v1alpha1.ServerName) {
	switch {
	case m.swapped:
		return stage.Spare, secondary
	case m.spare:
		return secondary, stage.Spare
	}
	return secondary, ""
}

func (m *manifest) group() *v1alpha1.AvailabilityGroup {
	synchronous, asynchronous := m.secondaries()
	replicas := []v1alpha1.Replica{
		{Server: publisher, AvailabilityMode: v1alpha1.SynchronousCommit},
		{Server: synchronous, AvailabilityMode: v1alpha1.SynchronousCommit, Readable: synchronous == secondary},
		{Server: witness, AvailabilityMode: v1alpha1.ConfigurationOnly},
	}
	if asynchronous != "" {
		replicas = append(replicas, v1alpha1.Replica{Server: asynchronous, AvailabilityMode: v1alpha1.AsynchronousCommit,
			Readable: asynchronous == secondary})
	}
	group := named(stage.Group)
	group.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	return &v1alpha1.AvailabilityGroup{ObjectMeta: group, Spec: v1alpha1.AvailabilityGroupSpec{Replicas: replicas,
		InitialPrimary: publisher, Databases: m.databases(), Voters: []v1alpha1.SiteName{stage.Site}}}
}

// objects that declare a publication of that name.
func (p publication) objects(name string) []client.Object {
	var articles []v1alpha1.Article
	for _, table := range p.tables {
		a := v1alpha1.Article{Table: table}
		if slices.Contains(p.narrow, table) {
			a.Columns = []string{"Id", "Body"}
		}
		articles = append(articles, a)
	}
	reclaim := v1alpha1.ReclaimDelete
	if p.retains {
		reclaim = v1alpha1.ReclaimRetain
	}
	all := []client.Object{publishes(name, v1alpha1.ServerOrGroup{AvailabilityGroup: stage.Group}, reclaim, articles...)}
	if p.subscription == "" {
		return all
	}
	s := &v1alpha1.Subscription{ObjectMeta: named(name), Spec: v1alpha1.SubscriptionSpec{
		Publication: v1alpha1.ObjectName(name), Subscriber: v1alpha1.ServerOrGroup{Server: subscriber},
		Database: published, Type: p.subscription, ReclaimPolicy: reclaim,
	}}
	if p.compares {
		s.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	}
	return append(all, s)
}

func publishes(
	name string,
	by v1alpha1.ServerOrGroup,
	reclaim v1alpha1.ReclaimPolicy,
	articles ...v1alpha1.Article,
) *v1alpha1.Publication {
	return &v1alpha1.Publication{ObjectMeta: named(name), Spec: v1alpha1.PublicationSpec{
		Publisher: by, Database: published, Distributor: "main", Articles: articles, ReclaimPolicy: reclaim,
		Reinitialization: v1alpha1.ReinitializeAutomatic,
	}}
}
