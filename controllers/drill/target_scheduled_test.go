// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// What is copied by a schedule is no target: what a drill writes would be judged as lost.
func TestASnapshotPublicationIsNoTarget(t *testing.T) {
	g := NewWithT(t)
	of := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "web", Name: name,
			Labels: map[string]string{v1alpha1.DrillsLabel: v1alpha1.DrillsAllowed}}
	}
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha1.Subscription{ObjectMeta: of("dublin"), Spec: v1alpha1.SubscriptionSpec{Publication: "prices"}},
		&v1alpha1.Publication{ObjectMeta: of("prices"),
			Spec: v1alpha1.PublicationSpec{Type: v1alpha1.PublicationSnapshot, Schedule: "0 3 * * *"}},
	).Build()
	var target target
	g.Expect((&Reconciler{hub: hub}).resolveSubscription(t.Context(), &target, "web", "dublin", true)).To(Succeed())
	g.Expect(target.missing).To(HavePrefix("Publication prices is of type Snapshot"))
}
