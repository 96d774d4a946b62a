// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestElementsOfSchema goes by docs/t-sql/statements/create-schema-transact-sql.md: what names no schema is in the new
// one, all of it is made or nothing, and views may come before their tables.
func TestElementsOfSchema(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(
		t,
		db,
		"CREATE SCHEMA s CREATE VIEW v AS SELECT a FROM t GRANT SELECT ON v TO public CREATE TABLE t (a int PRIMARY KEY) "+
			"CREATE TABLE o (a int REFERENCES p, b int, CONSTRAINT FK_t FOREIGN KEY (b) REFERENCES t (a)) CREATE TABLE p (a "+
			"int PRIMARY KEY CHECK (a > 3))",
	)
	g.Expect(query(t, db,
		"SELECT OBJECT_SCHEMA_NAME(object_id), name FROM sys.objects WHERE type IN ('U', 'V') ORDER BY name")).
		To(Equal([][]any{{"s", "o"}, {"s", "p"}, {"s", "t"}, {"s", "v"}}))
	g.Expect(query(t, db,
		"SELECT OBJECT_SCHEMA_NAME(object_id), OBJECT_NAME(parent_object_id), OBJECT_NAME(referenced_object_id) FROM "+
			"sys.foreign_keys ORDER BY 3")).
		To(Equal([][]any{{"s", "o", "p"}, {"s", "o", "t"}}))
	g.Expect(value(t, db, "SELECT definition FROM sys.check_constraints")).To(Equal("([a]>(3))"))
	g.Expect(value(t, db,
		"SELECT OBJECT_SCHEMA_NAME(major_id) + '.' + OBJECT_NAME(major_id) FROM sys.database_permissions WHERE "+
			"permission_name = 'SELECT' AND class = 1 AND major_id > 0")).
		To(Equal("s.v"))
	mustExec(t, db, "INSERT s.t VALUES (5)")
	g.Expect(value(t, db, "SELECT a FROM s.v")).To(BeEquivalentTo(5))
	all := failures(t, db, "CREATE SCHEMA x CREATE TABLE t (a int)\nCREATE VIEW v AS SELECT b FROM t")
	g.Expect([]int32{all[0].Number, all[len(all)-1].Number}).To(Equal([]int32{207, 2759}))
	g.Expect(value(t, db, "SELECT SCHEMA_ID('x')")).To(BeNil())
	all = failures(t, db, "CREATE SCHEMA s")
	g.Expect([]int32{all[0].Number, all[len(all)-1].Number}).To(Equal([]int32{2714, 2759}))
	mustExec(t, db, "CREATE TABLE here (a int)")
	g.Expect(value(t, db, "SELECT OBJECT_SCHEMA_NAME(OBJECT_ID('here'))")).To(Equal("dbo"))
}

// TestNamesInModules goes by docs/t-sql/statements/create-procedure-transact-sql.md (Best Practices) and
// docs/t-sql/language-elements/execute-transact-sql.md (module_name): in a module a name without a schema is in the
// module's, else in dbo.
func TestNamesInModules(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	for _, text := range []string{
		"CREATE SCHEMA m", "CREATE TABLE m.t (a int NOT NULL)", "INSERT m.t VALUES (7)", "CREATE TABLE dbo.u (b int)",
		"INSERT dbo.u VALUES (1)",
		"CREATE VIEW m.v AS SELECT a, b FROM t CROSS JOIN u",
		"CREATE FUNCTION m.f () RETURNS int AS BEGIN RETURN (SELECT SUM(a) FROM t) END",
		"CREATE FUNCTION m.i (@x int) RETURNS TABLE AS RETURN SELECT a + @x AS a FROM t",
		"CREATE FUNCTION m.l () RETURNS @r TABLE (a int) AS BEGIN INSERT @r SELECT a FROM t RETURN END",
		"CREATE PROCEDURE m.inner_one AS SELECT a FROM t",
		"CREATE PROCEDURE m.p AS UPDATE t SET a = a + 1; EXEC inner_one",
		"CREATE PROCEDURE m.d AS EXEC ('SELECT a FROM t')",
		"CREATE TRIGGER m.tr ON m.t AFTER INSERT AS UPDATE u SET b = (SELECT COUNT(*) FROM t)",
	} {
		mustExec(t, db, text)
	}
	g.Expect(value(t, db, "EXEC m.p")).To(BeEquivalentTo(8))
	g.Expect(query(t, db, "SELECT a, b FROM m.v")).To(Equal([][]any{{int64(8), int64(1)}}))
	g.Expect(value(t, db, "SELECT m.f()")).To(BeEquivalentTo(8))
	g.Expect(value(t, db, "SELECT a FROM m.i(2)")).To(BeEquivalentTo(10))
	g.Expect(value(t, db, "SELECT a FROM m.l()")).To(BeEquivalentTo(8))
	mustExec(t, db, "INSERT m.t VALUES (1)")
	g.Expect(value(t, db, "SELECT b FROM dbo.u")).To(BeEquivalentTo(2))
	g.Expect(failure(t, db, "EXEC m.d").Number).To(BeEquivalentTo(208))
	g.Expect(failure(t, db, "SELECT a FROM t").Number).To(BeEquivalentTo(208))
	g.Expect(failure(t, db, "SELECT a FROM m.v; SELECT a FROM t").Number).To(BeEquivalentTo(208))
	g.Expect(query(t, db,
		"SELECT DISTINCT OBJECT_SCHEMA_NAME(referenced_id) + '.' + referenced_entity_name FROM "+
			"sys.sql_expression_dependencies WHERE referenced_schema_name IS NULL AND is_caller_dependent = 0 ORDER BY 1")).
		To(Equal([][]any{{"dbo.u"}, {"m.t"}}))
	mustExec(t, db, "EXEC sp_refreshview 'm.v'")
	mustExec(t, db, "EXEC sp_refreshsqlmodule 'm.i'")
	mustExec(t, db, "UPDATE m.v SET a = 3")
	g.Expect(value(t, db, "SELECT MAX(a) FROM m.t")).To(BeEquivalentTo(3))
}

