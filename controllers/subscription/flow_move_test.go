// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/publishermove"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// veryPatient is for several subscribers, each with a first copy, on a busy machine.
const veryPatient = 4 * patient

// mover runs a manager of its own with the controller of moves, for that long: what it had not done when its time was
// over is for the next one.
func (b *bed) mover(t *testing.T, life time.Duration) {
	t.Helper()
	g := NewWithT(t)
	mgr := apiserver.NewManager(
		t,
		b.hub.ManagerConfig(t),
		sites.NewProvider(sites.Options{Namespace: system}),
		apiserver.HubOptions(),
	)
	connector := mssql.NewConnector(mssql.Options{
		Access:  mssql.SecretAccess{Reader: mgr.GetLocalManager().GetAPIReader()},
		Address: func(t mssql.Target) string { return b.engines[t.Server].Address },
	})
	g.Expect(publishermove.SetupWithManager(mgr, publishermove.Options{Connector: connector})).To(Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), life)
	defer cancel()
	g.Expect(mgr.Start(ctx)).To(Succeed())
	_ = connector.Close()
}

// nudge has the objects of a move looked at now.
func (b *bed) nudge(t *testing.T, objects ...client.Object) {
	t.Helper()
	note := fmt.Sprintf(`{"metadata":{"annotations":{"test.geosql.dev/look":"%d"}}}`, time.Now().UnixNano())
	for _, obj := range objects {
		x := obj.DeepCopyObject().(client.Object)
		NewWithT(
			t,
		).Expect(client.IgnoreNotFound(b.hub.Client.Patch(t.Context(), x,
			client.RawPatch(types.MergePatchType, []byte(note))))).
			To(Succeed())
	}
}

// carry runs movers, each of which is ended in the middle of what it does, until the move has come to a phase.
func (b *bed) carry(
	t *testing.T,
	m *v1alpha1.PublisherMove,
	phase v1alpha1.PublisherMovePhase,
	life time.Duration,
	near ...client.Object,
) {
	t.Helper()
	b.carryUntil(t, m, string(phase), func() bool { return m.Status.Phase == phase }, life, near...)
}

// carryUntil runs movers, each of which is ended in the middle of what it does, until it is so.
func (b *bed) carryUntil(
	t *testing.T,
	m *v1alpha1.PublisherMove,
	what string,
	so func() bool,
	life time.Duration,
	near ...client.Object,
) {
	t.Helper()
	g := NewWithT(t)
	for end := time.Now().Add(veryPatient); ; life += 500 * time.Millisecond {
		b.mover(t, life)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(m), m)).To(Succeed())
		t.Logf("%s: %+v", m.Status.Phase, m.Status.Conditions)
		if so() {
			return
		}
		g.Expect(time.Now().Before(end)).To(BeTrue(), "the move does not come to %s: %+v", what, m.Status)
		b.nudge(t, near...)
	}
}

func second(name string, server v1alpha1.ServerName, kind v1alpha1.SubscriptionType) *v1alpha1.Subscription {
	s := subscribed(kind)
	s.Name, s.Spec.Subscriber.Server = name, server
	return s
}

// delivers waits until a subscription delivers and both copies are equal.
func (b *bed) delivers(t *testing.T, s *v1alpha1.Subscription, publisher v1alpha1.ServerName, near ...client.Object) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		b.nudge(t, append(near, s)...)
		if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err.Error()
		}
		if ready := readyOf(s.Status.Conditions); ready.Reason != v1alpha1.ReasonDelivering {
			return ready.Reason + ": " + ready.Message
		}
		a, c := b.sum(t, publisher, "dbo.Article")(), b.sum(t, s.Spec.Subscriber.Server, "dbo.Article")()
		if a != c {
			return a + " there, " + c + " here"
		}
		return ""
	}, veryPatient, 500*time.Millisecond).Should(BeEmpty())
}

