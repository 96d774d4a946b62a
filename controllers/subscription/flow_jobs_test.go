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
	"geosql.dev/operator/internal/reconcile/conditions"
)

// The jobs of all three agents are deleted at the distributor, as they are when its msdb is restored: rows and a new
// article arrive all the same.
func TestDeletedJobsOfAgents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 100)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPush)
	for _, obj := range []client.Object{d, p, s} {
		b.create(t, obj)
	}
	b.settle(t, s, "dbo.Article")
	for _, job := range []string{"tukpub-0-Content-logreader", "tukpub-0-Content-articles-snapshot",
		"tukpub-0-Content-articles-dubsub-0-Content"} {
		b.sql(t, "dist", "msdb", fmt.Sprintf("EXEC msdb.dbo.sp_delete_job @job_name = N'geosql-%s'", job))
	}
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (5000, N'afterwards')")
	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "More"))
	b.fill(t, "tukpub", "dbo.More", 0, 50)
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.More"})
	})
	g.Eventually(func() string {
		b.nudgeAll(t)
		return b.rows(t, "dubsub", "SELECT Body FROM dbo.Article WHERE Id = 5000")()
	}, patient, 500*time.Millisecond).Should(Equal("[afterwards]"))
	b.settle(t, s, "dbo.Article", "dbo.More")
}

// A copy was kept because it was equal; then an article is added. It is registered without a copy, as the others were:
// the subscriber is not Ready before it has that, too, by a snapshot that was agreed to with the annotation.
func TestArticleAddedToACopyThatWasKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 100)
	b.sql(t, "dubsub", "master", "CREATE DATABASE Content")
	b.sql(t, "dubsub", "Content", fmt.Sprintf(createTable, "Article"))
	b.fill(t, "dubsub", "dbo.Article", 0, 100)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	s.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	for _, obj := range []client.Object{d, p, s} {
		b.create(t, obj)
	}
	b.settle(t, s, "dbo.Article")
	g.Expect(s.Status.Initialization.Compared).To(BeTrue(), "%+v", s.Status.Initialization)
	g.Expect(s.Status.Initialization.Validated).NotTo(BeNil(), "Ready is after the second comparison")
	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "More"))
	b.fill(t, "tukpub", "dbo.More", 0, 50)
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.More"})
	})
	g.Eventually(func() string { b.nudgeAll(t); return b.sum(t, "dubsub", "dbo.More")() }, 2*patient,
		500*time.Millisecond).
		Should(Equal(b.sum(t, "tukpub", "dbo.More")()))
	b.settle(t, s, "dbo.Article", "dbo.More")
}

// A subscriber's database is lost when the snapshot is older than what the distributor keeps: it gets a new one,
// without holes. Another one is reinitialized by hand: it gets a snapshot, too.
func TestSubscriberAfterTheRetention(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 100)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPush)
	s.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	for _, obj := range []client.Object{d, p, s} {
		b.create(t, obj)
	}
	b.settle(t, s, "dbo.Article")
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

// The published database is restored from a backup, in its place, while its application goes on: its log is not read
// before a person says so, and then both sides have the same rows, those that the backup lacked gone from both.
func TestPublisherRestoredFromABackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 100)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	for _, obj := range []client.Object{d, p, s} {
		b.create(t, obj)
	}
	b.settle(t, s, "dbo.Article")
	b.sql(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'night.bak' WITH INIT")
	b.fill(t, "tukpub", "dbo.Article", 1000, 1010)
	b.settle(t, s, "dbo.Article")
	b.sql(t, "tukpub", "master", `ALTER DATABASE Content SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
RESTORE DATABASE Content FROM DISK = N'night.bak' WITH REPLACE, RECOVERY;
ALTER DATABASE Content SET MULTI_USER`)
	b.waitFor(t, p, &p.Status.StatusBase, conditions.ReasonPublisherBehind)
	b.fill(t, "tukpub", "dbo.Article", 2000, 2300)
	g.Eventually(func() string {
		return b.rowsIn(t, "dist", "msdb", "SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'%logreader' AND enabled = 0")
	}, patient, 200*time.Millisecond).Should(ContainSubstring("logreader"))
	g.Consistently(b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article"), 2*time.Second).
		Should(Equal("[110]"))
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Annotations = map[string]string{v1alpha1.RebuildAnnotation: v1alpha1.RebuildCompare}
	})
	b.waitFor(t, p, &p.Status.StatusBase, conditions.ReasonPublished)
	b.settle(t, s, "dbo.Article")
	b.fill(t, "tukpub", "dbo.Article", 3000, 3010)
	b.settle(t, s, "dbo.Article")
	g.Expect(b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article")()).To(Equal("[410]"))
}
