// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restore

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/bucket"
	"geosql.dev/operator/test/support/engine"
)

// A certificate that a store keeps is made at a server that has not even a master key: it is the one that was lost with
// its server, and gives its private key. Another Secret opens nothing, and changes nothing.
func TestAKeptKeyIsMadeAtAnotherServer(t *testing.T) {
	g := NewWithT(t)
	secret, seals := []byte("what the user alone holds"), bucket.Start(t)
	at := backups.StoreOf("bucket", seals.Bucket)
	lost := certificate(t, secret, at)

	e := engine.Start(t, "web", "quisec")
	passwords := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: credentials.PasswordsName("quisec")},
		Data: map[string][]byte{credentials.KeyMasterKey: []byte("Pa55word-of-the-key")}}
	r := &Reconciler{connector: e.Connector(t), fresh: fake.NewClientBuilder().WithObjects(passwords).Build()}
	d, o := desired(), observed(t)
	d.Order.Stores, d.Seal = []orders.BackupStore{at}, []byte("what another one holds")
	d.Restore.Spec.Target = v1alpha1.RestoreTarget{Server: "quisec"}
	o.Says = reconcile.Read(&restores.Status{UID: "u1", Lacks: []string{lost.Thumbprint}})
	keys(t.Context(), d, &o)
	p := plan(d, o)
	g.Expect(p.Aside).To(HaveLen(1))
	p.Steps = nil // the agent's order
	err := r.apply(t.Context(), d, o, p)
	g.Expect(err).To(MatchError(backup.ErrSeal))
	g.Expect(err.Error()).NotTo(ContainSubstring("what another one holds"))
	master, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	has, err := mssql.ReadEncryption(t.Context(), master)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(has.Certificates).To(BeEmpty())

	d.Seal = secret
	for range 2 {
		g.Expect(r.apply(t.Context(), d, o, p)).To(Succeed(), "as often as it is asked for")
	}
	has, err = mssql.ReadEncryption(t.Context(), master)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(has.Certificates).To(HaveLen(1))
	g.Expect(has.Certificate(lost.Thumbprint)).To(And(HaveField("Name", "SalesKey"), HaveField("PrivateKey", true),
		HaveField("DER", lost.DER)))
	_, err = mssql.ReadKey(t.Context(), master, lost.Thumbprint, "One-longpass.word1")
	g.Expect(err).NotTo(HaveOccurred())
}

// certificate is one of a server that is lost once a store has it, sealed.
func certificate(t *testing.T, secret []byte, at orders.BackupStore) mssql.Certificate {
	t.Helper()
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range []tsql.Statement{tsql.CreateMasterKey("Pa55word-of-the-key"),
		{Text: "CREATE CERTIFICATE SalesKey WITH SUBJECT = N'sales'"}} {
		g.Expect(db.Exec(t.Context(), s)).To(Succeed())
	}
	has, err := mssql.ReadEncryption(t.Context(), db)
	g.Expect(err).NotTo(HaveOccurred())
	found := has.Certificates["SalesKey"]
	read, err := mssql.ReadKey(t.Context(), db, found.Thumbprint, "One-longpass.word1")
	g.Expect(err).NotTo(HaveOccurred())
	sealed, err := backup.Key{Name: read.Name, Thumbprint: found.Thumbprint, Certificate: read.DER,
		PrivateKey: read.PrivateKey, Password: "One-longpass.word1"}.Seal(secret, "7/42")
	g.Expect(err).NotTo(HaveOccurred())
	content, err := sealed.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	to, err := backups.Open(at, backups.Identity{})
	g.Expect(err).NotTo(HaveOccurred())
	defer to.Close()
	g.Expect(to.Put(t.Context(), backup.KeyObject("web", "group/content", found.Thumbprint), content)).To(Succeed())
	return found
}
