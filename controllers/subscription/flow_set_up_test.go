// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// The right that a log reader has for an hour ends with it also while the publisher's object is missing: the log reader
// runs on without, and until then status says that it is held.
func TestTheRightEndsWhileThePublisherIsMissing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.bothDatabases(t, 50)
	d, p := published()
	p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	s := subscribed(v1alpha1.SubscriptionPush)
	// It is never registered, and the right is kept for it.
	late := second("late", "quisub", v1alpha1.SubscriptionPush)
	b.create(t, d, p, s, late)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	readers := func() int {
		n, err := mssql.ReadLogReadersAs(t.Context(), b.open(t, "dist", "master"), "geosql_replication_main_setup")
		g.Expect(err).NotTo(HaveOccurred())
		return n
	}
	right := func() *v1alpha1.LogReaderRight {
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
		return p.Status.LogReaderRight
	}
	g.Expect(readers()).To(Equal(1))
	g.Expect(right().Held()).To(BeTrue())
	g.Expect(b.hub.Client.Delete(t.Context(), &v1alpha1.SQLServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tukpub"}})).To(Succeed())
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonReferenceMissing)
	g.Expect(right().Held()).To(BeTrue(), "its hour is not over")
	g.Expect(readers()).To(Equal(1))

	before := p.DeepCopy()
	since := metav1.NewTime(time.Now().Add(-2 * time.Hour))
	p.Status.LogReaderRight.Since = &since
	g.Expect(b.hub.Client.Status().Patch(t.Context(), p, client.MergeFrom(before))).To(Succeed())
	g.Eventually(func() int { b.nudgeAll(t); return readers() }, patient, 200*time.Millisecond).Should(BeZero())
	g.Eventually(func() bool {
		b.nudgeAll(t)
		job, err := mssql.ReadJob(t.Context(), b.open(t, "dist", "master"), replication.LogReaderJob("tukpub-0", "Content"))
		g.Expect(err).NotTo(HaveOccurred())
		return job.Running
	}, patient, 200*time.Millisecond).Should(BeTrue())
	g.Eventually(func() bool { b.nudgeAll(t); return right().Held() }, patient, 200*time.Millisecond).Should(BeFalse())
}

// A subscriber that is registered while a Publication is being looked at keeps the right for its log reader: what is to
// be set up was not there when the distributor was asked first. Without the right it would deliver to nobody any more.
func TestTheRightStaysForWhoIsRegisteredDuringALook(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.bothDatabases(t, 50)
	d, p := published()
	p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	s := subscribed(v1alpha1.SubscriptionPush)
	begun, looked, registered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	within := func(happened <-chan struct{}) {
		select {
		case <-happened:
		case <-time.After(patient / 2):
		}
	}
	var looks atomic.Int32
	b.watch.Store(&watch{
		executes: func(_ mssql.Target, statement tsql.Statement) (done func(error)) {
			done = func(error) {}
			if strings.Contains(statement.Text, "sp_addsubscription") {
				once.Do(func() {
					// Whoever looks now has no word of the Subscription that it waits for the log reader.
					ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
						Reason: v1alpha1.ReasonConfiguring, Message: "it is registered"}
					have := s.DeepCopy()
					if b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), have) == nil {
						before := have.DeepCopy()
						meta.SetStatusCondition(&have.Status.Conditions, ready)
						_ = b.hub.Client.Status().Patch(t.Context(), have, client.MergeFrom(before))
					}
					close(begun)
					within(looked)
					done = func(error) { close(registered) }
				})
			}
			return done
		},
		opens: func(at mssql.Target) {
			if at.Server != "tukpub" || at.Database != "Content" || at.Role == credentials.RoleSA {
				return
			}
			select {
			case <-begun:
			default:
				return
			}
			// The first looks may have begun before.
			if looks.Add(1) == 6 {
				close(looked)
				within(registered)
			}
		},
	})
	b.create(t, d, p, s)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	g.Expect(looked).To(BeClosed(), "the Publication was looked at while its subscriber was registered")
	g.Expect(registered).To(BeClosed())
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (5000, N'afterwards')")
	b.settle(t, s, "dbo.Article")
}

// A subscription that begins without a snapshot is delivered by an engine that wants its log reader in sysadmin for the
// set-up; afterwards no login of replication is, and the one that was is gone. The agents' login never is.
func TestASubscriptionWithoutSnapshotTakesARightForItsTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.bothDatabases(t, 50)
	members := func() (names []string) {
		err := b.open(t, "dist", "master").Query(t.Context(), tsql.Statement{Text: "SELECT name FROM sys.sql_logins " +
			"WHERE name LIKE N'geosql[_]replication%' AND IS_SRVROLEMEMBER(N'sysadmin', name) = 1"},
			func(r mssql.Row) error {
				var name string
				err := r.Scan(&name)
				names = append(names, name)
				return err
			})
		g.Expect(err).NotTo(HaveOccurred())
		return names
	}
	d, p := published()
	p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	s := subscribed(v1alpha1.SubscriptionPush)
	b.create(t, d, p, s)
	raised := map[string]bool{}
	g.Eventually(func() string {
		b.nudgeAll(t)
		for _, name := range members() {
			raised[name] = true
		}
		return b.sum(t, "dubsub", "dbo.Article")()
	}, patient, 200*time.Millisecond).Should(Equal(b.sum(t, "tukpub", "dbo.Article")()))
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (5000, N'afterwards')")
	b.settle(t, s, "dbo.Article")
	g.Eventually(func() []string { b.nudgeAll(t); return members() }, patient, time.Second).Should(BeEmpty())
	const left = "SELECT COUNT(*) FROM sys.sql_logins WHERE name LIKE N'geosql[_]replication[_]%[_]setup'"
	g.Eventually(func() (n int) {
		b.nudgeAll(t)
		g.Expect(b.open(t, "dist", "master").Query(t.Context(), tsql.Statement{Text: left},
			func(r mssql.Row) error { return r.Scan(&n) })).To(Succeed())
		return n
	}, patient, time.Second).Should(BeZero())
	g.Expect(raised).NotTo(HaveKey("geosql_replication_main"))
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (5001, N'without the right')")
	b.settle(t, s, "dbo.Article")
}
