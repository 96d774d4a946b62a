// SPDX-License-Identifier: Apache-2.0

//go:build integration

package join_test

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

// taken has a hub that was made anew join a site that the former one has: refused first, and with consent the site is
// its own, whatever the former manager does. The former hub can take it back in the same way.
func taken(t *testing.T, former, member *apiserver.Server) {
	g, ctx := NewWithT(t), t.Context()
	rebuilt := apiserver.StartHub(t)
	uid := func(hub *apiserver.Server) string {
		is, err := sites.HubUID(ctx, hub.Client)
		g.Expect(err).NotTo(HaveOccurred())
		return is
	}
	key := client.ObjectKey{Namespace: "shop", Name: sites.OwnerLease}
	owner := func() (sites.Owner, error) {
		var lease coordinationv1.Lease
		err := member.Client.Get(ctx, key, &lease)
		return sites.ReadOwner(&lease), err
	}
	runs := func(hub *apiserver.Server) *sites.Provider {
		p := sites.NewProvider(sites.Options{Namespace: sites.OperatorNamespace, Heartbeat: 200 * time.Millisecond})
		apiserver.Run(t, apiserver.NewManager(t, hub.ManagerConfig(t), p, apiserver.HubOptions()))
		return p
	}
	reached := func(p *sites.Provider) func() error {
		return func() error { _, err := p.Member("quincy"); return err }
	}
	again := func(hub *apiserver.Server, takeOver bool) (string, error) {
		out, to := &bytes.Buffer{}, cluster(member)
		_, err := join.Join(ctx, join.Request{Name: "quincy", Member: &to, Hub: cluster(hub), Out: out, TakeOver: takeOver,
			Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"shop"}}})
		return out.String(), err
	}
	first := runs(former)
	g.Eventually(reached(first), "60s", "100ms").Should(Succeed(), "the site was joined by a release that claims none")
	g.Expect(owner()).To(Equal(sites.Owner{Hub: uid(former), Epoch: 1}))
	held, err := first.Member("quincy")
	g.Expect(err).NotTo(HaveOccurred())

	out, err := again(rebuilt, false)
	g.Expect(err).To(MatchError(ContainSubstring("--take-over")))
	g.Expect(out).To(BeEmpty(), "nothing was changed")
	g.Expect(apierrors.IsNotFound(rebuilt.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &v1alpha1.Site{}))).
		To(BeTrue())

	formers := asOperator(t, credentials(t, former, "quincy"))
	out, err = again(rebuilt, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() bool { return apierrors.IsUnauthorized(formers.List(ctx, &corev1.NodeList{})) }, "60s", "500ms").
		Should(BeTrue(), "the former hub's credentials ended")
	g.Expect(out).To(ContainSubstring("taken over from hub " + uid(former) + " (epoch 1)"))
	g.Expect(owner()).To(Equal(sites.Owner{Hub: uid(rebuilt), Epoch: 2}))
	g.Eventually(reached(first), "60s", "100ms").Should(MatchError(ContainSubstring("site quincy is another hub's")))
	g.Consistently(reached(first), "2s", "100ms").Should(MatchError(ContainSubstring("site quincy is another hub's")),
		"its credentials are refused by now")
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "by-the-former"}}
	g.Expect(held.Apply(ctx, made)).To(MatchError(ContainSubstring("is another hub's")), "what it held of the site before")
	second := runs(rebuilt)
	g.Eventually(reached(second), "60s", "100ms").Should(Succeed())
	g.Expect(owner()).To(Equal(sites.Owner{Hub: uid(rebuilt), Epoch: 2}))

	_, err = again(former, false)
	g.Expect(err).To(MatchError(ContainSubstring("--take-over")), "its credentials are not renewed either")
	_, err = again(former, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(owner()).To(Equal(sites.Owner{Hub: uid(former), Epoch: 3}))
	g.Eventually(reached(first), "60s", "100ms").Should(Succeed())
	g.Eventually(reached(second), "60s", "100ms").Should(MatchError(ContainSubstring("site quincy is another hub's")))
	var site v1alpha1.Site
	g.Expect(former.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &site)).To(Succeed())
	g.Expect(site.Spec.HubEpoch).To(BeEquivalentTo(3))
	_, err = again(former, false)
	g.Expect(err).NotTo(HaveOccurred(), "it is its own")
	g.Expect(owner()).To(Equal(sites.Owner{Hub: uid(former), Epoch: 3}))

	// A person at the site deletes the Lease: the hub that writes there makes it again before it writes anything.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	g.Expect(rebuilt.Client.Delete(ctx, &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"}})).To(Succeed())
	g.Eventually(reached(second), "60s", "100ms").Should(MatchError(sites.ErrUnknownSite))
	g.Expect(member.Client.Delete(ctx, lease)).To(Succeed())
	g.Eventually(owner, "60s", "100ms").Should(Equal(sites.Owner{Hub: uid(former), Epoch: 3}))
	g.Eventually(reached(first), "60s", "100ms").Should(Succeed())
}
