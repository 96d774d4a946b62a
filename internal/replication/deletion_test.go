// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// A deletion that gets no further, since a step fails or nobody knows what was asked for, says how it goes on.
func TestADeletionThatFailsHasAWayOut(t *testing.T) {
	g := NewWithT(t)
	refused := errors.New("login owns a database")
	object := &v1alpha1.Distributor{}
	apply := func() error {
		return CarryOut(t.Context(), reconcile.Reporter{}, object, reconcile.Plan{Steps: []Step{step{}}},
			func(context.Context, Step) error { return refused })
	}
	err := apply()
	g.Expect(err).To(MatchError(refused))
	g.Expect(err.Error()).NotTo(ContainSubstring("Retain"), "it is not being deleted")

	object.DeletionTimestamp = &metav1.Time{}
	object.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	err = apply()
	g.Expect(err).To(MatchError(refused))
	g.Expect(err).To(MatchError(ContainSubstring("Retain")))

	frame := Controller[*v1alpha1.Distributor, int, int]{
		Reclaim: func(d *v1alpha1.Distributor) v1alpha1.ReclaimPolicy { return d.Spec.ReclaimPolicy },
	}.frame(nil)
	unknown := errors.New("read Secret web/dist: no route to host")
	p := frame.Unresolved(object, unknown)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(And(HavePrefix("deletion waits: "), ContainSubstring("no route to host"),
		ContainSubstring("Retain")))
	object.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
	g.Expect(frame.Unresolved(object, unknown).Done).To(BeTrue())
}

// What a deletion has to take away whatever its reclaimPolicy holds it, also when nobody knows what it asked for.
func TestADeletionThatIsHeld(t *testing.T) {
	g := NewWithT(t)
	out := "take it back"
	frame := Controller[*v1alpha1.Distributor, int, int]{
		Reclaim: func(*v1alpha1.Distributor) v1alpha1.ReclaimPolicy { return v1alpha1.ReclaimRetain },
		Holds:   func(*v1alpha1.Distributor) string { return out },
	}.frame(nil)
	object := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{},
		OwnerReferences: []metav1.OwnerReference{{Name: "shop"}}}}
	p := frame.Unresolved(object, errors.New("no route to host"))
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(Equal("deletion waits: no route to host; take it back"))
	out = ""
	g.Expect(frame.Unresolved(object, errors.New("no route to host")).Done).To(BeTrue())
}

// Where only a step beside the others fails a deletion that is done goes on, and tells what stays; one that is not done
// has its way out in its plan, for reclaimPolicy need not be one.
func TestADeletionThatFailsAside(t *testing.T) {
	g := NewWithT(t)
	recorder := events.NewFakeRecorder(2)
	object := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}
	refused := errors.New("lock request time out")
	apply := func(p reconcile.Plan) error {
		p.Beside(step{}, v1alpha1.ReasonConfiguring)
		return CarryOut(t.Context(), reconcile.Reporter{Events: recorder}, object, p,
			func(context.Context, Step) error { return refused })
	}
	err := apply(reconcile.Plan{})
	g.Expect(err).To(MatchError(refused))
	g.Expect(err).NotTo(MatchError(ContainSubstring("Retain")))
	g.Expect(recorder.Events).To(BeEmpty())

	g.Expect(apply(reconcile.Plan{Done: true})).To(Succeed())
	g.Expect(recorder.Events).To(Receive(And(ContainSubstring(v1alpha1.ReasonLeftBehind),
		ContainSubstring("lock request time out"))))
	g.Expect(apply(reconcile.Plan{Done: true, Steps: []reconcile.Step{step{}}})).NotTo(Succeed(), "it is not done")
}

// step is one that is refused.
type step struct{}

func (step) Describe() string { return "a step" }
