// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// stands is a Subscription that stands still for tables of somebody else, as it was reported.
func stands(t *testing.T) *world {
	t.Helper()
	d := declared()
	d.Publication.Spec.Articles = []v1alpha1.Article{{Table: "dbo.Article"}, {Table: "dbo.Attachment"}}
	w := newWorld(d)
	w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE"}
	w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
	p, _ := w.settle(t, all)
	NewWithT(t).Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty), p.Outcome.Message)
	w.report()
	NewWithT(t).Expect(w.d.Subscription.Status.NotEmptySince).NotTo(BeNil())
	return w
}

// Compare that a Publication declares agrees for those that begin, and not for a Subscription that stands still for
// tables of somebody else: that says so itself, whatever was not known between.
func TestAMethodOfAllAgreesForNobodyWhoStands(t *testing.T) {
	method := &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	for name, between := range map[string]func(*world){
		"at once": func(*world) {},
		"after the distributor did not answer": func(w *world) {
			before := w.o
			w.o.At, w.o.AtErr = replication.AtDistributor{}, errors.New("i/o timeout")
			w.report()
			w.o = before
		},
		"after the database recovered": func(w *world) {
			before, databases := w.o.Here, w.o.Servers[subscriber].State.Databases
			databases["content"], w.o.Here = mssql.ReplicationDatabase{Name: "Content", State: "RECOVERING"}, Here{}
			w.report()
			databases["content"], w.o.Here = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE"}, before
		},
		"after the subscriber did not answer": func(w *world) {
			before, server := w.o.Here, w.o.Servers[subscriber]
			w.o.Servers[subscriber], w.o.Here = replication.Server{Err: errors.New("i/o timeout")}, Here{}
			w.report()
			w.o.Servers[subscriber], w.o.Here = server, before
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := stands(t)
			w.d.Publication.Spec.Initialization = method
			between(w)
			w.o.Comparison = &replication.Comparison{Steady: true, Difference: "dbo.Article has 3 rows"}
			p, done := w.settle(t, all)
			g.Expect(done).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty), p.Outcome.Message)
			g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			g.Expect(p.Outcome.Message).To(ContainSubstring("its own spec.initialization.method to Compare"))
			g.Expect(w.dropped).To(BeZero())
			w.report()

			w.d.Subscription.Spec.Initialization = method
			p, _ = w.settle(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
			w.report()
			g.Expect(w.d.Subscription.Status.NotEmptySince).To(BeNil(), "they are its own")
		})
	}
}

// Who begins with Compare of its Publication has agreed, and who has no tables in the way any more begins.
func TestWhoBeginsHasAgreedByItsPublication(t *testing.T) {
	g := NewWithT(t)
	w := comparing(&replication.Comparison{Steady: true, Difference: "dbo.Article has 3 rows"})
	w.d.Subscription.Annotations = nil
	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE"}
	w.report()
	g.Expect(w.d.Subscription.Status.NotEmptySince).To(BeNil())
	g.Expect(registered(t, w)).To(ContainSubstring("automatic"))

	w = stands(t)
	first := *w.d.Subscription.Status.NotEmptySince
	w.o.Now = w.o.Now.Add(differsFor)
	w.report()
	g.Expect(*w.d.Subscription.Status.NotEmptySince).To(Equal(first))
	w.o.Here.Tables = map[string]mssql.Table{}
	w.report()
	g.Expect(w.d.Subscription.Status.NotEmptySince).To(BeNil())
	p, _ := w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)

	w = stands(t)
	w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	p, _ = w.settle(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
}
