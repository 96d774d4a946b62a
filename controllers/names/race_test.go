// SPDX-License-Identifier: Apache-2.0

//go:build integration

package names

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// Two controllers write a finalizer on the same object: whoever comes second reads it again, and says nothing of it in
// the log. Any other failure is an error.
func TestALostRaceIsNoError(t *testing.T) {
	g := NewWithT(t)
	var refusal error
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).
		WithObjects(&v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub"}},
			&v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"}}).
		WithInterceptorFuncs(interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
			...client.PatchOption) error {
			return refusal
		}}).
		Build()
	r := &reconciler{hub: hub, sites: sites.NewProvider(sites.Options{})}
	for name, one := range map[string]interface {
		Reconcile(context.Context, mcreconcile.Request) (crreconcile.Result, error)
	}{
		"tukpub":  reconcile.New(hub, r.servers()),
		"content": reconcile.New(hub, r.groups()),
	} {
		request := mcreconcile.Request{
			Request: crreconcile.Request{NamespacedName: client.ObjectKey{Namespace: "web", Name: name}},
		}
		refusal = apierrors.NewConflict(
			schema.GroupResource{Group: v1alpha1.GroupVersion.Group},
			name,
			errors.New("the object has been modified"),
		)
		result, err := one.Reconcile(t.Context(), request)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(result.RequeueAfter).To(BeNumerically(">", 0), name)
		refusal = apierrors.NewInternalError(errors.New("the disk is full"))
		_, err = one.Reconcile(t.Context(), request)
		g.Expect(err).To(MatchError(ContainSubstring("the disk is full")), name)
	}
}
