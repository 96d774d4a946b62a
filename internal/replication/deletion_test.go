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
	frame := Kind[*v1alpha1.Distributor, int, int]{
		Reclaim: func(d *v1alpha1.Distributor) v1alpha1.ReclaimPolicy { return d.Spec.ReclaimPolicy },
		Apply:   func(context.Context, Engines, int, Plan) error { return refused },
	}.frame(nil, events.NewFakeRecorder(1), nil)
	w := asked[*v1alpha1.Distributor, int]{object: &v1alpha1.Distributor{}}
	err := frame.Apply(t.Context(), w, 0, reconcile.Plan{Steps: []Step{step{}}})
	g.Expect(err).To(MatchError(refused))
	g.Expect(err.Error()).NotTo(ContainSubstring("Retain"), "it is not being deleted")

	w.object.DeletionTimestamp = &metav1.Time{}
	w.object.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	err = frame.Apply(t.Context(), w, 0, reconcile.Plan{Steps: []Step{step{}}})
	g.Expect(err).To(MatchError(refused))
	g.Expect(err).To(MatchError(ContainSubstring("Retain")))

	unknown := errors.New("read Secret web/dist: no route to host")
	p := frame.Unresolved(w.object, unknown)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(And(HavePrefix("deletion waits: "), ContainSubstring("no route to host"),
		ContainSubstring("Retain")))
	w.object.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
	g.Expect(frame.Unresolved(w.object, unknown).Done).To(BeTrue())
}

// step is one that Apply carries out.
type step struct{}

func (step) Describe() string { return "a step" }
