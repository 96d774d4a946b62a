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
	"geosql.dev/operator/internal/sites"
)

const dublin v1alpha1.ServerName = "dubsub"

// away lets servers not answer; gone ones are those that nobody expects back.
func (w *world) away(gone bool, servers ...v1alpha1.ServerName) {
	why := map[v1alpha1.ServerName]string{distributor: "", publisher: "", secondary: "", dublin: ""}
	for _, s := range servers {
		w.o.Servers[s] = replication.Server{Err: &mssql.Error{Class: mssql.Unreachable, Err: errors.New("no route to host")}}
		if gone {
			why[s] = "Site tukwila is declared lost"
		}
	}
	w.d.Gone = sites.GoneFor(why)
}

func texts(p reconcile.Plan) string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Describe())
	}
	return strings.Join(all, "\n")
}

// What can be ended without a server that is gone is ended, and what stays there is said.
func TestDeletionWithoutOneEnd(t *testing.T) {
	for name, c := range map[string]struct {
		gone, at []v1alpha1.ServerName
		says     []string
		left     []string
	}{
		"the publisher": {[]v1alpha1.ServerName{publisher}, []v1alpha1.ServerName{distributor}, []string{"sp_delete_job"},
			[]string{"at SQLServer tukpub publication articles of database Content"}},
		"the distributor": {[]v1alpha1.ServerName{distributor}, []v1alpha1.ServerName{publisher},
			[]string{"sp_droppublication @publication = N'articles', @ignore_distributor = 1", "sp_replicationdboption"},
			[]string{"on distributor dist-0"}},
		"both": {[]v1alpha1.ServerName{publisher, distributor}, nil, nil, []string{"tukpub", "dist-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := publishedAndDeleted(t)
			w.away(false, c.gone...)
			p := planDelete(w.d, w.look())
			g.Expect(p.Done || len(p.Steps) > 0).To(BeFalse(), "silence is no evidence")
			g.Expect(p.Outcome.Message).
				To(And(ContainSubstring("no route to host"), ContainSubstring("Lost"), ContainSubstring("Retain")))
			w.away(true, c.gone...)
			at, said := map[v1alpha1.ServerName]bool{}, ""
			for range 5 {
				if p = planDelete(w.d, w.look()); p.Done {
					break
				}
				said += texts(p) + "\n"
				for _, s := range p.Steps {
					at[s.(replication.Execute).Server] = true
					w.do(t, s)
				}
			}
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			g.Expect(at).To(HaveLen(len(c.at)))
			for _, server := range c.at {
				g.Expect(at).To(HaveKey(server))
			}
			for _, text := range c.says {
				g.Expect(said).To(ContainSubstring(text))
			}
			g.Expect(p.Left).To(HaveLen(len(c.left)))
			for i, text := range c.left {
				g.Expect(p.Left[i]).To(ContainSubstring(text))
			}
		})
	}
}

// A registration of a server that nobody expects back, and whose Subscription is gone, ends with the publication. All
// others are waited for, in words that somebody can follow.
func TestDeletionWhileSubscribed(t *testing.T) {
	own := v1alpha1.Subscription{
		Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles",
			Subscriber:  v1alpha1.ServerOrGroup{Server: dublin},
			Database:    "Copy",
		},
	}
	own.Name = "dublin"
	for name, c := range map[string]struct {
		edit func(*world)
		host string
		says []string
		ends string
	}{
		"it is declared": {func(w *world) { w.d.Subscriptions = []v1alpha1.Subscription{own} }, "dubsub-0",
			[]string{"Subscription dublin", "reclaimPolicy Delete"}, ""},
		"it is declared, and its server is gone": {func(w *world) {
			w.away(true, dublin)
			w.d.Subscriptions = []v1alpha1.Subscription{own}
		}, "dubsub-0", []string{"Subscription dublin"}, ""},
		"it was retained": {func(w *world) { w.away(false) }, "dubsub-0",
			[]string{"Declare it again", "delete SQLServer dubsub", "Retain"}, ""},
		"it was retained, and its server answers": {func(w *world) {
			w.away(true, dublin)
			w.o.Servers[dublin] = replication.Server{State: &mssql.ReplicationServer{}}
		}, "dubsub-0", []string{"Declare it again"}, ""},
		"somebody else's server": {func(w *world) { w.away(true, "legacy") }, "LEGACY",
			[]string{"sp_dropsubscription", "Retain"}, ""},
		"it was retained, and its server is gone": {func(w *world) { w.away(true, dublin) }, "dubsub-0", nil,
			"sp_dropsubscription"},
		"the distributor is gone as well": {func(w *world) { w.away(true, dublin, distributor) }, "dubsub-0", nil,
			"@ignore_distributor = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := publishedAndDeleted(t)
			for _, article := range []string{"dbo.Article", "dbo.Attachment"} {
				w.o.Database.Publication.Subscriptions = append(w.o.Database.Publication.Subscriptions,
					mssql.ArticleSubscription{Article: article, Subscriber: c.host, Database: "Copy", Pull: true, Status: 2})
			}
			c.edit(w)
			p := planDelete(w.d, w.look())
			g.Expect(p.Done).To(BeFalse())
			if c.ends != "" {
				g.Expect(p.Steps).To(HaveLen(1), "one for all articles")
				g.Expect(texts(p)).To(ContainSubstring(c.ends))
				return
			}
			g.Expect(p.Steps).To(BeEmpty())
			for _, text := range c.says {
				g.Expect(p.Outcome.Message).To(ContainSubstring(text))
			}
		})
	}
}

// Where nobody says any more which server distributes, that is told.
func TestDeletionOfWhatIsNowhere(t *testing.T) {
	g := NewWithT(t)
	w := publishedAndDeleted(t)
	w.d.System, w.d.Missing = replication.System{}, []string{"Distributor main"}
	p := planDelete(w.d, Observed{})
	g.Expect(p.Done).To(BeTrue())
	g.Expect(p.Left).To(ConsistOf(ContainSubstring("Distributor main")))
}

// A publication stays declared until the subscriptions have ended that are deleted with it: whether it is dropped by
// then or retained, they find what they have made by what it declares.
func TestPublicationWaitsForItsSubscriptions(t *testing.T) {
	for _, policy := range []v1alpha1.ReclaimPolicy{v1alpha1.ReclaimRetain, v1alpha1.ReclaimDelete} {
		t.Run(string(policy), func(t *testing.T) {
			g := NewWithT(t)
			w := publishedAndDeleted(t)
			w.d.Publication.Spec.ReclaimPolicy = policy
			for p := planDelete(w.d, w.look()); !p.Done; p = planDelete(w.d, w.look()) {
				g.Expect(p.All()).NotTo(BeEmpty(), p.Outcome.Message)
				for _, step := range p.All() {
					w.do(t, step)
				}
			}
			own := v1alpha1.Subscription{
				Spec: v1alpha1.SubscriptionSpec{Publication: "articles", ReclaimPolicy: v1alpha1.ReclaimDelete},
			}
			own.Name = "dublin"
			w.d.Subscriptions = []v1alpha1.Subscription{own}
			g.Expect(planDelete(w.d, w.look()).Done).To(BeTrue(), "it is not being deleted")
			w.d.Subscriptions[0].DeletionTimestamp = &metav1.Time{Time: start}
			p := planDelete(w.d, w.look())
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.All()).To(BeEmpty())
			g.Expect(p.Outcome.Message).To(ContainSubstring("dublin"))
			w.d.Subscriptions[0].Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
			g.Expect(planDelete(w.d, w.look()).Done).To(BeTrue())
		})
	}
}
