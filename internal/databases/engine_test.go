// SPDX-License-Identifier: Apache-2.0

//go:build integration

package databases_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// An engine makes of the statements what is declared, refuses what takes the database alone while somebody is in it,
// and goes on to serve who is.
func TestAnEngineKeepsADatabaseAsDeclared(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "solo")
	connector := e.Connector(t)
	master := e.Target(credentials.RoleSA)
	sa, err := connector.Open(t.Context(), master)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sa.Exec(t.Context(), tsql.CreateLogin(tsql.Login{Name: "shop", Password: "Str0ng-and-long.secret",
		SID: credentials.SID("web", "shop")}))).To(Succeed())
	logins, err := mssql.ReadLogins(t.Context(), sa)
	g.Expect(err).NotTo(HaveOccurred())
	instance, err := mssql.ReadInstance(t.Context(), sa)
	g.Expect(err).NotTo(HaveOccurred())
	server := databases.Server{Host: "solo-0", Version: instance.ProductVersion, Logins: logins}
	declared := v1alpha1.Database{Name: "Content", Collation: "Latin1_General_100_CI_AS_SC_UTF8", CompatibilityLevel: 150,
		ReadCommittedSnapshot: ptr.To(true), Owner: "shop"}
	for _, s := range databases.Make(server, declared) {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	have := func() mssql.Database {
		t.Helper()
		all, err := mssql.ReadDatabases(t.Context(), sa)
		g.Expect(err).NotTo(HaveOccurred())
		return all["Content"]
	}
	keep := func() databases.Kept {
		t.Helper()
		k := databases.Keep(server, declared, have())
		for _, c := range k.Changes {
			g.Expect(sa.Exec(t.Context(), c.Statement)).To(Succeed(), c.Statement.Redacted())
		}
		return k
	}
	g.Expect(keep().Changes).To(HaveLen(1), "the owner alone comes afterwards")
	g.Expect(have()).To(And(HaveField("Collation", string(declared.Collation)), HaveField("CompatibilityLevel", 150),
		HaveField("ReadCommittedSnapshot", true), HaveField("Owner", "shop"), HaveField("Sessions", 0)))
	g.Expect(keep()).To(Equal(databases.Kept{}))

	// An application is in it.
	app := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(
			func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) { return e.Access, nil },
		),
		Address: func(mssql.Target) string { return e.Address }, Program: "app"})
	t.Cleanup(func() { g.Expect(app.Close()).To(Succeed()) })
	inside := master
	inside.Database = "Content"
	db, err := app.Open(t.Context(), inside)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.Ping(t.Context())).To(Succeed())
	declared.ReadCommittedSnapshot = ptr.To(false)
	k := keep()
	g.Expect(k.Changes).To(BeEmpty())
	g.Expect(k.InUse).To(ConsistOf(ContainSubstring("is ON and is declared OFF")))
	refused := sa.Exec(t.Context(), tsql.SetReadCommittedSnapshot("Content", false))
	g.Expect(mssql.HasNumber(refused, 5070)).To(BeTrue(), "%v", refused)
	g.Expect(db.Ping(t.Context())).To(Succeed())
	app.Forget("web", "solo")
	g.Eventually(func() int { return have().Sessions }, "60s").Should(BeZero())
	g.Expect(keep().Changes).To(HaveLen(1))
	g.Expect(have().ReadCommittedSnapshot).To(BeFalse())
}
