// SPDX-License-Identifier: Apache-2.0

package subscription

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
	"geosql.dev/operator/internal/sites"
)

// away lets servers not answer; gone ones are those that nobody expects back.
func (w *world) away(gone bool, servers ...v1alpha1.ServerName) {
	why := map[v1alpha1.ServerName]string{distributor: "", publisher: "", secondary: "", subscriber: ""}
	for _, s := range servers {
		w.o.Servers[s] = replication.Server{Err: &mssql.Error{Class: mssql.Unreachable, Err: errors.New("no route to host")}}
		if gone {
			why[s] = "Site tukwila is declared lost"
		}
	}
	w.d.Gone = sites.GoneFor(why)
}

// end carries a deletion out, and returns the servers that it had work at and the plan that ended it.
func (w *world) end(t *testing.T) (map[v1alpha1.ServerName]bool, reconcile.Plan) {
	at := map[v1alpha1.ServerName]bool{}
	var p reconcile.Plan
	for range 6 {
		if p = planDelete(w.d, w.look()); len(p.All()) == 0 {
			return at, p
		}
		for _, s := range p.All() {
			if x, ok := s.(replication.Execute); ok {
				at[x.Server] = true
			}
			w.do(t, s)
		}
	}
	t.Fatalf("the deletion does not end: %+v", p)
	return nil, p
}

// What can be ended without an end that is gone is ended, and what stays there is said.
func TestDeletionWithoutOneEnd(t *testing.T) {
	for name, c := range map[string]struct {
		gone []v1alpha1.ServerName
		at   []v1alpha1.ServerName
		left []string
	}{
		"the subscriber": {[]v1alpha1.ServerName{subscriber}, []v1alpha1.ServerName{publisher},
			[]string{"on dubsub-0 the subscription of database Content"}},
		"the publisher": {[]v1alpha1.ServerName{publisher, secondary}, []v1alpha1.ServerName{subscriber},
			[]string{"at AvailabilityGroup content the registration"}},
		"the distributor": {[]v1alpha1.ServerName{distributor}, []v1alpha1.ServerName{publisher, subscriber},
			[]string{"on distributor dist-0"}},
		"the publisher and distributor": {[]v1alpha1.ServerName{publisher, secondary, distributor},
			[]v1alpha1.ServerName{subscriber}, []string{"registration", "dist-0"}},
		"the subscriber and distributor": {[]v1alpha1.ServerName{subscriber, distributor}, []v1alpha1.ServerName{publisher},
			[]string{"dubsub-0", "dist-0"}},
		"a replica of the publisher": {[]v1alpha1.ServerName{secondary}, []v1alpha1.ServerName{publisher, subscriber},
			nil},
		"all": {[]v1alpha1.ServerName{publisher, secondary, distributor, subscriber}, nil,
			[]string{"dubsub-0", "registration", "dist-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribedAndDeleted(t)
			w.away(false, c.gone...)
			if name != "a replica of the publisher" {
				p := planDelete(w.d, w.look())
				g.Expect(p.Done || len(p.Steps) > 0).To(BeFalse(), "silence is no evidence")
				g.Expect(p.Outcome.Message).
					To(And(ContainSubstring("no route to host"), ContainSubstring("Lost"), ContainSubstring("Retain")))
				g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionUnknown))
			}
			w.away(true, c.gone...)
			at, p := w.end(t)
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			for _, server := range c.at {
				g.Expect(at).To(HaveKey(server))
			}
			g.Expect(at).To(HaveLen(len(c.at)))
			g.Expect(p.Left).To(HaveLen(len(c.left)))
			for i, text := range c.left {
				g.Expect(p.Left[i]).To(And(ContainSubstring(text), ContainSubstring("Site tukwila is declared lost")))
			}
			if at[publisher] {
				g.Expect(w.o.Publication.Subscriptions).To(BeEmpty())
			}
			if at[subscriber] {
				g.Expect(w.o.Here.Subscriptions).To(BeEmpty())
				g.Expect(w.jobs[subscriber]).To(BeEmpty())
			}
		})
	}
}

// A server that is said to be gone and answers is cleaned as any other.
func TestDeletionAsksServersThatAreSaidToBeGone(t *testing.T) {
	g := NewWithT(t)
	w := subscribedAndDeleted(t)
	w.d.Gone = sites.GoneFor(map[v1alpha1.ServerName]string{subscriber: "SQLServer dubsub is being deleted"})
	at, p := w.end(t)
	g.Expect(p.Done).To(BeTrue())
	g.Expect(p.Left).To(BeEmpty())
	g.Expect(at).To(And(HaveKey(subscriber), HaveKey(publisher)))
}

// A distributor that is gone, or was made anew, is asked nothing about the registration.
func TestRegistrationThatTheDistributorDoesNotKnow(t *testing.T) {
	for name, edit := range map[string]func(*world){
		"it is gone":          func(w *world) { w.away(true, distributor) },
		"it was made anew":    func(w *world) { w.o.At.Known = false },
		"it knows all of it ": func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := subscribedAndDeleted(t)
			edit(w)
			text := ""
			for p := planDelete(w.d, w.look()); len(p.All()) > 0; p = planDelete(w.d, w.look()) {
				text = strings.Join(describeSteps(p), "\n")
				for _, s := range p.All() {
					w.do(t, s)
				}
			}
			matches := MatchRegexp(`sp_dropsubscription[^\n]*@ignore_distributor = 1`)
			if strings.Contains(name, "knows") {
				matches = Not(matches)
			}
			NewWithT(t).Expect(text).To(And(ContainSubstring("sp_dropsubscription"), matches))
		})
	}
}

// Where nobody says any more which servers were meant, that is told.
func TestDeletionOfWhatIsNowhere(t *testing.T) {
	for name, edit := range map[string]func(*Desired){
		"no publication": func(d *Desired) { d.Publication, d.Missing = nil, []string{"Publication articles"} },
		"no distributor": func(d *Desired) { d.System, d.Missing = replication.System{}, []string{"Distributor main"} },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribedAndDeleted(t)
			w.d.Subscription.Spec.Publication = "articles"
			edit(&w.d)
			p := planDelete(w.d, Observed{Guards: reconcile.Read[[]mssql.Guard](nil)})
			g.Expect(p.Done).To(BeTrue())
			g.Expect(p.Left).To(ConsistOf(ContainSubstring(w.d.Missing[0])))
		})
	}
}

// The subscriber's database says under whose name it is subscribed when the distributor does not.
func TestPublisherByTheSubscribersWord(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	o := Observed{Here: Here{Subscriptions: []mssql.SubscriptionHere{
		{Publisher: "elsewhere-0", PublisherDatabase: "Content", Publication: "articles"},
		{Publisher: "QUISEC-0", PublisherDatabase: "content", Publication: "articles"},
	}}}
	g.Expect(o.subscribedTo(d)).To(Equal("QUISEC-0"))
	g.Expect(Observed{}.subscribedTo(d)).To(BeEmpty(), "of a group nobody can tell")
	d.Publisher = replication.Party{Servers: []v1alpha1.ServerName{publisher}}
	g.Expect(Observed{}.subscribedTo(d)).To(Equal("tukpub-0"))
}
