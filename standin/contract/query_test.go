// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"

	. "github.com/onsi/gomega"
)

// shop makes a database with customers and orders.
func shop(t *testing.T) *sql.DB {
	t.Helper()
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE customer (id int PRIMARY KEY, name nvarchar(40) NOT NULL, city nvarchar(40) NULL)")
	mustExec(
		t,
		db,
		"CREATE TABLE orders (id int IDENTITY(100, 10) PRIMARY KEY, customer int NOT NULL, amount decimal(10,2) NOT NULL "+
			"DEFAULT 1.5, placed datetime2(0) NOT NULL DEFAULT '2026-01-01')",
	)
	mustExec(t, db, "INSERT INTO customer VALUES (1, N'Ann', N'Oslo'), (2, N'Bob', NULL), (3, N'Cid', N'oslo')")
	mustExec(t, db, "INSERT INTO orders (customer, amount) VALUES (1, 10), (1, 20.25), (3, 5)")
	return db
}

// TestQueries goes by docs/t-sql/queries/select-transact-sql.md.
func TestQueries(t *testing.T) {
	db := shop(t)
	one, two, three := int64(1), int64(2), int64(3)
	for text, want := range map[string][][]any{
		"SELECT c.name, o.amount FROM customer c JOIN orders o ON o.customer = c.id ORDER BY o.id": {{"Ann", "10.00"},
			{"Ann", "20.25"}, {"Cid", "5.00"}},
		"SELECT c.id, COUNT(o.id) FROM customer c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id " +
			"ORDER BY c.id": {{one, two}, {two, int64(0)}, {three, one}},
		"SELECT SUM(amount), AVG(amount), MIN(amount), MAX(amount), COUNT(DISTINCT customer) FROM orders": {{"35.25",
			"11.750000", "5.00", "20.25", two}},
		"SELECT customer, SUM(amount) FROM orders GROUP BY customer HAVING SUM(amount) > 10":            {{one, "30.25"}},
		"SELECT TOP (2) id FROM customer ORDER BY id DESC":                                              {{three}, {two}},
		"SELECT TOP 1 WITH TIES customer FROM orders ORDER BY customer":                                 {{one}, {one}},
		"SELECT id FROM customer ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY":                      {{two}},
		"SELECT name FROM customer WHERE city = N'OSLO' ORDER BY id":                                    {{"Ann"}, {"Cid"}},
		"SELECT name FROM customer WHERE city IS NULL":                                                  {{"Bob"}},
		"SELECT name FROM customer WHERE name LIKE N'[A-B]%' AND id IN (SELECT customer FROM orders)":   {{"Ann"}},
		"SELECT name FROM customer c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.customer = c.id)": {{"Bob"}},
		"SELECT CASE WHEN city IS NULL THEN 'none' ELSE UPPER(city) END FROM customer ORDER BY id": {{"OSLO"},
			{"none"}, {"OSLO"}},
		"WITH totals AS (SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer) SELECT total FROM totals " +
			"WHERE customer = 3": {{"5.00"}},
		"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n":  {{one}, {two}, {three}},
		"SELECT id FROM customer WHERE id = 1 UNION SELECT 3 EXCEPT SELECT 3":                  {{one}},
		"SELECT DISTINCT customer FROM orders ORDER BY customer":                               {{one}, {three}},
		"SELECT v.a FROM (VALUES (1, N'x'), (2, N'y')) AS v (a, b) WHERE v.b = N'y'":           {{two}},
		"SELECT ROW_NUMBER() OVER (PARTITION BY customer ORDER BY id) FROM orders ORDER BY id": {{one}, {two}, {one}},
		"SELECT 7 / 2, 7 % 2, 7 / 2.0, -7 / 2": {{three, one, "3.500000",
			int64(-3)}},
		"SELECT N'a' + N'b', LEN(N'ab  '), DATALENGTH(N'ab'), SUBSTRING(N'hello', 2, 3), CHARINDEX('l', 'hello'), " +
			"REPLACE('aaa', 'a', 'b')": {{"ab", two, int64(4), "ell", three, "bbb"}},
		"SELECT ISNULL(NULL, 5), COALESCE(NULL, NULL, 6), NULLIF(1, 1), IIF(1 = 2, 'a', 'b')": {{int64(5), int64(6), nil,
			"b"}},
		"SELECT STRING_AGG(name, ',') WITHIN GROUP (ORDER BY name DESC) FROM customer": {{"Cid,Bob,Ann"}},
		"SELECT DATEDIFF(day, '2026-01-01', '2026-03-01'), DATEPART(year, '2026-05-06'), CONVERT(varchar(10), " +
			"DATEADD(month, 1, '2026-01-31'), 23)": {{int64(59), int64(2026), "2026-02-28"}},
		"SELECT CAST(1.005 AS decimal(5,2)), ROUND(2.5, 0), FLOOR(-1.5), ABS(-3), POWER(2, 10)": {{"1.01", "3.0", "-2", three,
			int64(1024)}},
		"SELECT CAST('x  ' AS varchar(5)) + '|', CASE WHEN 'a ' = 'A' THEN 1 ELSE 0 END": {{"x  |", one}},
		"SELECT (SELECT MAX(id) FROM customer), @@ROWCOUNT * 0":                          {{three, int64(0)}},
		"SELECT c.name, x.amount FROM customer c CROSS JOIN (SELECT TOP 1 amount FROM orders ORDER BY amount DESC) x " +
			"WHERE c.id = 2": {{"Bob", "20.25"}},
	} {
		t.Run(text, func(t *testing.T) {
			NewWithT(t).Expect(query(t, db, text)).To(Equal(want))
		})
	}
}

