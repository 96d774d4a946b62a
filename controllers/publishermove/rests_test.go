// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// A move rests with its Publication, between any two steps; one that is over is a record.
func TestAMoveRestsWithItsPublication(t *testing.T) {
	for name, c := range map[string]struct {
		suspended, whole, absent bool
		phase                    v1alpha1.PublisherMovePhase
		why                      string
	}{
		"the Publication goes on": {},
		"it is suspended":         {suspended: true, why: "Publication articles is suspended (spec.suspend is true)"},
		"its Topology is": {whole: true,
			why: "Publication articles is suspended (spec.suspend of Topology msdn is true)"},
		"while it moves": {suspended: true, phase: v1alpha1.MoveSwitching,
			why: "Publication articles is suspended (spec.suspend is true)"},
		"when it has moved": {suspended: true, phase: v1alpha1.MoveCompleted},
		"there is none yet": {absent: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			objects := []client.Object{&v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"},
				Spec: v1alpha1.TopologySpec{Suspend: c.whole}}}
			if !c.absent {
				objects = append(objects, &v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Namespace: "web",
					Name: "articles", Labels: map[string]string{v1alpha1.LabelTopology: "msdn"}},
					Spec: v1alpha1.PublicationSpec{Suspend: c.suspended}})
			}
			r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
			move := &v1alpha1.PublisherMove{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "m"},
				Spec:   v1alpha1.PublisherMoveSpec{Publication: "articles"},
				Status: v1alpha1.PublisherMoveStatus{Phase: c.phase}}
			why, err := r.rests(t.Context(), move)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(why).To(Equal(c.why))
		})
	}
}
