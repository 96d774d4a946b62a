// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// What a move names may be gone once it is over: the record stays Ready, and a move that cannot go on says why. One
// that is under way waits for what it cannot find.
func TestAMoveWhoseDistributorHasNoPasswords(t *testing.T) {
	for name, c := range map[string]struct {
		edit            func(*Desired)
		unknown, reason string
	}{
		"under way": {edit: func(*Desired) {}, unknown: "Secret"},
		"completed": {edit: func(d *Desired) {
			d.Move.Status.Phase, d.Publication.Spec.MovedBy = v1alpha1.MoveCompleted, "move"
			d.Move.Status.Timeline = &v1alpha1.MoveTimeline{Switched: &metav1.MicroTime{Time: noon}}
		}, reason: v1alpha1.ReasonMoved},
		"of a publication that was declared anew": {edit: func(d *Desired) {
			d.Move.Status.PublicationUID, d.Publication.UID = "first", "second"
		}, reason: v1alpha1.ReasonPublicationReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			around, o := lostSite()
			c.edit(&around)
			far := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "far"},
				Spec: v1alpha1.DistributorSpec{Server: "far"}}
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(around.Move, around.Publication, far).Build()
			d, err := (&Reconciler{access: mssql.SecretAccess{Reader: hub}, hub: hub}).desire(t.Context(), around.Move)
			if c.unknown != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.unknown)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(plan(d, o).Outcome.Reason).To(Equal(c.reason))
		})
	}
}
