// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/tsql"
)

// The publisher's volumes are lost, and an application makes its empty tables anew. The subscriber's copy is the last
// one: it stays as it is until a person says that what the publisher has now replaces it.
func TestLostPublisher(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b, p, s := replicating(t, v1alpha1.SubscriptionPull, 100)
	e := b.engines["tukpub"]
	e.Wipe(t)
	b.launchAnew(t, "tukpub")
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublisherLost)
	g.Expect(b.rowsIn(t, "tukpub", "master", "SELECT name FROM sys.databases WHERE name = N'Content'")).
		To(Equal("[]"), "no empty database takes its place")

	b.sql(t, "tukpub", "master", "CREATE DATABASE Content")
	b.sql(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'again.bak'")
	g.Eventually(func() error { // a connection of before is dead
		return b.open(t, "tukpub", "Content").Exec(t.Context(), tsql.Statement{Text: fmt.Sprintf(createTable, "Article")})
	}, patient, 100*time.Millisecond).Should(Succeed())
	copied := b.rows(t, "dubsub", "SELECT CAST(COUNT(*) AS nvarchar(10)) FROM dbo.Article")
	g.Consistently(func() string { b.nudgeAll(t); return copied() }, 5*time.Second, 500*time.Millisecond).
		Should(Equal("[100]"), "the copy stays as it is")
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublisherLost)

	b.fill(t, "tukpub", "dbo.Article", 0, 7)
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Annotations = map[string]string{v1alpha1.RebuildAnnotation: "true"}
	})
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublished)
	b.settle(t, s, "dbo.Article")
	g.Expect(copied()).To(Equal("[7]"))
}
