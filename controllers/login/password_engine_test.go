// SPDX-License-Identifier: Apache-2.0

//go:build integration

package login_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// A password that nobody names is made and kept, given to the login, made anew once it is asked for, and goes with the
// object.
func TestThePasswordThatTheOperatorMakes(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.group()
	l := &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app"}, Spec: v1alpha1.LoginSpec{
		Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}, ReclaimPolicy: v1alpha1.ReclaimDelete}}
	g.Expect(b.hub.Client.Create(t.Context(), l)).To(Succeed())
	g.Eventually(b.reason, patient, often).Should(HavePrefix("LoginReady"))
	key := client.ObjectKey{Namespace: "web", Name: "app-password"}
	kept := func() string {
		var secret corev1.Secret
		g.Expect(b.hub.Client.Get(t.Context(), key, &secret)).To(Succeed())
		g.Expect(secret.OwnerReferences).To(BeEmpty())
		return string(secret.Data["password"])
	}
	first := kept()
	g.Expect(first).To(HaveLen(32))
	g.Expect(b.state("tukpub", first)()).To(Equal("fine"))

	g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(l), l)).To(Succeed())
	before := client.MergeFrom(l.DeepCopy())
	l.Annotations = map[string]string{v1alpha1.RotateAnnotation: string(l.UID) + "/1"}
	g.Expect(b.hub.Client.Patch(t.Context(), l, before)).To(Succeed())
	g.Eventually(kept, patient, often).ShouldNot(Equal(first))
	second := kept()
	g.Eventually(b.state("tukpub", second), patient, often).Should(Equal("fine"))
	g.Eventually(func() string {
		var secret corev1.Secret
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "app-connection"}, &secret)).
			To(Succeed())
		return string(secret.Data["password"])
	}, patient, often).Should(Equal(second))
	b.nudge()
	g.Eventually(b.reason, patient, often).Should(HavePrefix("LoginReady"))
	g.Expect(kept()).To(Equal(second), "once is enough")

	g.Expect(b.hub.Client.Delete(t.Context(), l)).To(Succeed())
	g.Eventually(func() bool { return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), key, &corev1.Secret{})) },
		patient, often).Should(BeTrue())
}
