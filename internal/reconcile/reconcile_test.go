// SPDX-License-Identifier: Apache-2.0

//go:build integration

package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/test/support/apiserver"
)

var look = reconcile.RequeueAfter{
	Steps: time.Second, Progress: 2 * time.Second, Stalled: 10 * time.Second, Resync: time.Minute,
}

// frame is a kind whose verbs the test decides, with what was called.
type frame struct {
	hub      client.WithWatch
	desired  error
	observed error
	plan     reconcile.Plan
	applied  error
	written  error

	reported []error
	gone     int
	kind     reconcile.Kind[*v1alpha1.Distributor, *v1alpha1.Distributor, string]
	r        *reconcile.Reconciler[*v1alpha1.Distributor, *v1alpha1.Distributor, string]
}

func newFrame() *frame {
	f := &frame{}
	f.hub = fake.NewClientBuilder().WithScheme(apiserver.Scheme).
		WithObjects(&v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"}}).
		WithInterceptorFuncs(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object,
			p client.Patch, o ...client.PatchOption) error {
			if f.written != nil {
				return f.written
			}
			return c.Patch(ctx, obj, p, o...)
		}}).
		Build()
	decide := func(*v1alpha1.Distributor, string) reconcile.Plan { return f.plan }
	f.kind = reconcile.Kind[*v1alpha1.Distributor, *v1alpha1.Distributor, string]{
		Name: "Distributor", New: func() *v1alpha1.Distributor { return &v1alpha1.Distributor{} },
		Finalizer: v1alpha1.Finalizer, Timeout: time.Minute, RequeueAfter: look,
		Desire:  func(_ context.Context, d *v1alpha1.Distributor) (*v1alpha1.Distributor, error) { return d, f.desired },
		Observe: func(context.Context, *v1alpha1.Distributor) (string, error) { return "world", f.observed },
		Plan:    decide, PlanDelete: decide,
		Apply: func(context.Context, *v1alpha1.Distributor, string, reconcile.Plan) error { return f.applied },
		Report: func(_ context.Context, _ *v1alpha1.Distributor, _ string, _ reconcile.Plan, failed error) error {
			f.reported = append(f.reported, failed)
			return nil
		},
		Gone: func(types.NamespacedName) { f.gone++ },
	}
	f.r = reconcile.New(f.hub, f.kind)
	return f
}

func (f *frame) reconcile(t *testing.T) (ctrl.Result, error) {
	return f.r.Reconcile(
		t.Context(),
		mcreconcile.Request{
			Request: crreconcile.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "main"}},
		},
	)
}

func (f *frame) object(t *testing.T) (*v1alpha1.Distributor, error) {
	d := &v1alpha1.Distributor{}
	return d, f.hub.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "main"}, d)
}

// progress is a plan of steps until which so much is so.
func progress(p conditions.Progress, steps ...reconcile.Step) reconcile.Plan {
	return reconcile.Plan{Steps: steps, Outcome: conditions.Outcome{Progress: p}}
}

// When an object is looked at again follows from its plan.
func TestLooksAgainInTime(t *testing.T) {
	for name, c := range map[string]struct {
		plan  reconcile.Plan
		least time.Duration
		most  time.Duration
	}{
		"steps":   {progress(conditions.Working, somewhere{}, somewhere{}), time.Second, time.Second},
		"working": {progress(conditions.Working), 2 * time.Second, 2 * time.Second},
		"stuck":   {progress(conditions.Stuck), 10 * time.Second, 10 * time.Second},
		"settled": {progress(conditions.Settled), time.Minute, 75 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFrame()
			f.plan = c.plan
			result, err := f.reconcile(t)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(And(BeNumerically(">=", c.least), BeNumerically("<=", c.most)))
			d, err := f.object(t)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(d.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
		})
	}
}

// A step that fails is reported, is no error of the controller, and is tried again later and later until it succeeds.
func TestFailedStepsBackOff(t *testing.T) {
	g := NewWithT(t)
	f := newFrame()
	f.applied = errors.New("the engine refused")
	var waits []time.Duration
	for range 6 {
		result, err := f.reconcile(t)
		g.Expect(err).NotTo(HaveOccurred())
		waits = append(waits, result.RequeueAfter)
	}
	g.Expect(waits).
		To(Equal([]time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 16 * time.Second,
			16 * time.Second}))
	g.Expect(f.reported).To(HaveLen(6))
	g.Expect(f.reported[0]).To(MatchError(f.applied))
	refused := f.applied
	f.applied = nil
	_, err := f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	f.applied = refused
	result, err := f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(2 * time.Second))
}

// Somebody else's change is read again without an error, but not for ever.
func TestConflictsAreQuietForAWhile(t *testing.T) {
	g := NewWithT(t)
	f := newFrame()
	f.written = apierrors.NewConflict(
		schema.GroupResource{Resource: "distributors"},
		"main",
		errors.New("the object has been modified"),
	)
	result, err := f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(look.Steps))
	g.Eventually(func() error { _, err := f.reconcile(t); return err }).
		WithTimeout(time.Minute).
		WithPolling(time.Millisecond).
		Should(MatchError(ContainSubstring("has been modified")))
	g.Expect(f.reported).To(BeEmpty())
}

