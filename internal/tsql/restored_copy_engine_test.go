// SPDX-License-Identifier: Apache-2.0

//go:build integration

package tsql_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// A new database has nothing of people's; whatever they make is found, and the user of the agents' login is none of it.
func TestWhatPeopleHaveMadeIsFound(t *testing.T) {
	g, server := NewWithT(t), engine.Start(t, "web", "dubsub")
	connector := server.Connector(t)
	sa, err := connector.Open(t.Context(), server.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range []string{"CREATE DATABASE Content", "CREATE LOGIN agents WITH PASSWORD = N'Str0ng-Passw0rd!'",
		"CREATE LOGIN web WITH PASSWORD = N'Str0ng-Passw0rd!'"} {
		g.Expect(sa.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed())
	}
	target := server.Target(credentials.RoleSA)
	target.Database = "Content"
	db, err := connector.Open(t.Context(), target)
	g.Expect(err).NotTo(HaveOccurred())
	read := func() []mssql.UserObject {
		all, err := mssql.ReadUserObjects(t.Context(), db, "agents")
		g.Expect(err).NotTo(HaveOccurred())
		return all
	}
	g.Expect(read()).To(BeEmpty())
	g.Expect(db.Exec(t.Context(), tsql.CreateUser("agents", "agents"))).To(Succeed())
	g.Expect(read()).To(BeEmpty())
	for text, found := range map[string]mssql.UserObject{
		"CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY)": {Kind: "user_table", Name: "dbo.Article"},
		"CREATE VIEW dbo.Newest AS SELECT 1 AS one":              {Kind: "view", Name: "dbo.Newest"},
		"CREATE PROCEDURE dbo.Show AS SELECT 1":                  {Kind: "sql_stored_procedure", Name: "dbo.Show"},
		"CREATE FUNCTION dbo.One() RETURNS int AS BEGIN RETURN 1 END": {Kind: "sql_scalar_function",
			Name: "dbo.One"},
		"CREATE TYPE dbo.Code FROM nvarchar(10)":                      {Kind: "type", Name: "dbo.Code"},
		"CREATE SCHEMA shop":                                          {Kind: "schema", Name: "shop"},
		"CREATE USER web FOR LOGIN web":                               {Kind: "sql_user", Name: "web"},
		"CREATE ROLE readers":                                         {Kind: "database_role", Name: "readers"},
		"CREATE TRIGGER nobody ON DATABASE FOR DROP_TABLE AS PRINT 1": {Kind: "database_trigger", Name: "nobody"},
	} {
		g.Expect(db.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed(), text)
		g.Expect(read()).To(ContainElement(found), text)
	}
	g.Expect(read()).To(HaveLen(9), "a key and a trigger of a table belong to it")
}

// A database that was restored for somebody goes only by the names of its files, and while nobody else is there.
func TestOnlyTheOwnDatabaseIsDropped(t *testing.T) {
	g, server := NewWithT(t), engine.Start(t, "web", "dubsub")
	connector := server.Connector(t)
	sa, err := connector.Open(t.Context(), server.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	exec := func(text string) {
		t.Helper()
		g.Expect(sa.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed(), text)
	}
	exec("CREATE DATABASE Content ON (NAME = a, FILENAME = N'/var/opt/mssql/data/geosql-u1-2026-1.mdf') " +
		"LOG ON (NAME = b, FILENAME = N'/var/opt/mssql/data/geosql-u1-2026-1.ldf')")
	exec("CREATE DATABASE Half ON (NAME = a, FILENAME = N'/var/opt/mssql/data/geosql-u1-2026-2.mdf') " +
		"LOG ON (NAME = b, FILENAME = N'/var/opt/mssql/data/half.ldf')")
	there := func(name string) bool {
		places, err := mssql.ReadDatabasePlaces(t.Context(), sa, name)
		g.Expect(err).NotTo(HaveOccurred())
		return places != nil
	}
	mark := func() string {
		t.Helper()
		target := server.Target(credentials.RoleSA)
		target.Database = "Content"
		db, err := connector.Open(t.Context(), target)
		g.Expect(err).NotTo(HaveOccurred())
		mark, err := mssql.ReadLogMark(t.Context(), db)
		g.Expect(err).NotTo(HaveOccurred())
		connector.ForgetDatabase("web", "dubsub", "Content")
		return mark
	}
	end := "00000000:00000000:0000"
	drop := func(name, own string) {
		t.Helper()
		g.Expect(sa.Exec(t.Context(), tsql.DropOwnOnline(name, own, end))).To(Succeed())
		g.Expect(sa.Exec(t.Context(), tsql.DropOwnRestoring(name, own))).To(Succeed())
	}
	drop("Content", "geosql-u2-")
	drop("Half", "geosql-u1-")
	g.Expect(there("Content")).To(BeTrue(), "it is another one's")
	g.Expect(there("Half")).To(BeTrue(), "a file of it is somebody's")
	g.Expect(sa.Exec(t.Context(), tsql.DropOwnRestoring("Content", "geosql-u1-"))).To(Succeed())
	g.Expect(there("Content")).To(BeTrue(), "it is not being restored")
	drop("Content", "geosql-u1-")
	g.Expect(there("Content")).To(BeTrue(), "somebody may have written it")
	exec("ALTER DATABASE Content SET READ_ONLY")
	g.Expect(sa.Exec(t.Context(), tsql.TakeWrites("Content", "geosql-u2-"))).To(Succeed())
	g.Expect(sa.Exec(t.Context(), tsql.Statement{Text: "CREATE TABLE Content.dbo.Later (Id int)"})).
		To(HaveOccurred(), "it is another one's")
	g.Expect(sa.Exec(t.Context(), tsql.TakeWrites("Content", "geosql-u1-"))).To(Succeed())
	exec("ALTER DATABASE Content SET READ_ONLY")
	end = mark()
	g.Expect(end).NotTo(BeEmpty())
	exec("ALTER DATABASE Content SET READ_WRITE")
	exec("CREATE TABLE Content.dbo.Later (Id int)")
	exec("ALTER DATABASE Content SET READ_ONLY")
	drop("Content", "geosql-u1-")
	g.Expect(there("Content")).To(BeTrue(), "somebody has written it")
	end = mark()
	drop("Content", "geosql-u1-")
	g.Expect(there("Content")).To(BeFalse())
	drop("Content", "geosql-u1-")
}
