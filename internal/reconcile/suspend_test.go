// SPDX-License-Identifier: Apache-2.0

//go:build integration

package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/test/support/apiserver"
)

// change writes the object of a frame anew.
func (f *frame) change(t *testing.T, how func(*v1alpha1.Distributor)) {
	t.Helper()
	g := NewWithT(t)
	d, err := f.object(t)
	g.Expect(err).NotTo(HaveOccurred())
	how(d)
	g.Expect(f.hub.Update(t.Context(), d)).To(Succeed())
}

func topologyOf(namespace, name string, suspend bool) *v1alpha1.Topology {
	return &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.TopologySpec{Suspend: suspend}}
}

// Nothing is done with a suspended object, nor with one of a suspended Topology: no step, and not even the finalizer.
// It is looked at and reported on all the same, as often as one that is as it should be. A kind that keeps on goes on
// with what it has begun for an object, and begins nothing.
func TestNothingIsDoneWithASuspendedObject(t *testing.T) {
	own := func(d *v1alpha1.Distributor) { d.Spec.Suspend = true }
	of := func(topology string) func(*v1alpha1.Distributor) {
		return func(d *v1alpha1.Distributor) { d.Labels = map[string]string{v1alpha1.LabelTopology: topology} }
	}
	begun := func(d *v1alpha1.Distributor) { d.Spec.Suspend, d.Finalizers = true, []string{v1alpha1.Finalizer} }
	for name, c := range map[string]struct {
		change  func(*v1alpha1.Distributor)
		rests   string
		keepsOn bool
		why     string
	}{
		"it is suspended":                   {change: own, why: "spec.suspend is true"},
		"its Topology is suspended":         {change: of("held"), why: "spec.suspend of Topology held is true"},
		"what it is about is suspended":     {change: func(*v1alpha1.Distributor) {}, rests: "it rests", why: "it rests"},
		"its Topology is not":               {change: of("free")},
		"a Topology of another namespace":   {change: of("elsewhere")},
		"its Topology is gone":              {change: of("gone")},
		"nobody has suspended anything yet": {change: func(*v1alpha1.Distributor) {}},
		"what is kept was begun with":       {change: begun, keepsOn: true},
		"what is kept was not begun with":   {change: own, keepsOn: true, why: "spec.suspend is true"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFrame()
			for _, x := range []*v1alpha1.Topology{topologyOf("web", "held", true), topologyOf("web", "free", false),
				topologyOf("other", "elsewhere", true)} {
				g.Expect(f.hub.Create(t.Context(), x)).To(Succeed())
			}
			f.change(t, c.change)
			f.plan = progress(conditions.Working, somewhere{}, somewhere{})
			applied := 0
			f.kind.Apply = func(context.Context, *v1alpha1.Distributor, string, reconcile.Plan) error { applied++; return nil }
			report, steps := f.kind.Report, 0
			f.kind.Report = func(ctx context.Context, d *v1alpha1.Distributor, o string, p reconcile.Plan, failed error) error {
				steps = len(p.Steps) + len(p.Aside)
				return report(ctx, d, o, p, failed)
			}
			f.kind.Rests = func(context.Context, *v1alpha1.Distributor) (string, error) { return c.rests, nil }
			f.kind.KeepsOn = c.keepsOn
			f.r = reconcile.New(f.hub, f.kind)
			result, err := f.reconcile(t)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(f.reported).To(HaveLen(1))
			d, err := f.object(t)
			g.Expect(err).NotTo(HaveOccurred())
			var held reconcile.Suspended
			g.Expect(errors.As(f.reported[0], &held)).To(Equal(c.why != ""))
			g.Expect(steps == 0).To(Equal(c.why != ""), "no report takes for carried out what waits")
			if c.why == "" {
				g.Expect(applied).To(Equal(1))
				g.Expect(d.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
				return
			}
			g.Expect(held).To(Equal(reconcile.Suspended{Why: c.why, Steps: 2, First: somewhere{}.Describe()}))
			g.Expect(applied).To(BeZero())
			g.Expect(d.Finalizers).To(BeEmpty())
			g.Expect(result.RequeueAfter).To(And(BeNumerically(">=", time.Minute), BeNumerically("<=", 75*time.Second)))
		})
	}
}

