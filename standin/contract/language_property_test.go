// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"pgregory.net/rapid"
)

// documented are statements of the kinds that the documentation of T-SQL shows, over the tables of mutationSetup.
var documented = []string{
	"SELECT p.id, p.name, o.qty FROM product AS p INNER JOIN sale AS o ON o.product = p.id WHERE p.price > 1.5 AND " +
		"o.qty BETWEEN 1 AND 10 ORDER BY p.name DESC, o.id",
	"SELECT kind, COUNT(*) AS n, SUM(price) AS total FROM product GROUP BY kind HAVING COUNT(*) > 1 ORDER BY total",
	"SELECT TOP (2) WITH TIES name FROM product ORDER BY price",
	"SELECT name FROM product ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
	"SELECT CASE WHEN price IS NULL THEN 'none' WHEN price > 2 THEN 'dear' ELSE 'cheap' END AS what, COALESCE(price, " +
		"0) FROM product",
	"SELECT id, ROW_NUMBER() OVER (PARTITION BY kind ORDER BY price DESC) AS r, LAG(price, 1, 0) OVER (ORDER BY id) " +
		"FROM product",
	"WITH top_sale AS (SELECT product, MAX(qty) AS q FROM sale GROUP BY product) SELECT p.name, t.q FROM product p " +
		"JOIN top_sale t ON t.product = p.id",
	"SELECT name FROM product WHERE id IN (SELECT product FROM sale WHERE qty > 1) UNION ALL SELECT 'x' EXCEPT SELECT 'y'",
	"SELECT p.name, s.qty FROM product p OUTER APPLY (SELECT TOP 1 qty FROM sale WHERE sale.product = p.id ORDER BY " +
		"qty DESC) s",
	"SELECT CONVERT(varchar(10), CAST('2026-05-06' AS date), 23), DATEADD(day, 1, '2026-01-31'), SUBSTRING('hello', 2, " +
		"3), ISNULL(NULL, 5)",
	"INSERT INTO product (id, name, price, kind) VALUES (10, 'new', 3.25, 1), (11, N'more', NULL, 2)",
	"INSERT product (id, name) SELECT id + 100, name FROM product WHERE kind = 1",
	"INSERT sale DEFAULT VALUES",
	"UPDATE product SET price = price * 1.1, name = name + '!' OUTPUT deleted.price, inserted.price WHERE kind = 1",
	"UPDATE p SET p.price = s.qty FROM product AS p JOIN sale AS s ON s.product = p.id WHERE s.qty > 2",
	"UPDATE product SET id = id + 1",
	"DELETE TOP (1) FROM sale WHERE qty < 5",
	"DELETE s FROM sale s JOIN product p ON p.id = s.product WHERE p.kind = 2",
	"MERGE product AS t USING (VALUES (1, 'one'), (20, 'twenty')) AS s (id, name) ON t.id = s.id WHEN MATCHED THEN " +
		"UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name) OUTPUT $action, inserted.id;",
	"CREATE TABLE made (a int NOT NULL PRIMARY KEY, b varchar(10) NULL DEFAULT ('x'), c AS a * 2, CONSTRAINT ck_made " +
		"CHECK (a > 0))",
	"CREATE UNIQUE NONCLUSTERED INDEX ix_made ON product (name, kind) INCLUDE (price) WHERE kind > 0",
	"CREATE VIEW seen AS SELECT id, name FROM product WHERE price > 1",
	"CREATE PROCEDURE done @a int, @b varchar(10) = 'x' OUTPUT AS BEGIN SET NOCOUNT ON; SELECT @a, @b; RETURN 1 END",
	"CREATE FUNCTION dbo.twice (@x int) RETURNS int AS BEGIN DECLARE @r int = @x * 2; RETURN @r END",
	"CREATE TRIGGER fired ON product AFTER INSERT, UPDATE AS BEGIN IF EXISTS (SELECT * FROM inserted WHERE price < 0) " +
		"THROW 50001, 'no', 1; END",
	"ALTER TABLE product ADD added int NOT NULL CONSTRAINT df_added DEFAULT 7",
	"ALTER TABLE product ALTER COLUMN name nvarchar(40) NOT NULL",
	"ALTER TABLE product DROP CONSTRAINT ck_price",
	"DROP TABLE IF EXISTS sale",
	"TRUNCATE TABLE sale",
	"DECLARE @t TABLE (id int PRIMARY KEY, v varchar(5)); INSERT @t VALUES (1, 'a'); SELECT * FROM @t WHERE v = 'A'",
	"DECLARE @i int = 0; WHILE @i < 3 BEGIN SET @i += 1; IF @i = 2 CONTINUE; PRINT @i; END",
	"BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_MESSAGE() END CATCH",
	"EXEC sp_executesql N'SELECT @p', N'@p int', @p = 5",
	"SELECT name, type_desc FROM sys.objects WHERE is_ms_shipped = 0 AND SCHEMA_NAME(schema_id) = 'dbo'",
	"SELECT STRING_AGG(name, ',') WITHIN GROUP (ORDER BY id), COUNT(DISTINCT kind) FROM product WHERE name LIKE " +
		"'[a-c]%' COLLATE Latin1_General_CI_AS",
	"SELECT * INTO copied FROM product WHERE NOT EXISTS (SELECT 1 FROM sale WHERE sale.product = product.id)",
}

