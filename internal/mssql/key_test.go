// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// A certificate goes to another server with its private key: what is made there is the same one, protected by the
// master key there, and gives its private key in turn.
func TestAKeyGoesToAnotherServer(t *testing.T) {
	g := NewWithT(t)
	from, to := engine.Start(t, "web", "tukpub"), open(t, engine.Start(t, "web", "quisec"))
	source, now := open(t, from), time.Now()
	made := tsql.CreateSelfSignedCertificate("Sales]Key", "sales", now.Add(-time.Hour), now.AddDate(1, 0, 0))
	for _, s := range []tsql.Statement{tsql.CreateMasterKey("Pa55word-of-the-key"), made,
		{Text: "CREATE CERTIFICATE Shut ENCRYPTION BY PASSWORD = N'It''s-a_secret.7' WITH SUBJECT = N'shut'"}} {
		g.Expect(source.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	has, err := mssql.ReadMirroring(t.Context(), source)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(has.Encryptors).To(BeEmpty())
	g.Expect(has.Certificates["Shut"]).To(HaveField("PrivateKey", false), "the master key does not open it")
	certificate := has.Certificates["Sales]Key"]
	g.Expect(certificate).To(And(HaveField("PrivateKey", true), HaveField("Thumbprint", HaveLen(40))))

	password, err := credentials.NewPassword()
	g.Expect(err).NotTo(HaveOccurred())
	key, err := mssql.ReadKey(t.Context(), source, certificate.Thumbprint, password)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(key).To(And(HaveField("Name", "Sales]Key"), HaveField("DER", certificate.DER)))
	form, err := key.Form("Of tukpub", password)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(to.Exec(t.Context(), tsql.CreateKey(form))).NotTo(Succeed(), "it has no master key")
	g.Expect(to.Exec(t.Context(), tsql.CreateMasterKey("Another-pa55word"))).To(Succeed())
	wrong := form
	wrong.Password = "Not-the-pa55word"
	err = to.Exec(t.Context(), tsql.CreateKey(wrong))
	g.Expect(err).To(HaveOccurred())
	g.Expect(err.Error()).NotTo(ContainSubstring(wrong.Password))
	for range 2 {
		g.Expect(to.Exec(t.Context(), tsql.CreateKey(form))).To(Succeed(), "as often as it is asked for")
	}
	has, err = mssql.ReadMirroring(t.Context(), to)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(has.Certificates).To(HaveLen(1))
	g.Expect(has.Certificates["Of tukpub"]).To(And(HaveField("PrivateKey", true), HaveField("DER", certificate.DER),
		HaveField("Thumbprint", certificate.Thumbprint)))
	again, err := mssql.ReadKey(t.Context(), to, certificate.Thumbprint, password)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.PrivateKey).NotTo(BeEmpty())
}

// Nobody gets a private key who may not control the certificate, or that a password opens, and no certificate that is
// not there: the error says which was asked for, and not by which password.
func TestAKeyIsNotGiven(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	sa, role, now := open(t, e), credentials.RoleOperator, time.Now()
	for _, s := range []tsql.Statement{
		tsql.CreateLogin(tsql.Login{Name: role.Login(), SID: credentials.SID("web", role.Login()),
			Password: e.Access.Passwords.Of(role)}),
		tsql.GrantServerPermission(tsql.ViewAnyDefinition, role.Login()),
		tsql.CreateMasterKey("Pa55word-of-the-key"),
		tsql.CreateSelfSignedCertificate("SalesKey", "sales", now.Add(-time.Hour), now.AddDate(1, 0, 0)),
		{Text: "CREATE CERTIFICATE Shut ENCRYPTION BY PASSWORD = N'It''s-a_secret.7' WITH SUBJECT = N'shut'"},
	} {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	has, err := mssql.ReadMirroring(t.Context(), sa)
	g.Expect(err).NotTo(HaveOccurred())
	operator, err := e.Connector(t).Open(t.Context(), e.Target(role))
	g.Expect(err).NotTo(HaveOccurred())
	const password = "It's-a_secret.7"
	for thumbprint, q := range map[string]mssql.Querier{has.Certificates["SalesKey"].Thumbprint: operator,
		has.Certificates["Shut"].Thumbprint: sa, "00": sa} {
		_, err := mssql.ReadKey(t.Context(), q, thumbprint, password)
		g.Expect(err).To(And(MatchError(mssql.ErrNoKey), MatchError(ContainSubstring("0x"+thumbprint))))
		g.Expect(err.Error()).NotTo(ContainSubstring(password))
	}
	_, err = mssql.ReadKey(t.Context(), sa, "no digits", password)
	g.Expect(err).To(MatchError(ContainSubstring("hexadecimal")))
}
