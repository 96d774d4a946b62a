// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/apiserver"
)

// A group is labelled and a drill of it created before the manager's cache has the label; a drill of what the API
// server itself does not let be drilled is refused.
func TestNothingIsRefusedByTheCacheAlone(t *testing.T) {
	g := NewWithT(t)
	having := func(label string) client.Reader {
		group := &v1alpha1.AvailabilityGroup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "web",
				Name:      "content",
				Labels:    map[string]string{v1alpha1.DrillsLabel: label},
			},
		}
		return fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(group).Build()
	}
	d := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d"},
		Spec:       v1alpha1.DrillSpec{RunID: "1", Target: v1alpha1.DrillTarget{AvailabilityGroup: "content"}},
	}
	create := func(r readers) error {
		v := &validator[*v1alpha1.Drill]{
			r,
			"Drill",
			func(w *World, old, o *v1alpha1.Drill) field.ErrorList { return w.drill(field.NewPath("spec"), old, o) },
			nil,
			nil, false,
		}
		_, err := v.ValidateCreate(t.Context(), d)
		return err
	}
	g.Expect(create(readers{cached: having(""), server: having(v1alpha1.DrillsAllowed)})).To(Succeed())
	g.Expect(create(readers{cached: having(""), server: having("")})).
		To(MatchError(ContainSubstring("does not allow drills")))
}
