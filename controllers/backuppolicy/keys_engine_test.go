// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backuppolicy

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/bucket"
	"geosql.dev/operator/test/support/engine"
)

// What a plan has a store keep is there, sealed, and is what the engine has; nothing is left to do then. That a
// database is encrypted is said in the stand-in's place, which encrypts nothing.
func TestAStoreKeepsAKey(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	connector, kept := e.Connector(t), bucket.Start(t)
	db, err := connector.Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range []tsql.Statement{tsql.CreateMasterKey("Pa55word-of-the-key"),
		{Text: "CREATE CERTIFICATE SalesKey WITH SUBJECT = N'sales'"}} {
		g.Expect(db.Exec(t.Context(), s)).To(Succeed())
	}
	has, err := engines{connector}.Encryption(t.Context(), "web", "tukpub")
	g.Expect(err).NotTo(HaveOccurred())
	certificate := has.Certificates["SalesKey"]
	has.Encryptors = map[string]mssql.Encryptor{"Content": {Thumbprint: certificate.Thumbprint, Certificate: true}}

	d, o := encrypted(t)
	d.Order.Stores = []orders.BackupStore{backups.StoreOf("bucket", kept.Bucket)}
	look := func() {
		o.Encryption, o.Kept = reconcile.Read(has), map[KeptKey]reconcile.Reading[*backup.SealedKey]{}
		o.Kept[KeptKey{"bucket", certificate.Thumbprint}] = reconcile.Asked(keptKey(t.Context(), d.Order.Stores[0], d.Order,
			certificate.Thumbprint))
	}
	look()
	p := plan(d, o)
	g.Expect(p.Aside).To(HaveLen(1))
	p.Steps = nil // those of the servers' sidecars
	g.Expect((&Reconciler{connector: connector}).apply(t.Context(), d, o, p)).To(Succeed())
	object := backup.KeyObject("web", "group/content", certificate.Thumbprint)
	content, err := os.ReadFile(kept.File(object))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).NotTo(ContainSubstring(string(d.Seal.Secret)))
	sealed, err := backup.DecodeKey(content)
	g.Expect(err).NotTo(HaveOccurred())
	key, err := sealed.Open(d.Seal.Secret)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(key).To(And(HaveField("Name", "SalesKey"), HaveField("Certificate", certificate.DER),
		HaveField("PrivateKey", Not(BeEmpty()))))
	look()
	g.Expect(plan(d, o).Aside).To(BeEmpty())
	told, _ := keysKept(d, o)
	g.Expect(told).To(HaveField("Reason", "KeysKept"))
	d.Seal.By = "7/43"
	g.Expect(plan(d, o).Aside).To(HaveLen(1), "the Secret is another one")
}
