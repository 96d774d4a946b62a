// SPDX-License-Identifier: Apache-2.0

//go:build integration

package login

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
)

// To observe is to read: a Login that may take one over is as it was before, and what is reported has that one's SID.
func TestObservingALoginThatIsTakenOver(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	m := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	secret := func(name string, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: m(name), Data: data}
	}
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(
		&v1alpha1.SQLServer{ObjectMeta: m("tukpub")},
		secret(credentials.PasswordsName("tukpub"), e.Access.Passwords),
		secret(credentials.CertificateName("tukpub"), map[string][]byte{credentials.KeyCA: e.Access.CA}),
		secret("app-password", map[string][]byte{"password": []byte("One-longpass.word1")})).Build()
	connector := mssql.NewConnector(mssql.Options{Access: mssql.SecretAccess{Reader: hub},
		Address: func(mssql.Target) string { return e.Address }})
	t.Cleanup(func() { _ = connector.Close() })
	db, err := connector.Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA})
	g.Expect(err).NotTo(HaveOccurred())
	there := tsql.Login{Name: "app", SID: otherID, Password: "One-longpass.word1"}
	g.Expect(db.Exec(t.Context(), tsql.CreateLogin(there))).To(Succeed())

	l := &v1alpha1.Login{ObjectMeta: m("app"), Spec: v1alpha1.LoginSpec{Target: v1alpha1.ServerOrGroup{Server: "tukpub"},
		PasswordSecretRef: &v1alpha1.SecretReference{Name: "app-password"}}}
	l.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	read := l.DeepCopy()
	r := &Reconciler{hub: hub, fresh: hub, connector: connector}
	d, err := r.desireLogin(t.Context(), l)
	g.Expect(err).NotTo(HaveOccurred())
	o, err := r.observe(t.Context(), d)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(l).To(Equal(read))
	p := plan(d, o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonLoginChanging), p.Outcome.Message)
	g.Expect(reported(d, o, p).SID).To(Equal(tsql.Binary(otherID)))
}
