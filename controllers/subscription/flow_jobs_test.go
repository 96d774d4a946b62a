// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/tsql"
)

// The jobs of all three agents are deleted at the distributor, as they are when its msdb is restored: rows and a new
// article arrive all the same.
func TestDeletedJobsOfAgents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b, p, s := replicating(t, v1alpha1.SubscriptionPush, 100)
	for _, job := range []string{"tukpub-0-Content-logreader", "tukpub-0-Content-articles-snapshot",
		"tukpub-0-Content-articles-dubsub-0-Content"} {
		b.sql(t, "dist", "msdb", fmt.Sprintf("EXEC msdb.dbo.sp_delete_job @job_name = N'geosql-%s'", job))
	}
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (5000, N'afterwards')")
	b.publishMore(t, p)
	g.Eventually(func() string {
		b.nudgeAll(t)
		return b.rows(t, "dubsub", "SELECT Body FROM dbo.Article WHERE Id = 5000")()
	}, patient, 500*time.Millisecond).Should(Equal("[afterwards]"))
	b.settle(t, s, "dbo.Article", "dbo.More")
}

// keeping is a bed whose subscriber had the publisher's rows, which were compared and kept.
func keeping(t *testing.T, kind v1alpha1.SubscriptionType) (*bed, *v1alpha1.Publication, *v1alpha1.Subscription) {
	t.Helper()
	b, p, s := replicating(t, kind, 100, func(b *bed, s *v1alpha1.Subscription) {
		b.sql(t, "dubsub", "master", "CREATE DATABASE Content")
		b.sql(t, "dubsub", "Content", fmt.Sprintf(createTable, "Article"))
		b.fill(t, "dubsub", "dbo.Article", 0, 100)
		s.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	})
	g := NewWithT(t)
	g.Expect(s.Status.Initialization.Compared).To(BeTrue(), "%+v", s.Status.Initialization)
	g.Expect(s.Status.Initialization.Validated).NotTo(BeNil(), "Ready is after the second comparison")
	return b, p, s
}

// publishMore publishes a second table of the publisher's database.
func (b *bed) publishMore(t *testing.T, p *v1alpha1.Publication) {
	t.Helper()
	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "More"))
	b.fill(t, "tukpub", "dbo.More", 0, 50)
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.More"})
	})
}

// A copy was kept because it was equal; then an article is added. It is registered without a copy, as the others were:
// the subscriber is not Ready before it has that, too, by a snapshot that was agreed to with the annotation.
func TestArticleAddedToACopyThatWasKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b, p, s := keeping(t, v1alpha1.SubscriptionPull)
	b.publishMore(t, p)
	g.Eventually(func() string { b.nudgeAll(t); return b.sum(t, "dubsub", "dbo.More")() }, 2*patient,
		500*time.Millisecond).
		Should(Equal(b.sum(t, "tukpub", "dbo.More")()))
	b.settle(t, s, "dbo.Article", "dbo.More")
}

// An article is added to a copy that was kept, and nobody agrees to a snapshot any more: no row that is there is
// replaced, for neither type. The table is waited for, and goes on from where somebody has made it; who asks for a new
// copy in the end gets one of everything.
func TestArticleAddedToACopyThatStays(t *testing.T) {
	t.Parallel()
	for _, kind := range []v1alpha1.SubscriptionType{v1alpha1.SubscriptionPull, v1alpha1.SubscriptionPush} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b, p, s := keeping(t, kind)
			change(t, b, s, func(s *v1alpha1.Subscription) { s.Annotations = nil })
			b.sql(t, "dubsub", "Content", "UPDATE dbo.Article SET Body = N'kept' WHERE Id = 7")
			b.publishMore(t, p)
			b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonWaitingForTable)
			b.sql(t, "dubsub", "Content", fmt.Sprintf(createTable, "More"))
			b.fill(t, "dubsub", "dbo.More", 0, 50)
			b.settle(t, s, "dbo.More")
			b.sql(t, "tukpub", "Content", "INSERT dbo.More (Id, Body) VALUES (5000, N'afterwards')")
			b.settle(t, s, "dbo.More")
			kept := b.rows(t, "dubsub", "SELECT Body FROM dbo.Article WHERE Id = 7")
			g.Expect(kept()).To(Equal("[kept]"))

			request := string(s.UID) + "/1"
			change(t, b, s, func(s *v1alpha1.Subscription) {
				s.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: request,
					v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
			})
			b.settle(t, s, "dbo.Article", "dbo.More")
			b.settle(t, s)
			g.Expect(s.Status.Initialization.Method).To(Equal(v1alpha1.InitializeSnapshot))
			g.Expect(s.Status.Reinitialization).To(HaveField("Request", request))
		})
	}
}

