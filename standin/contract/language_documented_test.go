// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestDocumentedQueries has scripts in the manner of docs/t-sql/queries (from-using-pivot-and-unpivot.md,
// select-group-by-transact-sql.md, select-over-clause-transact-sql.md, select-window-transact-sql.md) and
// docs/t-sql/language-elements (all, any-some, select-local-variable), in words of their own.
func TestDocumentedQueries(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE sale (id int PRIMARY KEY, region varchar(10) NULL, kind varchar(10) NULL, qty int NOT NULL); " +
				"INSERT sale VALUES (1, 'north', 'a', 10), (2, 'north', 'b', 20), (3, 'south', 'a', 5), (4, 'south', 'a', 7)",
			"ok",
		},
		{
			"SELECT region, [a], [b] FROM (SELECT region, kind, qty FROM sale) s PIVOT (SUM(qty) FOR kind IN ([a], [b])) p " +
				"ORDER BY region",
			"north 10 20; south 12 NULL",
		},
		{
			"SELECT id, what, n FROM (SELECT 1 AS id, 4 AS x, 5 AS y UNION ALL SELECT 2, 6, NULL) s UNPIVOT (n FOR what IN " +
				"(x, y)) u ORDER BY id, what",
			"1 x 4; 1 y 5; 2 x 6",
		},
		{
			"SELECT region, kind, SUM(qty) FROM sale GROUP BY ROLLUP (region, kind) ORDER BY GROUPING(region), region, " +
				"GROUPING(kind), kind",
			"north a 10; north b 20; north NULL 30; south a 12; south NULL 12; NULL NULL 42",
		},
		{
			"SELECT region, kind, COUNT(*), GROUPING_ID(region, kind) AS g FROM sale GROUP BY CUBE (region, kind) ORDER BY " +
				"g, region, kind",
			"north a 1 0; north b 1 0; south a 2 0; north NULL 2 1; south NULL 2 1; NULL a 3 2; NULL b 1 2; NULL NULL 4 3",
		},
		{
			"SELECT region, SUM(qty) FROM sale GROUP BY GROUPING SETS ((region), ()) HAVING SUM(qty) > 12 ORDER BY 2",
			"north 30; NULL 42",
		},
		{"SELECT region, MAX(qty) FROM sale GROUP BY region WITH ROLLUP ORDER BY 1", "NULL 20; north 20; south 7"},
		{"SELECT SUM(qty) FROM sale WHERE id > 9 GROUP BY ()", "NULL"},
		{"SELECT id FROM sale WHERE qty >= ALL (SELECT qty FROM sale)", "2"},
		{"SELECT id FROM sale WHERE qty = ANY (SELECT qty FROM sale WHERE region = 'south') ORDER BY id", "3; 4"},
		{"SELECT id FROM sale WHERE qty > SOME (SELECT qty FROM sale WHERE region = 'north') ORDER BY id", "2"},
		{"SELECT region FROM sale GROUP BY region HAVING MAX(qty) >= ALL (SELECT qty FROM sale)", "north"},
		{
			"SELECT id, SUM(qty) OVER w FROM sale WINDOW w AS (PARTITION BY region ORDER BY id) ORDER BY id",
			"1 10; 2 30; 3 5; 4 12",
		},
		{"SELECT SUM(qty) OVER nothing FROM sale", "!5365/15/1/1"},
		{"DECLARE @l varchar(100) = ''; SELECT @l = @l + kind FROM sale ORDER BY id DESC; SELECT @l", "aaba"},
		{
			"DECLARE @l varchar(100); SELECT @l = COALESCE(@l + ',', '') + CAST(qty AS varchar(5)) FROM sale ORDER BY " +
				"qty; SELECT @l",
			"5,7,10,20",
		},
		{"DECLARE @n int = 0, @m int; SELECT @n += qty, @m = @n * 2 FROM sale; SELECT @n, @m", "42 84"},
		{"SELECT TRIM('.,! ' FROM '# test .'), TRIM('  a '), LTRIM('..a', '.')", "# test a a"},
		{
			"CREATE TABLE copied (n int, name sysname); INSERT copied SELECT TOP (40) ROW_NUMBER() OVER (ORDER BY (SELECT " +
				"NULL)), name FROM sys.all_columns; SELECT COUNT(*) FROM copied",
			"40",
		},
	})
}

