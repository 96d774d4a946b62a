// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// replicationRows is how many rows of 1 KB are there before the snapshot.
const replicationRows = 10_000

// declareReplication creates an object of replication in the hub; it is removed when the test ends, before the servers.
func declareReplication(t *testing.T, b *bed.Bed, obj client.Object) {
	t.Helper()
	t.Cleanup(func() { removeReplication(t, b, obj) })
	createReplication(t, b, obj)
}

// removeReplication deletes an object of replication and waits until it is gone.
func removeReplication(t *testing.T, b *bed.Bed, obj client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := client.IgnoreNotFound(b.Hub().Client.Delete(ctx, obj)); err != nil {
		t.Errorf("delete %T %s: %v", obj, obj.GetName(), err)
		return
	}
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(obj), obj))
	}, 2*time.Minute, time.Second).Should(BeTrue(), "%T %s goes", obj, obj.GetName())
}

// createReplication creates an object of replication in the hub.
func createReplication(t *testing.T, b *bed.Bed, obj client.Object) {
	t.Helper()
	obj.SetNamespace(namespace)
	if err := b.Hub().Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// waitForReady waits until the condition Ready has the reason; message contains what is left of it then.
func waitForReady(
	t *testing.T,
	b *bed.Bed,
	obj client.Object,
	status *v1alpha1.StatusBase,
	reason string,
	timeout time.Duration,
) (message string) {
	t.Helper()
	bed.Wait(
		t,
		fmt.Sprintf("%T %s has reason %s", obj, obj.GetName(), reason),
		timeout,
		func(ctx context.Context) (bool, string, error) {
			if err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return false, "", err
			}
			for _, c := range status.Conditions {
				if c.Type == v1alpha1.ConditionReady {
					message = c.Message
					return c.Reason == reason && c.ObservedGeneration == obj.GetGeneration(), c.Reason + ": " + c.Message, nil
				}
			}
			return false, "no condition yet", nil
		},
	)
	return message
}

// digest is the number of rows of a table with a digest of them, or why it is not known.
func digest(t *testing.T, db *mssql.DB, table string) func() string {
	return func() string {
		var n int
		var ids, lengths int64
		err := db.Query(
			t.Context(),
			tsql.Statement{
				Text: "SELECT COUNT(*), COALESCE(SUM(CAST(Id AS bigint)), 0), COALESCE(SUM(CAST(LEN(Body) AS bigint)), 0) FROM " +
					table,
			},
			func(r mssql.Row) error { return r.Scan(&n, &ids, &lengths) },
		)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(n, " ", ids, " ", lengths)
	}
}

func insertRows(t *testing.T, db *mssql.DB, table string, from, to int) {
	t.Helper()
	for i := from; i < to; {
		var values []string
		for ; i < to && len(values) < 500; i++ {
			values = append(values, fmt.Sprintf("(%d, REPLICATE(N'%c', %d))", i, 'a'+rune(i%26), 900+i%100))
		}
		write(t, db, "INSERT "+table+" (Id, Body) VALUES "+strings.Join(values, ", "))
	}
}

// killDuringSnapshot kills the distributor as soon as the snapshot is asked for; what had been begun is begun again.
func killDuringSnapshot(t *testing.T, b *bed.Bed, p *v1alpha1.Publication) {
	t.Helper()
	bed.Wait(t, "the snapshot is being made", 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(p), p)
		for _, c := range p.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady {
				return strings.Contains(c.Message, "snapshot") && strings.Contains(c.Message, "being made") ||
					c.Reason == v1alpha1.ReasonNoPrimaryKey, c.Message, err
			}
		}
		return false, "no condition yet", err
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e2erdist-0"}}
	NewWithT(
		t,
	).Expect(b.Site("quincy").Client.Delete(t.Context(), pod,
		&client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})).
		To(Succeed())
}

// reinitialize waits until a subscription says that it needs a new copy, asks for it as a person does, and returns what
// it said.
func reinitialize(t *testing.T, b *bed.Bed, s *v1alpha1.Subscription) string {
	t.Helper()
	message := waitForReady(t, b, s, &s.Status.StatusBase, v1alpha1.ReasonReinitializationNeeded, time.Minute)
	t.Log(message)
	_, err := plugin(t, b, b.Hub().Name, time.Minute, "reinitialize", s.Name, "--yes")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return message
}

