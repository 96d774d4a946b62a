// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// The Secret of the readers goes with the last server of a namespace at the site, not before.
func TestReadersGoWithTheLastServer(t *testing.T) {
	server := func(name string, site v1alpha1.SiteName) *v1alpha1.SQLServer {
		return &v1alpha1.SQLServer{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
			Spec:       v1alpha1.SQLServerSpec{Site: site},
		}
	}
	for name, c := range map[string]struct {
		others []client.Object
		stays  bool
	}{
		"the last one at the site": {others: []client.Object{server("quisec", "quincy")}},
		"another one is there":     {others: []client.Object{server("tuksec", "tukwila")}, stays: true},
	} {
		g := NewWithT(t)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: credentials.ReaderName, UID: "u",
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}}}
		gone := server("tukpub", "tukwila")
		r := &Reconciler{
			hub: fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(append(c.others, gone)...).Build(),
		}
		at := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(secret).Build()
		member := &sites.Member{Client: at, APIReader: at}
		g.Expect(r.removeReaders(t.Context(), Desired{Server: gone, member: member})).To(Succeed(), name)
		err := member.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)
		g.Expect(apierrors.IsNotFound(err)).To(Equal(!c.stays), name)
	}
}