// A subscriber's database is lost when the snapshot is older than what the distributor keeps: it gets a new one,
// without holes. Another one is reinitialized by hand: it gets a snapshot, too.
func TestSubscriberAfterTheRetention(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b, _, s := replicating(t, v1alpha1.SubscriptionPush, 100)
	b.fill(t, "tukpub", "dbo.Article", 1000, 1010)
	b.settle(t, s, "dbo.Article")
	b.sql(t, "dist", "distribution", `UPDATE dbo.MSrepl_transactions SET entry_time = DATEADD(day, -4, entry_time);
UPDATE dbo.MSsnapshot_history SET [time] = DATEADD(day, -4, [time]), start_time = DATEADD(day, -4, start_time);
EXEC dbo.sp_MSdistribution_cleanup @min_distretention = 0, @max_distretention = 72`)
	b.fill(t, "tukpub", "dbo.Article", 2000, 2010)
	g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
	g.Eventually(func() error { b.nudgeAll(t); return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s) },
		patient, 200*time.Millisecond).
		ShouldNot(Succeed())
	b.sql(t, "dubsub", "master", "ALTER DATABASE Content SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE Content")
	s = subscribed(v1alpha1.SubscriptionPush)
	b.create(t, s)
	g.Eventually(func() string { b.nudgeAll(t); return b.sum(t, "dubsub", "dbo.Article")() }, patient,
		500*time.Millisecond).
		Should(Equal(b.sum(t, "tukpub", "dbo.Article")()))
	b.settle(t, s, "dbo.Article")

	b.sql(t, "dist", "distribution", "UPDATE dbo.MSsnapshot_history SET [time] = DATEADD(minute, -10, [time])")
	b.sql(t, "dubsub", "Content", "DELETE dbo.Article WHERE Id < 50")
	b.sql(
		t,
		"tukpub",
		"Content",
		"EXEC sp_reinitsubscription @publication = N'articles', @article = N'all', @subscriber = N'dubsub-0', "+
			"@destination_db = N'Content', @invalidate_snapshot = 0",
	)
	g.Eventually(func() string { b.nudgeAll(t); return b.sum(t, "dubsub", "dbo.Article")() }, patient,
		500*time.Millisecond).
		Should(Equal(b.sum(t, "tukpub", "dbo.Article")()))
	b.settle(t, s, "dbo.Article")
}

// restored has rows arrive that came after the backup of a server's database, and puts that back. Somebody else may
// come to be the single user.
func restored(
	t *testing.T,
	kind v1alpha1.SubscriptionType,
	server v1alpha1.ServerName,
) (*bed, *v1alpha1.Publication, *v1alpha1.Subscription) {
	t.Helper()
	b, p, s := replicating(t, kind, 100)
	b.sql(t, server, "master", "BACKUP DATABASE Content TO DISK = N'night.bak' WITH INIT")
	b.fill(t, "tukpub", "dbo.Article", 1000, 1010)
	b.settle(t, s, "dbo.Article")
	NewWithT(t).Eventually(func() error {
		return b.open(t, server, "master").Exec(t.Context(), tsql.Statement{Text: `
ALTER DATABASE Content SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
RESTORE DATABASE Content FROM DISK = N'night.bak' WITH REPLACE, RECOVERY;
ALTER DATABASE Content SET MULTI_USER`})
	}, patient, 200*time.Millisecond).Should(Succeed())
	return b, p, s
}

// The published database is restored from a backup, in its place, while its application goes on: its log is not read
// before a person says so, and then both sides have the same rows, those that the backup lacked gone from both.
func TestPublisherRestoredFromABackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b, p, s := restored(t, v1alpha1.SubscriptionPull, "tukpub")
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublisherBehind)
	b.fill(t, "tukpub", "dbo.Article", 2000, 2300)
	g.Eventually(func() string {
		return b.rowsIn(t, "dist", "msdb", "SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'%logreader' AND enabled = 0")
	}, patient, 200*time.Millisecond).Should(ContainSubstring("logreader"))
	g.Consistently(b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article"), 2*time.Second).
		Should(Equal("[110]"))
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Annotations = map[string]string{v1alpha1.RebuildAnnotation: v1alpha1.RebuildCompare}
	})
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublished)
	b.settle(t, s, "dbo.Article")
	b.fill(t, "tukpub", "dbo.Article", 3000, 3010)
	b.settle(t, s, "dbo.Article")
	g.Expect(b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article")()).To(Equal("[410]"))
}

// The subscription database is restored from a backup, in its place: a person is asked, and a new copy ends that.
func TestSubscriberRestoredFromABackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b, _, s := restored(t, v1alpha1.SubscriptionPush, "dubsub")
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonSubscriberBehind)
	g.Expect(s.Status.Initialization.RestoredAt).NotTo(BeNil())
	change(t, b, s, func(s *v1alpha1.Subscription) {
		s.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: string(s.UID) + "/1"}
	})
	b.settle(t, s, "dbo.Article")
	g.Expect(b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article")()).To(Equal("[110]"))
	g.Expect(s.Status.Initialization.RestoredAt).To(BeNil())
}
