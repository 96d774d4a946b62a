// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// What a look finds while a pod is replaced: the old one, which is ready to its end, nothing, the new one, and that
// ready.
func TestTheNextPodIsAwaited(t *testing.T) {
	g := NewWithT(t)
	pod := func(uid types.UID, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "server-0", UID: uid},
			Status: corev1.PodStatus{
				Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: "True"},
					{Type: corev1.PodReady, Status: ready},
				},
			}}
	}
	ends := pod("old", "True")
	ends.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	g.Expect(Ready(pod("old", "True"))).To(BeTrue())
	g.Expect(Ready(ends)).To(BeFalse())
	g.Expect(Ready(pod("new", "False"))).To(BeFalse())
	g.Expect(Ready(&corev1.Pod{})).To(BeFalse())

	looks := []*corev1.Pod{pod("old", "True"), ends, nil, pod("new", "False"), pod("new", "True")}
	seen := 0
	site := &Site{Name: "quincy", Client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
			_ ...client.GetOption) error {
			look := looks[min(seen, len(looks)-1)]
			seen++
			if look == nil {
				return c.Get(ctx, key, obj)
			}
			look.DeepCopyInto(obj.(*corev1.Pod))
			return nil
		}})}
	g.Expect(site.NextPod(t, "web", "server-0", "old", 20*time.Second)).To(Equal(looks[4]))
	g.Expect(seen).To(Equal(len(looks)))
}
