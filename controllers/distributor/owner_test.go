// SPDX-License-Identifier: Apache-2.0

package distributor

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
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Distributor.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	g.Expect(planDelete(w.d, w.o).Steps).NotTo(BeEmpty())
	w.d.Distributor.OwnerReferences = []metav1.OwnerReference{{Kind: "Topology", Name: "msdn", UID: "former"}}
	g.Expect(planDelete(w.d, w.o)).To(Equal(reconcile.Plan{Done: true}))
}
