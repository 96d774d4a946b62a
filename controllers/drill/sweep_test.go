// SPDX-License-Identifier: Apache-2.0

//go:build integration

package drill

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// The finalizer stays until every site that may hold something of the run was looked at, however it is out of reach.
func TestSitesThatCannotBeSwept(t *testing.T) {
	site := func(lifecycle v1alpha1.SiteLifecycle) client.Object {
		return &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"}, Spec: v1alpha1.SiteSpec{Lifecycle: lifecycle}}
	}
	under := v1alpha1.DrillStatus{
		Phase: v1alpha1.DrillRunning,
		Faults: []v1alpha1.FaultStatus{
			{
				Name:    "cut",
				State:   v1alpha1.FaultActive,
				Objects: []v1alpha1.FaultObject{{Site: "quincy", Kind: "NetworkChaos", Name: "x"}},
			},
		},
	}
	clients := v1alpha1.DrillStatus{Phase: v1alpha1.DrillRunning, Clients: []v1alpha1.DrillClient{{Site: "quincy"}}}
	over := v1alpha1.DrillStatus{Phase: v1alpha1.DrillCompleted, Clients: clients.Clients,
		Faults: []v1alpha1.FaultStatus{
			{Name: "cut", State: v1alpha1.FaultRemoved, Objects: []v1alpha1.FaultObject{{Site: "quincy", Gone: true}}},
		}}
	for name, c := range map[string]struct {
		status v1alpha1.DrillStatus
		sites  []client.Object
		gone   bool
	}{
		"a fault where the namespace is no longer allowed": {under, []client.Object{site("")}, false},
		"a fault at a site that is not declared any more":  {under, nil, false},
		"a fault at a site that is lost":                   {under, []client.Object{site(v1alpha1.SiteLost)}, true},
		"clients where the namespace is no longer allowed": {clients, []client.Object{site("")}, false},
		"clients of a run that is over, without the site":  {over, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, w := sweeper(c.status, fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(c.sites...).Build())
			g.Expect(r.reachSites(t.Context(), w)).To(Succeed())
			r.sweep(t.Context(), w)
			p := planDelete(w.Desired, w)
			g.Expect(p.Done).To(Equal(c.gone))
			if !c.gone {
				g.Expect(p.Outcome.Message).To(ContainSubstring("quincy"))
			}
		})
	}
}

func sweeper(s v1alpha1.DrillStatus, c client.Client) (*Reconciler, *Observed) {
	d := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d", UID: "uid"}, Status: s}
	return &Reconciler{hub: c, direct: c, sites: sites.NewProvider(sites.Options{Namespace: "geosql-system"})},
		&Observed{
			Desired: Desired{drill: d},
			members: map[v1alpha1.SiteName]*sites.Member{},
			siteErr: map[v1alpha1.SiteName]error{},
		}
}

// Sites that cannot be listed are not no sites.
func TestSitesThatCannotBeListed(t *testing.T) {
	g := NewWithT(t)
	broken := interceptor.NewClient(fake.NewClientBuilder().WithScheme(apiserver.Scheme).Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		}})
	r, w := sweeper(v1alpha1.DrillStatus{}, broken)
	g.Expect(r.reachSites(t.Context(), w)).To(MatchError(ContainSubstring("no answer")))
}

// What cannot be taken away at one place keeps nothing at another from being taken away.
func TestOneRemovalThatFails(t *testing.T) {
	g := NewWithT(t)
	login := &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d-clients", UID: "l"}}
	c := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(login).Build()
	r, w := sweeper(v1alpha1.DrillStatus{}, c)
	_, err := r.carryOut(t.Context(), w, []reconcile.Step{Remove{Site: "quincy", Object: pod("x")}, Remove{Object: login}})
	g.Expect(err).To(MatchError(ContainSubstring("quincy")))
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(login), login)).NotTo(Succeed())
}

// What was seen of a run goes when it is over, and never because another drill does.
func TestSamplesAreForgotten(t *testing.T) {
	g := NewWithT(t)
	r := &Reconciler{samples: map[types.UID]*runSamples{}, clean: map[types.UID]string{}}
	for n := range 100 {
		r.seen(&v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(n))}})
	}
	r.forget(&v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{UID: "7"}})
	g.Expect(r.samples).To(HaveLen(99))
	g.Expect(r.samples).NotTo(HaveKey(types.UID("7")))
}
