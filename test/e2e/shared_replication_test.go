// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// replicated is a publication in Tukwila of table dbo.Article in database Content, with a distributor in Quincy and a
// pull subscriber in Dublin.
type replicated struct {
	b            *bed.Bed
	servers      []*v1alpha1.SQLServer // publisher, distributor, subscriber
	distributor  *v1alpha1.Distributor
	publication  *v1alpha1.Publication
	subscription *v1alpha1.Subscription
}

// overTheWAN is the replication that several tests use, one after another.
var overTheWAN = &bed.Shared[replicated]{
	Make: func(t *testing.T, r *replicated) {
		t.Helper()
		r.createServers(t)
		connector := connectorFrom(t, r.b, shellAt(t, r.b.Site("dublin"), namespace))
		write(t, open(t, connector, r.publisher(), credentials.RoleSA, "master"), "CREATE DATABASE Content")
		source := open(t, connector, r.publisher(), credentials.RoleSA, "Content")
		write(t, source, "CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, Body nvarchar(1000) NOT NULL)")
		insertRows(t, source, "dbo.Article", 0, 2000)
		r.declare("dbo.Article")
		createReplication(t, r.b, r.distributor)
		createReplication(t, r.b, r.publication)
		createReplication(t, r.b, r.subscription)
		waitForReady(t, r.b, r.subscription, &r.subscription.Status.StatusBase, v1alpha1.ReasonDelivering, 5*time.Minute)
	},
	Well: func(t *testing.T, r *replicated) error {
		return bed.Until(t, "rows are delivered", wellWithin, func(ctx context.Context) (bool, string, error) {
			err := r.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(r.subscription), r.subscription)
			for _, c := range r.subscription.Status.Conditions {
				if c.Type == v1alpha1.ConditionReady {
					return c.Reason == v1alpha1.ReasonDelivering, c.Reason + ": " + c.Message, err
				}
			}
			return false, "no condition yet", err
		})
	},
	Remove: func(t *testing.T, r *replicated) {
		if r.subscription != nil {
			for _, obj := range r.objects() {
				removeReplication(t, r.b, obj)
			}
		}
		deleteServers(t, r.b, r.servers...)
		for _, s := range r.servers {
			removeServer(t, r.b, s)
		}
	},
}

func (r *replicated) publisher() *v1alpha1.SQLServer  { return r.servers[0] }
func (r *replicated) subscriber() *v1alpha1.SQLServer { return r.servers[2] }

// createServers creates the servers and waits for them.
func (r *replicated) createServers(t *testing.T) {
	t.Helper()
	r.b = bed.Open(t, client.Options{Scheme: operatorScheme()})
	for _, s := range [][2]string{{"e2erpub", "tukwila"}, {"e2erdist", "quincy"}, {"e2ersub", "dublin"}} {
		server := newServer(t, r.b, s[0], s[1], nil)
		r.servers = append(r.servers, server)
		createServer(t, r.b, server)
	}
	for _, s := range r.servers {
		waitForServer(t, r.b, s, 4*time.Minute)
	}
}

// declare writes the objects of replication, which are yet to be created.
func (r *replicated) declare(tables ...string) {
	r.distributor = &v1alpha1.Distributor{ObjectMeta: fresh("e2er"), Spec: v1alpha1.DistributorSpec{Server: "e2erdist"}}
	r.publication = &v1alpha1.Publication{ObjectMeta: fresh("e2er"), Spec: v1alpha1.PublicationSpec{
		Publisher: v1alpha1.ServerOrGroup{Server: "e2erpub"}, Database: "Content", Distributor: "e2er",
	}}
	for _, table := range tables {
		r.publication.Spec.Articles = append(r.publication.Spec.Articles, v1alpha1.Article{Table: table})
	}
	r.subscription = &v1alpha1.Subscription{ObjectMeta: fresh("e2er"), Spec: v1alpha1.SubscriptionSpec{
		Publication: "e2er", Subscriber: v1alpha1.ServerOrGroup{Server: "e2ersub"}, Database: "Content",
		Type: v1alpha1.SubscriptionPull, ReclaimPolicy: v1alpha1.ReclaimDelete,
	}}
}

// declareAgain writes the objects of replication anew, as they were.
func (r *replicated) declareAgain() {
	r.distributor = &v1alpha1.Distributor{ObjectMeta: fresh("e2er"), Spec: *r.distributor.Spec.DeepCopy()}
	r.publication = &v1alpha1.Publication{ObjectMeta: fresh("e2er"), Spec: *r.publication.Spec.DeepCopy()}
	r.subscription = &v1alpha1.Subscription{ObjectMeta: fresh("e2er"), Spec: *r.subscription.Spec.DeepCopy()}
}

// objects are those of replication in the order in which they are removed.
func (r *replicated) objects() []client.Object {
	return []client.Object{r.subscription, r.publication, r.distributor}
}
