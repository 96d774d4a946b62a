// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/tsql"
)

// publisherDatabase makes the database Content at the publisher, with a table and rows.
func (b *bed) publisherDatabase(t *testing.T, rows int) {
	t.Helper()
	b.sql(t, "tukpub", "master", "CREATE DATABASE Content")
	b.sql(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "Article"))
	b.fill(t, "tukpub", "dbo.Article", 0, rows)
}

// bothDatabases makes the database Content at the publisher, and at the subscriber what a person has brought of it.
func (b *bed) bothDatabases(t *testing.T, rows int) {
	t.Helper()
	b.publisherDatabase(t, rows)
	b.sql(t, "dubsub", "master", "CREATE DATABASE Content")
	b.sql(t, "dubsub", "Content", fmt.Sprintf(createTable, "Article"))
	b.fill(t, "dubsub", "dbo.Article", 0, rows)
}

// Everything is declared, deleted with its data kept, the servers end and start again on their volumes, and the same is
// declared again: it goes on where it was, with what was written meanwhile, and nothing is copied anew.
func TestDeclaredAgainOnRetainedData(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 300)
	declare := func() (d *v1alpha1.Distributor, p *v1alpha1.Publication, s *v1alpha1.Subscription) {
		d, p = published()
		s = subscribed(v1alpha1.SubscriptionPull)
		s.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
		b.create(t, d, p, s)
		b.settle(t, s)
		return d, p, s
	}
	const snapshots = "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM distribution.dbo.MSsnapshot_history WHERE runstatus = 1"
	const jobs = "SELECT name FROM msdb.dbo.sysjobs ORDER BY name"
	d, p, s := declare()
	b.settle(t, s, "dbo.Article")
	made := b.rowsIn(t, "dist", "distribution", snapshots)
	atDistributor, atSubscriber := b.rowsIn(t, "dist", "msdb", jobs), b.rowsIn(t, "dubsub", "msdb", jobs)
	b.sql(t, "dubsub", "Content", "UPDATE dbo.Article SET Body = N'kept' WHERE Id = 7")

	for _, obj := range []client.Object{s, p, d} {
		g.Expect(b.hub.Client.Delete(t.Context(), obj)).To(Succeed())
	}
	for _, obj := range []client.Object{s, p, d} {
		g.Eventually(func() bool {
			return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
		}, patient, 100*time.Millisecond).Should(BeTrue(), "%T", obj)
	}
	for _, e := range b.engines {
		e.Kill(t)
	}
	for _, e := range b.engines {
		e.Launch(t)
	}
	g.Eventually(func() error {
		return b.open(t, "tukpub", "Content").
			Exec(t.Context(),
				tsql.Statement{Text: "INSERT dbo.Article (Id, Body) VALUES (5000, N'meanwhile'); UPDATE dbo.Article SET Body = " +
					"N'changed' WHERE Id = 8"})
	}, patient).Should(Succeed())
	declare()
	g.Eventually(func() string {
		b.nudgeAll(t)
		return b.rows(t, "dubsub", "SELECT Body FROM dbo.Article WHERE Id IN (7, 8, 5000) ORDER BY Id")()
	}, patient, 500*time.Millisecond).Should(Equal("[kept changed meanwhile]"))
	g.Expect(b.rowsIn(t, "dist", "distribution", snapshots)).To(Equal(made), "no snapshot is made again")
	g.Expect(b.rowsIn(t, "dist", "msdb", jobs)).To(Equal(atDistributor))
	g.Expect(b.rowsIn(t, "dubsub", "msdb", jobs)).To(Equal(atSubscriber))
}

