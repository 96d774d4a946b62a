// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// A Publication that copies nothing makes a snapshot for the Subscription that asks for one, keeps the copy of one that
// is compared, and lets those that say nothing have what a person has brought.
func TestEachSubscriptionHasItsMethod(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub", "quisub")
	b.publisherDatabase(t, 200)
	for _, database := range []string{"Compared", "Brought"} {
		b.sql(t, "quisub", "master", "CREATE DATABASE "+database)
		b.sql(t, "quisub", database, fmt.Sprintf(createTable, "Article"))
		b.fillIn(t, "quisub", database, "dbo.Article", 0, 200)
	}
	b.sql(t, "quisub", "Brought", "UPDATE dbo.Article SET Body = N'mine' WHERE Id = 7")
	d, p := published()
	p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	copied := subscribed(v1alpha1.SubscriptionPull)
	copied.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeSnapshot}
	compared := second("compared", "quisub", v1alpha1.SubscriptionPull)
	compared.Spec.Database = "Compared"
	compared.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	brought := second("brought", "quisub", v1alpha1.SubscriptionPush)
	brought.Spec.Database = "Brought"
	b.create(t, d, p, copied, compared, brought)
	for _, s := range []*v1alpha1.Subscription{copied, compared, brought} {
		b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	}
	g.Expect(b.sum(t, "dubsub", "dbo.Article")()).To(Equal(b.sum(t, "tukpub", "dbo.Article")()))
	g.Expect(copied.Status.Initialization.Method).To(Equal(v1alpha1.InitializeSnapshot))
	g.Expect(copied.Status.Copy).To(HaveField("Phase", v1alpha1.CopyDone))
	for s, compares := range map[*v1alpha1.Subscription]bool{compared: true, brought: false} {
		g.Expect(s.Status.Initialization).To(And(HaveField("Compared", compares),
			HaveField("Method", v1alpha1.InitializeReplicationSupportOnly)), s.Name)
		g.Expect(s.Status.Copy).To(BeNil(), s.Name)
	}

	b.sql(t, "tukpub", "Content", "UPDATE dbo.Article SET Body = N'changed' WHERE Id = 8")
	for server, databases := range map[v1alpha1.ServerName][]string{
		"dubsub": {"Content"}, "quisub": {"Compared", "Brought"}} {
		for _, one := range databases {
			g.Eventually(func() string { return b.rowsIn(t, server, one, "SELECT Body FROM dbo.Article WHERE Id = 8") },
				patient, 200*time.Millisecond).Should(Equal("[changed]"), "%s on %s", one, server)
		}
	}
	g.Expect(b.rowsIn(t, "quisub", "Brought", "SELECT Body FROM dbo.Article WHERE Id = 7")).
		To(Equal("[mine]"), "nothing was copied there")
}

// A method that is edited into a Publication replaces nothing that a person has brought: the Subscription waits until
// it says so itself, and tells what a copy costs.
func TestAMethodOfAllReplacesNothingThatWasBrought(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.bothDatabases(t, 200)
	b.sql(t, "dubsub", "Content", "UPDATE dbo.Article SET Body = N'mine' WHERE Id = 7")
	d, p := published()
	p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	s := subscribed(v1alpha1.SubscriptionPull)
	b.create(t, d, p, s)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	edit := func(object client.Object, method **v1alpha1.Initialization) {
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
		before := client.MergeFrom(object.DeepCopyObject().(client.Object))
		*method = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
		g.Expect(b.hub.Client.Patch(t.Context(), object, before)).To(Succeed())
	}
	mine := func() string { return b.rowsIn(t, "dubsub", "Content", "SELECT Body FROM dbo.Article WHERE Id = 7") }

	edit(p, &p.Spec.Initialization)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonCopyDiffers)
	g.Expect(mine()).To(Equal("[mine]"))
	g.Expect(meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady).Message).To(And(
		ContainSubstring("200 rows, "), ContainSubstring("kubectl geosql reinitialize")))
	g.Expect(s.Status.Copy).To(BeNil())

	edit(s, &s.Spec.Initialization)
	g.Eventually(mine, patient, 200*time.Millisecond).ShouldNot(Equal("[mine]"))
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	g.Expect(b.sum(t, "dubsub", "dbo.Article")()).To(Equal(b.sum(t, "tukpub", "dbo.Article")()))
	g.Expect(s.Status.Initialization.Method).To(Equal(v1alpha1.InitializeSnapshot))
}
