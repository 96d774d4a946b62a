// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// A suspended server whose pod waits for a restart gets none, and is not waited for by the primary, which comes last.
func TestASuspendedServerIsNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.SQLServer, *v1alpha1.Topology)
		behind []v1alpha1.ServerName
	}{
		"it waits": {func(*v1alpha1.SQLServer, *v1alpha1.Topology) {}, []v1alpha1.ServerName{"quisec"}},
		"it is suspended": {func(s *v1alpha1.SQLServer, _ *v1alpha1.Topology) { s.Spec.Suspend = true },
			nil},
		"its Topology is": {func(_ *v1alpha1.SQLServer, t *v1alpha1.Topology) { t.Spec.Suspend = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			topology := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"}}
			other := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "quisec",
				Labels: map[string]string{v1alpha1.LabelTopology: "msdn"}}}
			other.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue},
				{Type: v1alpha1.ConditionRestartPending, Status: metav1.ConditionTrue,
					Reason: v1alpha1.ReasonRestartNeeded}}
			c.change(other, topology)
			r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(topology, other).Build()}
			group := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
				Spec: v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{{Server: "tukpub"}, {Server: "quisec"}}}}
			var turn Turn
			g.Expect(r.observeBehind(t.Context(), Desired{Server: server()}, group, &turn)).To(Succeed())
			g.Expect(turn.Behind).To(Equal(c.behind))
			g.Expect(turn.Against).To(BeEmpty())
		})
	}
}
