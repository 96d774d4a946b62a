// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/internal/reconcile"
)

// The garbage collector's deletion of an object that came back with a dead owner is nobody's consent: its things stay.
func TestADeletionByAnOwnerKeepsWhatThereIs(t *testing.T) {
	g := NewWithT(t)
	w := publishedAndDeleted(t)
	g.Expect(planDelete(w.d, w.look()).Steps).NotTo(BeEmpty())
	w.d.Publication.OwnerReferences = []metav1.OwnerReference{{Kind: "Topology", Name: "msdn", UID: "former"}}
	g.Expect(planDelete(w.d, w.look())).To(Equal(reconcile.Plan{Done: true}))
}
