// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// lasts is a step that takes long.
type lasts struct{}

func (lasts) Describe() string { return "back a database up" }

// A step that takes long is in the condition with how far it is, and no failure; beside one that fails, the failure is.
func TestWhatIsUnderWayIsToldAndIsNoFailure(t *testing.T) {
	backup := &reconcile.UnderWay{What: "a backup on server tukpub-0",
		Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Percent: 42}
	steps := func(errs ...error) error {
		n := 0
		return reconcile.EachInOrder(t.Context(), make([]lasts, len(errs)), func(lasts) int { n++; return n },
			func(context.Context, lasts) error { err := errs[0]; errs = errs[1:]; return err })
	}
	planned := conditions.InProgress("Creating", "databases are being made")

	g := NewWithT(t)
	outcome := reconcile.Outcome(planned, steps(backup))
	g.Expect(outcome.Reason).To(Equal("Creating"))
	g.Expect(outcome.Message).To(Equal(
		"databases are being made; a backup on server tukpub-0 goes on since 2026-03-01T12:00:00Z, 42 % done"))
	failed := errors.Join(steps(backup), errors.New("the engine refused"))
	outcome = reconcile.Outcome(planned, failed)
	g.Expect(outcome.Reason).To(Equal(v1alpha1.ReasonApplyFailed))
	g.Expect(outcome.Message).To(And(ContainSubstring("the engine refused"), ContainSubstring("42 % done")))
}

// What goes on is looked at as often after an hour as at the beginning.
func TestWhatIsUnderWayIsLookedAtAgainInTime(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	hub := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(&v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"}}).Build()
	same := func(*v1alpha1.Distributor, string) reconcile.Plan {
		return reconcile.Plan{Steps: []reconcile.Step{lasts{}}}
	}
	r := reconcile.New(hub, reconcile.Kind[*v1alpha1.Distributor, *v1alpha1.Distributor, string]{
		Name: "Distributor", New: func() *v1alpha1.Distributor { return &v1alpha1.Distributor{} },
		Finalizer: v1alpha1.Finalizer, Timeout: time.Minute,
		RequeueAfter: reconcile.RequeueAfter{Steps: time.Second, Progress: 2 * time.Second, Resync: time.Minute},
		Desire:       func(_ context.Context, d *v1alpha1.Distributor) (*v1alpha1.Distributor, error) { return d, nil },
		Observe:      func(context.Context, *v1alpha1.Distributor) (string, error) { return "", nil },
		Plan:         same, PlanDelete: same,
		Apply: func(context.Context, *v1alpha1.Distributor, string, reconcile.Plan) error {
			return &reconcile.UnderWay{What: "a backup", Percent: -1}
		},
		Report: func(context.Context, *v1alpha1.Distributor, string, reconcile.Plan, error) error { return nil },
	})
	for range 10 {
		result, err := r.Reconcile(t.Context(), mcreconcile.Request{
			Request: crreconcile.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "main"}}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.RequeueAfter).To(Equal(2 * time.Second))
	}
}
