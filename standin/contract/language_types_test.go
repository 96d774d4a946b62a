// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// TestAliasTypes follows docs/t-sql/statements/create-type-transact-sql.md.
func TestAliasTypes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TYPE SSN FROM varchar(11) NOT NULL", "ok"},
		{"CREATE TYPE dbo.Price FROM decimal(9, 2)", "ok"},
		{"CREATE TYPE ssn FROM int", "!219/16"},
		{"CREATE TABLE person (id SSN, price dbo.Price)", "ok"},
		{"INSERT person VALUES ('123-45-6789', 1.239)", "ok"},
		{"INSERT person VALUES (NULL, 1)", "!515/16"},
		{"INSERT person VALUES ('123-45-67890', 1)", "!2628/16"},
		{"DECLARE @s SSN = '1', @p Price = 2.345; SELECT @s, @p", "1 2.35"},
		{"SELECT CAST('123456789012' AS SSN)", "12345678901"},
		{
			"SELECT name, TYPE_NAME(system_type_id), user_type_id, max_length, is_nullable, is_table_type FROM sys.types " +
				"WHERE is_user_defined = 1 ORDER BY name",
			"Price decimal 258 5 true false; SSN varchar 257 11 false false",
		},
		{
			"SELECT c.name, TYPE_NAME(c.user_type_id) FROM sys.columns AS c WHERE c.object_id = OBJECT_ID('person') ORDER BY " +
				"c.column_id",
			"id SSN; price Price",
		},
		{"SELECT TYPE_ID('SSN'), TYPE_ID('dbo.Price'), TYPE_ID('nothing')", "257 258 NULL"},
		{"SELECT COUNT(*) FROM sys.objects WHERE name LIKE '%SSN%'", "0"},
		{"DROP TYPE SSN", "!3732/16"},
		{"DROP TABLE person; DROP TYPE SSN", "ok"},
		{"DROP TYPE SSN", "!218/16"},
		{"DROP TYPE IF EXISTS SSN", "ok"},
		{"CREATE TABLE other (id SSN)", "!2715/16"},
	})
}

// TestTableTypes follows docs/relational-databases/tables/use-table-valued-parameters-database-engine.md.
func TestTableTypes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TYPE LocationTableType AS TABLE (LocationName varchar(50) NOT NULL PRIMARY KEY, CostRate int DEFAULT 5 " +
				"CHECK (CostRate >= 0), Twice AS CostRate * 2)",
			"ok",
		},
		{
			"DECLARE @l LocationTableType; INSERT @l (LocationName) VALUES ('a'); INSERT INTO @l VALUES ('b', 7); SELECT * " +
				"FROM @l ORDER BY 1",
			"a 5 10; b 7 14",
		},
		{"DECLARE @l AS dbo.LocationTableType; INSERT @l VALUES ('b', 7), ('B', 8)", "!2627/14"},
		{"DECLARE @l AS dbo.LocationTableType; INSERT @l VALUES ('b', -7)", "!547/16"},
		{"CREATE TABLE kept (name varchar(50), rate int)", "ok"},
		{`CREATE PROCEDURE keep @rows LocationTableType READONLY, @plus int = 0 AS
			SET NOCOUNT ON
			INSERT kept (name, rate) SELECT LocationName, CostRate + @plus FROM @rows`, "ok"},
		{
			"DECLARE @l LocationTableType; INSERT @l (LocationName) VALUES ('x'), ('y'); EXEC keep @l, 1; EXEC keep @rows = " +
				"@l; SELECT name, rate FROM kept ORDER BY 1, 2",
			"x 5; x 6; y 5; y 6",
		},
		{"EXEC keep; SELECT COUNT(*) FROM kept", "4"},
		{"EXEC keep 1", "!206/16"},
		{"CREATE PROCEDURE wrong @rows LocationTableType AS SELECT 1", "!352/15"},
		{"CREATE PROCEDURE wrong @rows int READONLY AS SELECT 1", "!346/15"},
		{"CREATE PROCEDURE changes @rows LocationTableType READONLY AS DELETE @rows", "ok"},
		{"DECLARE @l LocationTableType; EXEC changes @l", "!10700/16"},
		{
			"DECLARE @l LocationTableType; INSERT @l VALUES ('s', 1); EXEC sp_executesql N'SELECT LocationName FROM @t', " +
				"N'@t LocationTableType READONLY', @t = @l",
			"s",
		},
		{
			"SELECT t.name, t.is_table_type, c.name FROM sys.table_types t JOIN sys.columns c ON c.object_id = " +
				"t.type_table_object_id ORDER BY c.column_id",
			"LocationTableType true LocationName; LocationTableType true CostRate; LocationTableType true Twice",
		},
		{"SELECT type_desc, LEFT(name, 20) FROM sys.objects WHERE type = 'TT'", "TYPE_TABLE TT_LocationTableType"},
		{"DROP TYPE LocationTableType", "!3732/16"},
		{"CREATE TYPE wrong AS TABLE (a int, a int)", "!2705/16"},
		{"DROP PROCEDURE keep, changes; DROP TYPE dbo.LocationTableType", "ok"},
		{"DECLARE @l LocationTableType", "!2715/16"},
	})
}