// TestDefaultSchemas goes by docs/t-sql/statements/create-user-transact-sql.md (DEFAULT_SCHEMA): a batch looks in the
// user's default schema, then in dbo, and makes objects in the former. So do, in modules, definitions of data, texts
// that are executed, types and OBJECT_ID.
func TestDefaultSchemas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	for _, text := range []string{
		"CREATE SCHEMA m", "CREATE TABLE m.t (a int)", "INSERT m.t VALUES (7)", "CREATE TABLE dbo.t (a int)",
		"INSERT dbo.t VALUES (1)", "CREATE TABLE dbo.d (a int)",
		"CREATE PROCEDURE m.p AS SELECT OBJECT_SCHEMA_NAME(OBJECT_ID('t')), (SELECT a FROM t); EXEC ('SELECT a FROM t')",
		"CREATE PROCEDURE m.make_one AS CREATE TABLE made (a int)", "CREATE SEQUENCE dbo.sq START WITH 5",
		"CREATE TABLE dbo.s (a int DEFAULT NEXT VALUE FOR sq, b int)", "CREATE SEQUENCE m.sq START WITH 500",
		"CREATE PROCEDURE m.i AS INSERT dbo.s (b) VALUES (1)",
		"CREATE USER u WITHOUT LOGIN WITH DEFAULT_SCHEMA = m", "ALTER ROLE db_owner ADD MEMBER u",
	} {
		mustExec(t, db, text)
	}
	g.Expect(value(t, db, "SELECT a FROM t")).To(BeEquivalentTo(1))
	g.Expect(query(t, db, "EXEC m.p")).To(Equal([][]any{{"dbo", int64(7)}}))
	mustExec(t, db, "EXEC m.make_one EXEC m.i")
	g.Expect(value(t, db, "SELECT a FROM dbo.s")).To(BeEquivalentTo(5))
	g.Expect(value(t, db, "SELECT definition FROM sys.default_constraints")).To(Equal("(NEXT VALUE FOR [dbo].[sq])"))
	mustExec(t, db, "EXECUTE AS USER = 'u'")
	g.Expect(value(t, db, "SELECT a FROM t")).To(BeEquivalentTo(7))
	g.Expect(query(t, db, "EXEC p")).To(Equal([][]any{{"m", int64(7)}}))
	mustExec(
		t,
		db,
		"EXEC make_one; CREATE TYPE ty FROM int; CREATE TABLE here (a ty); ALTER TABLE d ADD b int; CREATE INDEX ix ON d "+
			"(b); CREATE TABLE gone (a int); DROP TABLE gone",
	)
	g.Expect(query(t, db, "SELECT SCHEMA_NAME(schema_id), name FROM sys.tables ORDER BY name, schema_id")).
		To(Equal([][]any{{"dbo", "d"}, {"m", "here"}, {"dbo", "made"}, {"m", "made"}, {"dbo", "s"}, {"dbo", "t"},
			{"m", "t"}}))
	mustExec(t, db, "REVERT; ALTER USER u WITH DEFAULT_SCHEMA = dbo; EXECUTE AS USER = 'u'")
	g.Expect(value(t, db, "SELECT a FROM t")).To(BeEquivalentTo(1))
	mustExec(t, db, "REVERT")
}