// TestChanges goes by docs/t-sql/statements/insert-transact-sql.md, docs/t-sql/queries/update-transact-sql.md,
// docs/t-sql/statements/delete-transact-sql.md.
func TestChanges(t *testing.T) {
	g := NewWithT(t)
	db := shop(t)
	c := connection(t, db)
	exec := func(text string, affected int64) {
		t.Helper()
		result, err := c.ExecContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(result.RowsAffected()).To(Equal(affected), text)
	}
	exec("UPDATE customer SET city = N'Bergen' WHERE city = 'oslo'", 2)
	exec("UPDATE o SET amount = o.amount * 2 FROM orders o JOIN customer c ON c.id = o.customer WHERE c.name = N'Ann'", 2)
	g.Expect(value(t, c, "SELECT SUM(amount) FROM orders")).To(Equal("65.50"))
	exec("DELETE o FROM orders AS o WHERE o.customer = 3", 1)
	exec("DELETE TOP (1) FROM orders", 1)
	exec("INSERT INTO orders (customer) SELECT id FROM customer", 3)
	g.Expect(value(t, c, "SELECT SCOPE_IDENTITY()")).To(Equal("150"))
	g.Expect(query(t, c, "INSERT INTO orders (customer) OUTPUT inserted.id, inserted.amount VALUES (1)")).
		To(Equal([][]any{{int64(160), "1.50"}}))
	g.Expect(query(t, c, "UPDATE orders SET amount = 9 OUTPUT deleted.amount, inserted.amount WHERE id = 160")).
		To(Equal([][]any{{"1.50", "9.00"}}))
	g.Expect(query(t, c, "DELETE orders OUTPUT deleted.id WHERE id = 160; ")).To(Equal([][]any{{int64(160)}}))
	mustExec(
		t,
		c,
		"SET IDENTITY_INSERT orders ON; INSERT orders (id, customer) VALUES (1000, 1); SET IDENTITY_INSERT orders OFF; "+
			"INSERT orders (customer) VALUES (1)",
	)
	g.Expect(value(t, c, "SELECT MAX(id) FROM orders")).To(Equal(int64(1010)))
	mustExec(t, c, "SELECT * INTO copied FROM orders")
	exec("TRUNCATE TABLE copied", 0)
	g.Expect(value(t, c, "SELECT COUNT(*) FROM copied")).To(Equal(int64(0)))
}

// TestProcedural goes by docs/t-sql/language-elements/control-of-flow.md.
func TestProcedural(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	g.Expect(value(t, db,
		"DECLARE @i int = 0, @s int = 0; WHILE @i < 10 BEGIN SET @i += 1; IF @i = 3 CONTINUE; IF @i > 5 BREAK; SET @s = "+
			"@s + @i END; SELECT @s")).
		To(Equal(int64(12)))
	g.Expect(value(t, db,
		"DECLARE @n int; SELECT @n = COUNT(*) FROM (VALUES (1), (2)) v (x); IF @n = 2 SELECT 'two' ELSE SELECT 'other'")).
		To(Equal("two"))
	g.Expect(value(t, db, "EXEC sp_executesql N'SELECT @a + @b', N'@a int, @b int', @a = 1, @b = 2")).To(Equal(int64(3)))
	g.Expect(value(t, db,
		"DECLARE @r int; EXEC sp_executesql N'SET @out = 5', N'@out int OUTPUT', @out = @r OUTPUT; SELECT @r")).
		To(Equal(int64(5)))
	g.Expect(value(t, db, "EXEC ('SELECT 1 + 1')")).To(Equal(int64(2)))
	g.Expect(value(t, db, "CREATE TABLE #x (id int); INSERT #x VALUES (1), (2); SELECT COUNT(*) FROM #x; DROP TABLE #x")).
		To(Equal(int64(2)))
	g.Expect(value(t, db,
		"DECLARE @t TABLE (id int PRIMARY KEY, n nvarchar(10)); INSERT @t VALUES (1, N'a'); SELECT n FROM @t")).
		To(Equal("a"))
	mustExec(
		t,
		db,
		"CREATE PROCEDURE add_up @a int, @b int = 10, @sum int OUTPUT AS BEGIN SET NOCOUNT ON; SET @sum = @a + @b; "+
			"RETURN 3 END",
	)
	g.Expect(query(t, db, "DECLARE @s int, @r int; EXEC @r = add_up @a = 1, @sum = @s OUTPUT; SELECT @s, @r")).
		To(Equal([][]any{{int64(11), int64(3)}}))
	g.Expect(failure(t, db, "DECLARE @s int; EXEC add_up @sum = @s OUTPUT").Number).To(Equal(int32(201)))
	g.Expect(failure(t, db, "DECLARE @s int; EXEC add_up @a = 1, @c = 2, @sum = @s OUTPUT").Number).To(Equal(int32(8145)))
	mustExec(t, db, "CREATE VIEW just_one AS SELECT 1 AS one")
	g.Expect(value(t, db, "SELECT one FROM dbo.just_one")).To(Equal(int64(1)))
}