// Chosen columns, chosen rows and compression are brought to the engines, and changes of them, too: subscribers get
// what is declared, and nothing else.
func TestLimitedArticles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 10)
	b.sql(
		t,
		"tukpub",
		"Content",
		"CREATE TABLE dbo.Part (Id int NOT NULL PRIMARY KEY, Site nvarchar(10) NOT NULL, Note nvarchar(20) NULL, Secret "+
			"nvarchar(20) NULL)",
	)
	b.sql(
		t,
		"tukpub",
		"Content",
		"INSERT dbo.Part VALUES (1, N'dublin', N'a', N'x'), (2, N'quincy', N'b', N'y'), (3, N'dublin', N'c', N'z')",
	)
	d, p := published()
	p.Spec.Articles = append(
		p.Spec.Articles,
		v1alpha1.Article{
			Table:           "dbo.Part",
			Columns:         []string{"Id", "Note"},
			Filter:          "Site = N'dublin'",
			DataCompression: v1alpha1.CompressionPage,
		},
	)
	s := subscribed(v1alpha1.SubscriptionPull)
	b.create(t, d, p, s)
	b.settle(t, s, "dbo.Article")
	have := func() string {
		b.nudgeAll(t)
		return b.rows(t, "dubsub", "SELECT CAST(Id AS nvarchar(10)) + Note FROM dbo.Part ORDER BY Id")()
	}
	columns := b.rows(
		t,
		"dubsub",
		"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID(N'dbo.Part') ORDER BY column_id",
	)
	compression := func(server v1alpha1.ServerName) func() string {
		return b.rows(
			t,
			server,
			"SELECT data_compression_desc FROM sys.partitions WHERE object_id = OBJECT_ID(N'dbo.Part') AND index_id IN (0, 1)",
		)
	}
	g.Eventually(have, patient, 500*time.Millisecond).Should(Equal("[1a 3c]"))
	g.Expect(columns()).To(Equal("[Id Note]"))
	g.Expect(compression("tukpub")()).To(Equal("[PAGE]"))
	g.Expect(compression("dubsub")()).To(Equal("[PAGE]"))
	b.sql(
		t,
		"tukpub",
		"Content",
		"UPDATE dbo.Part SET Site = N'dublin' WHERE Id = 2; UPDATE dbo.Part SET Site = N'tukwila' WHERE Id = 1; INSERT "+
			"dbo.Part VALUES (4, N'dublin', N'd', NULL), (5, N'quincy', N'e', NULL)",
	)
	g.Eventually(have, patient, 500*time.Millisecond).Should(Equal("[2b 3c 4d]"))

	// A migration adds a column, which reaches the subscriber by itself: nothing is copied anew for it.
	b.sql(t, "dubsub", "Content", "UPDATE dbo.Part SET Note = N'k' WHERE Id = 3")
	b.sql(t, "tukpub", "Content", "ALTER TABLE dbo.Part ADD Extra int NULL")
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonReinitializationNeeded)
	b.sql(t, "tukpub", "Content", "INSERT dbo.Part VALUES (6, N'dublin', N'f', NULL, 6)")
	g.Eventually(have, patient, 500*time.Millisecond).
		Should(Equal("[2b 3k 4d 6f]"), "changes go on, and no row was replaced")
	b.sql(t, "tukpub", "Content", "DELETE dbo.Part WHERE Id = 6")

	// A column and rows more: once it is asked for the article is copied anew, the other one is not.
	b.sql(t, "dubsub", "Content", "UPDATE dbo.Article SET Body = N'kept' WHERE Id = 7")
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Articles[1].Columns = []string{"Id", "Note", "Site"}
		p.Spec.Articles[1].Filter = "Id < 5"
	})
	g.Eventually(func() string {
		b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonReinitializationNeeded)
		return p.Status.NeededReinitialization.Tables[0].Reason
	}, patient, 500*time.Millisecond).Should(ContainSubstring("its filter is another one"))
	g.Expect(p.Status.NeededReinitialization.Tables).To(HaveExactElements(HaveField("Rows", BeNumerically(">=", 5))))
	g.Expect(p.Status.NeededReinitialization.WaitingFor).To(Equal([]string{s.Name}))
	change(t, b, s, func(s *v1alpha1.Subscription) {
		s.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: string(s.UID) + "/1"}
	})
	g.Eventually(have, patient, 500*time.Millisecond).Should(Equal("[1a 2b 3c 4d]"))
	g.Eventually(columns, patient).Should(Equal("[Id Site Note]"))
	g.Expect(b.rows(t, "dubsub", "SELECT Body FROM dbo.Article WHERE Id = 7")()).To(Equal("[kept]"))

	// Without limits and compression.
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
		p.Spec.Articles[1] = v1alpha1.Article{Table: "dbo.Part", DataCompression: v1alpha1.CompressionNone}
	})
	g.Eventually(have, patient, 500*time.Millisecond).Should(Equal("[1a 2b 3c 4d 5e]"))
	g.Eventually(columns, patient).Should(Equal("[Id Site Note Secret Extra]"))
	g.Eventually(compression("dubsub"), patient).Should(Equal("[NONE]"))
	b.sql(t, "tukpub", "Content", "DELETE dbo.Part WHERE Id = 1; UPDATE dbo.Part SET Secret = N'told' WHERE Id = 5")
	g.Eventually(b.rows(t, "dubsub", "SELECT CAST(Id AS nvarchar(10)) + ISNULL(Secret, N'') FROM dbo.Part ORDER BY Id"),
		patient).
		Should(Equal("[2y 3z 4 5told]"))
}

