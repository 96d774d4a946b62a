// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestFaultsOfOperands goes by docs/t-sql/language-elements/add-transact-sql.md and its kin,
// docs/t-sql/queries/select-order-by-clause-transact-sql.md.
func TestFaultsOfOperands(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"DECLARE @i int = 1\nSELECT id FROM dbo.t ORDER BY @i", []int32{1008}},
		{"DECLARE @i int = 1\nSELECT id FROM dbo.t ORDER BY id, (@i + 1)", []int32{1008}},
		{"SELECT id FROM dbo.t ORDER BY NULL", []int32{408}},
		{"SELECT id FROM dbo.t ORDER BY 1 + 1", []int32{408}},
		{"SELECT NEWID() + NEWID()", []int32{8117}},
		{"SELECT x + x FROM dbo.u", []int32{8117}},
		{"SELECT CAST(1 AS bit) + CAST(1 AS bit)", []int32{8117}},
		{"SELECT 'a' * 'b'", []int32{8117}},
		{"SELECT 'a' - 'b'", []int32{8117}},
		{"SELECT GETDATE() * 2", []int32{8117}},
		{"SELECT CAST(v AS text) + 'b' FROM dbo.t", []int32{402}},
		{"SELECT CAST(v AS ntext) + CAST(v AS ntext) FROM dbo.t", []int32{8117}},
		{"DECLARE @p int = 5\nEXEC @p", []int32{8199}},
		{"DELETE dbo.t\nDECLARE @a text", []int32{2739}},
		{"DELETE dbo.t\nDECLARE @a int, @b image", []int32{2739}},
		{"DELETE dbo.t\nSELECT NEWSEQUENTIALID()", []int32{302}},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, "SELECT GETDATE() * 2")).
		To(Equal([]string{"Operand data type datetime is invalid for multiply operator."}))
	converse(t, connection(t, db), []say{
		{"DECLARE @i int = 1; SELECT id FROM dbo.t ORDER BY CASE WHEN @i = 1 THEN id END DESC", "2; 1"},
		{"DECLARE @i int = -1; SELECT id FROM dbo.t ORDER BY id * @i", "2; 1"},
		{"DECLARE @i int = 1; SELECT id, @i AS one FROM dbo.t ORDER BY 2, id + @i", "1 1; 2 1"},
		{"SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS a FROM dbo.t) q", "2"},
		{"SELECT id FROM dbo.t ORDER BY (SELECT NULL), id", "1; 2"},
		{"SELECT '3' + '4', '3' * 2, 7 - '3', CAST(1 AS bit) + 1, CAST(1 AS bit) | CAST(0 AS bit)", "34 6 4 2 true"},
		{"SELECT CAST(CAST('20200101' AS datetime) + 1 - 1 AS varchar(11))", "Jan  1 2020"},
		{"CREATE PROCEDURE dbo.large @a text, @b ntext = NULL, @c image = NULL AS SELECT DATALENGTH(@a)", "ok"},
		{"EXEC dbo.large 'abc'", "3"},
		{"DECLARE @v TABLE (a text); INSERT @v VALUES ('x'); SELECT CAST(a AS varchar(9)) FROM @v", "x"},
		{
			"CREATE TABLE dbo.guids (a uniqueidentifier DEFAULT NEWSEQUENTIALID(), b uniqueidentifier CONSTRAINT df_b " +
				"DEFAULT (newsequentialid()), c int)",
			"ok",
		},
		{"ALTER TABLE dbo.guids ADD d uniqueidentifier NOT NULL DEFAULT NEWSEQUENTIALID()", "ok"},
		{"INSERT dbo.guids (c) VALUES (1); INSERT dbo.guids (a, c) VALUES (DEFAULT, 2), (NULL, 3)", "ok"},
		{
			"SELECT COUNT(a), COUNT(DISTINCT b), COUNT(d), (SELECT COUNT(*) FROM dbo.guids WHERE a < b) FROM dbo.guids",
			"2 3 3 2",
		},
	})
}

