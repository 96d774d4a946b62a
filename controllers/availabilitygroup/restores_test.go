// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// The hub has one Restore of a database, whoever else tries to make it, and the group sees those that are its own.
func TestTheHubHasOneRestoreOfADatabase(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	d := Desired{Group: declared()}
	wanted := d.restoreOf(fromBucket("Orders"))
	dry, others := restoreTo("look", "Orders"), restoreTo("others", "Orders")
	dry.Spec.DryRun, others.Spec.Target.AvailabilityGroup = true, "other"
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&dry, &others).Build()
	r := &Reconciler{hub: hub, secrets: hub}
	ours := func() []v1alpha1.Restore {
		all, err := r.restores(t.Context(), d.Group)
		g.Expect(err).NotTo(HaveOccurred())
		return all
	}
	g.Expect(ours()).To(BeEmpty())
	for range 2 { // another manager's cache is behind
		g.Expect(r.makeRestore(t.Context(), wanted)).To(Succeed())
		g.Expect(ours()).To(ConsistOf(HaveField("Spec", wanted.Spec)))
	}

	g.Expect(hub.Delete(t.Context(), &v1alpha1.Restore{ObjectMeta: wanted.ObjectMeta})).To(Succeed())
	foreign := wanted.DeepCopy()
	foreign.Spec.Target = v1alpha1.RestoreTarget{Server: "quirep"}
	g.Expect(hub.Create(t.Context(), foreign)).To(Succeed())
	g.Expect(r.makeRestore(t.Context(), wanted)).To(MatchError(ContainSubstring("does not bring database Orders")))
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(wanted), foreign)).To(Succeed())
	g.Expect(foreign.Spec.Target.Server).To(BeEquivalentTo("quirep"), "it is left alone")
}
