// SPDX-License-Identifier: Apache-2.0

//go:build integration

package drill

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

// A site that was joined without drills lacks what they need, says so, and has nothing of a drill that must be waited
// for; one joined with them lacks nothing.
func TestDrillsHaveToBeGranted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub, member := apiserver.StartHub(t), apiserver.StartMember(t)
	joined := func(drills bool) *sites.Member {
		quincy := join.Cluster{Config: member.Config, Client: member.Client}
		_, err := join.Join(
			t.Context(),
			join.Request{
				Name:   "quincy",
				Member: &quincy,
				Hub:    join.Cluster{Config: hub.Config, Client: hub.Client},
				Drills: &drills,
				Out:    t.Output(),
				Spec:   v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}},
			},
		)
		g.Expect(err).NotTo(HaveOccurred())
		return &sites.Member{RESTConfig: asSite(t, hub)}
	}
	s := newStage(t, kill())
	s.w.members = map[v1alpha1.SiteName]*sites.Member{"quincy": joined(false)}
	observeRights(t.Context(), s.w)
	g.Expect(s.w.ungranted).
		To(Equal(map[v1alpha1.SiteName]string{"quincy": "create pods, create pods/exec, create dnschaos.chaos-mesh.org"}))
	s.look(time.Second)
	g.Expect(s.d.Status.Reason).To(Equal(v1alpha1.ReasonDrillsNotGranted))
	g.Expect(s.d.Status.Message).To(ContainSubstring("kubectl geosql site join quincy --drills"))

	s.w.members["quincy"] = joined(true)
	g.Eventually(func() map[v1alpha1.SiteName]string { observeRights(t.Context(), s.w); return s.w.ungranted },
		time.Minute, 200*time.Millisecond).
		Should(BeEmpty())
	g.Expect(s.w.unasked).To(BeEmpty())
	member.Wire.Cut()
	observeRights(t.Context(), s.w)
	g.Expect(s.w.unasked).To(ContainSubstring("whether drills are granted at site quincy cannot be told"))
}

// asSite reaches site quincy with the credentials that the hub has for it.
func asSite(t *testing.T, hub *apiserver.Server) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	var secret corev1.Secret
	g.Expect(hub.Client.Get(t.Context(), client.ObjectKey{Namespace: sites.OperatorNamespace, Name: "quincy"}, &secret)).
		To(Succeed())
	config, err := sites.LoadKubeconfig(secret.Data[sites.KubeconfigKey])
	g.Expect(err).NotTo(HaveOccurred())
	return config
}

// Where the manager may not look for objects of Chaos Mesh, it is waited for if the status says that there are some,
// and not otherwise: a drill that was refused there can be deleted.
func TestChaosThatMayNotBeListed(t *testing.T) {
	g := NewWithT(t)
	refusing := interceptor.NewClient(fake.NewClientBuilder().WithScheme(apiserver.Scheme).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Group == sites.ChaosGroup {
				return apierrors.NewForbidden(schema.GroupResource{Group: sites.ChaosGroup}, "", errors.New("not granted"))
			}
			return c.List(ctx, list, options...)
		}})
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).Build()
	member := map[v1alpha1.SiteName]*sites.Member{"quincy": {APIReader: refusing}}
	r, w := sweeper(v1alpha1.DrillStatus{Phase: v1alpha1.DrillPending}, hub)
	w.members = member
	r.sweep(t.Context(), w)
	g.Expect(w.unswept).To(BeEmpty())
	g.Expect(w.swept).To(BeEmpty())

	r, w = sweeper(v1alpha1.DrillStatus{Phase: v1alpha1.DrillRunning, Faults: []v1alpha1.FaultStatus{
		{
			Name:    "f",
			State:   v1alpha1.FaultActive,
			Objects: []v1alpha1.FaultObject{{Site: "quincy", Kind: "NetworkChaos", Name: "f"}},
		}}}, hub)
	w.members = member
	r.sweep(t.Context(), w)
	g.Expect(w.unswept).To(Equal([]v1alpha1.SiteName{"quincy"}))
	g.Expect(w.siteErr["quincy"]).To(MatchError(ContainSubstring("kubectl geosql site join quincy --drills")))
}
