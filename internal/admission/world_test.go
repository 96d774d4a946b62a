// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// A namespace may be taken out of a Site once nothing runs or votes there: also what is being deleted does while its
// own finalizer is there, and has nothing but names afterwards.
func TestNamespaceThatIsTakenOutOfASite(t *testing.T) {
	for name, c := range map[string]struct {
		deleted    bool
		finalizers []string
		refused    bool
	}{
		"it runs":               {false, []string{v1alpha1.Finalizer, "geosql.dev/names"}, true},
		"it is ending":          {true, []string{v1alpha1.Finalizer, "geosql.dev/names"}, true},
		"its names alone stay":  {true, []string{"geosql.dev/names"}, false},
		"it has no finalizer":   {false, nil, true},
		"another's holds it up": {true, []string{"example.com/backup"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			meta := metav1.ObjectMeta{Namespace: "web", Name: "tukpub", Finalizers: c.finalizers}
			if c.deleted {
				meta.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Rfc3339Copy().Time}
			}
			server := &v1alpha1.SQLServer{ObjectMeta: meta, Spec: v1alpha1.SQLServerSpec{Site: "tukwila"}}
			group := &v1alpha1.AvailabilityGroup{
				ObjectMeta: meta,
				Status:     v1alpha1.AvailabilityGroupStatus{Voters: []v1alpha1.VoterStatus{{Site: "tukwila"}}},
			}
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			w, err := load(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(server, group).Build(), "")
			g.Expect(err).NotTo(HaveOccurred())
			before := &v1alpha1.Site{
				ObjectMeta: metav1.ObjectMeta{Name: "tukwila"},
				Spec:       v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}},
			}
			errs := w.site(field.NewPath("spec"), before, &v1alpha1.Site{ObjectMeta: before.ObjectMeta})
			if !c.refused {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs.ToAggregate()).
				To(MatchError(And(ContainSubstring("these servers run"), ContainSubstring("have a vote"))))
		})
	}
}