// A publication in Tukwila, a distributor in Quincy, a pull subscriber in Dublin: rows that were there before come by
// the mirrored snapshot although the distributor is killed while it is made, rows that come later by the distribution
// agent; a table without a primary key holds nothing up, and a database that holds other data is left alone.
func TestReplicationOverTheWAN(t *testing.T) {
	overTheWAN.Beside(t, 1, 260)
	g := NewWithT(t)
	r := overTheWAN.Get(t, func(t *testing.T, r *replicated) { r.createServers(t) })
	b, publisher, subscriber := r.b, r.publisher(), r.subscriber()
	connector := connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	write(t, open(t, connector, publisher, credentials.RoleSA, "master"), "CREATE DATABASE Content")
	source := open(t, connector, publisher, credentials.RoleSA, "Content")
	write(t, source, "CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, Body nvarchar(1000) NOT NULL)")
	write(t, source, "CREATE TABLE dbo.Bare (Id int NOT NULL, Body nvarchar(1000) NOT NULL)")
	insertRows(t, source, "dbo.Article", 0, replicationRows)

	r.declare("dbo.Article", "dbo.Bare")
	p, s := r.publication, r.subscription
	createReplication(t, b, r.distributor)
	createReplication(t, b, p)
	killDuringSnapshot(t, b, p)
	message := waitForReady(t, b, p, &p.Status.StatusBase, v1alpha1.ReasonNoPrimaryKey, 3*time.Minute)
	g.Expect(message).To(ContainSubstring("dbo.Bare"))

	began := time.Now()
	createReplication(t, b, s)
	waitForReady(t, b, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering, 5*time.Minute)
	copied := open(t, connector, subscriber, credentials.RoleSA, "Content")
	g.Eventually(digest(t, copied, "dbo.Article"), time.Minute, time.Second).
		Should(Equal(digest(t, source, "dbo.Article")()))
	g.Expect(digest(t, copied, "dbo.Article")()).To(HavePrefix(fmt.Sprint(replicationRows, " ")))
	t.Logf(
		"%d rows are in Dublin %.1f s after the Subscription was declared; snapshot of %s mirrored",
		replicationRows,
		time.Since(began).Seconds(),
		s.Status.MirroredSnapshot,
	)

	began = time.Now()
	insertRows(t, source, "dbo.Article", replicationRows, replicationRows+1000)
	want := digest(t, source, "dbo.Article")()
	written := time.Since(began)
	g.Eventually(digest(t, copied, "dbo.Article"), time.Minute, 100*time.Millisecond).Should(Equal(want))
	t.Logf(
		"1000 rows were written in %.1f s and have arrived after %.1f s",
		written.Seconds(),
		time.Since(began).Seconds(),
	)

	other := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: "e2er-other"}, Spec: v1alpha1.SubscriptionSpec{
		Publication: "e2er", Subscriber: v1alpha1.ServerOrGroup{Server: "e2ersub"}, Database: "Other",
		Type: v1alpha1.SubscriptionPush, ReclaimPolicy: v1alpha1.ReclaimDelete,
	}}
	write(t, open(t, connector, subscriber, credentials.RoleSA, "master"), "CREATE DATABASE Other")
	kept := open(t, connector, subscriber, credentials.RoleSA, "Other")
	write(t, kept, "CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, Body nvarchar(1000) NOT NULL)")
	write(t, kept, "INSERT dbo.Article VALUES (7, N'kept')")
	declareReplication(t, b, other)
	waitForReady(t, b, other, &other.Status.StatusBase, v1alpha1.ReasonSubscriberNotEmpty, time.Minute)
	g.Expect(digest(t, kept, "dbo.Article")()).To(Equal("1 7 4"))
}

// A pull subscription becomes Push. Another type takes a new copy, which is made once somebody asks for it; until then
// the old one goes on. The agent at another place goes on from where the last one was: with what was written meanwhile,
// too. It comes after the tests that need the subscription to be pulled.
func TestReplicationIsPushed(t *testing.T) {
	overTheWAN.Beside(t, 3, 115)
	g := NewWithT(t)
	r := overTheWAN.Get(t)
	b, s := r.b, r.subscription
	connector := connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace))
	source := open(t, connector, r.publisher(), credentials.RoleSA, "Content")
	copied := open(t, connector, r.subscriber(), credentials.RoleSA, "Content")
	prices := declareCopies(t, b, source)
	for i, at := range []v1alpha1.AgentPlace{v1alpha1.AgentAtSubscriber, v1alpha1.AgentAtDistributor} {
		before := client.MergeFrom(s.DeepCopy())
		s.Spec.Type, s.Spec.AgentAt = v1alpha1.SubscriptionPush, at
		g.Expect(b.Hub().Client.Patch(t.Context(), s, before)).To(Succeed())
		write(t, source, fmt.Sprintf("DELETE dbo.Article WHERE Id %% 10 = %d", i))
		if at == v1alpha1.AgentAtSubscriber {
			g.Expect(reinitialize(t, b, s)).To(ContainSubstring("to become Push"))
		}
		waitForReady(t, b, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering, 3*time.Minute)
		g.Eventually(digest(t, copied, "dbo.Article"), time.Minute, time.Second).
			Should(Equal(digest(t, source, "dbo.Article")()), "pushed by the agent at the %s", at)
	}
	waitForReady(t, b, prices, &prices.Status.StatusBase, v1alpha1.ReasonDelivering, time.Minute)
	copiesComeWhenAsked(t, b, prices, source, open(t, connector, r.subscriber(), credentials.RoleSA, "Copies"))
}