// TestJSONAndXML: docs/t-sql/functions/json-functions-transact-sql.md, openjson-transact-sql.md and
// docs/relational-databases/json, docs/relational-databases/xml/for-xml-sql-server.md.
func TestJSONAndXML(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE item (id int PRIMARY KEY, name nvarchar(20) NULL, price decimal(6,2) NULL, isnew bit NOT NULL); " +
				"INSERT item VALUES (1, N'a\"<b', 1.50, 1), (2, NULL, NULL, 0)",
			"ok",
		},
		{
			"SELECT id, name, price AS [cost.net], isnew AS [cost.new] FROM item ORDER BY id FOR JSON PATH",
			`[{"id":1,"name":"a\"<b","cost":{"net":1.50,"new":true}},{"id":2,"cost":{"new":false}}]`,
		},
		{
			"SELECT id, name FROM item ORDER BY id FOR JSON AUTO, ROOT('all'), INCLUDE_NULL_VALUES",
			`{"all":[{"id":1,"name":"a\"<b"},{"id":2,"name":null}]}`,
		},
		{"SELECT id FROM item WHERE id = 1 FOR JSON PATH, WITHOUT_ARRAY_WRAPPER", `{"id":1}`},
		{
			"SELECT 1 AS n, (SELECT id FROM item FOR JSON PATH) AS below FOR JSON PATH",
			`[{"n":1,"below":[{"id":1},{"id":2}]}]`,
		},
		{"SELECT id + 1 FROM item FOR JSON PATH", "!13605/16/1/1"},
		{"SELECT id, name FROM item ORDER BY id FOR XML RAW", `<row id="1" name="a&quot;&lt;b"/><row id="2"/>`},
		{
			"SELECT id AS '@id', name AS 'of/name' FROM item ORDER BY id FOR XML PATH('item'), ROOT('all')",
			`<all><item id="1"><of><name>a"&lt;b</name></of></item><item id="2"/></all>`,
		},
		{"SELECT id FROM item AS i ORDER BY id FOR XML AUTO, ELEMENTS", "<i><id>1</id></i><i><id>2</id></i>"},
		{"SELECT STUFF((SELECT ',' + CAST(id AS varchar(5)) FROM item ORDER BY id FOR XML PATH('')), 1, 1, '')", "1,2"},
		{
			`SELECT JSON_VALUE('{"a":{"b":[1,"x"]}}', '$.a.b[1]'), JSON_QUERY('{"a":[1,2]}', '$.a'), ISJSON('{}'), ISJSON('x'), JSON_VALUE('{"a":1}', '$.b')`,
			"x [1,2] 1 0 NULL",
		},
		{`SELECT JSON_VALUE('{"a":1}', 'strict $.b')`, "!13608/16"},
		{`SELECT JSON_VALUE('{"a":', '$.a')`, "!13609/16"},
		{`SELECT JSON_VALUE('{"a":1}', 'a')`, "!13607/16"},
		{
			`SELECT JSON_MODIFY('{"a":1}', '$.a', 2), JSON_MODIFY('{"a":1,"b":2}', '$.a', NULL), JSON_MODIFY('{"a":[1]}', 'append $.a', 'z'), JSON_MODIFY('{}', '$.k', JSON_QUERY('[1]'))`,
			`{"a":2} {"b":2} {"a":[1,"z"]} {"k":[1]}`,
		},
		{
			`SELECT [key], value, type FROM OPENJSON('{"a":1,"b":"x","c":[1],"d":null,"e":true}')`,
			"a 1 2; b x 1; c [1] 4; d NULL 0; e true 3",
		},
		{
			`SELECT id, who FROM OPENJSON('{"rows":[{"id":2,"p":{"n":"J"}},{"id":3}]}', '$.rows') WITH (id int 'strict $.id', who varchar(5) '$.p.n')`,
			"2 J; 3 NULL",
		},
	})
}