// TestTableValuedParameters sends rows from a client ([MS-TDS] 2.2.5.5.5).
func TestTableValuedParameters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TYPE Lines AS TABLE (n int IDENTITY, name nvarchar(50), price decimal(9, 2), at datetime2 NULL, raw " +
				"varbinary(max))",
			"ok",
		},
		{
			"CREATE PROCEDURE total @lines dbo.Lines READONLY, @sum decimal(18, 2) OUTPUT AS SELECT @sum = SUM(price) " +
				"FROM @lines",
			"ok",
		},
	})
	type line struct {
		N     int64 `tvp:"@identity"`
		Name  string
		Price *float64
		At    *string
		Raw   []byte
	}
	price := 2.5
	rows := []line{{Name: "é𝄞", Price: &price, Raw: []byte{1, 2}}, {Name: ""}}
	var got string
	g.Expect(db.QueryRowContext(t.Context(),
		"SELECT STRING_AGG(CONCAT(n, '/', name, '/', price, '/', CONVERT(varchar(20), raw, 1)), ';') FROM @p1",
		mssql.TVP{TypeName: "dbo.Lines", Value: rows}).Scan(&got)).
		To(Succeed())
	g.Expect(got).To(Equal("1/é𝄞/2.50/0x0102;2///"))
	var n int
	g.Expect(db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM @p1",
		mssql.TVP{TypeName: "Lines", Value: []line{}}).Scan(&n)).
		To(Succeed())
	g.Expect(n).To(Equal(0))
	_, err := db.ExecContext(t.Context(), "SELECT COUNT(*) FROM @p1", mssql.TVP{TypeName: "Nothing", Value: rows})
	g.Expect(err).To(MatchError(ContainSubstring("Nothing")))
}

// A result of varchar and nvarchar is nvarchar, whose length is 4000 at most
// (docs/t-sql/data-types/data-type-precedence-transact-sql.md;
// docs/t-sql/data-types/nchar-and-nvarchar-transact-sql.md).
func TestVarCharBesideNVarChar(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"DECLARE @long varchar(8000) = REPLICATE('x', 8000); SELECT CASE WHEN 1 = 1 THEN @long ELSE N'y' END AS v, " +
				"COALESCE(@long, N'y') AS w, CAST(@long AS varchar(max)) AS m INTO kept",
			"ok",
		},
		{
			"SELECT name, TYPE_NAME(system_type_id), max_length FROM sys.columns WHERE object_id = OBJECT_ID('kept') ORDER " +
				"BY column_id",
			"v nvarchar 8000; w nvarchar 8000; m varchar -1",
		},
		{"SELECT LEN(v), LEN(w), LEN(m) FROM kept", "4000 4000 8000"},
		{
			"SELECT DATALENGTH(c) FROM (SELECT CAST(REPLICATE('x', 8000) AS varchar(8000)) AS c UNION ALL SELECT N'yy') AS " +
				"u ORDER BY 1",
			"4; 8000",
		},
		{
			"SELECT DATALENGTH(c) FROM (SELECT CAST(REPLICATE('x', 8000) AS varchar(max)) AS c UNION ALL SELECT N'yy') AS " +
				"u ORDER BY 1",
			"4; 16000",
		},
	})
}
