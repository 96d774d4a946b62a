// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/sites"
)

// A site is asked for each literal fault once, to keep nothing and to refuse fields that the kind does not have; and
// what it says of a fault that is done is strict, too.
func TestLiteralFaultsAreTriedStrictly(t *testing.T) {
	chaos := schema.GroupResource{Group: sites.ChaosGroup, Resource: "networkchaos"}
	kind := schema.GroupKind{Group: sites.ChaosGroup, Kind: "NetworkChaos"}
	for name, c := range map[string]struct {
		answer error
		says   string
	}{
		"taken":         {nil, ""},
		"there already": {apierrors.NewAlreadyExists(chaos, "own"), ""},
		"an unknown field": {apierrors.NewBadRequest(`strict decoding error: unknown field "spec.scheduler"`),
			`site tukwila refuses it: strict decoding error: unknown field "spec.scheduler"`},
		"invalid":      {apierrors.NewInvalid(kind, "own", nil), "site tukwila refuses it"},
		"no such kind": {&meta.NoKindMatchError{GroupKind: kind}, "is Chaos Mesh installed there?"},
		"not granted": {apierrors.NewForbidden(chaos, "own", errors.New("no")),
			"kubectl geosql site join tukwila --drills"},
		"silent": {context.DeadlineExceeded, "cannot be told"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			own := literal("NetworkChaos", `{"action":"delay","mode":"all","selector":{},"duration":"5s"}`)
			own.Every, own.Times = lasting(60e9), 3
			s := newStage(t, own, kill())
			var asked []client.CreateOptions
			site := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.CreateOption) error {
					var o client.CreateOptions
					o.ApplyOptions(options)
					asked = append(asked, o)
					return c.answer
				}})
			s.w.members = map[v1alpha1.SiteName]*sites.Member{"tukwila": {Client: site, APIReader: site}}
			r := &Reconciler{}
			r.tryLiterals(t.Context(), s.w)
			g.Expect(asked).To(HaveLen(1))
			g.Expect(asked[0].DryRun).To(Equal([]string{metav1.DryRunAll}))
			g.Expect(asked[0].FieldValidation).To(Equal("Strict"))
			g.Expect(s.w.tried).To(HaveLen(1))
			if c.says == "" {
				g.Expect(s.w.tried["own"]).NotTo(HaveOccurred())
			} else {
				g.Expect(s.w.tried["own"]).To(MatchError(ContainSubstring(c.says)))
			}
			resolved, err := fault.Resolve(s.w.resolved, drill.Expand(s.d.Spec.Faults)[0])
			g.Expect(err).NotTo(HaveOccurred())
			_ = r.create(t.Context(), s.w, resolved.Objects[0])
			g.Expect(asked[1].DryRun).To(BeEmpty())
			g.Expect(asked[1].FieldValidation).To(Equal("Strict"), "nor is another fault done than the one that was meant")
		})
	}
}