// Everything is deleted, with reclaimPolicy Delete, all at once: what replication needed goes, in the order that it
// needs, and both copies stay.
func TestDeletedWithEverythingThatReplicates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 100)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPush)
	d.Spec.ReclaimPolicy, p.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete, v1alpha1.ReclaimDelete
	objects := []client.Object{d, p, s}
	b.create(t, objects...)
	b.settle(t, s, "dbo.Article")
	for _, obj := range objects {
		g.Expect(b.hub.Client.Delete(t.Context(), obj)).To(Succeed())
	}
	for _, obj := range objects {
		g.Eventually(func() bool {
			b.nudgeAll(t)
			return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
		}, 2*patient, 500*time.Millisecond).Should(BeTrue(), func() string { return fmt.Sprintf("%T %+v", obj, obj) })
	}
	for server := range b.engines {
		g.Expect(b.rowsIn(t, server, "msdb", "SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'geosql%'")).
			To(Equal("[]"), "jobs at %s", server)
	}
	g.Expect(b.rowsIn(t, "dist", "master", "SELECT name FROM sys.databases WHERE name = N'distribution'")).To(Equal("[]"))
	g.Expect(b.rowsIn(t, "tukpub", "master", "SELECT name FROM sys.databases WHERE is_published = 1")).To(Equal("[]"))
	g.Expect(b.rowsIn(t, "tukpub", "master", "SELECT name FROM sys.servers WHERE is_distributor = 1")).To(Equal("[]"))
	g.Expect(b.rowsIn(t, "dist", "master", "SELECT name FROM sys.sql_logins WHERE name LIKE N'geosql[_]replication%'")).
		To(Equal("[]"))
	for _, server := range []v1alpha1.ServerName{"tukpub", "dubsub"} {
		g.Expect(b.sum(t, server, "dbo.Article")()).To(HavePrefix("100 "), "%s", server)
	}
}

// The distributor's volumes are lost. Nothing is made anew by itself; when a person says so the subscriber gets a new
// copy, and replication goes on.
func TestLostDistributor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b, p, s := replicating(t, v1alpha1.SubscriptionPull, 100)
	e := b.engines["dist"]
	e.Wipe(t)
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (1000, N'never delivered')")
	b.launchAnew(t, "dist")
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonDistributorLost)
	g.Consistently(b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article"), 2*time.Second).
		Should(Equal("[100]"), "the copy stays as it is")
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Annotations = map[string]string{v1alpha1.RebuildAnnotation: "true"}
	})
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublished)
	b.settle(t, s, "dbo.Article")
	b.fill(t, "tukpub", "dbo.Article", 2000, 2100)
	b.settle(t, s, "dbo.Article")
	g.Expect(b.rows(t, "dubsub", "SELECT Body FROM dbo.Article WHERE Id = 1000")()).To(Equal("[never delivered]"))
}
