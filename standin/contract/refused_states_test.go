// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// States tell apart the places that raise one number; clients that know them go by the place.
func TestStatesTellThePlaceOfAnError(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	for _, c := range []struct {
		text   string
		number int32
		state  uint8
		says   string
	}{
		{"DECLARE @a int, @b nothing", 2715, 3, "#2:"},
		{"CREATE TABLE dbo.x (a int, b nothing)", 2715, 6, "#2:"},
		{"ALTER TABLE dbo.t ADD n int", 2705, 4, "'n'"},
		{"CREATE TABLE dbo.x (a int, a int)", 2705, 3, "'a'"},
		{"SELECT nothing(1)", 195, 10, "'nothing'"},
		{"SELECT dbo.fn()", 313, 2, "dbo.fn"},
		{"SELECT dbo.fn(1, 2)", 8144, 2, "dbo.fn"},
		{"SELECT * FROM dbo.tf()", 313, 3, "tf"},
		{"SELECT * FROM dbo.tf(1, 2)", 8144, 3, "tf"},
		{"SELECT CAST(300 AS tinyint)", 220, 2, "tinyint"},
		{"SELECT CAST(40000 AS smallint)", 220, 1, "smallint"},
		{"SAVE TRANSACTION s", 628, 0, "SAVE"},
		{"SELECT * FROM dbo.t JOIN dbo.t ON t.id = t.id", 1013, 1, "dbo.t"},
		{"SELECT 1 FROM dbo.t q JOIN dbo.u q ON q.id = q.id", 1011, 1, "'q'"},
		{"SELECT CAST(1, int)", 1035, 10, "'CAST'"},
		{"SELECT $nothing FROM dbo.t", 126, 1, "$nothing"},
		{"EXEC dbo.pr @a = 1 + 1", 102, 1, "'+'"},
		{"CREATE SYNONYM dbo.s", 102, 1, "'s'"},
		{"DELETE dbo.t WHERE COUNT(*) > 1", 147, 1, "WHERE"},
		{"UPDATE dbo.t SET n = 1 WHERE MAX(n) > 1", 147, 1, "WHERE"},
		{"WITH c AS (SELECT id, id FROM dbo.t) SELECT * FROM c", 8156, 1, "'id'"},
		{"PRINT (SELECT 1)", 1046, 1, "Subqueries"},
		{"CREATE TABLE dbo.x (a int CHECK (a IN (SELECT 1)))", 1046, 1, "Subqueries"},
		{"ALTER TABLE dbo.t ADD CHECK (n IN (SELECT id FROM dbo.u))", 1046, 1, "Subqueries"},
		{"SELECT CAST('12:00:00.12345678' AS time)", 241, 1, "Conversion failed"},
		{"DECLARE @a datetime2 = '2020-01-01T12:00:00.12345678'", 241, 1, "Conversion failed"},
	} {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			e := failure(t, db, c.text)
			g.Expect(e.Number).To(Equal(c.number), e.Message)
			g.Expect(e.State).To(Equal(c.state))
			g.Expect(e.Message).To(ContainSubstring(c.says))
		})
	}
}