// TestCursorsAndGoto: docs/t-sql/language-elements/declare-cursor-transact-sql.md, fetch-transact-sql.md,
// goto-transact-sql.md.
func TestCursorsAndGoto(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE c (id int PRIMARY KEY); INSERT c VALUES (1), (2), (3)", "ok"},
		{
			"DECLARE @i int, @l varchar(50) = ''; DECLARE k CURSOR LOCAL FAST_FORWARD FOR SELECT id FROM c ORDER BY id; OPEN " +
				"k; FETCH NEXT FROM k INTO @i; WHILE @@FETCH_STATUS = 0 BEGIN SET @l += CAST(@i AS varchar(5)); FETCH NEXT FROM " +
				"k INTO @i END; CLOSE k; DEALLOCATE k; SELECT @l",
			"123",
		},
		{"DECLARE g CURSOR STATIC FOR SELECT id FROM c ORDER BY id; OPEN g; FETCH LAST FROM g", "3"},
		{"FETCH PRIOR FROM g", "2"},
		{"FETCH ABSOLUTE 1 FROM g", "1"},
		{"SELECT @@CURSOR_ROWS, CURSOR_STATUS('global', 'g'), CURSOR_STATUS('global', 'none')", "3 1 -3"},
		{"OPEN g", "!16905/16/1/1"},
		{"DECLARE g CURSOR FOR SELECT 1", "!16915/16/1/1"},
		{"DELETE c WHERE CURRENT OF g", "!16929/16"},
		{"SELECT COUNT(*) FROM c", "3"},
		{"DEALLOCATE g", "ok"},
		{"FETCH g", "!16916/16/1/1"},
		{"DECLARE f CURSOR LOCAL FORWARD_ONLY FOR SELECT id FROM c; OPEN f; FETCH FIRST FROM f", "!16911/16/1/1"},
		{"DECLARE @n int = 1; again: SET @n += 1; IF @n < 4 GOTO again; SELECT @n", "4"},
		{"DECLARE @n int = 0; WHILE 1 = 1 BEGIN SET @n += 1; IF @n = 3 GOTO done END; SET @n = 99; done: SELECT @n", "3"},
		{"GOTO nowhere", "!133/15/1/1"},
	})
}

// TestUnnamedConstraints: docs/t-sql/statements/alter-table-transact-sql.md, where a constraint needs no name.
func TestUnnamedConstraints(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (a int NOT NULL, b int NULL)", "ok"},
		{"ALTER TABLE t ADD PRIMARY KEY NONCLUSTERED (a)", "ok"},
		{
			"ALTER TABLE t ADD UNIQUE (b); ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES t (a); ALTER TABLE t ADD DEFAULT 5 " +
				"FOR b; ALTER TABLE t ADD CHECK (a > 0)",
			"ok",
		},
		{"INSERT t (a) VALUES (5); SELECT a, b FROM t", "5 5"},
		{
			"SELECT type, COUNT(*) FROM sys.objects WHERE parent_object_id = OBJECT_ID('t') AND name NOT LIKE '%$%' GROUP BY " +
				"type ORDER BY type",
			"C  1; D  1; F  1; PK 1; UQ 1",
		},
		{"ALTER TABLE t ADD PRIMARY KEY", "!156/15/1/1"},
	})
}

