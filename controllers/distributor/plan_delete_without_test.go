// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// former is a distributor that is deleted, whose server is gone, and whose publishers nobody declares any more.
func former(t *testing.T) *world {
	w := deleted(t)
	w.lost(distributor)
	w.d.Publishers = nil
	return w
}

// Without the distributor's server its publishers are unlinked all the same, also those that only their own answer
// tells of. The link goes last: it is how a publisher is found again after a crash.
func TestDeletionWithoutTheDistributorsServer(t *testing.T) {
	for name, publishers := range map[string][]v1alpha1.ServerName{
		"that are declared": {secondary, publisher}, "that nobody declares any more": nil,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := former(t)
			w.d.Publishers = publishers
			p := planDelete(w.d, w.o)
			g.Expect(texts(p)).To(HaveExactElements(
				And(ContainSubstring("on quisec-0"), ContainSubstring("DROP LOGIN")),
				And(ContainSubstring("on quisec-0"), ContainSubstring("sp_dropdistributor")),
				And(ContainSubstring("on tukpub-0"), ContainSubstring("DROP LOGIN")),
				And(ContainSubstring("on tukpub-0"), ContainSubstring("sp_dropdistributor")),
			))
			g.Expect(p.Done).To(BeTrue())
			g.Expect(p.Left).To(ConsistOf(ContainSubstring("on dist-0 distribution database distribution")))
		})
	}
}

// A process may end after any of these steps: the next one goes on from there.
func TestDeletionWithoutTheDistributorsServerAfterACrash(t *testing.T) {
	for n := range 4 {
		g := NewWithT(t)
		w := former(t)
		for _, s := range planDelete(w.d, w.o).Steps[:n] {
			w.end(t, s)
		}
		p := planDelete(w.d, w.o)
		g.Expect(p.Done).To(BeTrue())
		for _, s := range p.Steps {
			w.end(t, s)
		}
		for _, name := range []v1alpha1.ServerName{publisher, secondary} {
			g.Expect(w.server(name).HasDistributor).To(BeFalse(), string(name))
			g.Expect(w.server(name).LoginSID).To(BeNil(), string(name))
		}
	}
}

// end takes the steps of a deletion.
func (w *world) end(t fatal, step replication.Step) {
	t.Helper()
	s := step.(replication.Execute)
	setUp, _ := w.o.SetUp.Get()
	at := w.server(s.Server)
	switch text := s.Statement.Text; {
	case strings.Contains(text, "DROP LOGIN ["+setUpLogin+"]"):
		if len(setUp.Sessions) > 0 {
			t.Fatalf("error 15434: login %s is logged in", setUpLogin)
		}
		w.o.SetUp = reconcile.Read(SetUp{})
	case strings.Contains(text, "KILL 57"):
		setUp.Sessions = nil
		w.o.SetUp = reconcile.Read(setUp)
	case strings.Contains(text, "sp_dropdistributor "):
		if len(at.Distribution) > 0 {
			t.Fatalf("%s distributes: %v", s.Server, at.Distribution)
		}
		at.HasDistributor, at.Distributor = false, ""
	case strings.Contains(text, "DROP LOGIN"):
		at.LoginSID, at.PasswordRight = nil, false
	case strings.Contains(text, "sp_dropdistpublisher"):
		at.Publishers = slices.DeleteFunc(at.Publishers, func(x mssql.DistributionPublisher) bool {
			return strings.Contains(text, "N'"+x.Name+"'")
		})
	case strings.Contains(text, "sp_dropdistributiondb"):
		if len(at.Publishers) > 0 {
			t.Fatalf("%s is dropped under its publishers", text)
		}
		at.Distribution = slices.DeleteFunc(at.Distribution, func(x mssql.DistributionDatabase) bool {
			dropped := strings.Contains(text, "N'"+x.Name+"'")
			if dropped {
				delete(at.Databases, x.Name)
			}
			return dropped
		})
	default:
		t.Fatalf("statement %q is not known", text)
	}
}

