// SPDX-License-Identifier: Apache-2.0

//go:build integration

package names

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/test/support/apiserver"
)

// The names of a suspended object are not called right while a step for them waits.
func TestTheNamesOfASuspendedObject(t *testing.T) {
	wrong := []reconcile.Step{siteStep{&siteView{name: "quincy"}, step{}}}
	for name, c := range map[string]struct {
		steps  []reconcile.Step
		status metav1.ConditionStatus
		reason string
	}{
		"they are right":     {nil, metav1.ConditionTrue, v1alpha1.ReasonNamesPublished},
		"a step waits there": {wrong, metav1.ConditionFalse, v1alpha1.ReasonSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub"}}
			hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithStatusSubresource(server).WithObjects(server).Build()
			r := &reconciler{hub: hub, events: events.NewFakeRecorder(10)}
			r.settling.Of(nil, time.Now().Add(-time.Hour))
			held := reconcile.Suspended{Why: "spec.suspend is true", Steps: len(c.steps), First: "make it"}
			p := reconcile.Plan{Steps: c.steps, Note: noted{}}
			d := Desired{object: server}
			g.Expect(r.reportNames(t.Context(), d, Observed{Desired: d}, p, held)).To(Succeed())
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(server), server)).To(Succeed())
			said := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionNamesReady)
			g.Expect(said).NotTo(BeNil())
			g.Expect(said.Status).To(Equal(c.status))
			g.Expect(said.Reason).To(Equal(c.reason))
		})
	}
}
