// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// TestColumnDefinitions goes by docs/t-sql/statements/create-table-transact-sql.md and alter-table-transact-sql.md,
// Syntax.
func TestColumnDefinitions(t *testing.T) {
	refusedWith(t, []fault{
		{"CREATE TABLE t (a int,\nb, c int)", 173, 2, "'b'"},
		{"CREATE TABLE t (a NOT NULL)", 173, 1, "'a'"},
		{"CREATE TABLE dbo.t (a int,\n fk FOREIGN KEY (a) REFERENCES u (a))", 173, 2, "'fk'"},
		{"CREATE TYPE tt AS TABLE (a PRIMARY KEY)", 173, 1, "'a'"},
		{"DECLARE @t TABLE ([a b] NULL)", 173, 1, "'a b'"},
		{"CREATE FUNCTION f () RETURNS @t TABLE (a, b int) AS BEGIN RETURN END", 173, 1, "'a'"},
		{"ALTER TABLE t ADD a int, b", 173, 1, "'b'"},
		{"ALTER TABLE t ADD b DEFAULT 0\nSELECT 1, 2", 173, 1, "'b'"},
		{"CREATE TABLE t (a varchar(10.))", 102, 1, "'10.'"},
		{"CREATE TABLE t (a THEN(10))", 156, 1, "'THEN'"},
		{"CREATE TABLE t (a int, CONSTRAINT fk, FOREIGN KEY (a) REFERENCES u (a))", 102, 1, "','"},
		{"ALTER TABLE t ADD CONSTRAINT fk", 102, 1, "'fk'"},
		{"ALTER TABLE t ALTER COLUMN\n(10) NOT NULL", 102, 2, "'('"},
		{"ALTER TABLE t ALTER COLUMN a", 102, 1, "'a'"},
		{"ALTER TABLE t ALTER COLUMN a NOT NULL", 156, 1, "'NOT'"},
		{"ALTER TABLE t ALTER COLUMN a decimal(FROM)", 156, 1, "'FROM'"},
	})
}

func TestWholeColumnDefinitions(t *testing.T) {
	for _, text := range []string{
		"CREATE TABLE t (a int, timestamp, b AS a + 1 PERSISTED, c dbo.ty, d double precision, e national char " +
			"varying(9), f [decimal] (9, 2), PRIMARY KEY (a))",
		"CREATE TABLE t (a int CONSTRAINT n NULL, type int, [order] xml (dbo.c), INDEX ix (a), CONSTRAINT q CHECK (a > 0),)",
		"ALTER TABLE t ADD CONSTRAINT d DEFAULT 0 FOR a, b int NULL DEFAULT (1) WITH VALUES SELECT a, b, c FROM t",
		"ALTER TABLE t ADD a int REFERENCES u (a) ON DELETE SET NULL ON UPDATE CASCADE, b varchar(max) INSERT t " +
			"VALUES (1, 'x')",
		"ALTER TABLE t ADD a int\nEXEC p @a = 1, @b = 2",
		"ALTER TABLE t ALTER COLUMN a ADD ROWGUIDCOL; ALTER TABLE t ALTER COLUMN b decimal(9, 2) NOT NULL",
		"ALTER TABLE t DROP CONSTRAINT a, b; ALTER TABLE t NOCHECK CONSTRAINT ALL",
		"CREATE TABLE t (a datetime2 GENERATED ALWAYS AS ROW START, b datetime2 GENERATED ALWAYS AS ROW END, c bigint " +
			"GENERATED ALWAYS AS TRANSACTION_ID END)",
		"DECLARE @t AS TABLE (a sysname, b varchar(10) COLLATE Latin1_General_BIN)",
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
	}
}