// TestMetadataProcedures: what ODBC, JDBC and ADO.NET ask
// (docs/relational-databases/system-stored-procedures/catalog-stored-procedures-transact-sql.md).
func TestMetadataProcedures(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE parent (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY, name nvarchar(20) NULL CONSTRAINT df_name " +
				"DEFAULT N'x')",
			"ok",
		},
		{
			"CREATE TABLE child (id int IDENTITY CONSTRAINT pk_c PRIMARY KEY, parent int NULL CONSTRAINT fk_c REFERENCES " +
				"parent ON DELETE CASCADE)",
			"ok",
		},
		{"CREATE INDEX ix ON child (parent DESC)", "ok"},
		{"DECLARE @name sysname = N'child'; SELECT @name", "child"},
	})
	pick := func(statement, want string, columns ...int) {
		t.Helper()
		rows, err := tryQuery(db, statement)
		if err != nil {
			t.Errorf("%s: %v", statement, err)
			return
		}
		var chosen [][]any
		for _, row := range rows {
			var part []any
			for _, c := range columns {
				part = append(part, row[c])
			}
			chosen = append(chosen, part)
		}
		if got := rowsText(chosen); got != want {
			t.Errorf("%s\nwants %s\ngot   %s", statement, want, got)
		}
	}
	pick("EXEC sp_columns 'parent'", "parent id 4 int 10 4 0; parent name -9 nvarchar 20 40 1", 2, 3, 4, 5, 6, 7, 10)
	pick("EXEC sp_columns_100 'child', NULL, NULL, 'id'", "child id int identity 1", 2, 3, 5, 21)
	pick("EXEC sp_fkeys @pktable_name = 'parent'", "parent id child parent 1 0 fk_c pk_p", 2, 3, 6, 7, 9, 10, 11, 12)
	pick("EXEC sp_statistics 'child'", "NULL NULL NULL; 0 pk_c id; 1 ix parent", 3, 5, 8)
	pick("EXEC sp_special_columns 'child'", "id 4 int identity", 1, 2, 3)
	pick("EXEC sp_tables @table_name = 'ch%', @table_type = \"'TABLE'\"", "child TABLE", 2, 3)
	pick("EXEC sp_tables '', '', '', '%'", "SYSTEM TABLE; TABLE; VIEW", 3)
	pick("EXEC sp_tables 'ch_ld'", "child", 2)
	pick("EXEC sp_tables 'ch_ld', @fUsePattern = 0", "", 2)
	converse(t, db, []say{
		{"EXEC sp_tables @table_qualifier = 'model'", "!15250/16/1"},
		{
			"CREATE TABLE #listed (q sysname NULL, o sysname NULL, t sysname NULL, type varchar(32) NULL, r varchar(254) NULL)",
			"ok",
		},
		{"INSERT #listed EXEC sp_tables '', '', '%'", "ok"},
		{"SELECT COUNT(*) FROM #listed WHERE q = DB_NAME() AND o IS NULL AND t IS NULL AND type IS NULL", "1"},
		{"INSERT #listed EXEC sp_tables '', '%', ''", "ok"},
		{"SELECT o FROM #listed WHERE o IN ('dbo', 'sys') AND q IS NULL ORDER BY o", "dbo; sys"},
	})
	pick("EXEC sp_server_info 1", "1 DBMS_NAME", 0, 1)
	pick("EXEC sp_describe_first_result_set N'SELECT id, name FROM parent'", "1 id int; 2 name nvarchar(20)", 1, 2, 5)
	converse(t, db, []say{{"CREATE PROCEDURE called @a int, @b varchar(9) OUTPUT AS SET @b = @a", "ok"}})
	pick(
		"EXEC sp_describe_undeclared_parameters N'EXEC called @b = @y OUTPUT, @a = @x'",
		"@y varchar(9) true @b; @x int false @a",
		1,
		3,
		20,
		21,
	)
	pick("EXEC sp_describe_undeclared_parameters N'EXEC sp_helptext @p'", "@p nvarchar(776)", 1, 3)
	pick(
		"EXEC sp_describe_undeclared_parameters @tsql = N'SELECT object_id, name, type_desc FROM sys.indexes WHERE "+
			"object_id = @id OR name = @name'",
		"@id int; @name nvarchar(128)",
		1,
		3,
	)
	pick(
		"EXEC sp_describe_undeclared_parameters @tsql = N'SELECT object_id, name, type_desc FROM sys.indexes WHERE "+
			"object_id = @id OR NAME = @name', @params = N'@id int'",
		"@name nvarchar(128)",
		1,
		3,
	)
	pick(
		"EXEC sp_describe_first_result_set N'SELECT id, name AS n FROM parent WHERE id = @P1 AND name LIKE @P2'",
		"1 id int; 2 n nvarchar(20)",
		1,
		2,
		5,
	)
	pick("SELECT * FROM sys.dm_exec_describe_first_result_set(N'SELECT @p + 1 AS n', N'@p int', 0)", "1 n int", 1, 2, 5)
	pick(
		"SELECT column_ordinal, name, error_number, error_type_desc FROM sys.dm_exec_describe_first_result_set(N'SELECT 1 "+
			"AS n', NULL, 0) WHERE is_hidden = 0 OR error_number IS NOT NULL",
		"1 n NULL NULL",
		0,
		1,
		2,
		3,
	)
	pick(
		"SELECT column_ordinal, error_number, error_severity, error_message, error_type_desc FROM "+
			"sys.dm_exec_describe_first_result_set(N'SELECT a FROM nosuch', NULL, 0)",
		"0 208 16 Invalid object name 'nosuch'. MISC",
		0,
		1,
		2,
		3,
		4,
	)
	pick(
		"SELECT error_number, error_type FROM sys.dm_exec_describe_first_result_set(N'SELECT FROM', NULL, 0)",
		"102 2",
		0,
		1,
	)
	for _, statement := range []string{"EXEC sp_stored_procedures", "EXEC sp_table_privileges 'child'",
		"EXEC sp_column_privileges 'child'", "EXEC sp_helprole", "EXEC sp_helprolemember", "EXEC sp_helpuser",
		"EXEC sp_helplogins",
		"EXEC sp_helpsrvrole", "EXEC sp_helpsrvrolemember", "EXEC sp_helprotect", "EXEC sp_linkedservers", "EXEC sp_lock",
		"EXEC xp_msver", "EXEC sp_helpfilegroup", "EXEC sp_MSforeachtable 'SELECT COUNT(*) FROM ?'",
		"SELECT * FROM sys.dm_tran_locks", "SELECT * FROM sys.assemblies", "SELECT * FROM sys.partition_functions",
		"SELECT * FROM sys.sysreferences", "SELECT * FROM sys.stats_columns", "SELECT name FROM fn_helpcollations()"} {
		if _, err := tryQuery(db, statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
