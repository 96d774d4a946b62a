// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/topology"
)

func TestWhileDeclared(t *testing.T) {
	server := func(name, label string) *v1alpha1.SQLServer {
		return &v1alpha1.SQLServer{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "web",
				Name:      name,
				Labels:    map[string]string{v1alpha1.LabelTopology: label},
			},
		}
	}
	for name, c := range map[string]struct {
		object *v1alpha1.SQLServer
		change func(*v1alpha1.Topology)
		stays  bool
	}{
		"a member":                       {object: server("a", "msdn"), stays: true},
		"one that left the manifest":     {object: server("b", "msdn")},
		"one of a Topology that is gone": {object: server("a", "gone")},
		"a person's own":                 {object: server("a", "")},
		"one of a Topology that is going": {object: server("a", "msdn"),
			change: func(t *v1alpha1.Topology) { t.DeletionTimestamp = &metav1.Time{Time: t.CreationTimestamp.Time} }},
		"a server that has the name of a group": {object: server("g", "msdn")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			msdn := &v1alpha1.Topology{
				ObjectMeta: metav1.ObjectMeta{
					Namespace:         "web",
					Name:              "msdn",
					Finalizers:        []string{v1alpha1.Finalizer},
					CreationTimestamp: metav1.Now(),
				},
				Spec: v1alpha1.TopologySpec{
					Servers:            []v1alpha1.TopologyServer{{Name: "a"}},
					AvailabilityGroups: []v1alpha1.TopologyAvailabilityGroup{{Name: "g"}},
				},
			}
			if c.change != nil {
				c.change(msdn)
			}
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(msdn).Build()
			why, err := reconcile.WhileDeclared[*v1alpha1.SQLServer](hub, topology.Declares)(t.Context(), c.object)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(why != "").To(Equal(c.stays), why)
		})
	}
}
