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

// The jobs of all three agents are deleted at the distributor, as they are when its msdb is restored: rows and a new article arrive all
// the same.
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
	for _, job := range []string{"tukpub-0-Content-logreader", "tukpub-0-Content-articles-snapshot", "tukpub-0-Content-articles-dubsub-0-Content"} {
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
