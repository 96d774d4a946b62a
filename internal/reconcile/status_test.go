// SPDX-License-Identifier: Apache-2.0

//go:build integration

package reconcile_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/test/support/apiserver"
)

// What is concluded from a status that was read late is not written over the newer one; anything else is.
func TestAStatusIsNotWrittenOverANewerOne(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	s := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dublin"},
		Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}, Database: "Content",
			Type: v1alpha1.SubscriptionPull},
	}
	g.Expect(hub.Client.Create(t.Context(), s)).To(Succeed())
	report := func(r reconcile.Reporter, read *v1alpha1.Subscription, phase string) error {
		r.Hub, r.Owner = hub.Client, "test"
		status := read.Status.DeepCopy()
		status.Phase = phase
		return r.Report(t.Context(), read, &read.Status, status, nil)
	}
	late := s.DeepCopy()
	annotated := late.DeepCopy()
	annotated.Annotations = map[string]string{"example.com/seen": "1"}
	g.Expect(hub.Client.Patch(t.Context(), annotated, client.MergeFrom(late))).To(Succeed())
	g.Expect(report(reconcile.Reporter{Lock: true}, s, "Initializing")).To(Succeed())
	err := report(reconcile.Reporter{Lock: true}, late, "Delivering")
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	g.Expect(report(reconcile.Reporter{}, late, "Delivering")).To(Succeed())

	// Fields that are written apart are compared alone.
	apart := reconcile.Reporter{Lock: true, Fields: []string{"phase"}}
	g.Expect(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
	whole := s.DeepCopy()
	whole.Status.PendingCommands = ptr.To[int64](7)
	g.Expect(reconcile.Reporter{Hub: hub.Client, Owner: "rest"}.Report(t.Context(), s, &s.Status,
		&v1alpha1.SubscriptionStatus{PendingCommands: whole.Status.PendingCommands}, nil)).To(Succeed())
	part := s.DeepCopy()
	part.Status = v1alpha1.SubscriptionStatus{Phase: s.Status.Phase}
	g.Expect(report(apart, part, "Waiting")).To(Succeed(), "the rest is somebody else's")
	err = report(apart, part, "Delivering again")
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)

	// An annotation of somebody else is no reason, and another spec is one.
	g.Expect(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
	late = s.DeepCopy()
	s.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
	g.Expect(hub.Client.Update(t.Context(), s)).To(Succeed())
	err = report(reconcile.Reporter{Lock: true}, late, "Initializing")
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
}

// An object that goes does so although somebody annotates it meanwhile, and keeps the finalizers of others.
func TestAFinalizerGoesThoughTheObjectIsAnnotated(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	p := &v1alpha1.AgentProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "slow",
		Finalizers: []string{v1alpha1.Finalizer}}, Spec: v1alpha1.AgentProfileSpec{Agent: "Snapshot"}}
	g.Expect(hub.Client.Create(t.Context(), p)).To(Succeed())
	late := p.DeepCopy()
	p.Annotations = map[string]string{"example.com/seen": "1"}
	p.Finalizers = append(p.Finalizers, "example.com/other")
	g.Expect(hub.Client.Update(t.Context(), p)).To(Succeed())
	g.Expect(reconcile.SetFinalizer(t.Context(), hub.Client, late, v1alpha1.Finalizer, false)).To(Succeed())
	g.Expect(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	g.Expect(p.Finalizers).To(ConsistOf("example.com/other"))
	p.Finalizers = nil
	g.Expect(hub.Client.Update(t.Context(), p)).To(Succeed())
}
