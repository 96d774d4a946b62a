// SPDX-License-Identifier: Apache-2.0

//go:build integration

package reconcile_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	g.Expect(report(reconcile.Reporter{Lock: true}, s, "Initializing")).To(Succeed())
	err := report(reconcile.Reporter{Lock: true}, late, "Delivering")
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	g.Expect(report(reconcile.Reporter{}, late, "Delivering")).To(Succeed())
}