// TestFaultsOfKeys goes by docs/t-sql/statements/create-table-transact-sql.md, create-index-transact-sql.md and
// docs/relational-databases/tables/primary-and-foreign-key-constraints.md.
func TestFaultsOfKeys(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	for _, text := range []string{
		"CREATE TABLE dbo.p (a varchar(10) NOT NULL PRIMARY KEY, b varchar(10) COLLATE Greek_CI_AS NOT NULL UNIQUE)",
		"CREATE TABLE dbo.i (a int IDENTITY, b int)",
		"CREATE VIEW dbo.bound WITH SCHEMABINDING AS SELECT id FROM dbo.t",
	} {
		mustExec(t, db, text)
	}
	faults(t, db, []fault{
		{"CREATE TABLE dbo.x (a varchar(20) REFERENCES dbo.p (a))", []int32{1753, 1750}},
		{"CREATE TABLE dbo.x (a varchar(10) COLLATE Latin1_General_BIN2 REFERENCES dbo.p (b))", []int32{1757, 1750}},
		{"CREATE TABLE dbo.x (a int UNIQUE UNIQUE)", []int32{8148}},
		{"CREATE TABLE dbo.x (a int REFERENCES dbo.t (id) REFERENCES dbo.u (id))", []int32{8148}},
		{"CREATE TABLE dbo.x (a int PRIMARY KEY, PRIMARY KEY (a))", []int32{8110}},
		{"ALTER TABLE dbo.t ADD CONSTRAINT pk_other PRIMARY KEY (n)", []int32{1779, 1750}},
		{"CREATE TABLE dbo.x (a int, b AS SUM(a))", []int32{175}},
		{"CREATE TABLE dbo.x (a int CHECK (SUM(a) > 1))", []int32{175}},
		{"CREATE TABLE dbo.x (a int, b AS ROW_NUMBER() OVER (ORDER BY a))", []int32{4108}},
		{"CREATE TABLE dbo.x (a char(1701)); CREATE INDEX i ON dbo.x (a)", []int32{1944}},
		{"CREATE TABLE dbo.y (a char(901)); CREATE CLUSTERED INDEX i ON dbo.y (a)", []int32{1944}},
		{"CREATE INDEX x ON dbo.vw (id)", []int32{1939}},
		{"CREATE INDEX x ON dbo.bound (id)", []int32{1940}},
		{"CREATE INDEX x ON dbo.pr (id)", []int32{1914}},
		{"DECLARE @t TABLE (a int IDENTITY, b int)\nINSERT @t (a, b) VALUES (1, 1)", []int32{1077}},
		{"SET IDENTITY_INSERT dbo.i ON\nINSERT dbo.i (a, b) VALUES (NULL, 1)", []int32{339}},
	})
	converse(t, connection(t, db), []say{
		{
			"CREATE TABLE dbo.k (a varchar(10) REFERENCES dbo.p (a), b varchar(10) COLLATE Greek_CI_AS REFERENCES dbo.p (b), " +
				"c int UNIQUE REFERENCES dbo.t (id), d int CHECK (d > 0) CHECK (d < 9))",
			"ok",
		},
		{"CREATE TABLE dbo.l (a int PRIMARY KEY REFERENCES dbo.t (id), b char(1700), c varchar(2000), d AS ABS(a))", "ok"},
		{"CREATE INDEX l_b ON dbo.l (b); CREATE INDEX l_c ON dbo.l (c) INCLUDE (b)", "ok"},
		{"DECLARE @t TABLE (a int IDENTITY, b int); INSERT @t (b) VALUES (1); SELECT a FROM @t", "1"},
		{"SET IDENTITY_INSERT dbo.i ON; INSERT dbo.i (a, b) VALUES (7, NULL); SELECT a FROM dbo.i", "7"},
	})
}
