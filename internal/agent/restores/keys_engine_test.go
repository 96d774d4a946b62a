// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// awaitsItsKey restores a database whose backups say that a certificate encrypts them, once the server has it, and
// downloads nothing until then. The stand-in encrypts nothing: that its engine refuses is not tried.
func awaitsItsKey(t *testing.T, s *target, b *taken) {
	g := NewWithT(t)
	const password = "One-longpass.word1"
	for _, statement := range []tsql.Statement{tsql.CreateMasterKey("Pa55word-of-the-key"),
		{Text: "CREATE CERTIFICATE SalesKey WITH SUBJECT = N'sales'"}} {
		g.Expect(s.sa.Exec(t.Context(), statement)).To(Succeed())
	}
	has, err := mssql.ReadEncryption(t.Context(), s.sa)
	g.Expect(err).NotTo(HaveOccurred())
	thumbprint := has.Certificates["SalesKey"].Thumbprint
	key, err := mssql.ReadKey(t.Context(), s.sa, thumbprint, password)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.sa.Exec(t.Context(), tsql.DropCertificate("SalesKey"))).To(Succeed())

	full := b.of(backup.Full)
	file := b.bucket.File(full.Key())
	written, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(os.WriteFile(file, written, 0o600)).To(Succeed()) }()
	full.EncryptedBy = thumbprint
	content, err := full.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	o := orders.Restore{Name: "locked", UID: "uid-locked", Stores: []orders.BackupStore{b.store()}, Folder: folder,
		Database: "locked"}
	s.tell(o)
	g.Eventually(func() Status { return s.status("locked") }, patient, often).Should(And(
		HaveField("Lacks", []string{thumbprint}), HaveField("Failing", ContainSubstring("0x"+thumbprint)),
		HaveField("Downloaded", BeZero())))
	s.end()
	s.begin() // the sidecar is another one
	s.tell(o)
	g.Eventually(func() []string { return s.status("locked").Lacks }, patient, often).Should(Equal([]string{thumbprint}))
	form, err := key.Form("SalesKey", password)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.sa.Exec(t.Context(), tsql.CreateKey(form))).To(Succeed())
	status := s.ended("locked")
	g.Expect(status.Result.Outcome).To(Equal(Succeeded), "%+v", status.Result)
	g.Expect(status.Lacks).To(BeEmpty())
	g.Expect(s.rows("locked")).To(Equal(upTo(30)))
}