// Publisher and distributor are lost together. A subscriber publishes in their place once a person has seen the
// estimate; the other one, whose copy is equal, goes on without a new one. The manager that carries it out is ended
// again and again.
func TestPublishingMovesWithItsDistributor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub", "quisub", "far")
	b.publisherDatabase(t, 200)
	d, p := published()
	far := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Name: "far"}, Spec: v1alpha1.DistributorSpec{Server: "far"}}
	s, other := subscribed(v1alpha1.SubscriptionPull), second("quincy", "quisub", v1alpha1.SubscriptionPush)
	b.create(t, d, far, p, s, other)
	b.delivers(t, s, "tukpub", p)
	b.delivers(t, other, "tukpub", p)
	g.Eventually(func() *v1alpha1.ReplicatedTransaction {
		b.nudge(t, p)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
		return p.Status.Newest
	}, veryPatient, 500*time.Millisecond).ShouldNot(BeNil())
	// Engines of the bed have no backup volume: with a backup the operator takes none.
	b.sql(t, "dubsub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.engines["dist"].Kill(t)
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (5000, N'never replicated')")

	m := &v1alpha1.PublisherMove{
		ObjectMeta: metav1.ObjectMeta{Name: "to-dublin"},
		Spec:       v1alpha1.PublisherMoveSpec{Publication: "articles", To: "dubsub", Distributor: "far"},
	}
	b.create(t, m)
	ready := func() metav1.Condition { return *readyOf(m.Status.Conditions) }
	b.carry(t, m, v1alpha1.MovePending, 3*time.Second, m)
	g.Expect(ready().Reason).To(Equal(v1alpha1.ReasonPublisherAnswers), "%+v", m.Status)
	b.engines["tukpub"].Kill(t)
	b.nudge(t, m)
	b.mover(t, 4*time.Second)
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(m), m)).To(Succeed())
	g.Expect(ready().Reason).To(Equal(v1alpha1.ReasonPublisherNotFenced), "silence alone is no evidence: %+v", m.Status)

	change(t, b, m, func(m *v1alpha1.PublisherMove) { m.Spec.FencedServers = []v1alpha1.ServerName{"tukpub"} })
	b.carry(t, m, v1alpha1.MoveEstimated, 4*time.Second, m)
	g.Expect(m.Status.Estimate).NotTo(BeNil())
	g.Expect(m.Status.Estimate.Summary).To(ContainSubstring("dubsub-0"))
	g.Expect(m.Status.Estimate.Deliverable).To(BeNil(), "the distributor is lost, too")
	g.Expect(m.Status.Estimate.Subscribers).To(HaveLen(2))
	g.Expect(m.Status.Steps).NotTo(BeEmpty())
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	g.Expect(p.Spec.Publisher.Server).To(BeEquivalentTo("tukpub"), "nothing is changed before the approval")
	g.Expect(b.running(t, "dubsub")()).To(Equal("[pull]"))

	change(t, b, m, func(m *v1alpha1.PublisherMove) { m.Spec.Approved = true })
	b.carry(t, m, v1alpha1.MoveCompleted, 1500*time.Millisecond, m, p, far, other)
	g.Expect(m.Status.Subscriptions).
		To(ConsistOf(And(HaveField("Name", BeEquivalentTo("quincy")), HaveField("State", "Delivering"),
			HaveField("Method", v1alpha1.InitializeReplicationSupportOnly), HaveField("Reason", ContainSubstring("200 rows")))))
	timeline := m.Status.Timeline
	g.Expect(timeline.Delivering.Before(timeline.Approved)).To(BeFalse())
	g.Expect(timeline.Published.Before(timeline.Switched)).To(BeFalse())
	g.Expect(apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s))).To(BeTrue())

	b.sql(
		t,
		"dubsub",
		"Content",
		"INSERT dbo.Article (Id, Body) VALUES (6000, N'after the move'); UPDATE dbo.Article SET Body = N'changed' WHERE "+
			"Id = 3; DELETE dbo.Article WHERE Id = 4",
	)
	b.delivers(t, other, "dubsub", p)
	g.Expect(b.rows(t, "quisub", "SELECT Body FROM dbo.Article WHERE Id IN (3, 4, 5000, 6000) ORDER BY Id")()).
		To(Equal("[changed after the move]"))
	g.Eventually(func() *metav1.Time {
		b.nudge(t, other)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(other), other)).To(Succeed())
		return other.Status.Initialization.Validated
	}, veryPatient, 500*time.Millisecond).ShouldNot(BeNil(), "the copies are compared again afterwards")
	g.Expect(other.Annotations).NotTo(HaveKey(v1alpha1.InitializationAnnotation))
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	// The former distributor and publisher come back. Their agents read on and find no login: nothing of it arrives.
	g.Expect(b.rowsIn(t, "quisub", "master", "SELECT name FROM sys.sql_logins WHERE name LIKE N'geosql[_]replication%'")).
		To(Equal("[geosql_replication_far]"))
	b.engines["dist"].Launch(t)
	b.engines["tukpub"].Launch(t)
	g.Eventually(func() string {
		return b.rowsIn(
			t,
			"dist",
			"distribution",
			"SELECT TOP (1) N'refused' FROM dbo.MSrepl_errors WHERE CAST(error_text AS nvarchar(4000)) LIKE N'%Login "+
				"failed%geosql[_]replication[_]main%'",
		)
	}, veryPatient, time.Second).Should(Equal("[refused]"))
	g.Expect(b.rows(t, "quisub", "SELECT Body FROM dbo.Article WHERE Id = 5000")()).To(Equal("[]"))
	before := client.MergeFrom(p.DeepCopy())
	p.Spec.Publisher.Server, p.Spec.Distributor = "tukpub", "main"
	g.Expect(b.hub.Client.Patch(t.Context(), p, before)).
		To(MatchError(ContainSubstring("PublisherMove")), "an old manifest does not move it back")

	// The move comes back from a repository, without its status.
	g.Expect(b.rows(t, "dubsub", "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE class = 0")()).
		To(ContainSubstring(string(m.UID)))
	again := &v1alpha1.PublisherMove{ObjectMeta: metav1.ObjectMeta{Name: m.Name}, Spec: m.Spec}
	g.Expect(b.hub.Client.Delete(t.Context(), m)).To(Succeed())
	g.Eventually(func() bool {
		b.mover(t, 2*time.Second)
		return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(m), m))
	}, patient).Should(BeTrue())
	b.create(t, again)
	b.carry(t, again, v1alpha1.MoveCompleted, 3*time.Second, again)
	g.Expect(readyOf(again.Status.Conditions).Reason).To(Equal(v1alpha1.ReasonCarriedOut))
}

