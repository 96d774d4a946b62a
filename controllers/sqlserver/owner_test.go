// SPDX-License-Identifier: Apache-2.0

package sqlserver

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
	server := &v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{ReclaimPolicy: v1alpha1.ReclaimDelete}}
	g.Expect(planDelete(Desired{Server: server}, left{}).Steps).To(Equal([]reconcile.Step{TakeAway{Data: true}}))
	server.OwnerReferences = []metav1.OwnerReference{{Kind: "Topology", Name: "msdn", UID: "former"}}
	g.Expect(planDelete(Desired{Server: server}, left{}).Steps).To(Equal([]reconcile.Step{TakeAway{Data: false}}))
}
