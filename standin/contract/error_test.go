// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestErrors goes by docs/relational-databases/errors-events/database-engine-events-and-errors.md.
func TestErrors(t *testing.T) {
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE parent (id int PRIMARY KEY, code varchar(10) UNIQUE)")
	mustExec(
		t,
		db,
		"CREATE TABLE child (id int IDENTITY PRIMARY KEY, parent int NOT NULL REFERENCES parent (id), n int CHECK (n > 0))",
	)
	mustExec(t, db, "CREATE UNIQUE INDEX ix_child ON child (n)")
	mustExec(t, db, "INSERT parent VALUES (1, 'a')")
	mustExec(t, db, "INSERT child (parent, n) VALUES (1, 1)")
	for _, c := range []struct {
		text   string
		number int32
		class  uint8
		line   int32
	}{
		{"SELECT * FROM nowhere", 208, 16, 1},
		{"\n\nSELECT * FROM nowhere", 208, 16, 3},
		{"SELECT nothing FROM parent", 207, 16, 1},
		{"SELECT x.id FROM parent", 4104, 16, 1},
		{"SELECT * FRM parent x y", 102, 15, 1},
		{"SELECT 1\nSELECT FROM parent", 156, 15, 2},
		{"SELECT 'unclosed", 105, 15, 1},
		{"SELECT id FROM parent p JOIN child c ON c.parent = p.id", 209, 16, 1},
		{"INSERT parent VALUES (1, 'b')", 2627, 14, 1},
		{"INSERT parent VALUES (2, 'a')", 2627, 14, 1},
		{"INSERT child (parent, n) VALUES (1, 1)", 2601, 14, 1},
		{"INSERT child (parent, n) VALUES (99, 2)", 547, 16, 1},
		{"INSERT child (parent, n) VALUES (1, 0)", 547, 16, 1},
		{"DELETE parent", 547, 16, 1},
		{"INSERT child (n) VALUES (5)", 515, 16, 1},
		{"INSERT child (id, parent, n) VALUES (5, 1, 5)", 544, 16, 1},
		{"INSERT parent VALUES (1)", 213, 16, 1},
		{"INSERT parent (id, code) VALUES (1)", 109, 15, 1},
		{"INSERT parent (id) VALUES (1, 'x')", 110, 15, 1},
		{"CREATE TABLE parent (id int)", 2714, 16, 1},
		{"DROP TABLE nowhere", 3701, 11, 1},
		{"DROP TABLE parent", 3726, 16, 1},
		{"CREATE TABLE x (id nosuchtype)", 2715, 16, 1},
		{"EXEC nosuchprocedure", 2812, 16, 1},
		{"SELECT nosuchfunction(1)", 195, 15, 1},
		{"DECLARE @a int, @a int", 134, 15, 1},
		{"SELECT @nothing", 137, 15, 1},
		{"SELECT id, COUNT(*) FROM parent", 8120, 16, 1},
		{"USE nosuchdatabase", 911, 16, 1},
		{"CREATE DATABASE master", 1801, 16, 1},
		{"DROP DATABASE nosuchdatabase", 3701, 11, 1},
		{"SELECT (SELECT id FROM (VALUES (1), (2)) v (id))", 512, 16, 1},
		{"SELECT 1 UNION SELECT 1, 2", 205, 16, 1},
		{"RAISERROR (N'broken: %d of %s', 16, 3, 5, N'ten')", 50000, 16, 1},
		{"\nTHROW 51000, N'thrown', 9", 51000, 16, 2},
	} {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			e := failure(t, db, c.text)
			g.Expect(e.Number).To(Equal(c.number), e.Message)
			g.Expect(e.Class).To(Equal(c.class))
			g.Expect(e.LineNo).To(Equal(c.line))
			g.Expect(e.Message).NotTo(BeEmpty())
		})
	}
}

// TestErrorTextsNameWhatIsWrong goes by docs/relational-databases/errors-events/database-engine-events-and-errors.md.
func TestErrorTextsNameWhatIsWrong(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int CONSTRAINT pk_of_t PRIMARY KEY, n int NOT NULL)")
	mustExec(t, db, "INSERT t VALUES (7, 1)")
	e := failure(t, db, "INSERT t VALUES (7, 1)")
	g.Expect(e.Message).To(And(ContainSubstring("pk_of_t"), ContainSubstring("7"), ContainSubstring("dbo.t")))
	g.Expect(failure(t, db, "INSERT t VALUES (8, NULL)").Message).To(And(ContainSubstring("'n'"), ContainSubstring("t")))
	g.Expect(failure(t, db, "SELECT missing FROM t").Message).To(ContainSubstring("missing"))
	g.Expect(failure(t, db, "RAISERROR (N'broken: %d of %s', 16, 3, 5, N'ten')").Message).To(Equal("broken: 5 of ten"))
}

// TestNothingOfABatchThatDoesNotParseRuns is the difference between errors of a batch and of a statement.
// By docs/relational-databases/errors-events/database-engine-events-and-errors.md.
func TestNothingOfABatchThatDoesNotParseRuns(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int)")
	g.Expect(failure(t, db, "INSERT t VALUES (1); SELEC 1 FROM").Number).To(BeElementOf(int32(102), int32(156)))
	g.Expect(value(t, db, "SELECT COUNT(*) FROM t")).To(Equal(int64(0)))
	g.Expect(failure(t, db, "INSERT t VALUES (1); INSERT nowhere VALUES (1)").Number).To(Equal(int32(208)))
	g.Expect(value(t, db, "SELECT COUNT(*) FROM t")).To(Equal(int64(1)), "what ran before an error of a statement stays")
}

// TestTryCatch goes by docs/t-sql/language-elements/try-catch-transact-sql.md.
func TestTryCatch(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	got := query(t, db, `BEGIN TRY
	INSERT t VALUES (1)
	INSERT t VALUES (1)
	INSERT t VALUES (2)
END TRY
BEGIN CATCH
	SELECT ERROR_NUMBER(), ERROR_SEVERITY(), ERROR_LINE(), XACT_STATE()
END CATCH`)
	g.Expect(got).To(Equal([][]any{{int64(2627), int64(14), int64(3), int64(0)}}))
	g.Expect(value(t, db, "SELECT COUNT(*) FROM t")).To(Equal(int64(1)))
	e := failure(t, db, "BEGIN TRY\n INSERT t VALUES (1)\nEND TRY BEGIN CATCH\n THROW\nEND CATCH")
	g.Expect(e.Number).To(Equal(int32(2627)))
	g.Expect(e.LineNo).To(Equal(int32(2)), "a rethrown error keeps its line")
	g.Expect(value(t, db, "DECLARE @x int; BEGIN TRY SET @x = 1/0 END TRY BEGIN CATCH END CATCH; SELECT ERROR_NUMBER()")).
		To(BeNil())
	c := connection(t, db)
	_, err := tryQuery(c, "INSERT t VALUES (1)")
	g.Expect(err).To(HaveOccurred())
	g.Expect(value(t, c, "SELECT @@ERROR")).To(Equal(int64(2627)))
	g.Expect(value(t, c, "SELECT @@ERROR")).To(Equal(int64(0)))
	g.Expect(query(t, c,
		"DECLARE @e int; BEGIN TRY RAISERROR (N'x', 11, 1) END TRY BEGIN CATCH SET @e = ERROR_NUMBER() END CATCH; SELECT "+
			"@e, ERROR_MESSAGE()")).
		To(Equal([][]any{{int64(50000), nil}}))
}
