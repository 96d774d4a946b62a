// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// The garbage collector's deletion of an object that came back with a dead owner is nobody's consent: its things stay.
func TestADeletionByAnOwnerKeepsWhatThereIs(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	g.Expect(planDelete(e.d, e.observe()).Steps).NotTo(BeEmpty())
	e.d.Group.OwnerReferences = []metav1.OwnerReference{{Kind: "Topology", Name: "msdn", UID: "former"}}
	g.Expect(planDelete(e.d, e.observe())).To(Equal(reconcile.Plan{Done: true}))
}
