// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// desired is what a Distributor that is being deleted asks for beside other objects.
func desired(t *testing.T, policy v1alpha1.ReclaimPolicy, objects ...client.Object) (Desired, replication.Engines) {
	t.Helper()
	return desiredBy(t, v1alpha1.DistributorSpec{Server: distributor, ReclaimPolicy: policy}, objects...)
}

func desiredBy(t *testing.T, spec v1alpha1.DistributorSpec, objects ...client.Object) (Desired, replication.Engines) {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	object := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"}, Spec: spec}
	ends(object)
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, object)...).Build()
	access := mssql.SecretAccess{Reader: hub}
	d, err := (&Reconciler{access: access, hub: hub}).desire(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	return d, replication.Engines{Connector: mssql.NewConnector(mssql.Options{Access: access}), Namespace: "web"}
}

// ends lets an object be one that is being deleted.
func ends(object client.Object) {
	now := metav1.Now()
	object.SetDeletionTimestamp(&now)
	object.SetFinalizers([]string{v1alpha1.Finalizer})
}

// A Distributor that is retained goes after everything that is being deleted and needs to know where it is.
func TestRetainedDistributorWaitsForWhatEnds(t *testing.T) {
	publication := func(policy v1alpha1.ReclaimPolicy, distributor v1alpha1.ObjectName, deleted bool) client.Object {
		p := &v1alpha1.Publication{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "articles"},
			Spec: v1alpha1.PublicationSpec{Publisher: v1alpha1.ServerOrGroup{Server: publisher}, Database: "Content",
				Distributor: distributor, ReclaimPolicy: policy},
		}
		if deleted {
			ends(p)
		}
		return p
	}
	subscription := func(policy v1alpha1.ReclaimPolicy, deleted bool) client.Object {
		s := &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dublin"},
			Spec: v1alpha1.SubscriptionSpec{Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"},
				Database: "Content", ReclaimPolicy: policy},
		}
		if deleted {
			ends(s)
		}
		return s
	}
	const retain, remove = v1alpha1.ReclaimRetain, v1alpha1.ReclaimDelete
	for name, c := range map[string]struct {
		objects []client.Object
		says    []string
	}{
		"a publication that ends": {[]client.Object{publication(remove, "main", true)}, []string{"Publication articles"}},
		"a publication that is retained and waits for its subscription": {
			[]client.Object{publication(retain, "main", true), subscription(remove, true)},
			[]string{"Publication articles", "Subscription dublin"}},
		"a subscription that ends": {[]client.Object{publication(retain, "main", false), subscription(remove, true)},
			[]string{"Subscription dublin"}},
		"one of another distributor": {[]client.Object{publication(retain, "other", true), subscription(remove, true)}, nil},
		"a subscription that is retained": {
			[]client.Object{publication(retain, "main", false), subscription(retain, true)}, nil},
		"nothing that ends": {[]client.Object{publication(remove, "main", false), subscription(remove, false)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, _ := desired(t, retain, c.objects...)
			p := planDelete(d, Observed{})
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Done).To(Equal(len(c.says) == 0), p.Outcome.Message)
			for _, text := range c.says {
				g.Expect(p.Outcome.Message).To(ContainSubstring(text))
			}
		})
	}
}

// The declared edition of the server says whether it can distribute.
func TestWhichServersOnlySubscribe(t *testing.T) {
	for edition, only := range map[v1alpha1.Edition]bool{
		v1alpha1.EditionExpress: true, v1alpha1.EditionWeb: true, v1alpha1.EditionStandard: false, "Developer": false,
	} {
		t.Run(string(edition), func(t *testing.T) {
			g := NewWithT(t)
			server := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: string(distributor)},
				Spec: v1alpha1.SQLServerSpec{Edition: edition}}
			d, _ := desired(t, v1alpha1.ReclaimRetain, server)
			g.Expect(len(d.SubscribeOnly) == 1).To(Equal(only))
		})
	}
}
