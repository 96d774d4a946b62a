// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// Whatever a deletion waits for, it says so, and how somebody lets it go on.
func TestEveryWaitOfADeletionHasAWayOut(t *testing.T) {
	timeout := &mssql.Error{Class: mssql.Unknown, Err: errors.New("i/o timeout")}
	subscribed := func(host string, declared bool) func(*world, *Observed) {
		return func(w *world, o *Observed) {
			o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{{Subscriber: host, Database: "Copy"}}
			if declared {
				one := v1alpha1.Subscription{Spec: v1alpha1.SubscriptionSpec{Publication: "articles", Database: "Copy",
					Subscriber: v1alpha1.ServerOrGroup{Server: dublin}}}
				one.Name = "dublin"
				w.d.Subscriptions = append(w.d.Subscriptions, one)
			}
		}
	}
	for name, c := range map[string]struct {
		edit func(*world, *Observed)
		says []string
	}{
		"Subscriptions of one that is retained end first": {func(w *world, o *Observed) {
			subscribed("dubsub-0", true)(w, o)
			w.d.Publication.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
			w.d.Subscriptions[0].DeletionTimestamp = &metav1.Time{Time: start}
			w.d.Subscriptions[0].Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
		}, []string{"dublin", "set its reclaimPolicy to Retain"}},
		"the distributor does not answer": {func(_ *world, o *Observed) {
			o.Servers[distributor] = replication.Server{Err: timeout}
		}, []string{"i/o timeout", "delete SQLServer dist"}},
		"the publisher does not answer": {func(_ *world, o *Observed) {
			o.Servers[publisher] = replication.Server{Err: timeout}
		}, []string{"i/o timeout", "delete SQLServer tukpub"}},
		"the publisher has no rights yet": {func(_ *world, o *Observed) {
			o.Servers[publisher].State.Sysadmin = false
		}, []string{"sysadmin", "delete SQLServer tukpub"}},
		"the distribution database recovers": {func(_ *world, o *Observed) {
			o.Servers[distributor].State.Databases["distribution"] = replicationDatabase("distribution", "RECOVERING")
		}, []string{"dist-0", "restore or drop it there"}},
		"the publisher uses another distribution database": {func(_ *world, o *Observed) {
			at := o.Servers[distributor].State
			delete(at.Databases, "distribution")
			at.Publishers[0].Database = "archive"
		}, []string{"archive", "spec.database"}},
		"the distributor did not answer a question": {func(_ *world, o *Observed) { o.AtErr = timeout },
			[]string{"i/o timeout"}},
		"the published database recovers": {func(_ *world, o *Observed) {
			o.Servers[publisher].State.Databases["content"] = replicationDatabase("Content", "RECOVERING")
		}, []string{"tukpub-0", "restore or drop it there"}},
		"the published database did not answer": {func(_ *world, o *Observed) { o.DatabaseErr = timeout },
			[]string{"i/o timeout"}},
		"the group has no primary": {func(w *world, o *Observed) {
			w.d.Publisher.Group = "content"
		}, []string{"has no primary"}},
		"a declared subscription":    {subscribed("dubsub-0", true), []string{"delete its Subscription dublin"}},
		"a retained subscription":    {subscribed("dubsub-0", false), []string{"Declare it again"}},
		"somebody's own subscriber ": {subscribed("LEGACY", false), []string{"sp_dropsubscription"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := publishedAndDeleted(t)
			w.away(false)
			o := w.look()
			c.edit(w, &o)
			p := planDelete(w.d, o)
			g.Expect(texts(p)).To(BeEmpty())
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.Outcome.Message).To(HavePrefix("deletion waits: "))
			for _, text := range append(c.says, "Retain") {
				g.Expect(p.Outcome.Message).To(ContainSubstring(text))
			}
		})
	}
}

// A distributor that answers and has no distribution database was never made, or has lost it: it knows nothing, and
// keeps nothing else from ending. What may come back with a backup is told.
func TestDeletionWithoutADistributionDatabase(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*world)
		says []string
	}{
		"it was lost": {func(*world) {}, []string{"sp_droppublication @publication = N'articles', @ignore_distributor = 1",
			"sp_replicationdboption @dbname = N'Content', @optname = N'publish', @value = N'false', @ignore_distributor = 1",
			"sp_delete_job @job_name = N'" + readerJob + "'", "sp_delete_job @job_name = N'" + snapshotsJob + "'", "DROP USER"}},
		"it was lost under a subscription whose server is gone": {func(w *world) {
			w.away(true, dublin)
			w.o.Database.Publication.Subscriptions = []mssql.ArticleSubscription{
				{Article: "dbo.Article", Subscriber: "dubsub-0", Database: "Copy"}}
		}, []string{"sp_dropsubscription", "sp_droppublication"}},
		"it was never made": {func(w *world) {
			*w = *newWorld(declared(false))
			w.d.Publication.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := publishedAndDeleted(t)
			c.edit(w)
			delete(w.o.Servers[distributor].State.Databases, "distribution")
			w.o.At = replication.AtDistributor{}
			said := ""
			var p reconcile.Plan
			for range 5 {
				if p = planDelete(w.d, w.look()); len(p.Steps) == 0 {
					break
				}
				said += texts(p) + "\n"
				for _, s := range p.Steps {
					w.do(t, s)
				}
			}
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			for _, text := range c.says {
				g.Expect(said).To(ContainSubstring(text))
			}
			g.Expect(strings.Count(said, "\n") > 1).To(Equal(len(c.says) > 0), said)
			g.Expect(p.Left).To(ConsistOf(And(ContainSubstring("dist-0"), ContainSubstring("no database distribution"))))
			g.Expect(w.jobs).To(BeEmpty())
		})
	}
}
