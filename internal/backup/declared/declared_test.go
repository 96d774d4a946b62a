// SPDX-License-Identifier: Apache-2.0

package declared_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup/declared"
	"geosql.dev/operator/internal/mssql"
)

// A store on a server's volume is reached at its sidecar, by certificates.
func TestOrderOfAVolume(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	rate := resource.MustParse("20Mi")
	s := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "away"},
		Spec: v1alpha1.BackupStoreSpec{Volume: &v1alpha1.ServerVolume{Server: "quirep"}, UploadRate: &rate}}
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	servers := declared.Servers{Hub: hub,
		Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
			return mssql.Access{CA: []byte("ca")}, nil
		}),
		Address: func(namespace string, server v1alpha1.ServerName) string {
			return string(server) + "-0." + namespace + ".svc:8443"
		}}
	_, missing, err := declared.Order(t.Context(), hub, servers, s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(missing).To(Equal("SQLServer quirep is not there"))
	g.Expect(hub.Create(t.Context(), &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web",
		Name: "quirep"}})).To(Succeed())
	o, missing, err := declared.Order(t.Context(), hub, servers, s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(missing).To(BeEmpty())
	g.Expect(o).To(Equal(orders.BackupStore{Name: "away", Endpoint: "https://quirep-0.web.svc:8443", Bucket: "stores",
		Prefix: "web/away", Host: "quirep-0", CA: []byte("ca"), UploadRate: 20 << 20}))
	_, _, err = declared.Bucket(t.Context(), hub, s)
	g.Expect(err).To(MatchError(ContainSubstring("is in no bucket")))
}