// What is kept for a suspended object stays while its deletion waits, also where its Topology would make it anew, and
// goes when nothing else is left of it.
func TestWhatIsKeptWhileADeletionWaits(t *testing.T) {
	g := NewWithT(t)
	f := newFrame()
	f.change(t, func(d *v1alpha1.Distributor) { d.Spec.Suspend, d.Finalizers = true, []string{v1alpha1.Finalizer} })
	d, err := f.object(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.hub.Delete(t.Context(), d)).To(Succeed())
	applied := 0
	f.kind.Apply = func(context.Context, *v1alpha1.Distributor, string, reconcile.Plan) error { applied++; return nil }
	f.kind.Stays = func(context.Context, *v1alpha1.Distributor) (string, error) { return "its Topology declares it", nil }
	f.kind.KeepsOn = true
	f.r = reconcile.New(f.hub, f.kind)
	f.plan = progress(conditions.Settled, somewhere{})
	_, err = f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(applied).To(Equal(1))
	_, err = f.object(t)
	g.Expect(err).NotTo(HaveOccurred(), "it is there")
	f.plan = reconcile.Plan{Done: true}
	_, err = f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.object(t)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}

// What was lent to an object for a time is taken back while it is suspended, also while its deletion waits: else nobody
// would. Nothing else is done, and a failure is said and tried again.
func TestASuspendedObjectGivesBackWhatWasLent(t *testing.T) {
	for name, c := range map[string]struct {
		yields reconcile.Plan
		fails  error
		steps  int
		says   string
		after  time.Duration
	}{
		"it has something": {reconcile.Plan{Steps: []reconcile.Step{somewhere{}}}, nil, 1,
			"; but what was lent to it for a time is taken back: " + somewhere{}.Describe(), time.Second},
		"that fails": {reconcile.Plan{Steps: []reconcile.Step{somewhere{}}}, errors.New("no answer"), 1,
			somewhere{}.Describe() + ": no answer", 2 * time.Second},
		"it waits for that": {progress(conditions.Working), nil, 0, "", 2 * time.Second},
		"it has nothing":    {reconcile.Plan{Done: true}, nil, 0, "", time.Minute},
	} {
		for _, deleted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deleted %v", name, deleted), func(t *testing.T) {
				g := NewWithT(t)
				f := newFrame()
				f.change(t, func(d *v1alpha1.Distributor) { d.Spec.Suspend, d.Finalizers = true, []string{v1alpha1.Finalizer} })
				d, err := f.object(t)
				g.Expect(err).NotTo(HaveOccurred())
				if deleted {
					g.Expect(f.hub.Delete(t.Context(), d)).To(Succeed())
				}
				f.plan = reconcile.Plan{Steps: []reconcile.Step{somewhere{}, somewhere{}}, Done: deleted}
				steps := 0
				f.kind.Apply = func(_ context.Context, _ *v1alpha1.Distributor, _ string, p reconcile.Plan) error {
					steps += len(p.Steps)
					return c.fails
				}
				f.kind.Yields = func(*v1alpha1.Distributor, string) reconcile.Plan { return c.yields }
				f.r = reconcile.New(f.hub, f.kind)
				result, err := f.reconcile(t)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(steps).To(Equal(c.steps))
				g.Expect(f.reported).To(HaveLen(1))
				var held reconcile.Suspended
				g.Expect(errors.As(f.reported[0], &held)).To(BeTrue())
				g.Expect(held.Error()).To(ContainSubstring(c.says))
				g.Expect(held.Yields == "").To(Equal(c.steps == 0))
				g.Expect(result.RequeueAfter).To(BeNumerically("~", c.after, c.after/4))
				_, err = f.object(t)
				g.Expect(err).NotTo(HaveOccurred(), "it is there")
			})
		}
	}
}