const mutationSetup = `CREATE TABLE product (id int PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, price decimal(8,2) NULL CONSTRAINT ck_price CHECK (price >= 0), kind int NULL);
CREATE TABLE sale (id int IDENTITY PRIMARY KEY, product int NULL REFERENCES product (id), qty int NOT NULL DEFAULT 1);
CREATE TABLE marker (n int);
INSERT product VALUES (1, 'apple', 1.00, 1), (2, 'bean', 2.50, 1), (3, 'corn', NULL, 2);
INSERT sale (product, qty) VALUES (1, 5), (1, 2), (2, 9);`

var tokenPattern = regexp.MustCompile(`N?'(?:[^']|'')*'|@?[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|[-+*/%<>=!]=?|\S`)

// spice are tokens that mutations put in.
var spice = strings.Fields(
	"SELECT FROM WHERE ( ) , ; = . * NULL 'text' 0 -1 99999999999 1.5 AS ON JOIN ORDER BY GROUP NOT AND IN @x id name " +
		"product inserted VALUES SET INTO WITH CASE WHEN THEN END BEGIN int varchar OVER TOP DISTINCT UNION DEFAULT " +
		"EXISTS COLLATE [ ] \" --",
)

// stateOf is everything that a refused statement must leave as it was.
const stateOf = `SELECT CONCAT_WS('|', (SELECT STRING_AGG(CONCAT(id, ':', name, ':', price, ':', kind), ',') WITHIN GROUP (ORDER BY id) FROM product),
	(SELECT STRING_AGG(CONCAT(id, ':', product, ':', qty), ',') WITHIN GROUP (ORDER BY id) FROM sale),
	(SELECT STRING_AGG(CONCAT(name, type), ',') WITHIN GROUP (ORDER BY name) FROM sys.objects WHERE name NOT LIKE '%[_][_]%'),
	(SELECT COUNT(*) FROM sys.columns), (SELECT COUNT(*) FROM sys.indexes), @@TRANCOUNT)`

// mutated generates documented statements with some of their tokens changed.
var mutated = rapid.Custom(func(r *rapid.T) string {
	tokens := tokenPattern.FindAllString(rapid.SampledFrom(documented).Draw(r, "statement"), -1)
	for range rapid.IntRange(1, 3).Draw(r, "mutations") {
		tokens = mutate(r, tokens)
	}
	return strings.Join(tokens, " ")
})

