// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax"
)

func TestWordsThatAreNotReservedAreNames(t *testing.T) {
	for _, word := range []string{"type", "login", "password", "message", "work", "match", "language"} {
		for _, text := range []string{"SELECT " + word + " FROM x WHERE " + word + " = 1 AND a." + word +
			" IN (2) ORDER BY " + word,
			"INSERT INTO x (" + word + ") VALUES (1)", "UPDATE x SET " + word + " = 1", "CREATE TABLE t (" + word + " int)"} {
			_, err := syntax.Parse(text)
			NewWithT(t).Expect(err).To(BeNil(), text)
		}
	}
	for _, word := range []string{"query", "language", "stats", "job"} {
		_, err := syntax.Parse("SELECT " + word + " = a.text, b, " + word + " = 1 FROM x AS a")
		NewWithT(t).Expect(err).To(BeNil(), word)
	}
	for _, text := range []string{"INSERT INTO x (time, a) VALUES (1, 2)", "DECLARE @t time, @d date",
		"SELECT CAST(a AS time)", "CREATE TYPE t FROM int", "DROP TYPE t", "COMMIT WORK", "ROLLBACK WORK",
		"SET LANGUAGE British", "SET LANGUAGE @l", "SET LANGUAGE [Français]", "SELECT @@LANGUAGE, language FROM x"} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
	}
}

func TestPositionsAfterBracketsAreThoseOfTheBatch(t *testing.T) {
	g := NewWithT(t)
	batch, err := syntax.Parse("SELECT type FROM é;\nSELECT .5, login FROM x\nEXEC p")
	g.Expect(err).To(BeNil())
	g.Expect(batch.Statements).To(HaveLen(3))
	g.Expect(batch.Statements[0].Text).To(Equal("SELECT type FROM é"))
	g.Expect(batch.Statements[1].Text).To(Equal("SELECT .5, login FROM x"))
	g.Expect(batch.Statements[2].Line).To(Equal(int32(3)))
}

// The statement before THROW ends with a semicolon, without which the word is a name of that statement's
// (docs/t-sql/language-elements/throw-transact-sql.md, Remarks); conditions and blocks are no statements before it.
func TestTHROWBehindWhatHasNoSemicolon(t *testing.T) {
	for text, want := range map[string]int32{
		"SELECT 1 THROW": 0, "SELECT a FROM t THROW": 0, "SELECT a FROM t AS u THROW": 102,
		"SELECT a FROM t THROW 50000, 'x', 1": 102, "PRINT 'x' THROW": 102,
		"SET @x = 1 THROW": 102, "DECLARE @x int = 1 THROW": 102, "UPDATE t SET a = 2 THROW": 102,
		"IF 1 = 1 THROW 50000, 'x', 1": 0, "IF 1 = 1 THROW": 0,
		"IF EXISTS (SELECT 1) THROW 50000, 'x', 1": 0, "WHILE @a > 0 THROW 50000, 'x', 1": 0,
		"IF UPDATE(a) THROW 50000, 'x', 1": 0, "IF 1 = 1 SELECT 1 ELSE THROW": 0,
		"IF CASE WHEN 1 = 1 THEN (1) ELSE 2 END = 1 THROW 50000, 'x', 1": 0,
		"IF 1 = CASE 1 WHEN 1 THEN 1 ELSE 2 END THROW 50000, 'x', 1":     0,
		"IF 1 = 1 SET @a = 1 THROW":                                      102, "BEGIN SELECT 1 END THROW": 0,
		"BEGIN TRY SELECT 1 END TRY BEGIN CATCH PRINT 'x' THROW END CATCH": 102,
	} {
		_, err := syntax.Parse(text)
		switch {
		case want == 0 && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != 0 && (err == nil || err.Number != want):
			t.Errorf("%s: wants %d, has %v", text, want, err)
		}
	}
	g := NewWithT(t)
	batch, err := syntax.Parse("SELECT a FROM t THROW; THROW")
	g.Expect(err).To(BeNil())
	g.Expect(batch.Statements).To(HaveLen(2))
}

func TestThrowMayEndABlock(t *testing.T) {
	g := NewWithT(t)
	batch, err := syntax.Parse("BEGIN TRY\n SELECT 1\nEND TRY BEGIN CATCH\n THROW\nEND CATCH")
	g.Expect(err).To(BeNil())
	catch := batch.Statements[0].Node.(*ast.TryCatchStatement).CatchStatements.Statements
	g.Expect(catch).To(HaveLen(1))
	g.Expect(catch[0]).To(BeAssignableToTypeOf(&ast.ThrowStatement{}))
}
