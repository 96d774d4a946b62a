// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// A read-only copy takes what the agent delivers, and from nobody else, sa among them, anything; a guard that was taken
// off comes back, and all go with the object, though the subscription stays and its Publication went first.
func TestAReadOnlyCopy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 50)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	s.Spec.ReadOnly, s.Spec.ReclaimPolicy = true, v1alpha1.ReclaimRetain
	b.create(t, d)
	b.create(t, p, s)
	b.settle(t, s, "dbo.Article")
	write := func(text string) func() string { return b.rows(t, "dubsub", text+"; SELECT N'written'") }
	const refused = "read-only copy"
	for _, text := range []string{"INSERT dbo.Article (Id, Body) VALUES (7000, N'x')",
		"UPDATE dbo.Article SET Body = N'x' WHERE Id = 1", "DELETE dbo.Article WHERE Id = 1"} {
		g.Expect(write(text)()).To(ContainSubstring(refused), text)
	}
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (8000, N'delivered'); "+
		"UPDATE dbo.Article SET Body = N'changed' WHERE Id = 1; DELETE dbo.Article WHERE Id = 2")
	b.settle(t, s, "dbo.Article")
	g.Expect(b.rows(t, "dubsub", "SELECT Body FROM dbo.Article WHERE Id IN (1, 2, 8000) ORDER BY Id")()).
		To(Equal("[changed delivered]"))

	b.sql(t, "dubsub", "Content", "DISABLE TRIGGER ALL ON dbo.Article")
	change(t, b, s, func(s *v1alpha1.Subscription) { s.Spec.Objectives = &v1alpha1.SubscriptionObjectives{} })
	g.Eventually(write("DELETE dbo.Article WHERE Id = 999999"), patient).Should(ContainSubstring(refused))

	for _, o := range []client.Object{p, s} {
		g.Expect(b.hub.Client.Delete(t.Context(), o)).To(Succeed())
		g.Eventually(func() error { return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o) }, patient).
			ShouldNot(Succeed())
	}
	g.Expect(write("INSERT dbo.Article (Id, Body) VALUES (9000, N'mine')")()).To(Equal("[written]"))
	g.Expect(b.rows(t, "dubsub", fmt.Sprintf("SELECT name FROM sys.triggers WHERE name LIKE N'%s%%'", "geosql"))()).
		To(Equal("[]"))
}