// TestMutatedStatements changes tokens of documented statements at random. Whatever comes of them, the server answers,
// with an error of SQL Server's or without; a statement that fails has changed nothing, and a batch that does not parse
// has not begun. The statements are the same in each run; GEOSQL_MUTATIONS=from:count asks for others. By
// docs/t-sql/statements/statements.md, docs/relational-databases/errors-events/database-engine-events-and-errors.md.
func TestMutatedStatements(t *testing.T) {
	t.Parallel()
	from, count := 0, 200
	if text := os.Getenv("GEOSQL_MUTATIONS"); text != "" {
		if _, err := fmt.Sscanf(text, "%d:%d", &from, &count); err != nil {
			t.Fatalf("GEOSQL_MUTATIONS=%s: %v", text, err)
		}
	}
	setup := func() (*sql.DB, string) {
		db := newDatabase(t)
		db.SetMaxOpenConns(1)
		mustExec(t, db, mutationSetup)
		return db, fmt.Sprint(value(t, db, stateOf))
	}
	db, before := setup()
	for seed := from; seed < from+count; seed++ {
		if now, err := tryQuery(db, "DELETE marker; "+stateOf); err != nil || rowsText(now) != before {
			db, before = setup()
		}
		judgeMutation(t, db, before, mutated.Example(seed))
	}
}

func judgeMutation(t *testing.T, db *sql.DB, before, text string) {
	t.Helper()
	batch := "INSERT marker VALUES (1);\n" + text
	for _, alone := range []string{"CREATE V", "CREATE P", "CREATE F", "CREATE TR"} {
		if strings.HasPrefix(text, alone) {
			batch = text
		}
	}
	_, err := tryQuery(db, batch)
	var e mssql.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("%s\nno answer of the server: %v", batch, err)
		return
	}
	if len(e.All) > 0 {
		e = e.All[0]
	}
	after, stateErr := tryQuery(db, stateOf)
	marked, markErr := tryQuery(db, "SELECT COUNT(*) FROM marker")
	switch {
	case e.Number == 565:
		t.Errorf("%s\nis not understood by the engine itself: %s", batch, e.Message)
	case err != nil && markErr == nil && e.Class == 15 && parseError(e.Number) && rowsText(marked) != "0":
		t.Errorf("%s\ndoes not parse (%d: %s), but its first statement was executed", batch, e.Number, e.Message)
	case err != nil && !strings.Contains(text, ";") && singleStatement(text) &&
		(stateErr != nil || rowsText(after) != before):
		t.Errorf("%s\nfailed with %d (%s) and left\n%s\ninstead of\n%s", batch, e.Number, e.Message, rowsText(after), before)
	}
}

// singleStatement tells whether a text has one statement only, as far as its words tell.
func singleStatement(text string) bool {
	verbs := 0
	for _, word := range tokenPattern.FindAllString(text, -1) {
		switch strings.ToUpper(word) {
		case "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "ALTER", "DROP", "TRUNCATE", "INTO", "EXEC":
			verbs++
		}
	}
	return verbs == 1
}

// parseError are errors of the parser: nothing of their batch has been executed.
func parseError(n int32) bool {
	switch n {
	case 102, 103, 105, 113, 156, 319, 4145, 10713:
		return true
	}
	return false
}

func mutate(r *rapid.T, tokens []string) []string {
	out := append([]string(nil), tokens...)
	if len(out) < 2 {
		return append(out, rapid.SampledFrom(spice).Draw(r, "appended"))
	}
	at := rapid.IntRange(0, len(out)-1).Draw(r, "at")
	switch rapid.IntRange(0, 4).Draw(r, "kind") {
	case 0:
		return append(out[:at], out[at+1:]...)
	case 1:
		out[at] = rapid.SampledFrom(spice).Draw(r, "replaced")
	case 2:
		out = append(out[:at+1], append([]string{rapid.SampledFrom(spice).Draw(r, "inserted")}, out[at+1:]...)...)
	case 3:
		other := rapid.IntRange(0, len(out)-1).Draw(r, "other")
		out[at], out[other] = out[other], out[at]
	default:
		out = out[:at+1]
	}
	return out
}
