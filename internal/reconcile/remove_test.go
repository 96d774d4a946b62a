// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deleting keeps the preconditions of what is deleted.
type deleting struct {
	client.Writer
	answer error
	asked  []metav1.Preconditions
}

func (d *deleting) Delete(_ context.Context, _ client.Object, options ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(options)
	d.asked = append(d.asked, *o.Preconditions)
	return d.answer
}

// Nothing is deleted that was not read, and nothing else than what was.
func TestOnlyWhatWasReadIsRemoved(t *testing.T) {
	g := NewWithT(t)
	w := &deleting{}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub-0"}}
	g.Expect(Remove(t.Context(), w, pod)).To(MatchError(And(ContainSubstring("web/tukpub-0"),
		ContainSubstring("it was not read"))))
	pod.UID = "u"
	g.Expect(RemoveUnchanged(t.Context(), w, pod)).To(MatchError(errNotRead))
	g.Expect(w.asked).To(BeEmpty())

	pod.ResourceVersion = "7"
	g.Expect(Remove(t.Context(), w, pod, client.GracePeriodSeconds(0))).To(Succeed())
	g.Expect(RemoveUnchanged(t.Context(), w, pod)).To(Succeed())
	g.Expect(w.asked).To(HaveLen(2))
	g.Expect(*w.asked[0].UID).To(BeEquivalentTo("u"))
	g.Expect(w.asked[0].ResourceVersion).To(BeNil())
	g.Expect(*w.asked[1].UID).To(BeEquivalentTo("u"))
	g.Expect(*w.asked[1].ResourceVersion).To(Equal("7"))

	resource := schema.GroupResource{Resource: "pods"}
	w.answer = apierrors.NewNotFound(resource, "tukpub-0")
	g.Expect(Remove(t.Context(), w, pod)).To(Succeed())
	w.answer = apierrors.NewConflict(resource, "tukpub-0", nil)
	g.Expect(apierrors.IsConflict(RemoveUnchanged(t.Context(), w, pod))).To(BeTrue())
}
