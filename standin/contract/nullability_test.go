// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// nullability has expressions over the tables of TestNullability: what the server says of them, and whether a row has
// NULL there. A column that is never NULL is sent in its fixed form ([MS-TDS] 2.2.5.4.1).
var nullability = []struct {
	from, expression string
	nullable         bool
}{
	// Columns as they are declared, constants, @@ variables and ISNULL
	// (docs/t-sql/statements/create-table-transact-sql.md, computed columns).
	{"a", "a.id", false},
	{"a", "a.n", true},
	{"a", "1", false},
	{"a", "-1.5e0", false},
	{"a", "$2.5", false},
	{"a", "NULL", true},
	{"a", "@@ROWCOUNT", false},
	{"a", "@@SPID", false},
	{"a", "@@IDENTITY", true},
	{"a", "ISNULL(a.n, 0)", false},
	{"a", "ISNULL(a.n, a.n)", true},
	{"a", "ISNULL(NULL, 1)", false},
	{"a", "a.never", false},
	{"a", "a.perhaps", true},
	// The result of most expressions may be NULL, and that of every function and conversion.
	{"a", "a.id + 1", true},
	{"a", "-a.id", true},
	{"a", "1 + 1", true},
	{"a", "CAST(0 AS bit)", true},
	{"a", "CONVERT(bigint, a.id)", true},
	{"a", "ABS(a.id)", true},
	{"a", "NEWID()", true},
	// These are not, as the public project SqlServerSimulator measured of SQL Server 2025.
	{"a", "~a.id", false},
	{"a", "a.id & 3", false},
	{"a", "a.id | a.n", true},
	{"a", "'a' + CAST(a.id AS varchar(10))", true},
	{"a", "GETDATE()", false},
	{"a", "CURRENT_TIMESTAMP", false},
	// docs/t-sql/language-elements/coalesce-transact-sql.md: COALESCE is taken to be NULL, ISNULL is not.
	{"a", "COALESCE(a.n, 1)", true},
	{"a", "COALESCE(a.id, 1)", true},
	// CASE is NULL without ELSE, and where one of its results may be.
	{"a", "CASE WHEN a.n > 0 THEN 1 ELSE 0 END", false},
	{"a", "CASE WHEN a.n > 0 THEN 1 END", true},
	{"a", "CASE WHEN a.n > 0 THEN a.n ELSE 0 END", true},
	{"a", "IIF(a.n IS NULL, a.id, 7)", false},
	{"a", "CASE WHEN a.n > 0 THEN 1.5 ELSE a.id END", true},
	{"a", "NULLIF(a.id, 1)", true},
	{"a", "(SELECT 1)", true},
	{"a", "(SELECT id FROM b WHERE b.id = 99)", true},
	{"a GROUP BY a.id", "COUNT(*)", true},
	{"a GROUP BY a.id", "a.id", false},
	{"a GROUP BY ROLLUP (a.id)", "a.id", true},
	{"a GROUP BY a.id", "MAX(a.id)", true},
	{"a", "LAG(a.id) OVER (ORDER BY a.id)", true},
	{"a", "ROW_NUMBER() OVER (ORDER BY a.id)", true},
	// The side of an outer join that may have no row.
	{"a JOIN b ON b.id = a.id", "b.id", false},
	{"a LEFT JOIN b ON b.id = a.id", "a.id", false},
	{"a LEFT JOIN b ON b.id = a.id", "b.id", true},
	{"a LEFT JOIN b ON b.id = a.id", "b.never", true},
	{"a LEFT JOIN b ON b.id = a.id", "ISNULL(b.id, 0)", false},
	{"a RIGHT JOIN b ON b.id = a.id", "a.id", true},
	{"a FULL JOIN b ON b.id = a.id", "b.id", true},
	{"a, b RIGHT JOIN c ON c.id = b.id", "a.id", false},
	{"a LEFT JOIN (SELECT 1 AS one, id FROM b) AS d ON d.id = a.id", "d.one", true},
	{"a LEFT JOIN (b JOIN c ON c.id = b.id) ON b.id = a.id", "c.id", true},
	{"a OUTER APPLY (SELECT b.id, 1 AS one FROM b WHERE b.id = a.id) AS d", "d.one", true},
	{"a CROSS APPLY (SELECT b.id FROM b WHERE b.id <> a.id) AS d", "d.id", false},
	{"a OUTER APPLY (SELECT b.id FROM b WHERE b.id = a.id GROUP BY b.id) AS d", "d.id", true},
	{"a CROSS APPLY (SELECT b.id FROM b WHERE b.id <> a.id UNION SELECT a.id) AS d", "d.id", false},
	{"a OUTER APPLY (SELECT DISTINCT a.id AS given WHERE a.id > 1) AS d", "d.given", true},
	{"v", "v.id", false},
	{"v", "v.other", true},
	{"v", "v.one", false},
	{"dbo.f(1) AS f", "f.id", false},
	{"dbo.f(1) AS f", "f.given", true},
	{"(SELECT id FROM a UNION ALL SELECT 2) AS u", "u.id", false},
	{"(SELECT id FROM a UNION ALL SELECT n FROM a) AS u", "u.id", true},
	{"(SELECT id FROM a UNION SELECT NULL) AS u", "u.id", true},
	{"(SELECT id FROM a UNION SELECT 1.5) AS u", "u.id", false},
	{"(SELECT id FROM a UNION SELECT b FROM c) AS u", "u.id", false},
	{"(VALUES (1), (2)) AS u (id)", "u.id", false},
	{"(VALUES (1), (NULL)) AS u (id)", "u.id", true},
}

