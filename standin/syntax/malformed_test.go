// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/standin/syntax"
)

// A statement that lacks a word, or has one that is not known, is refused where the reading of it ends.
func TestHalvesOfStatements(t *testing.T) {
	for _, c := range []struct {
		text   string
		number int32
		state  uint8
		line   int32
		near   string
	}{
		{"DECLARE rows CURSOR\nSELECT 1", 156, 1, 2, "'SELECT'"},
		{"DECLARE rows CURSOR", 156, 1, 1, "'CURSOR'"},
		{"DECLARE rows int", 155, 2, 1, "'int' is not a recognized CURSOR option."},
		{"DECLARE rows SLOW CURSOR FOR SELECT 1", 155, 2, 1, "'SLOW'"},
		{"SELECT 1\nSET NOTHING ON", 195, 5, 2, "'NOTHING' is not a recognized SET option."},
		{"SELECT TOP a FROM t", 102, 1, 1, "'a'"},
		{"SELECT 1\nEXEC p @a =", 102, 1, 2, "'='"},
		{"EXEC p @a = , @b = 1", 102, 1, 1, "','"},
		{"EXEC p @a = ;", 102, 1, 1, "';'"},
		{"DROP MASTER", 102, 1, 1, "'MASTER'"},
		{"OPEN", 156, 1, 1, "'OPEN'"},
		{"SELECT 1; DEALLOCATE;", 156, 1, 1, "'DEALLOCATE'"},
		{"CREATE TYPE", 102, 1, 1, "'TYPE'"},
		{"CREATE SCHEMA", 156, 1, 1, "'SCHEMA'"},
		{"CREATE SEQUENCE s START 1", 102, 1, 1, "'1'"},
		{"CREATE SEQUENCE s AS bigint START WITH 5 INCREMENT 2", 102, 1, 1, "'2'"},
		{"CREATE PROCEDURE p @a int\nSELECT @a", 156, 1, 2, "'SELECT'"},
		{"CREATE OR ALTER PROC p @a AS int BEGIN SELECT 1 END", 156, 1, 1, "'BEGIN'"},
		{"UPDATE SET a = 1", 156, 1, 1, "'SET'"},
		{"UPDATE t SET WHERE a = 1", 156, 1, 1, "'WHERE'"},
		{"INSERT INTO VALUES (1)", 156, 1, 1, "'VALUES'"},
		{"CREATE TABLE (a int)", 102, 1, 1, "'('"},
		{"CREATE INDEX i t (a)", 102, 1, 1, "'t'"},
		{"SELECT * INTO FROM t", 156, 1, 1, "'FROM'"},
		{"SELECT * FROM a INNER b ON 1 = 1", 102, 1, 1, "'b'"},
		{"ALTER TABLE t ALTER a int", 102, 1, 1, "'a'"},
		{"CREATE PROCEDURE AS SELECT 1", 156, 1, 1, "'AS'"},
		{"CREATE PARTITION FUNCTION f (int) RANGE LEFT FOR VALUES (1)", 102, 1, 1, "'RANGE'"},
		{"CREATE PARTITION FUNCTION f (int) AS\nRANGE MIDDLE FOR VALUES (1)", 102, 1, 2, "'MIDDLE'"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1 2)", 102, 1, 1, "'2'"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1,)", 102, 1, 1, "')'"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1) nonsense", 102, 1, 1, "'nonsense'"},
		{"CREATE PARTITION SCHEME s PARTITION f ALL TO (a)", 102, 1, 1, "'PARTITION'"},
		{"CREATE PARTITION SCHEME s AS PARTITION f TO (a b)", 102, 1, 1, "'b'"},
		{"CREATE PARTITION SCHEME s AS PARTITION f TO ()", 102, 1, 1, "')'"},
		{"ALTER PARTITION FUNCTION f SPLIT RANGE (1)", 102, 1, 1, "'SPLIT'"},
		{"ALTER PARTITION FUNCTION f() SPLIT RANGE (1, 2)", 102, 1, 1, "','"},
		{"ALTER PARTITION FUNCTION f()\nHALVE RANGE (1)", 102, 1, 2, "'HALVE'"},
		{"ALTER PARTITION SCHEME s NEXT a", 102, 1, 1, "'a'"},
		{"DROP PARTITION FUNCTION IF EXISTS f", 156, 1, 1, "'IF'"},
		{"TRUNCATE TABLE t WITH (PARTITIONS ())", 102, 1, 1, "')'"},
		{"TRUNCATE TABLE t WITH (PARTITIONS (1\n2))", 102, 1, 2, "'2'"},
		{"CREATE INDEX i ON t (a)\nWITH (ONLINE = MAYBE)", 102, 1, 2, "'MAYBE'"},
		{"CREATE INDEX i ON t (a) WITH (PAD_INDEX = ON, PAD_INDEX = ON)", 1039, 1, 1, "'PAD_INDEX'"},
		{"ALTER INDEX i ON t SET\n(NOSUCH = ON)", 155, 1, 2, "'NOSUCH'"},
	} {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := syntax.Parse(c.text)
			g.Expect(err).NotTo(BeNil())
			g.Expect(err.Number).To(Equal(c.number), err.Message)
			g.Expect(err.State).To(Equal(c.state), err.Message)
			g.Expect(err.Line).To(Equal(c.line), err.Message)
			g.Expect(err.Message).To(ContainSubstring(c.near))
		})
	}
}

