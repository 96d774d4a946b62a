// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestScalarFunctionsAreExecuted goes by docs/t-sql/language-elements/execute-transact-sql.md (@return_status) and
// docs/t-sql/statements/create-function-transact-sql.md (the DEFAULT keyword of an omitted parameter).
func TestScalarFunctionsAreExecuted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	for _, text := range []string{
		"CREATE TABLE dbo.t (id int NOT NULL, v nvarchar(10) NOT NULL)",
		"INSERT dbo.t VALUES (1, N'one'), (2, N'two')",
		"CREATE TYPE dbo.word FROM nvarchar(10)",
		"CREATE FUNCTION dbo.plus (@a int, @b int = 10) RETURNS int AS BEGIN RETURN @a + @b END",
		"CREATE FUNCTION dbo.named (@id int) RETURNS dbo.word AS BEGIN DECLARE @v nvarchar(10); SELECT @v = v FROM dbo.t " +
			"WHERE id = @id; RETURN @v END",
		"CREATE FUNCTION dbo.strict (@a int) RETURNS int WITH RETURNS NULL ON NULL INPUT AS BEGIN RETURN 7 END",
		"CREATE FUNCTION dbo.twice (@a int) RETURNS int AS BEGIN DECLARE @r int; EXEC @r = dbo.plus @a, @a; RETURN @r END",
		"CREATE FUNCTION dbo.broken (@a int) RETURNS int AS BEGIN RETURN @a / 0 END",
		"CREATE PROCEDURE dbo.pr AS RETURN 3",
		"CREATE FUNCTION dbo.outward () RETURNS int AS BEGIN DECLARE @r int; EXEC @r = dbo.pr; RETURN @r END",
		"CREATE SYNONYM dbo.other FOR dbo.plus",
	} {
		mustExec(t, db, text)
	}
	mustExec(t, db, "EXEC dbo.plus 1, 2")
	g.Expect(value(t, db, "DECLARE @r int; EXEC @r = dbo.plus 1, 2; SELECT @r")).To(BeEquivalentTo(3))
	g.Expect(value(t, db, "DECLARE @r int; EXECUTE @r = dbo.plus @b = 2, @a = 40; SELECT @r")).To(BeEquivalentTo(42))
	g.Expect(value(t, db, "DECLARE @r int; EXEC @r = dbo.plus 1; SELECT @r")).To(BeEquivalentTo(11))
	g.Expect(value(t, db, "DECLARE @r int; EXEC @r = dbo.plus 1, DEFAULT; SELECT @r")).To(BeEquivalentTo(11))
	g.Expect(value(t, db, "DECLARE @r varchar(5); EXEC @r = dbo.other 1; SELECT @r")).To(Equal("11"))
	g.Expect(value(t, db, "DECLARE @r varchar(10), @name sysname = N'dbo.named'; EXEC @r = @name 2; SELECT @r")).
		To(Equal("two"))
	g.Expect(value(t, db, "DECLARE @r int = 1; EXEC @r = dbo.strict NULL; SELECT @r")).To(BeNil())
	g.Expect(value(t, db, "SELECT dbo.twice(21)")).To(BeEquivalentTo(42))
	for text, number := range map[string]int32{
		"DECLARE @r int; EXEC @r = dbo.plus":             201,
		"DECLARE @r int; EXEC @r = dbo.plus 1, 2, 3":     8144,
		"DECLARE @r int; EXEC @r = dbo.plus @c = 1":      8145,
		"DECLARE @r int; EXEC @r = dbo.plus 1 OUTPUT":    179,
		"DECLARE @r int; EXEC @r = dbo.plus @r OUTPUT":   8162,
		"DECLARE @r int; EXEC @r = dbo.named 1":          245,
		"DECLARE @r int; EXEC @r = dbo.broken 1":         8134,
		"EXEC dbo.plus 'one'":                            8114,
		"SELECT dbo.outward()":                           557,
		"DECLARE @r int; EXEC @r = dbo.outward":          557,
		"EXEC @missing = dbo.plus 1":                     137,
		"DECLARE @r int; EXEC @r = dbo.nothing 1":        2812,
		"DECLARE @r table (a int); EXEC @r = dbo.plus 1": 137,
	} {
		g.Expect(failure(t, db, text).Number).To(Equal(number), text)
	}
	user := uniqueName("u")
	mustExec(t, db, "CREATE USER "+user+" WITHOUT LOGIN")
	g.Expect(failure(t, db, "EXECUTE AS USER = '"+user+"'; EXEC dbo.plus 1").Number).To(BeEquivalentTo(229))
}