// TestCatalogViews goes by docs/relational-databases/system-catalog-views/catalog-views-transact-sql.md.
func TestCatalogViews(t *testing.T) {
	g := NewWithT(t)
	db := shop(t)
	g.Expect(query(t, db,
		"SELECT t.name, s.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id ORDER BY t.name")).
		To(Equal([][]any{{"customer", "dbo"}, {"orders", "dbo"}}))
	g.Expect(query(t, db,
		"SELECT c.name, ty.name, c.max_length, c.precision, c.scale, c.is_nullable, c.is_identity FROM sys.columns c JOIN "+
			"sys.types ty ON ty.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('dbo.orders') AND "+
			"c.column_id IN (1, 3)")).
		To(ConsistOf([]any{"id", "int", int64(4), int64(10), int64(0), false, true},
			[]any{"amount", "decimal", int64(9), int64(10), int64(2), false, false}))
	g.Expect(value(t, db,
		"SELECT COUNT(*) FROM sys.indexes WHERE object_id = OBJECT_ID('customer') AND is_primary_key = 1")).
		To(Equal(int64(1)))
	g.Expect(value(t, db, "SELECT state_desc FROM sys.databases WHERE name = DB_NAME()")).To(Equal("ONLINE"))
	g.Expect(value(t, db, "SELECT recovery_model_desc FROM sys.databases WHERE name = DB_NAME()")).To(Equal("FULL"))
	g.Expect(value(t, db, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'customer'")).
		To(Equal(int64(3)))
	g.Expect(value(t, db,
		"SELECT SUM(p.rows) FROM sys.partitions p WHERE p.object_id = OBJECT_ID('orders') AND p.index_id IN (0, 1)")).
		To(Equal(int64(3)))
	g.Expect(value(t, db,
		"SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = @@SPID AND program_name = 'contract'")).
		To(Equal(int64(1)))
	g.Expect(value(t, db, "SELECT name FROM sys.identity_columns WHERE object_id = OBJECT_ID('orders')")).To(Equal("id"))
}

// TestChecksumsAgree goes by docs/t-sql/functions/checksum-agg-transact-sql.md.
func TestChecksumsAgree(t *testing.T) {
	g := NewWithT(t)
	db := shop(t)
	mustExec(t, db, "SELECT * INTO copied FROM customer")
	original := value(t, db, "SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) FROM customer")
	g.Expect(original).NotTo(BeNil())
	g.Expect(value(t, db, "SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) FROM copied")).To(Equal(original))
	mustExec(t, db, "UPDATE copied SET name = N'Anne' WHERE id = 1")
	g.Expect(value(t, db, "SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) FROM copied")).NotTo(Equal(original))
	g.Expect(value(t, db, "SELECT CONVERT(varchar(64), HASHBYTES('SHA2_256', 'abc'), 2)")).
		To(Equal("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"))
}

// TestJoinsThatAreOperands: a comma joins what the joins at its sides make, and a join whose condition comes last is
// joined as one (docs/t-sql/queries/from-transact-sql.md, joined_table).
func TestJoinsThatAreOperands(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE TABLE a (id int); CREATE TABLE b (id int); CREATE TABLE c (id int); INSERT a VALUES (1), (2); INSERT c " +
				"VALUES (2), (3)",
			"ok",
		},
		{
			"SELECT a.id, b.id, c.id FROM a, b RIGHT JOIN c ON c.id = b.id ORDER BY 1, 3",
			"1 NULL 2; 1 NULL 3; 2 NULL 2; 2 NULL 3",
		},
		{"SELECT * FROM a, b FULL JOIN c ON c.id = b.id WHERE a.id = 1 ORDER BY 3", "1 NULL 2; 1 NULL 3"},
		{"SELECT a.id, c.id FROM a LEFT JOIN b RIGHT JOIN c ON c.id = b.id ON c.id = a.id ORDER BY 1", "1 NULL; 2 2"},
		{"SELECT a.id, c.id FROM a CROSS JOIN b RIGHT JOIN c ON c.id = a.id ORDER BY 2", "NULL 2; NULL 3"},
		{"SELECT a.id, x.id, y.id FROM a, c AS x JOIN c AS y ON y.id > x.id WHERE a.id = x.id", "2 2 3"},
	})
}