// What looks like half of a statement but is a whole one.
func TestWholeStatements(t *testing.T) {
	for _, text := range []string{
		"DECLARE rows INSENSITIVE SCROLL CURSOR FOR SELECT 1", "DECLARE [rows] CURSOR LOCAL FAST_FORWARD FOR SELECT 1", "DECLARE @c CURSOR",
		"DECLARE @c CURSOR; SET @c = CURSOR FORWARD_ONLY STATIC FOR SELECT 1; OPEN @c; FETCH @c; CLOSE @c; DEALLOCATE @c",
		"CREATE TABLE t (a int REFERENCES u (a) ON DELETE SET NULL ON UPDATE SET DEFAULT, b int REFERENCES u (a) ON UPDATE SET DEFAULT ON DELETE SET NULL)",
		"CREATE PROCEDURE p @a AS int = 1, @b AS varchar(9) OUTPUT WITH RECOMPILE, EXECUTE AS OWNER AS SELECT @a",
		"CREATE SEQUENCE s AS int START WITH 1 INCREMENT BY 1 NO CYCLE SELECT 1 AS START",
		"SET IDENTITY_INSERT t ON", "SET ANSI_NULLS, QUOTED_IDENTIFIER ON", "SELECT TOP (@n) a FROM t", "SELECT TOP 5 PERCENT a FROM t",
		"SELECT a FROM t ORDER BY a OFFSET @first - 1 ROWS FETCH NEXT @last - @first + 1 ROWS ONLY OPTION (OPTIMIZE FOR (@first = 1, @last = 20))",
		"SELECT offset, COALESCE(a, b) FROM t ORDER BY offset OFFSET (SELECT 1) ROWS FETCH FIRST 1 ROW ONLY; DECLARE @t TABLE (a int PRIMARY KEY, UNIQUE (a))",
		"SELECT IDENTITY(int, 1, 1) AS a INTO b FROM t; SET IDENTITY_INSERT d.s.t OFF; SET IDENTITY_INSERT d..t ON; SAVE TRAN a; DELETE TOP (1) t; IF 1 = 1 CREATE TABLE x (a int)",
		"CREATE TABLE t (a int)\nMERGE t WITH (HOLDLOCK) USING u ON t.a = u.a WHEN MATCHED THEN DELETE;\nCREATE TABLE v (a int)\nTRUNCATE TABLE t WITH (PARTITIONS (1))",
		"/* one /* two */ still one */ SELECT 1 /**/", "SELECT 1 -- no /* comment\n/* a\n/* b\n*/\n*/ SELECT '/*', 2 /* '/* */ */",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := syntax.Parse(text)
			g.Expect(err).To(BeNil())
		})
	}
}