// Later puts everything off without a word; another error is one.
func TestWhatCannotBeObserved(t *testing.T) {
	g := NewWithT(t)
	f := newFrame()
	f.observed = reconcile.Later(3 * time.Second)
	result, err := f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(3 * time.Second))
	f.observed = errors.New("the API server is away")
	_, err = f.reconcile(t)
	g.Expect(err).To(MatchError(f.observed))
	g.Expect(f.reported).To(BeEmpty())
}

// What an object asks for may not be known: that puts everything off, or has a plan of its own, which is reported.
func TestWhatIsNotKnownToBeAskedFor(t *testing.T) {
	g := NewWithT(t)
	f := newFrame()
	f.desired, f.observed = errors.New("no such reference"), errors.New("it was observed all the same")
	_, err := f.reconcile(t)
	g.Expect(err).To(MatchError(f.desired))
	g.Expect(f.reported).To(BeEmpty())
	f.kind.Unresolved = func(_ *v1alpha1.Distributor, err error) reconcile.Plan {
		g.Expect(err).To(MatchError(f.desired))
		return progress(conditions.Working)
	}
	f.r = reconcile.New(f.hub, f.kind)
	result, err := f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(look.Progress))
	g.Expect(f.reported).To(HaveLen(1))
}

// A stage that ends the plan keeps those after it from being asked.
func TestStagesEndThePlan(t *testing.T) {
	g := NewWithT(t)
	var asked []string
	stage := func(name string, steps int) reconcile.Stage[string, string, reconcile.Plan] {
		return func(_, _ string, p *reconcile.Plan) bool {
			asked = append(asked, name)
			for range steps {
				p.Add(somewhere{what: name})
			}
			return p.StopIfSteps(v1alpha1.ReasonConfiguring, "%s is being done", name)
		}
	}
	p := reconcile.Stages("", "", stage("first", 0), stage("second", 2), stage("third", 1))
	g.Expect(asked).To(Equal([]string{"first", "second"}))
	g.Expect(p.Steps).To(HaveLen(2))
	g.Expect(p.Outcome).To(Equal(conditions.InProgress(v1alpha1.ReasonConfiguring, "second is being done")))
	g.Expect(reconcile.Noted[string](p)).To(BeEmpty())
	p.Note = "said"
	g.Expect(reconcile.Noted[string](p)).To(Equal("said"))
}

// The finalizer goes when a plan of the deletion is done and its steps were carried out, and not before.
func TestDeletionWaitsForItsSteps(t *testing.T) {
	g := NewWithT(t)
	f := newFrame()
	_, err := f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	d, err := f.object(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.hub.Delete(t.Context(), d)).To(Succeed())

	f.plan, f.applied = reconcile.Plan{Steps: []reconcile.Step{somewhere{}}, Done: true}, errors.New("not yet")
	_, err = f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	d, err = f.object(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
	g.Expect(f.gone).To(BeZero())

	f.applied = nil
	_, err = f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.object(t)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	g.Expect(f.gone).To(Equal(1))
}

// What is declared still goes without its things: no step of the deletion is carried out.
func TestWhatIsDeclaredStillStays(t *testing.T) {
	g := NewWithT(t)
	f := newFrame()
	_, err := f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	d, err := f.object(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.hub.Delete(t.Context(), d)).To(Succeed())

	why, unknown := "Topology msdn declares it", errors.New("the API server is away")
	f.kind.Stays = func(context.Context, *v1alpha1.Distributor) (string, error) { return why, unknown }
	f.kind.Apply = func(context.Context, *v1alpha1.Distributor, string, reconcile.Plan) error {
		t.Error("a step was carried out")
		return nil
	}
	f.plan, f.r = reconcile.Plan{Steps: []reconcile.Step{somewhere{}}, Done: true}, reconcile.New(f.hub, f.kind)
	_, err = f.reconcile(t)
	g.Expect(err).To(MatchError(unknown), "unknown is not undeclared")
	_, err = f.object(t)
	g.Expect(err).NotTo(HaveOccurred())

	unknown = nil
	_, err = f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.object(t)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	g.Expect(f.gone).To(Equal(1))
}

// somewhere is a step with a place.
type somewhere struct{ place, what string }

// Describe says both.
func (s somewhere) Describe() string { return s.what + " at " + s.place }

// Steps of one place are carried out in order, those of another meanwhile; a failure ends those of its own place.
func TestEachInOrder(t *testing.T) {
	g := NewWithT(t)
	begun := map[string]chan struct{}{"tukwila": make(chan struct{}), "quincy": make(chan struct{})}
	other := map[string]string{"tukwila": "quincy", "quincy": "tukwila"}
	done := map[string]*[]string{"tukwila": {}, "quincy": {}}
	carryOut := func(ctx context.Context, s somewhere) error {
		if s.what == "first" {
			close(begun[s.place])
			select {
			case <-begun[other[s.place]]:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if s == (somewhere{"quincy", "second"}) {
			return errors.New("no disk")
		}
		*done[s.place] = append(*done[s.place], s.what)
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := reconcile.EachInOrder(
		ctx,
		[]somewhere{
			{"tukwila", "first"},
			{"quincy", "first"},
			{"tukwila", "second"},
			{"quincy", "second"},
			{"tukwila", "third"},
			{"quincy", "third"},
		},
		func(s somewhere) string { return s.place },
		carryOut,
	)
	g.Expect(err).To(MatchError("second at quincy: no disk"))
	g.Expect(*done["tukwila"]).To(Equal([]string{"first", "second", "third"}))
	g.Expect(*done["quincy"]).To(Equal([]string{"first"}))
}