// TestNullability: docs/relational-databases/system-stored-procedures/sp-describe-first-result-set-transact-sql.md
// (is_nullable) and docs/t-sql/queries/select-into-clause-transact-sql.md, by which a new table's columns are nullable
// as the expressions are.
func TestNullability(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	for _, text := range []string{
		"CREATE TABLE a (id int NOT NULL PRIMARY KEY, n int NULL, never AS ISNULL(n, 0), perhaps AS id * 2)",
		"CREATE TABLE b (id int NOT NULL, never AS ISNULL(id, 0)); CREATE TABLE c (id int NOT NULL, b bigint NOT NULL)",
		"INSERT a VALUES (1, 5), (2, NULL), (3, 7); INSERT b VALUES (1), (4); INSERT c VALUES (4, 40)",
		"CREATE VIEW v AS SELECT a.id, b.id AS other, 1 AS one FROM a LEFT JOIN b ON b.id = a.id",
		"CREATE FUNCTION f (@x int) RETURNS TABLE AS RETURN SELECT id, @x AS given FROM a",
	} {
		mustExec(t, db, text)
	}
	for _, tc := range nullability {
		text := "SELECT " + tc.expression + " AS x FROM " + tc.from
		g.Expect(query(t, db, "SELECT is_nullable FROM sys.dm_exec_describe_first_result_set(@p1, NULL, 0)", text)).
			To(Equal([][]any{{tc.nullable}}), text)
		rows, err := db.QueryContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		columns, err := rows.ColumnTypes()
		g.Expect(err).NotTo(HaveOccurred(), text)
		nullable, known := columns[0].Nullable()
		g.Expect([]bool{nullable, known}).To(Equal([]bool{tc.nullable, true}), text)
		for rows.Next() {
			var value any
			g.Expect(rows.Scan(&value)).To(Succeed(), text)
			g.Expect(value != nil || tc.nullable).To(BeTrue(), text)
		}
		g.Expect(rows.Err()).NotTo(HaveOccurred(), text)
		mustExec(t, db, "SELECT x INTO made FROM ("+text+") AS q")
		g.Expect(query(t, db, "SELECT is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('made')")).
			To(Equal([][]any{{tc.nullable}}), text)
		mustExec(t, db, "DROP TABLE made")
	}
	g.Expect(query(t, db, "SELECT is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('v') ORDER BY column_id")).
		To(Equal([][]any{{false}, {true}, {false}}))
	g.Expect(query(t, db,
		"SELECT IS_NULLABLE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'v' ORDER BY ORDINAL_POSITION")).
		To(Equal([][]any{{"NO"}, {"YES"}, {"NO"}}))
	g.Expect(query(t, db,
		"SELECT COLUMNPROPERTY(OBJECT_ID('a'), 'never', 'AllowsNull'), COLUMNPROPERTY(OBJECT_ID('a'), 'perhaps', "+
			"'AllowsNull')")).
		To(Equal([][]any{{int64(0), int64(1)}}))
}

// TestGroupsOfAllRows: a group need not be looked at to be one (docs/t-sql/queries/select-group-by-transact-sql.md,
// ROLLUP and the empty group; docs/t-sql/queries/select-having-transact-sql.md, HAVING without GROUP BY).
func TestGroupsOfAllRows(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (id int NOT NULL, s varchar(5)); INSERT t VALUES (1, 'a'), (2, 'b')", "ok"},
		{"SELECT id FROM t GROUP BY ROLLUP (id) ORDER BY id", "NULL; 1; 2"},
		{"SELECT s, 'x' FROM t GROUP BY GROUPING SETS ((s), ()) HAVING COUNT(*) > 1", "NULL x"},
		{"SELECT 'many' FROM t HAVING COUNT(*) > 1", "many"},
		{"SELECT 'many' FROM t HAVING COUNT(*) > 2", ""},
	})
}

// TestRowsThatThereAreNot: an inserted row was nothing before, a deleted one is nothing after
// (docs/t-sql/queries/output-clause-transact-sql.md), and the other side of an outer join is nothing at all, what is
// computed of it included.
func TestRowsThatThereAreNot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	mustExec(t, db, "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL); INSERT t VALUES (1, 10), (2, 20)")
	g.Expect(query(t, db, `MERGE t USING (VALUES (2, 22), (3, 33)) AS s (id, v) ON s.id = t.id WHEN MATCHED THEN UPDATE SET v = s.v
		WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v) WHEN NOT MATCHED BY SOURCE THEN DELETE OUTPUT $action, deleted.id, inserted.v;`)).
		To(ConsistOf([]any{"DELETE", int64(1), nil}, []any{"UPDATE", int64(2), int64(22)}, []any{"INSERT", nil, int64(33)}))
	mustExec(t, db, "CREATE TABLE u (id int NOT NULL, always AS ISNULL(id, 0), five AS 5); INSERT u VALUES (2)")
	g.Expect(query(t, db, "SELECT t.id, u.always, u.five FROM t LEFT JOIN u ON u.id = t.id ORDER BY 1")).
		To(Equal([][]any{{int64(2), int64(2), int64(5)}, {int64(3), nil, nil}}))
	g.Expect(query(t, db, "SELECT t.id, u.five FROM u RIGHT JOIN t ON u.five = 5 AND u.id = t.id ORDER BY 1")).
		To(Equal([][]any{{int64(2), int64(5)}, {int64(3), nil}}))
}