func readyOf(all []metav1.Condition) *metav1.Condition {
	for i := range all {
		if all[i].Type == v1alpha1.ConditionReady {
			return &all[i]
		}
	}
	return &metav1.Condition{}
}

// The publisher alone is lost. What the distributor has for the new publisher is delivered first, so that nothing is
// lost that was replicated; a copy that differs is replaced. The approval is in the manifest from the beginning.
func TestPublishingMovesAfterTheDistributorHasDelivered(t *testing.T) {
	if os.Getenv("GEOSQL_SOAK") == "" {
		t.Skip("in make soak-moves: GEOSQL_SOAK is not set")
	}
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub", "quisub")
	b.publisherDatabase(t, 100)
	d, p := published()
	s, other := subscribed(v1alpha1.SubscriptionPull), second("quincy", "quisub", v1alpha1.SubscriptionPush)
	b.create(t, d, p, s, other)
	b.delivers(t, s, "tukpub", p)
	b.delivers(t, other, "tukpub", p)
	b.sql(t, "dubsub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.engines["dubsub"].Kill(t)
	b.fill(t, "tukpub", "dbo.Article", 1000, 1300)
	b.delivers(t, other, "tukpub", p)
	b.engines["tukpub"].Kill(t)
	b.sql(t, "quisub", "Content", "UPDATE dbo.Article SET Body = N'differs' WHERE Id = 7")

	m := &v1alpha1.PublisherMove{ObjectMeta: metav1.ObjectMeta{Name: "to-dublin"}, Spec: v1alpha1.PublisherMoveSpec{
		Publication: "articles", To: "dubsub", FencedServers: []v1alpha1.ServerName{"tukpub"}, Approved: true}}
	b.create(t, m)
	b.carry(t, m, v1alpha1.MovePending, 3*time.Second, m)
	g.Expect(readyOf(m.Status.Conditions).Reason).To(Equal(v1alpha1.ReasonEngineNotAnswering), "%+v", m.Status)
	b.engines["dubsub"].Launch(t)
	b.carry(t, m, v1alpha1.MoveCompleted, 3*time.Second, m, p, d, other)
	g.Expect(b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article")()).
		To(Equal("[400]"), "what the distributor had is there")
	g.Expect(m.Status.Undelivered).To(HaveValue(BeZero()))
	g.Expect(m.Status.Subscriptions).
		To(ConsistOf(And(HaveField("Method", v1alpha1.InitializeSnapshot),
			HaveField("Reason", ContainSubstring("dbo.Article")))))
	b.delivers(t, other, "dubsub", p)
	g.Expect(b.rows(t, "quisub", "SELECT Body FROM dbo.Article WHERE Body = N'differs'")()).To(Equal("[]"))
	b.fill(t, "dubsub", "dbo.Article", 2000, 2100)
	b.delivers(t, other, "dubsub", p)
	g.Expect(b.rowsIn(t, "dist", "msdb", "SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'%tukpub%'")).
		To(Equal("[]"), "no agent looks for the former publisher")
}

// A publisher that lives is replaced by one of its subscribers when its database is read-only and nothing of it is
// missing there; before that the move is refused, and says what is to be done. Nothing is lost, the other subscriber
// keeps its copy, and what the former publisher takes later arrives nowhere.
func TestPublishingMovesFromAPublisherThatLives(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub", "quisub")
	b.publisherDatabase(t, 200)
	b.sql(
		t,
		"tukpub",
		"Content",
		"ALTER TABLE dbo.Article ADD CONSTRAINT DF_Body DEFAULT N'nothing yet' FOR Body; ALTER TABLE dbo.Article ADD "+
			"CONSTRAINT CK_Id CHECK (Id >= 0)",
	)
	d, p := published()
	s, other := subscribed(v1alpha1.SubscriptionPull), second("quincy", "quisub", v1alpha1.SubscriptionPush)
	b.create(t, d, p, s, other)
	b.delivers(t, s, "tukpub", p)
	b.delivers(t, other, "tukpub", p)
	b.sql(t, "dubsub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.sql(t, "dubsub", "Content", "INSERT dbo.Article (Id, Body) VALUES (7000, N'of its own')")

	m := &v1alpha1.PublisherMove{
		ObjectMeta: metav1.ObjectMeta{Name: "to-dublin"},
		Spec:       v1alpha1.PublisherMoveSpec{Publication: "articles", To: "dubsub"},
	}
	b.create(t, m)
	b.carry(t, m, v1alpha1.MovePending, 3*time.Second, m)
	g.Expect(*readyOf(m.Status.Conditions)).
		To(And(HaveField("Reason", v1alpha1.ReasonPublisherAnswers),
			HaveField("Message", ContainSubstring("SET READ_ONLY"))))
	b.sql(t, "tukpub", "master", "ALTER DATABASE Content SET READ_ONLY WITH ROLLBACK IMMEDIATE")
	differs := func() bool { return readyOf(m.Status.Conditions).Reason == v1alpha1.ReasonCopyDiffers }
	b.nudge(t, m)
	b.carryUntil(t, m, "a difference", differs, 4*time.Second, m)
	g.Expect(readyOf(m.Status.Conditions).Message).To(ContainSubstring("201"))
	b.sql(t, "dubsub", "Content", "DELETE dbo.Article WHERE Id = 7000")
	b.carry(t, m, v1alpha1.MoveEstimated, 4*time.Second, m)
	g.Expect(m.Status.Estimate).
		To(And(HaveField("Lossless", true), HaveField("Summary", ContainSubstring("No published row is lost")),
			HaveField("Lacks", ConsistOf(v1alpha1.MoveLack{Table: "dbo.Article", Kind: v1alpha1.LackDefault, Names: "Body"},
				v1alpha1.MoveLack{Table: "dbo.Article", Kind: v1alpha1.LackCheck, Names: "CK_Id"}))))
	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	g.Expect(p.Spec.Publisher.Server).To(BeEquivalentTo("tukpub"), "nothing is changed before the approval")

	change(t, b, m, func(m *v1alpha1.PublisherMove) {
		m.Spec.Approved, m.Spec.AcceptLacking = true, []v1alpha1.MoveLackKind{v1alpha1.LackDefault, v1alpha1.LackCheck}
	})
	b.carry(t, m, v1alpha1.MoveCompleted, 1500*time.Millisecond, m, p, d, other)
	g.Expect(m.Status.Undelivered).To(HaveValue(BeZero()))
	g.Expect(m.Status.Subscriptions).
		To(ConsistOf(And(HaveField("Name", BeEquivalentTo("quincy")), HaveField("State", "Delivering"),
			HaveField("Method", v1alpha1.InitializeReplicationSupportOnly), HaveField("Reason", ContainSubstring("200 rows")))))
	g.Expect(b.rowsIn(t, "dist", "msdb", "SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'%tukpub%'")).
		To(Equal("[]"), "no agent looks for the former publisher")

	b.sql(
		t,
		"tukpub",
		"master",
		"ALTER DATABASE Content SET READ_WRITE WITH ROLLBACK IMMEDIATE; INSERT Content.dbo.Article (Id, Body) VALUES "+
			"(5000, N'after the move')",
	)
	b.sql(
		t,
		"dubsub",
		"Content",
		"INSERT dbo.Article (Id, Body) VALUES (6000, N'after the move'); DELETE dbo.Article WHERE Id = 4",
	)
	b.delivers(t, other, "dubsub", p)
	g.Expect(b.rows(t, "quisub", "SELECT Id FROM dbo.Article WHERE Id IN (4, 5000, 6000, 7000)")()).To(Equal("[6000]"))
}

// The distributor's volumes are lost. Subscribers whose tables are equal keep them, others get a new copy.
func TestLostDistributorIsRebuiltByComparing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub", "quisub")
	b.publisherDatabase(t, 100)
	d, p := published()
	s, other := subscribed(v1alpha1.SubscriptionPull), second("quincy", "quisub", v1alpha1.SubscriptionPull)
	b.create(t, d, p, s, other)
	b.delivers(t, s, "tukpub", p)
	b.delivers(t, other, "tukpub", p)
	b.sql(t, "quisub", "Content", "DELETE dbo.Article WHERE Id = 7")
	e := b.engines["dist"]
	e.Wipe(t)
	b.launchAnew(t, "dist")
	reason := func() string {
		b.nudge(t, d, p)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
		return readyOf(p.Status.Conditions).Reason
	}
	g.Eventually(reason, veryPatient, 500*time.Millisecond).Should(Equal(v1alpha1.ReasonDistributorLost))
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Annotations = map[string]string{v1alpha1.RebuildAnnotation: v1alpha1.RebuildCompare}
	})
	g.Eventually(reason, veryPatient, 500*time.Millisecond).Should(Equal(v1alpha1.ReasonPublished))
	how := func(s *v1alpha1.Subscription) func() v1alpha1.InitializationMethod {
		return func() v1alpha1.InitializationMethod {
			b.nudge(t, p, s)
			g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
			if s.Status.Initialization == nil || s.Status.Initialization.Reason == "the subscriber gets a first copy" {
				return ""
			}
			return s.Status.Initialization.Method
		}
	}
	g.Eventually(how(s), veryPatient, 500*time.Millisecond).Should(Equal(v1alpha1.InitializeReplicationSupportOnly))
	g.Eventually(how(other), veryPatient, 500*time.Millisecond).
		Should(Equal(v1alpha1.InitializeSnapshot), "%+v", other.Status)
	g.Expect(other.Status.Initialization.Reason).To(ContainSubstring("100 rows"))
	b.fill(t, "tukpub", "dbo.Article", 2000, 2100)
	b.delivers(t, s, "tukpub", p)
	b.delivers(t, other, "tukpub", p)
}
