// SPDX-License-Identifier: Apache-2.0

package login

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// The garbage collector's deletion of an object that came back with a dead owner is nobody's consent: its things stay.
func TestADeletionByAnOwnerKeepsWhatThereIs(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	o := whole(d)
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	g.Expect(planDelete(d, o).Steps).NotTo(BeEmpty())
	d.Login.OwnerReferences = []metav1.OwnerReference{{Kind: "Application", Name: "shop", UID: "former"}}
	g.Expect(planDelete(d, o).Steps).To(BeEmpty())
	g.Expect(planDelete(d, o).Done).To(BeTrue())
}
