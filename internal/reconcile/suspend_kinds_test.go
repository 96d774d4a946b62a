// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// writes counts what is written to a hub.
type writes int

// through lets all writes through, and counts them.
func (n *writes) through() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			*n++
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			*n++
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			*n++
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			*n++
			return c.Delete(ctx, o, opts...)
		},
	}
}

// done is what a controller of a kind does with an object in one look: steps, and writes to the hub.
func done[O client.Object](t *testing.T, object O, suspend string) int {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	object.SetNamespace("web")
	object.SetName("one")
	topology := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"}}
	object.SetLabels(map[string]string{v1alpha1.LabelTopology: topology.Name})
	switch suspend {
	case "itself":
		reflect.ValueOf(object).Elem().FieldByName("Spec").FieldByName("Suspend").SetBool(true)
	case "its Topology":
		topology.Spec.Suspend = true
	}
	var written writes
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object, topology).
		WithInterceptorFuncs(written.through()).Build()
	steps := 0
	plan := func(O, int) reconcile.Plan { return reconcile.Plan{Steps: []reconcile.Step{anything{}}} }
	r := reconcile.New(hub, reconcile.Kind[O, O, int]{
		Name: "kind", New: func() O { return reflect.New(reflect.TypeOf(object).Elem()).Interface().(O) },
		Finalizer: v1alpha1.Finalizer, Timeout: time.Minute,
		RequeueAfter: reconcile.RequeueAfter{Steps: time.Second, Progress: time.Second, Resync: time.Minute},
		Desire:       func(_ context.Context, o O) (O, error) { return o, nil },
		Observe:      func(context.Context, O) (int, error) { return 0, nil },
		Plan:         plan, PlanDelete: plan,
		Apply:  func(_ context.Context, _ O, _ int, p reconcile.Plan) error { steps += len(p.Steps); return nil },
		Report: func(context.Context, O, int, reconcile.Plan, error) error { return nil },
	})
	_, err := r.Reconcile(t.Context(), mcreconcile.Request{Request: crreconcile.Request{
		NamespacedName: client.ObjectKeyFromObject(object)}})
	g.Expect(err).NotTo(HaveOccurred())
	return steps + int(written)
}

type anything struct{}

// Describe says nothing in particular.
func (anything) Describe() string { return "do something" }

// Nothing is done with a suspended object, of whatever kind that can be suspended, nor with one of a suspended
// Topology; the table has them all.
func TestNothingIsDoneWithASuspendedObjectOfAnyKind(t *testing.T) {
	g := NewWithT(t)
	kinds := map[string]func(t *testing.T, suspend string) int{
		"Topology":          func(t *testing.T, s string) int { return done(t, &v1alpha1.Topology{}, s) },
		"SQLServer":         func(t *testing.T, s string) int { return done(t, &v1alpha1.SQLServer{}, s) },
		"AvailabilityGroup": func(t *testing.T, s string) int { return done(t, &v1alpha1.AvailabilityGroup{}, s) },
		"Distributor":       func(t *testing.T, s string) int { return done(t, &v1alpha1.Distributor{}, s) },
		"Publication":       func(t *testing.T, s string) int { return done(t, &v1alpha1.Publication{}, s) },
		"Subscription":      func(t *testing.T, s string) int { return done(t, &v1alpha1.Subscription{}, s) },
		"Login":             func(t *testing.T, s string) int { return done(t, &v1alpha1.Login{}, s) },
		"BackupStore":       func(t *testing.T, s string) int { return done(t, &v1alpha1.BackupStore{}, s) },
		"BackupPolicy":      func(t *testing.T, s string) int { return done(t, &v1alpha1.BackupPolicy{}, s) },
	}
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	var suspendable []string
	for kind, of := range scheme.KnownTypes(v1alpha1.GroupVersion) {
		if _, can := reflect.New(of).Interface().(interface{ IsSuspended() bool }); can && !strings.HasSuffix(kind, "List") {
			suspendable = append(suspendable, kind)
		}
	}
	g.Expect(slices.Sorted(maps.Keys(kinds))).To(ConsistOf(suspendable))
	for kind, does := range kinds {
		for _, suspend := range []string{"nobody", "itself", "its Topology"} {
			t.Run(kind+" suspended by "+suspend, func(t *testing.T) {
				g := NewWithT(t)
				if suspend == "nobody" {
					g.Expect(does(t, suspend)).To(Equal(2), "its finalizer and its step")
					return
				}
				g.Expect(does(t, suspend)).To(BeZero())
			})
		}
	}
}
