// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// Nobody but a person can say whether a server is declared again that was written down for a Restore to a group.
func TestTheServerOfARestoreToAGroupIsGone(t *testing.T) {
	for _, row := range []struct {
		why  string
		edit func(*Desired)
		lost bool
	}{
		{why: "it was written down", edit: toGroup, lost: true},
		{why: "it is to be", edit: func(d *Desired) {
			toGroup(d)
			d.Restore.Status.Server = ""
		}},
		{why: "it is declared, and may be still", edit: func(*Desired) {}},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			group := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
				Spec: v1alpha1.AvailabilityGroupSpec{InitialPrimary: "quisec"}}
			r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(group).Build()}
			d := desired()
			row.edit(&d)
			g.Expect(r.target(t.Context(), &d)).To(Succeed())
			g.Expect(d.Missing).To(Equal("there is no SQLServer quisec"))
			g.Expect(d.Lost).To(Equal(row.lost))
		})
	}
}

// Whether the target is a server that declares the database is known also while one that replaces is carried out.
func TestWhatReplacesKnowsWhoDeclaresTheDatabase(t *testing.T) {
	for _, declares := range []bool{true, false} {
		g := NewWithT(t)
		scheme := runtime.NewScheme()
		g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
		server := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "quisec"}}
		if declares {
			server.Spec.Databases = []v1alpha1.Database{{Name: "Content"}}
		}
		r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(server).Build(), now: time.Now}
		x := desired().Restore
		x.Spec.Target.Database, x.Spec.Replace, x.Spec.Source.Policy = "Content", "Content", "nightly"
		d, err := r.desire(t.Context(), x)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(d.Missing).To(Equal("there is no BackupPolicy nightly"))
		g.Expect(d.Kept).To(Equal(declares))
	}
}
