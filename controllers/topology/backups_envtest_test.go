// SPDX-License-Identifier: Apache-2.0

//go:build integration

package topology_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
)

// The stores and policies of a Topology are made as the API server has them with its defaults, follow the manifest, and
// leave in their order: policies, then the store that they use.
func TestBackups(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	declared := example(t)
	g.Expect(yaml.UnmarshalStrict([]byte(`
- {name: s3, uploadRate: 20Mi, s3: {endpoint: "https://s3.example", bucket: sql, credentialsSecretRef: {name: keys}}}
`), &declared.Spec.BackupStores)).To(Succeed())
	g.Expect(yaml.UnmarshalStrict([]byte(`
- {name: all, full: {schedule: "0 1 * * 0"}, stores: [s3], retention: {age: 336h}}
- {name: copy, target: {server: dubsub}, full: {schedule: "0 2 * * 0"}, stores: [s3], log: {every: 15m}}
`), &declared.Spec.BackupPolicies)).To(Succeed())
	g.Expect(b.hub.Client.Create(t.Context(), declared)).To(Succeed())

	all, own, store := &v1alpha1.BackupPolicy{}, &v1alpha1.BackupPolicy{}, &v1alpha1.BackupStore{}
	ready := func() {
		b.allReady()
		b.ready(all, "all-content", func() *v1alpha1.StatusBase { return &all.Status.StatusBase })
		b.ready(own, "copy", func() *v1alpha1.StatusBase { return &own.Status.StatusBase })
		b.ready(store, "s3", func() *v1alpha1.StatusBase { return &store.Status.StatusBase })
	}
	g.Eventually(b.reason("msdn"), patient, often).Should(Equal("MembersNotReady, 0 of 12 ready"))
	ready()
	g.Eventually(b.reason("msdn"), patient, often).Should(Equal("MembersReady, 12 of 12 ready"))
	g.Expect(b.get(all, "all-content")).To(Succeed())
	g.Expect(all.Spec.Target).To(Equal(v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}))
	g.Expect(all.Spec.Log.Every.Duration).To(Equal(5 * time.Minute))
	g.Expect(all.Labels).To(HaveKeyWithValue(v1alpha1.LabelTopology, "msdn"))
	g.Expect(all.Generation).To(BeEquivalentTo(1), "what the API server fills in is no difference")
	g.Expect(b.get(&v1alpha1.BackupPolicy{}, "all")).NotTo(Succeed())

	t.Run("they are repaired, and follow the entry", func(t *testing.T) {
		g := NewWithT(t)
		change(b, "all-content", all, func(p *v1alpha1.BackupPolicy) { p.Spec.Retention = nil })
		change(b, "msdn", &v1alpha1.Topology{}, func(tp *v1alpha1.Topology) {
			g.Expect(tp.Spec.BackupPolicies[0].Target).To(BeZero(), "an entry stays without a target")
			tp.Spec.BackupPolicies[0].Full.Schedule = "0 3 * * 0"
		})
		g.Eventually(func(g Gomega) {
			g.Expect(b.get(all, "all-content")).To(Succeed())
			g.Expect(all.Spec.Full.Schedule).To(Equal("0 3 * * 0"))
			g.Expect(all.Spec.Retention).NotTo(BeNil())
		}, patient, often).Should(Succeed())
	})

	t.Run("a target with an entry of its own is no other entry's", func(t *testing.T) {
		g := NewWithT(t)
		change(b, "msdn", &v1alpha1.Topology{}, func(tp *v1alpha1.Topology) {
			entry := tp.Spec.BackupPolicies[0].DeepCopy()
			entry.Name, entry.Target = "content", v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}
			tp.Spec.BackupPolicies = append(tp.Spec.BackupPolicies, *entry)
		})
		g.Eventually(func() error { return b.get(all, "content") }, patient, often).Should(Succeed())
		g.Eventually(func() bool { return apierrors.IsNotFound(b.get(all, "all-content")) }, patient, often).
			Should(BeTrue())
	})

	t.Run("the store waits for the policies", func(t *testing.T) {
		g := NewWithT(t)
		// The policy's controller has servers to tell before it goes.
		change(b, "copy", own, func(p *v1alpha1.BackupPolicy) { p.Finalizers = append(p.Finalizers, waits) })
		change(b, "msdn", &v1alpha1.Topology{}, func(tp *v1alpha1.Topology) {
			tp.Spec.BackupStores, tp.Spec.BackupPolicies = nil, nil
		})
		g.Eventually(func(g Gomega) {
			g.Expect(b.get(own, "copy")).To(Succeed())
			g.Expect(own.DeletionTimestamp).NotTo(BeNil())
			tp := &v1alpha1.Topology{}
			g.Expect(b.get(tp, "msdn")).To(Succeed())
			g.Expect(tp.Status.Members).
				To(ContainElement(And(HaveField("Name", "s3"), HaveField("Reason", v1alpha1.ReasonLeaving))))
		}, patient, often).Should(Succeed())
		g.Expect(b.get(store, "s3")).To(Succeed())
		g.Expect(store.DeletionTimestamp).To(BeNil())
		change(b, "copy", own, func(p *v1alpha1.BackupPolicy) { p.Finalizers = nil })
		g.Eventually(func() bool { return apierrors.IsNotFound(b.get(store, "s3")) }, patient, often).Should(BeTrue())
	})
}
