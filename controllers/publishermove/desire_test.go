// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// Whoever becomes the publisher, or distributes for it, has to be able to: that is known before anything is asked of
// the former one.
func TestAMoveToAServerThatOnlySubscribes(t *testing.T) {
	for name, c := range map[string]struct {
		to, distributor v1alpha1.Edition
		refused         []v1alpha1.ServerName
	}{
		"both can publish":                {v1alpha1.EditionStandard, v1alpha1.EditionStandardDeveloper, nil},
		"the server only subscribes":      {v1alpha1.EditionExpress, v1alpha1.EditionStandard, these("dubsub")},
		"its distributor only subscribes": {v1alpha1.EditionStandard, v1alpha1.EditionWeb, these("far")},
		"both only subscribe":             {v1alpha1.EditionWeb, v1alpha1.EditionWeb, these("dubsub", "far")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			around, _ := lostSite()
			far := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "far"},
				Spec: v1alpha1.DistributorSpec{Server: "far"}}
			server := func(name string, edition v1alpha1.Edition) *v1alpha1.SQLServer {
				return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
					Spec: v1alpha1.SQLServerSpec{Edition: edition}}
			}
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(around.Move, around.Publication, far,
				server("dubsub", c.to), server("far", c.distributor)).Build()
			d, _ := (&Reconciler{access: mssql.SecretAccess{Reader: hub}, hub: hub}).desire(t.Context(), around.Move)
			g.Expect(d.SubscribeOnly).To(Equal(c.refused))
		})
	}
}

func these(names ...v1alpha1.ServerName) []v1alpha1.ServerName { return names }

// What a move names may be gone once it is over: the record stays Ready, and a move that cannot go on says why. One
// that is under way waits for what it cannot find.
func TestAMoveWhoseDistributorHasNoPasswords(t *testing.T) {
	for name, c := range map[string]struct {
		edit            func(*Desired)
		unknown, reason string
	}{
		"under way": {edit: func(*Desired) {}, unknown: "Secret"},
		"completed": {edit: func(d *Desired) {
			d.Move.Status.Phase, d.Publication.Spec.MovedBy = v1alpha1.MoveCompleted, "move"
			d.Move.Status.Timeline = &v1alpha1.MoveTimeline{Switched: &metav1.MicroTime{Time: noon}}
		}, reason: v1alpha1.ReasonMoved},
		"of a publication that was declared anew": {edit: func(d *Desired) {
			d.Move.Status.PublicationUID, d.Publication.UID = "first", "second"
		}, reason: v1alpha1.ReasonPublicationReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			around, o := lostSite()
			c.edit(&around)
			far := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "far"},
				Spec: v1alpha1.DistributorSpec{Server: "far"}}
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(around.Move, around.Publication, far).Build()
			d, err := (&Reconciler{access: mssql.SecretAccess{Reader: hub}, hub: hub}).desire(t.Context(), around.Move)
			if c.unknown != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.unknown)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(plan(d, o).Outcome.Reason).To(Equal(c.reason))
		})
	}
}