// declareCopies declares that a table of the same database is copied by a schedule, which asks for nothing for long.
func declareCopies(t *testing.T, b *bed.Bed, source *mssql.DB) *v1alpha1.Subscription {
	t.Helper()
	write(t, source, "CREATE TABLE dbo.Price (Id int NOT NULL, Body nvarchar(1000) NOT NULL)")
	insertRows(t, source, "dbo.Price", 0, 100)
	declareReplication(t, b, &v1alpha1.Publication{ObjectMeta: fresh("e2er-prices"), Spec: v1alpha1.PublicationSpec{
		Publisher: v1alpha1.ServerOrGroup{Server: "e2erpub"}, Database: "Content", Distributor: "e2er",
		Type: v1alpha1.PublicationSnapshot, Schedule: "0 3 29 2 *", ReclaimPolicy: v1alpha1.ReclaimDelete,
		Articles: []v1alpha1.Article{{Table: "dbo.Price"}},
	}})
	s := &v1alpha1.Subscription{ObjectMeta: fresh("e2er-prices"), Spec: v1alpha1.SubscriptionSpec{
		Publication: "e2er-prices", Subscriber: v1alpha1.ServerOrGroup{Server: "e2ersub"}, Database: "Copies",
		Type: v1alpha1.SubscriptionPull, ReclaimPolicy: v1alpha1.ReclaimDelete,
	}}
	declareReplication(t, b, s)
	return s
}

// copiesComeWhenAsked looks whether such a table has its first copy, is left as it is by what is written, and is copied
// when somebody asks.
func copiesComeWhenAsked(t *testing.T, b *bed.Bed, s *v1alpha1.Subscription, source, copied *mssql.DB) {
	t.Helper()
	g := NewWithT(t)
	first := digest(t, source, "dbo.Price")()
	g.Expect(digest(t, copied, "dbo.Price")()).To(Equal(first))
	insertRows(t, source, "dbo.Price", 100, 150)
	g.Consistently(digest(t, copied, "dbo.Price"), 2*time.Second, 500*time.Millisecond).Should(Equal(first))
	_, err := plugin(t, b, b.Hub().Name, time.Minute, "reinitialize", s.Name, "--yes")
	g.Expect(err).NotTo(HaveOccurred())
	saysLogs(t, b.Site("dublin"), "e2ersub-0")
	saysLogs(t, b.Site("quincy"), "e2erdist-0")
	// Each step of it takes a look of some seconds at servers that are far apart.
	want, p := digest(t, source, "dbo.Price")(), &v1alpha1.Publication{}
	bed.Wait(t, "the copy that was asked for is there", 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		for _, o := range []client.Object{s, p} {
			if err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(s), o); err != nil {
				return false, "", err
			}
		}
		text := fmt.Sprintf("phase %s, asked for %v, mirrored %s; Subscription: %s; Publication: %s", s.Status.Phase,
			s.Status.Reinitialization, s.Status.MirroredSnapshot, described(s.Status.Conditions), described(p.Status.Conditions))
		return digest(t, copied, "dbo.Price")() == want, text, nil
	})
}

// saysLogs has a test that fails say what a server's sidecar said last.
func saysLogs(t *testing.T, s *bed.Site, pod string) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		api, err := kubernetes.NewForConfig(s.Config)
		if err != nil {
			t.Logf("the log of %s: %v", pod, err)
			return
		}
		options := &corev1.PodLogOptions{Container: agent.Container, TailLines: ptr.To[int64](40), Timestamps: true}
		text, err := api.CoreV1().Pods(namespace).GetLogs(pod, options).DoRaw(ctx)
		t.Logf("the log of %s (%v):\n%s", pod, err, text)
	})
}

// described is what the condition Ready says.
func described(all []metav1.Condition) string {
	c := meta.FindStatusCondition(all, v1alpha1.ConditionReady)
	if c == nil {
		return "no condition yet"
	}
	return c.Reason + ": " + c.Message
}
