// SPDX-License-Identifier: Apache-2.0

//go:build integration

package interrupted_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/stage"
)

// declared is what the manager is to bring about: a group over three servers that publishes, with the distributor on a
// server of its own and a pull subscription whose snapshot is mirrored.
func declared() []client.Object {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: stage.Namespace, Name: name} }
	adopting := meta(stage.Group)
	adopting.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	return []client.Object{
		&v1alpha1.AvailabilityGroup{ObjectMeta: adopting, Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{
				{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
				{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly},
			},
			InitialPrimary: "tukpub", Databases: []v1alpha1.Database{{Name: "Content"}},
			Voters: []v1alpha1.SiteName{stage.Site},
		}},
		&v1alpha1.Distributor{ObjectMeta: meta("main"), Spec: v1alpha1.DistributorSpec{Server: "dist"}},
		&v1alpha1.Publication{ObjectMeta: meta("articles"), Spec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{AvailabilityGroup: stage.Group}, Database: "Content", Distributor: "main",
			Articles: []v1alpha1.Article{{Table: "dbo.Article"}},
		}},
		&v1alpha1.Subscription{ObjectMeta: meta("dublin"), Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}, Database: "Content",
			Type: v1alpha1.SubscriptionPull,
		}},
	}
}

// fill makes what a person has before the operator comes: a database with a table and rows.
func fill(t *testing.T, b *stage.Stage) {
	t.Helper()
	b.SQL(t, "tukpub", "master", "CREATE DATABASE Content")
	// The operator's own first backup goes to the folder of a pod.
	b.SQL(t, "tukpub", "master", "ALTER DATABASE Content SET RECOVERY FULL")
	b.SQL(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.SQL(t, "tukpub", "Content", "CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, Body nvarchar(100) NOT NULL)")
	b.SQL(t, "tukpub", "Content", "DECLARE @i int = 0; WHILE @i < 500 BEGIN "+
		"INSERT dbo.Article (Id, Body) VALUES (@i, REPLICATE(N'x', @i % 40)); SET @i = @i + 1 END")
}
