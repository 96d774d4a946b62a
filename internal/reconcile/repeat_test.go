// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
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
	"geosql.dev/operator/internal/reconcile/conditions"
)

// grant is a step in words.
type grant string

// Describe is the words.
func (g grant) Describe() string { return string(g) }

// granting is a kind whose plan the test decides; its clock is the test's, and every look comes when it was asked for.
type granting struct {
	r       *Reconciler[*v1alpha1.Distributor, *v1alpha1.Distributor, string]
	now     time.Time
	plan    []Step
	applied int
	said    error
}

func newGranting(t *testing.T) *granting {
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	f := &granting{now: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)}
	hub := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(&v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"}}).Build()
	decide := func(*v1alpha1.Distributor, string) Plan {
		return Plan{Steps: f.plan, Outcome: conditions.Outcome{Progress: conditions.Working}}
	}
	f.r = New(hub, Kind[*v1alpha1.Distributor, *v1alpha1.Distributor, string]{
		Name: "Distributor", New: func() *v1alpha1.Distributor { return &v1alpha1.Distributor{} },
		Finalizer: v1alpha1.Finalizer, Timeout: time.Minute,
		RequeueAfter: RequeueAfter{Steps: 250 * time.Millisecond, Progress: time.Second, Resync: 5 * time.Second},
		Desire:       func(_ context.Context, d *v1alpha1.Distributor) (*v1alpha1.Distributor, error) { return d, nil },
		Observe:      func(context.Context, *v1alpha1.Distributor) (string, error) { return "world", nil },
		Plan:         decide, PlanDelete: decide,
		Apply: func(context.Context, *v1alpha1.Distributor, string, Plan) error {
			f.applied += len(f.plan)
			return nil
		},
		Report: func(_ context.Context, _ *v1alpha1.Distributor, _ string, _ Plan, failed error) error {
			f.said = failed
			return nil
		},
	})
	f.r.now = func() time.Time { return f.now }
	return f
}

// run looks as often as is asked for, and returns how often steps were carried out.
func (f *granting) run(t *testing.T, during time.Duration) int {
	t.Helper()
	before := f.applied
	for end := f.now.Add(during); f.now.Before(end); {
		result, err := f.r.Reconcile(
			t.Context(),
			mcreconcile.Request{
				Request: crreconcile.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "main"}},
			},
		)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(
			t,
		).Expect(result.RequeueAfter).
			To(And(BeNumerically(">", 0), BeNumerically("<=", 6*time.Second)), "it goes on being observed")
		f.now = f.now.Add(result.RequeueAfter)
	}
	return f.applied - before
}

// A step that is planned again and again although it was carried out is put off, said, and done at once when the plan
// changes.
func TestStepsWithoutEffectBackOff(t *testing.T) {
	g := NewWithT(t)
	f := newGranting(t)
	f.plan = []Step{grant("grant CREATE ANY DATABASE")}
	g.Expect(f.run(t, 3*time.Second)).To(BeNumerically("<=", 5))
	g.Expect(f.said).NotTo(HaveOccurred(), "what a step begins may take some seconds to be seen")
	g.Expect(f.run(t, 10*time.Minute)).
		To(And(BeNumerically(">=", 10), BeNumerically("<=", 16)), "at least every minute, and hardly more often")
	g.Expect(f.said).
		To(MatchError(And(ContainSubstring("grant CREATE ANY DATABASE"), ContainSubstring("without an effect"))))
	g.Expect(Outcome(conditions.InProgress(v1alpha1.ReasonSeedingFailed, "it failed"), f.said)).To(Equal(
		conditions.InProgress(v1alpha1.ReasonStepWithoutEffect, "it failed; "+f.said.Error())))

	f.plan = []Step{grant("seed again"), grant("look")}
	g.Expect(f.run(t, 250*time.Millisecond)).To(Equal(2))
	g.Expect(f.said).NotTo(HaveOccurred())
	f.plan = nil
	g.Expect(f.run(t, 10*time.Second)).To(BeZero())
	f.plan = []Step{grant("seed again"), grant("look")}
	g.Expect(f.run(t, 250*time.Millisecond)).To(Equal(2), "there was a look that had nothing to do")
}
