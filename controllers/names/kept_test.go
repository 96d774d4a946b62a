// SPDX-License-Identifier: Apache-2.0

package names

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// tukpub is a server that has names.
func tukpub() Desired {
	return Desired{
		object: &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub"}},
		labels: ownLabels("web", v1alpha1.LabelServer, "tukpub"),
	}
}

// What is wrong at a site that keeps its names itself is left to it for a while; the condition says when that gets
// long, and in the end the manager puts it right. At other sites it does so at once.
func TestWhatIsLeftToASite(t *testing.T) {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	server := view("tukwila", "10.101.0.7")
	world := func(waited time.Duration, keeps, declares bool) Observed {
		w := Observed{
			Desired: tukpub(),
			now:     start.Add(waited),
			views: []*siteView{
				{name: "quincy", member: &sites.Member{}, has: map[string]published{}, keeps: keeps, declares: declares},
			},
			names: func(at v1alpha1.SiteName) []name {
				return serverNames("web", server, at)
			},
		}
		if waited > 0 {
			w.wrong = map[v1alpha1.SiteName]time.Time{"quincy": start}
		}
		return w
	}
	for name, c := range map[string]struct {
		waited          time.Duration
		keeps, declares bool
		steps           bool
		reason          string
	}{
		"at once where nobody else does it":         {0, false, false, true, v1alpha1.ReasonNamesPublished},
		"at once where the site was not told of it": {0, true, false, true, v1alpha1.ReasonNamesPublished},
		"left at first":           {0, true, true, false, v1alpha1.ReasonNamesPublished},
		"said when it takes long": {behindAfter, true, true, false, v1alpha1.ReasonNamesPartial},
		"put right in the end":    {patience, true, true, true, v1alpha1.ReasonNamesPublished},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := world(c.waited, c.keeps, c.declares)
			p := planNames(w.Desired, w)
			g.Expect(len(p.Steps) > 0).To(Equal(c.steps))
			g.Expect(reconcile.Noted[noted](p).condition(w).Reason).To(Equal(c.reason))
			if c.keeps && c.declares {
				g.Expect(reconcile.Noted[noted](p).wrong).
					To(HaveKeyWithValue(v1alpha1.SiteName("quincy"), start), "it counts from the first time")
			}
		})
	}
	t.Run("a name goes once the site knows that it is none any more", func(t *testing.T) {
		g := NewWithT(t)
		w := world(0, true, true)
		w.names = nil
		w.views[0].has = map[string]published{
			podName("tukpub"): {service: serverNames("web", server, "quincy")[0].makeService()},
		}
		// The process may be away for the moment: it would make the name again when it is back.
		for _, keeps := range []bool{true, false} {
			w.views[0].keeps = keeps
			w.views[0].told.Keys = map[string]string{"server.tukpub": `{"name":"tukpub","site":"tukwila"}`,
				"server.other": `{"name":"other","site":"tukwila"}`}
			p := planRelease(w.Desired, w)
			g.Expect(p).To(And(HaveField("Steps", HaveLen(1)), HaveField("Done", false)))
			tell, ok := p.Steps[0].(siteStep)
			g.Expect(ok).To(BeTrue())
			g.Expect(tell.kind).To(Equal(tellObject))
			g.Expect(tell.object).To(HaveField("Data", And(HaveKey("server.other"), Not(HaveKey("server.tukpub")))))
		}
		w.views[0].keeps, w.views[0].declares = true, false
		g.Expect(planRelease(w.Desired, w)).
			To(And(HaveField("Steps", HaveLen(1)), HaveField("Done", false)), "another look follows")
		w.views[0].has = map[string]published{}
		g.Expect(planRelease(w.Desired, w)).To(And(HaveField("Steps", HaveLen(0)), HaveField("Done", true)))
	})
}

// A site without the namespace has no names in it: it keeps no object from going. One that cannot be used for another
// reason may have them.
func TestNamesGoWithTheirNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		done bool
	}{
		"the namespace is gone or going": {&sites.NamespaceError{Site: "dublin", Namespace: "web",
			Missing: "it is being deleted there", Gone: true}, true},
		"the credentials have no rights": {&sites.NamespaceError{Site: "dublin", Namespace: "web",
			Missing: "the credentials have no rights there"}, false},
		"nobody has looked at it yet": {&sites.NamespaceError{Site: "dublin", Namespace: "web",
			Missing: "it is not usable yet"}, false},
		"the site has not answered at all": {&sites.UnreachableError{Site: "dublin"}, false},
		"another site still has the name":  {&sites.NamespaceError{Site: "dublin", Namespace: "web", Gone: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := Observed{
				Desired: tukpub(),
				views: []*siteView{
					{name: "dublin", err: c.err, has: map[string]published{}},
					{name: "quincy", member: &sites.Member{}, has: map[string]published{}},
				},
			}
			if name == "another site still has the name" {
				w.views[1].has[podName("tukpub")] = published{
					service: serverNames("web", view("tukwila", "10.101.0.7"), "quincy")[0].makeService(),
				}
			}
			NewWithT(t).Expect(planRelease(w.Desired, w).Done).To(Equal(c.done))
		})
	}
}

// Only a majority of all voters, in one term and with a holder that was seen as PRIMARY, names the primary; one that
// was not seen so yet is the claimant.
func TestGivenTo(t *testing.T) {
	g := NewWithT(t)
	held := func(term int64, server string) votes.Record {
		return votes.Record{Term: term, State: votes.StateHeld, Holder: votes.Holder{Server: server}}
	}
	claimed := held(4, "quisec-0")
	claimed.State = votes.StateClaimed
	three := votes.Configuration{Voters: []string{"a", "b", "c"}}
	by := func(c votes.Configuration, each ...votes.Record) map[string]votes.Record {
		records := map[string]votes.Record{}
		for i, v := range each {
			records[c.Sites()[i]] = v
		}
		return records
	}
	of := func(c votes.Configuration, each ...votes.Record) string {
		return givenTo(votes.StateHeld, by(c, each...), c)
	}
	g.Expect(of(three, held(3, "tukpub-0"), held(3, "tukpub-0"))).To(Equal("tukpub"))
	g.Expect(of(three, held(3, "tukpub-0"))).To(BeEmpty())
	g.Expect(of(three, held(3, "tukpub-0"), held(4, "tukpub-0"))).To(BeEmpty())
	g.Expect(of(three, held(3, "tukpub-0"), held(4, "quisec-0"), held(4, "quisec-0"))).To(Equal("quisec"))
	g.Expect(of(three, claimed, claimed, claimed)).To(BeEmpty())
	g.Expect(givenTo(votes.StateClaimed, by(three, held(3, "tukpub-0"), claimed, claimed), three)).To(Equal("quisec"))
	g.Expect(givenTo(votes.StateClaimed, by(three, held(3, "tukpub-0"), held(4, "quisec-0"), claimed), three)).
		To(BeEmpty())
	changing := votes.Configuration{Term: 3, Number: 1, Voters: three.Voters, Next: []string{"c", "d", "e"}}
	g.Expect(of(changing, held(3, "tukpub-0"), held(3, "tukpub-0"), held(2, "tukpub-0"), held(3, "tukpub-0"))).
		To(BeEmpty(), "one of the next")
	g.Expect(of(changing, held(3, "tukpub-0"), held(3, "tukpub-0"), held(3, "tukpub-0"), held(3, "tukpub-0"))).
		To(Equal("tukpub"))
	g.Expect(givenTo(votes.StateHeld, nil, votes.Configuration{})).To(BeEmpty())
}