// The deletion of a suspended object waits, also that of one which its Topology would make anew.
func TestTheDeletionOfASuspendedObjectWaits(t *testing.T) {
	g := NewWithT(t)
	f := newFrame()
	f.change(t, func(d *v1alpha1.Distributor) {
		d.Spec.Suspend, d.Finalizers = true, []string{v1alpha1.Finalizer}
	})
	d, err := f.object(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.hub.Delete(t.Context(), d)).To(Succeed())
	f.plan = reconcile.Plan{Done: true}
	stays := ""
	f.kind.Stays = func(context.Context, *v1alpha1.Distributor) (string, error) { return stays, nil }
	f.r = reconcile.New(f.hub, f.kind)
	for _, stays = range []string{"", "its Topology declares it"} {
		_, err = f.reconcile(t)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = f.object(t)
		g.Expect(err).NotTo(HaveOccurred(), "it is there")
	}
	var held reconcile.Suspended
	g.Expect(errors.As(f.reported[0], &held)).To(BeTrue())
	g.Expect(held.Error()).To(Equal("nothing is done while spec.suspend is true; the deletion waits, too"))
	f.change(t, func(d *v1alpha1.Distributor) { d.Spec.Suspend = false })
	_, err = f.reconcile(t)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.object(t)
	g.Expect(client.IgnoreNotFound(err)).To(Succeed())
	g.Expect(err).To(HaveOccurred())
}

// A Topology that is suspended, and goes on, is followed by its objects at once, however long the next look takes.
func TestObjectsFollowTheirTopology(t *testing.T) {
	g := NewWithT(t)
	log.SetLogger(logr.Discard())
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	mgr, err := mcmanager.New(hub.ManagerConfig(t), nil, manager.Options{Scheme: apiserver.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: ptr.To(true)}})
	g.Expect(err).NotTo(HaveOccurred())
	f := newFrame()
	f.plan = progress(conditions.Settled, somewhere{})
	f.kind.RequeueAfter = reconcile.RequeueAfter{Steps: time.Hour, Progress: time.Hour, Resync: time.Hour}
	var held, done atomic.Bool
	f.kind.Apply = func(context.Context, *v1alpha1.Distributor, string, reconcile.Plan) error {
		done.Store(true)
		return nil
	}
	f.kind.Report = func(_ context.Context, _ *v1alpha1.Distributor, _ string, _ reconcile.Plan, failed error) error {
		held.Store(errors.As(failed, &reconcile.Suspended{}))
		return nil
	}
	g.Expect(reconcile.Controller(mgr, "followers", f.kind.New(), 1, predicate.GenerationChangedPredicate{}).
		Complete(reconcile.New(mgr.GetLocalManager().GetClient(), f.kind))).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.GetLocalManager().Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })

	topology := topologyOf("web", "msdn", true)
	topology.Spec.Servers = []v1alpha1.TopologyServer{{Name: "dist"}}
	topology.Spec.Servers[0].Site = "tukwila"
	g.Expect(hub.Client.Create(t.Context(), topology)).To(Succeed())
	d := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main",
		Labels: map[string]string{v1alpha1.LabelTopology: "msdn"}}, Spec: v1alpha1.DistributorSpec{Server: "dist"}}
	g.Expect(hub.Client.Create(t.Context(), d)).To(Succeed())
	g.Eventually(held.Load, "60s", "10ms").Should(BeTrue())
	g.Expect(done.Load()).To(BeFalse())
	for _, suspend := range []bool{false, true} {
		before := client.MergeFrom(topology.DeepCopy())
		topology.Spec.Suspend = suspend
		g.Expect(hub.Client.Patch(t.Context(), topology, before)).To(Succeed())
		g.Eventually(held.Load, "60s", "10ms").Should(Equal(suspend))
	}
	g.Expect(done.Load()).To(BeTrue())
}
