// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/sites"
)

// A site with a replica and a vote is away. A replica elsewhere is added meanwhile, and another site votes in its place
// if that is declared too: nobody waits for the site that is away. The new agent is told the way to its vote when it is
// back.
func TestAReplicaIsAddedWhileAVoterIsAway(t *testing.T) {
	for name, voters := range map[string][]v1alpha1.SiteName{
		"the voters stay":                 {"tukwila", "quincy", "dublin"},
		"another site votes in its place": {"tukwila", "blueridge", "dublin"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			e.cut["quincy"] = true
			e.report()
			e.d.Group.Spec.Replicas, e.d.Group.Spec.Voters = three().Spec.Replicas, voters
			for range 5 {
				e.later(time.Second)
			}
			g.Expect(e.group.replicas).To(HaveKey("dubthird-0"))
			g.Expect(e.servers["dubthird"].joined).To(BeTrue())
			g.Expect(e.d.Group.Status.Voters).To(HaveLen(3))
			for i, v := range e.d.configuration().Voters {
				g.Expect(v).To(Equal(string(voters[i])))
			}
			way := func(site string) bool { return reaches(*e.orders["dubthird"], []string{site}) }
			g.Expect(way("tukwila")).To(BeTrue())
			g.Expect(way("quincy")).To(BeFalse())
		})
	}
}

// Who was never told the way to a voter that does not answer is told so where it can do without, and else keeps what it
// has.
func TestOrdersWithoutAWayToASilentVoter(t *testing.T) {
	issued := begin.Add(-time.Hour)
	reached := orders.Voter{
		Site:       "tukwila",
		Server:     "https://tukwila",
		Account:    "geosql-agent-content",
		AccountUID: "7",
		Token:      "token",
		Issued:     issued,
		Expires:    issued.Add(24 * time.Hour),
	}
	lacking := orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{reached, {Site: "quincy"}}}
	for name, c := range map[string]struct {
		step   GiveOrders
		before *orders.Group
		silent error
		given  bool
	}{
		"a server that is yet to be added": {GiveOrders{Server: "dubthird", New: true}, nil, errSilent, true},
		"one that was added meanwhile":     {GiveOrders{Server: "dubthird"}, &lacking, errSilent, true},
		"a replica whose Secret was lost":  {GiveOrders{Server: "dubthird"}, nil, errSilent, false},
		"that, and the voter's site too":   {GiveOrders{Server: "dubthird"}, nil, sites.ErrSiteLost, true},
		"a replica of voters that it lacks": {GiveOrders{Server: "dubthird"},
			&orders.Group{Name: "content", Namespace: "web", Voters: lacking.Voters[:1]}, errSilent, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			site := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
			member := &sites.Member{
				Site:       v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "tukwila"}},
				Client:     site,
				APIReader:  site,
				Namespaces: []string{"web"},
			}
			r := &Reconciler{sites: cutSites{members: map[v1alpha1.SiteName]*sites.Member{"tukwila": member, "quincy": member}}}
			d := Desired{Group: declared(), Sites: map[v1alpha1.ServerName]v1alpha1.SiteName{"dubthird": "tukwila"}}
			in := ballot.NewGroup()
			o := &Observed{Now: begin, Agents: map[v1alpha1.ServerName]Orders{"dubthird": {Told: c.before}},
				Orders: orders.Group{
					Name:      "content",
					Namespace: "web",
					Voters:    []orders.Voter{{Site: "tukwila"}, {Site: "quincy"}},
					Timings:   &in,
				},
				accounts: map[v1alpha1.SiteName]voterAccess{"tukwila": {voter: reached}, "quincy": {err: c.silent}},
			}
			if c.before == nil {
				// Nothing has to be minted for the voter that answers.
				o.accounts["tukwila"] = voterAccess{err: c.silent}
			}
			err := r.giveOrders(t.Context(), d, o, c.step)
			if !c.given {
				g.Expect(err).To(MatchError(errNoWay))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var secret corev1.Secret
			g.Expect(site.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "dubthird-agent"}, &secret)).To(Succeed())
			told, ok := orders.Secret(secret.Data).Of("content")
			g.Expect(ok).To(BeTrue())
			g.Expect(told.Voters).To(HaveLen(2))
			if errors.Is(c.silent, sites.ErrSiteLost) {
				g.Expect(told.Voters[0].Token).To(BeEmpty())
				return
			}
			g.Expect(told.Voters[1]).To(Equal(orders.Voter{Site: "quincy"}))
			wanted := told
			wanted.Voters = []orders.Voter{told.Voters[0], {Site: "quincy", Server: "https://quincy", AccountUID: "8"}}
			g.Expect(upToDate(told, wanted, begin)).To(BeFalse(), "the way is told when the voter is back")
		})
	}
}
