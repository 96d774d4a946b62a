// SPDX-License-Identifier: Apache-2.0

package distributor

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

// silent is a server that has not answered in time.
var silent = replication.Server{Err: &mssql.Error{Class: mssql.Unknown, Err: errors.New("i/o timeout")}}

// deleted is a distributor that was configured and is deleted with reclaimPolicy Delete; no Publication names it.
func deleted(t *testing.T) *world {
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Distributor.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	w.d.Gone = sites.GoneFor(map[v1alpha1.ServerName]string{distributor: "", publisher: "", secondary: ""})
	return w
}

// lost says of servers that they do not answer, and that nobody expects them back.
func (w *world) lost(servers ...v1alpha1.ServerName) {
	why := map[v1alpha1.ServerName]string{distributor: "", publisher: "", secondary: ""}
	for _, s := range servers {
		w.o.Servers[s], why[s] = silent, "Site tukwila is declared lost"
	}
	w.d.Gone = sites.GoneFor(why)
}

func texts(p reconcile.Plan) []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Describe())
	}
	return all
}

func TestDeletionOfADistributor(t *testing.T) {
	g := NewWithT(t)
	w := deleted(t)
	w.d.Distributor.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
	g.Expect(planDelete(w.d, w.o)).
		To(Equal(reconcile.Plan{Done: true}), "everything stays unless the policy says Delete")
	w.d.Ending = []string{"Publication articles"}
	g.Expect(planDelete(w.d, w.o).Done).To(BeFalse(), "a Publication whose end is under way needs to know where it is")
	w = deleted(t)
	w.d.Publications = []string{"articles"}
	p := planDelete(w.d, w.o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Message).To(ContainSubstring("articles"))
	w.d.Publications = nil
	p = planDelete(w.d, w.o)
	g.Expect(p.Steps).NotTo(BeEmpty())
	g.Expect(p.Left).To(BeEmpty())
	g.Expect(p.Steps[len(p.Steps)-1].Describe()).To(ContainSubstring("drop login"), "the mark of ownership goes last")
}

// Only what has the operator's own login is the operator's: another distributor is not taken away, nor one without any
// mark.
func TestDeletionLeavesSomebodysDistributor(t *testing.T) {
	for name, sid := range map[string][]byte{"of somebody else": {1, 2, 3}, "without a mark": nil} {
		t.Run(name, func(t *testing.T) {
			w := deleted(t)
			w.server(distributor).LoginSID = sid
			NewWithT(t).Expect(planDelete(w.d, w.o)).To(Equal(reconcile.Plan{Done: true}))
		})
	}
}

