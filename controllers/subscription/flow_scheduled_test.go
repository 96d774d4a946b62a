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
	"geosql.dev/operator/test/support/engine"
)

// A publication that is copied by a schedule: a first copy at once, then nothing before its time, and then all of it,
// again and again; without a log reader.
func TestCopiesByASchedule(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	// Where a snapshot goes to all by itself nothing would show that nobody was marked.
	b := newBedOf(t, []engine.Option{engine.Answers("repl.snapshots-for-marked")}, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 500)
	b.sql(t, "tukpub", "Content", "CREATE TABLE dbo.Bare (Id int NOT NULL, Body nvarchar(100) NOT NULL)")
	b.fill(t, "tukpub", "dbo.Bare", 0, 50)
	d, p := published()
	p.Spec.Type, p.Spec.Schedule = v1alpha1.PublicationSnapshot, "0 3 29 2 *"
	p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.Bare", Filter: "Id < 60"})
	s := subscribed(v1alpha1.SubscriptionPull)
	b.create(t, d, p, s)
	tables := []string{"dbo.Article", "dbo.Bare"}
	equal := func(when string) {
		t.Helper()
		for _, table := range tables {
			g.Eventually(func() string { b.nudgeAll(t); return b.sum(t, "dubsub", table)() }, patient, 500*time.Millisecond).
				Should(Equal(b.sum(t, "tukpub", table)()), when+": "+table)
		}
		b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	}
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	equal("the first copy")
	first := s.Status.Snapshot
	g.Expect(first).To(And(HaveField("Made", Not(BeNil())), HaveField("Applied", Not(BeNil()))))

	b.fill(t, "tukpub", "dbo.Article", 500, 700)
	b.sql(t, "tukpub", "Content", "DELETE dbo.Article WHERE Id < 50; TRUNCATE TABLE dbo.Bare")
	b.sql(t, "dubsub", "Content", "INSERT dbo.Bare (Id, Body) VALUES (1000000, N'its own')")
	before := b.sum(t, "dubsub", "dbo.Article")()
	g.Consistently(func() string { b.nudgeAll(t); return b.sum(t, "dubsub", "dbo.Article")() }, 5*time.Second,
		500*time.Millisecond).Should(Equal(before), "nothing before its time")
	g.Expect(b.rowsIn(t, "dist", "distribution", "SELECT name FROM dbo.MSlogreader_agents UNION ALL "+
		"SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'%logreader%'")).To(Equal("[]"))

	change(t, b, p, func(p *v1alpha1.Publication) { p.Spec.Schedule = "* * * * *" })
	equal("the first run")
	g.Eventually(func() string {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Status.Snapshot.Transaction
	}, patient, 500*time.Millisecond).ShouldNot(Equal(first.Transaction))
	// A column that is added comes with the next run, and a filter that is taken away with all that it has left out.
	b.sql(t, "tukpub", "Content", "ALTER TABLE dbo.Article ADD Note nvarchar(20) NULL")
	b.sql(t, "tukpub", "Content",
		"UPDATE dbo.Article SET Body = N'changed', Note = N'noted' WHERE Id BETWEEN 100 AND 199")
	b.fill(t, "tukpub", "dbo.Bare", 50, 80)
	change(t, b, p, func(p *v1alpha1.Publication) { p.Spec.Articles[1].Filter = "" })
	equal("the second run")
	g.Eventually(func() string {
		b.nudgeAll(t)
		return b.rowsIn(t, "dubsub", "Content", "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID(N'dbo.Article') "+
			"AND name = N'Note' AND (SELECT COUNT(Note) FROM dbo.Article) = 100")
	}, patient, 500*time.Millisecond).ShouldNot(Equal("[]"))
	g.Expect(s.Status.Latency).To(BeNil())
	g.Expect(s.Status.PendingCommands).To(BeNil())
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublished)
	g.Expect(p.Status.LogReader).To(BeNil())
	g.Expect(p.Status.Schedule).To(And(HaveField("Last", Not(BeNil())), HaveField("Next", Not(BeNil()))))

	// Deletion keeps the data, and leaves nothing of the publication.
	change(t, b, p, func(p *v1alpha1.Publication) { p.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete })
	for _, object := range []client.Object{s, p} {
		g.Expect(b.hub.Client.Delete(t.Context(), object)).To(Succeed())
		g.Eventually(func() error { return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object) },
			patient, 200*time.Millisecond).Should(HaveOccurred(), fmt.Sprintf("%T", object))
	}
	g.Expect(b.sum(t, "dubsub", "dbo.Article")()).To(HavePrefix("650 "))
	g.Expect(b.rows(t, "tukpub", "SELECT name FROM sys.databases WHERE is_published = 1")()).To(Equal("[]"))
}
