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
)

// A publication on a server alone and a pull subscription with a mirrored snapshot, from nothing: rows that were there
// before, rows that come afterwards, an article that is added later.
func TestPullFromNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.sql(t, "tukpub", "master", "CREATE DATABASE Content")
	b.sql(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	d, p := published()
	b.create(t, d)
	b.create(t, p)
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonWaitingForTable)
	b.waitFor(t, d, &d.Status.StatusBase, v1alpha1.ReasonConfigured)
	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "Article"))
	b.fill(t, "tukpub", "dbo.Article", 0, 1000)
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublished)

	s := subscribed(v1alpha1.SubscriptionPull)
	b.create(t, s)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	g.Eventually(b.sum(t, "dubsub", "dbo.Article"), patient).Should(Equal(b.sum(t, "tukpub", "dbo.Article")()))
	g.Expect(s.Status.MirroredSnapshot).NotTo(BeEmpty())
	g.Expect(s.Status.Phase).To(Equal("Active"))

	b.fill(t, "tukpub", "dbo.Article", 1000, 1500)
	b.sql(t, "tukpub", "Content", "UPDATE dbo.Article SET Body = N'changed' WHERE Id < 10")
	b.sql(t, "tukpub", "Content", "DELETE dbo.Article WHERE Id BETWEEN 100 AND 199")
	g.Eventually(b.sum(t, "dubsub", "dbo.Article"), patient).Should(Equal(b.sum(t, "tukpub", "dbo.Article")()))

	// A tracer token arrives and its latency is known.
	g.Eventually(func() *v1alpha1.LatencyStatus {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Status.Latency
	}, patient, 500*time.Millisecond).ShouldNot(BeNil())
	g.Expect(s.Status.PendingCommands).NotTo(BeNil())

	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "More"))
	b.fill(t, "tukpub", "dbo.More", 0, 300)
	before := client.MergeFrom(p.DeepCopy())
	p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.More"})
	g.Expect(b.hub.Client.Patch(t.Context(), p, before)).To(Succeed())
	g.Eventually(func() string { b.nudgeAll(t); return b.sum(t, "dubsub", "dbo.More")() }, patient, 500*time.Millisecond).
		Should(Equal(b.sum(t, "tukpub", "dbo.More")()), func() string {
			g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
			return fmt.Sprintf("%+v %+v", s.Status.Agent, s.Status.Conditions)
		})
	g.Expect(b.sum(t, "dubsub", "dbo.Article")()).To(Equal(b.sum(t, "tukpub", "dbo.Article")()))

	// Deletion keeps the data.
	g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
	g.Eventually(func() error { return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s) }, patient,
		200*time.Millisecond).
		Should(HaveOccurred())
	g.Expect(b.sum(t, "dubsub", "dbo.More")()).To(HavePrefix("300 "))
}

// A database that holds other data is left alone; a table without a primary key holds up no other article.
func TestForeignDataAndNoPrimaryKey(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	for _, server := range []v1alpha1.ServerName{"tukpub", "dubsub"} {
		b.sql(t, server, "master", "CREATE DATABASE Content")
		b.sql(t, server, "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
		b.sql(t, server, "Content", fmt.Sprintf(createTable, "Article"))
	}
	b.sql(t, "tukpub", "Content", "CREATE TABLE dbo.Bare (Id int NOT NULL, Body nvarchar(100) NOT NULL)")
	b.fill(t, "tukpub", "dbo.Article", 0, 100)
	b.sql(t, "dubsub", "Content", "INSERT dbo.Article (Id, Body) VALUES (1000000, N'somebody else''s')")
	d, p := published()
	p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.Bare"})
	s := subscribed(v1alpha1.SubscriptionPush)
	b.create(t, d)
	b.create(t, p, s)
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonNoPrimaryKey)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonSubscriberNotEmpty)
	g.Consistently(b.sum(t, "dubsub", "dbo.Article"), 3*time.Second).Should(Equal("1 1000000 15"))
	b.sql(t, "dubsub", "Content", "DROP TABLE dbo.Article")
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	g.Eventually(b.sum(t, "dubsub", "dbo.Article"), patient).Should(Equal(b.sum(t, "tukpub", "dbo.Article")()))

	// The table gets its key: a push subscriber is subscribed to the article that comes later.
	b.sql(t, "tukpub", "Content", "ALTER TABLE dbo.Bare ADD CONSTRAINT PK_Bare PRIMARY KEY (Id)")
	b.fill(t, "tukpub", "dbo.Bare", 0, 100)
	g.Eventually(func() string { b.nudgeAll(t); return b.sum(t, "dubsub", "dbo.Bare")() }, patient, 500*time.Millisecond).
		Should(Equal(b.sum(t, "tukpub", "dbo.Bare")()))
	b.sql(t, "tukpub", "Content", "DELETE dbo.Bare WHERE Id < 50; DELETE dbo.Article WHERE Id < 50")
	for _, table := range []string{"dbo.Bare", "dbo.Article"} {
		g.Eventually(b.sum(t, "dubsub", table), patient).Should(Equal(b.sum(t, "tukpub", table)()), table)
	}

	// An article comes later whose table the subscriber has of its own: it stays until somebody asks for the copy.
	for server, rows := range map[v1alpha1.ServerName]string{"tukpub": "(1, N'a'), (2, N'b')",
		"dubsub": "(7, N'its own')"} {
		b.sql(t, server, "Content", fmt.Sprintf(createTable, "Late"))
		b.sql(t, server, "Content", "INSERT dbo.Late (Id, Body) VALUES "+rows)
	}
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.Late"})
	})
	late := b.rows(t, "dubsub", "SELECT Body FROM dbo.Late ORDER BY Id")
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonReinitializationNeeded)
	g.Expect(p.Status.NeededReinitialization.Tables).
		To(HaveExactElements(And(HaveField("Table", "dbo.Late"), HaveField("Rows", int64(2)))))
	g.Consistently(late, 3*time.Second).Should(Equal("[its own]"))
	b.sql(t, "tukpub", "Content", "UPDATE dbo.Article SET Body = N'meanwhile' WHERE Id = 70")
	g.Eventually(b.sum(t, "dubsub", "dbo.Article"), patient).
		Should(Equal(b.sum(t, "tukpub", "dbo.Article")()), "the others go on")
	change(t, b, s, func(s *v1alpha1.Subscription) {
		s.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: string(s.UID) + "/1"}
	})
	g.Eventually(func() string { b.nudgeAll(t); return late() }, patient, 500*time.Millisecond).Should(Equal("[a b]"))

	// What stopped the agent is in the status, also when it has gone on.
	b.sql(t, "dubsub", "Content", "DELETE dbo.Article WHERE Id = 60")
	b.sql(t, "tukpub", "Content", "UPDATE dbo.Article SET Body = N'changed' WHERE Id = 60")
	g.Eventually(func() *v1alpha1.AgentStatus {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Status.Agent
	}, patient, 500*time.Millisecond).Should(And(HaveField("LastErrorCode", "20598"),
		HaveField("LastErrorTime", Not(BeNil()))))
	b.sql(t, "dubsub", "Content", "INSERT dbo.Article (Id, Body) VALUES (60, N'')")
	g.Eventually(b.sum(t, "dubsub", "dbo.Article"), patient).Should(Equal(b.sum(t, "tukpub", "dbo.Article")()))
}