// Nothing is dropped while something is published through the distributor, or nobody knows whether it is.
func TestDeletionOfADistributorThatIsUsed(t *testing.T) {
	published := func(w *world, server v1alpha1.ServerName, state string) {
		w.server(server).Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: state, Published: true}
	}
	for name, c := range map[string]struct {
		edit  func(*world)
		says  []string
		ready metav1.ConditionStatus
	}{
		"retained, or made by hand": {func(w *world) { published(w, publisher, "ONLINE") }, []string{"tukpub-0", "Content"},
			metav1.ConditionFalse},
		"in a database that recovers": {func(w *world) { published(w, publisher, "RECOVERING") }, []string{"Content"},
			metav1.ConditionFalse},
		"by a publisher that is declared no more": {func(w *world) {
			w.d.Publishers = nil
			published(w, secondary, "ONLINE")
		}, []string{"quisec-0"}, metav1.ConditionFalse},
		"by the distributor itself": {func(w *world) { published(w, distributor, "ONLINE") },
			[]string{"dist-0 still publishes"}, metav1.ConditionFalse},
		"a publisher that has not answered": {func(w *world) { w.o.Servers[publisher] = silent },
			[]string{"i/o timeout", "tukpub-0", "Lost", "Retain"}, metav1.ConditionUnknown},
		"a former publisher that has not answered": {func(w *world) {
			w.d.Publishers = nil
			w.o.Servers[publisher] = silent
		}, []string{"tukpub-0"}, metav1.ConditionUnknown},
		"a publisher that was not asked": {func(w *world) { delete(w.o.Servers, publisher) }, []string{"tukpub-0"},
			metav1.ConditionUnknown},
		"a publisher of which is not known whether anybody expects it": {func(w *world) {
			w.d.Gone, w.o.Servers[publisher] = sites.Gone{}, silent
		}, []string{"i/o timeout"}, metav1.ConditionUnknown},
		"an instance that cannot be asked": {func(w *world) {
			at := w.server(distributor)
			at.Publishers = append(at.Publishers, mssql.DistributionPublisher{Name: "LEGACY", Database: "distribution"})
		}, []string{"LEGACY", "sp_dropdistpublisher"}, metav1.ConditionFalse},
		"a distributor that has not answered": {func(w *world) { w.o.Servers[distributor] = silent },
			[]string{"i/o timeout", "delete SQLServer dist", "Retain"}, metav1.ConditionUnknown},
		"beside a server that is gone": {func(w *world) {
			w.lost(secondary)
			published(w, publisher, "ONLINE")
		}, []string{"tukpub-0 still publishes Content"}, metav1.ConditionFalse},
		"through a distributor that is gone": {func(w *world) {
			w.lost(distributor)
			published(w, publisher, "ONLINE")
		}, []string{"tukpub-0 still publishes Content"}, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := deleted(t)
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

// A publisher that nobody expects back keeps no other from being unlinked, and what stays there is said.
func TestDeletionUnlinksBesideAPublisherThatIsGone(t *testing.T) {
	for _, gone := range []v1alpha1.ServerName{publisher, secondary} {
		g := NewWithT(t)
		w := deleted(t)
		w.lost(gone)
		p := planDelete(w.d, w.o)
		text := strings.Join(texts(p), "\n")
		for _, server := range []v1alpha1.ServerName{publisher, secondary} {
			g.Expect(strings.Count(text, "on "+string(server)+"-0 ")).
				To(Equal(map[bool]int{true: 0, false: 2}[server == gone]), text)
		}
		g.Expect(p.Done).To(BeTrue())
		g.Expect(p.Left).To(ConsistOf(And(ContainSubstring("on %s-0 what it has", gone), ContainSubstring("declared lost"))))
	}
}

// A server that is said to be gone and answers all the same is cleaned as any other.
func TestDeletionAsksServersThatAreSaidToBeGone(t *testing.T) {
	g := NewWithT(t)
	w := deleted(t)
	w.d.Gone = sites.GoneFor(
		map[v1alpha1.ServerName]string{distributor: "being deleted", publisher: "being deleted", secondary: "being deleted"},
	)
	p := planDelete(w.d, w.o)
	g.Expect(p.Left).To(BeEmpty())
	g.Expect(strings.Join(texts(p), "\n")).
		To(And(ContainSubstring("on tukpub-0 "), ContainSubstring("on quisec-0 "), ContainSubstring("on dist-0 ")))
}

// Somebody's distribution database on the same server stays, with its publishers and the distributor.
func TestDeletionBesideAnotherDistributionDatabase(t *testing.T) {
	g := NewWithT(t)
	w := deleted(t)
	at := w.server(distributor)
	at.Distribution = append(at.Distribution, mssql.DistributionDatabase{Name: "archive"})
	at.Publishers = append(at.Publishers, mssql.DistributionPublisher{Name: "LEGACY", Database: "archive"})
	p := planDelete(w.d, w.o)
	text := strings.Join(texts(p), "\n")
	g.Expect(text).NotTo(Or(ContainSubstring("archive"), ContainSubstring("LEGACY")))
	g.Expect(text).To(ContainSubstring("sp_dropdistributiondb @database = N'distribution'"))
	g.Expect(text).NotTo(MatchRegexp(`on dist-0 [^\n]*sp_dropdistributor\b`))
	g.Expect(p.Left).To(ConsistOf(ContainSubstring("archive")))
}

// The link of a publisher whose Publication is gone is taken away with the distributor, and the agents' login there.
func TestDeletionUnlinksFormerPublishers(t *testing.T) {
	g := NewWithT(t)
	w := deleted(t)
	w.d.Publications, w.d.Publishers = nil, nil
	var at []string
	for _, text := range texts(planDelete(w.d, w.o)) {
		if strings.Contains(text, "on tukpub-0 ") {
			at = append(at, text)
		}
	}
	g.Expect(at).To(HaveExactElements(ContainSubstring("sp_dropdistributor"), ContainSubstring("DROP LOGIN")))
}

// Whatever a deletion waits for, it says so, and how somebody lets it go on.
func TestEveryWaitOfADeletionHasAWayOut(t *testing.T) {
	published := func(w *world) {
		w.server(publisher).Databases["content"] = mssql.ReplicationDatabase{
			Name: "Content", State: "ONLINE", Published: true}
	}
	for name, c := range map[string]struct {
		edit func(*world)
		says []string
	}{
		"one that is retained, and what ends": {func(w *world) {
			w.d.Distributor.Spec.ReclaimPolicy, w.d.Ending = v1alpha1.ReclaimRetain, []string{"Subscription dublin"}
		}, []string{"Subscription dublin", "set its reclaimPolicy to Retain"}},
		"a Publication names it": {func(w *world) { w.d.Publications = []string{"articles"} },
			[]string{"articles", "delete them"}},
		"it does not answer": {func(w *world) { w.o.Servers[distributor] = silent },
			[]string{"i/o timeout", "delete SQLServer dist"}},
		"it has no rights yet": {func(w *world) { w.server(distributor).Sysadmin = false },
			[]string{"sysadmin", "delete SQLServer dist"}},
		"a publisher does not answer": {func(w *world) { w.o.Servers[publisher] = silent },
			[]string{"i/o timeout", "delete SQLServer tukpub"}},
		"a publisher publishes": {published, []string{"tukpub-0 still publishes Content", "sp_droppublication"}},
		"an instance cannot be asked": {func(w *world) {
			at := w.server(distributor)
			at.Publishers = append(at.Publishers, mssql.DistributionPublisher{Name: "LEGACY", Database: "distribution"})
		}, []string{"LEGACY", "sp_dropdistpublisher"}},
		"it is gone, and a publisher publishes": {func(w *world) {
			w.lost(distributor)
			published(w)
		}, []string{"tukpub-0 still publishes Content"}},
		"it is gone, and a server does not answer": {func(w *world) {
			w.lost(distributor)
			w.d.Publishers, w.o.Servers[publisher] = nil, silent
		}, []string{"i/o timeout", "delete SQLServer tukpub"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := deleted(t)
			c.edit(w)
			p := planDelete(w.d, w.o)
			g.Expect(texts(p)).To(BeEmpty())
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.Outcome.Message).To(HavePrefix("deletion waits: "))
			for _, text := range append(c.says, "Retain") {
				g.Expect(p.Outcome.Message).To(ContainSubstring(text))
			}
		})
	}
}

// A distribution database that a restored msdb does not list is dropped by nothing, and told.
func TestDeletionTellsOfADatabaseThatMsdbDoesNotList(t *testing.T) {
	g := NewWithT(t)
	w := deleted(t)
	at := w.server(distributor)
	at.Distribution, at.Publishers = nil, nil
	at.Databases = map[string]mssql.ReplicationDatabase{"distribution": {Name: "distribution", State: "ONLINE"}}
	p := planDelete(w.d, w.o)
	g.Expect(strings.Join(texts(p), "\n")).NotTo(ContainSubstring("sp_dropdistributiondb"))
	g.Expect(p.Left).To(ConsistOf(ContainSubstring("database distribution, which msdb does not list")))
}