// Publishers that nobody declares are asked before they are unlinked: one that did not answer is not one that has
// nothing.
func TestDeletionWithoutTheDistributorsServerAsks(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*world)
		says  []string
		ready metav1.ConditionStatus
	}{
		"one publishes still": {func(w *world) {
			w.server(publisher).Databases["content"] = mssql.ReplicationDatabase{Name: "Content", Published: true}
		}, []string{"tukpub-0 still publishes Content"}, metav1.ConditionFalse},
		"one cannot tell who its distributor is": {func(w *world) {
			w.server(publisher).Distributor = ""
			w.server(publisher).Databases["content"] = mssql.ReplicationDatabase{Name: "Content", Published: true}
		}, []string{"tukpub-0 still publishes Content"}, metav1.ConditionFalse},
		"one has not answered": {func(w *world) { w.o.Servers[publisher] = silent },
			[]string{"tukpub-0", "i/o timeout", "Lost", "Retain"}, metav1.ConditionUnknown},
		"one was not asked": {func(w *world) { delete(w.o.Servers, publisher) }, []string{"tukpub-0"},
			metav1.ConditionUnknown},
		"one hides what it has": {func(w *world) { *w.server(publisher) = mssql.ReplicationServer{} },
			[]string{"tukpub-0", "sysadmin"}, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := former(t)
			c.edit(w)
			p := planDelete(w.d, w.o)
			g.Expect(texts(p)).To(BeEmpty())
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.Outcome.Ready).To(Equal(c.ready))
			for _, text := range c.says {
				g.Expect(p.Outcome.Message).To(ContainSubstring(text))
			}
		})
	}
}

// A server that has another distributor, or none, has nothing of this one. Of one that nobody expects back it is told
// that nobody knows.
func TestDeletionWithoutTheDistributorsServerKeepsTheOthers(t *testing.T) {
	g := NewWithT(t)
	w := former(t)
	w.server(publisher).Distributor = "other-0"
	w.server(publisher).Databases["content"] = mssql.ReplicationDatabase{Name: "Content", Published: true}
	w.server(secondary).HasDistributor, w.server(secondary).Distributor = false, ""
	p := planDelete(w.d, w.o)
	g.Expect(texts(p)).To(BeEmpty())
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)

	w.lost(distributor, publisher)
	p = planDelete(w.d, w.o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Left).To(ContainElement(And(ContainSubstring("on tukpub-0"), ContainSubstring("declared lost"))))
}

// While the distributor's server is expected back nobody but its publishers is asked.
func TestWhoIsAskedOfADistributorThatIsDeleted(t *testing.T) {
	for lifecycle, asked := range map[v1alpha1.SiteLifecycle][]v1alpha1.ServerName{
		v1alpha1.SiteActive: {distributor}, v1alpha1.SiteLost: {distributor, publisher},
	} {
		g := NewWithT(t)
		server := func(name v1alpha1.ServerName, site v1alpha1.SiteName) *v1alpha1.SQLServer {
			return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: string(name)},
				Spec: v1alpha1.SQLServerSpec{Site: site}}
		}
		d, engines := desired(t, v1alpha1.ReclaimDelete, server(distributor, "tukwila"), server(publisher, "quincy"),
			&v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "tukwila"}, Spec: v1alpha1.SiteSpec{Lifecycle: lifecycle}})
		var names []v1alpha1.ServerName
		for name := range observe(t.Context(), engines, d).Servers {
			names = append(names, name)
		}
		g.Expect(names).To(ConsistOf(asked))
	}
}

// A publisher that is declared, and whose SQLServer is not there any more, is told of.
func TestDeletionTellsOfPublishersThatAreNotDeclared(t *testing.T) {
	g := NewWithT(t)
	d, engines := desiredBy(t, v1alpha1.DistributorSpec{Server: distributor, ReclaimPolicy: v1alpha1.ReclaimDelete,
		Publishers: []v1alpha1.ServerOrGroup{{Server: publisher}}})
	p := planDelete(d, observe(t.Context(), engines, d))
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Left).To(ConsistOf(ContainSubstring("on tukpub-0"), ContainSubstring("on dist-0")))
}
