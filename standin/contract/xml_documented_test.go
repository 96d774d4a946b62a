// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestXMLMethods has scripts in the manner of docs/t-sql/xml (value-method-xml-data-type.md and its kin), in words of
// their own.
func TestXMLMethods(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	const shop = `DECLARE @x xml = '<Root><Order OrderID="1" at="2024-05-06T07:08:09.123Z"><Item>Rope</Item><Item>Tent</Item></Order><Order OrderID="2"><Item>Boots</Item></Order></Root>'; `
	converse(t, db, []say{
		{
			"CREATE TABLE name (id int PRIMARY KEY, n nvarchar(20) NULL); INSERT name VALUES (1, N'a&b'), (2, " +
				"N'c<d'), (3, N'e')",
			"ok",
		},
		{
			"SELECT STUFF((SELECT ',' + n FROM name ORDER BY id FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 1, '')",
			"a&b,c<d,e",
		},
		{
			"SELECT STUFF((SELECT ', ' + n FROM name ORDER BY id FOR XML PATH(''), TYPE).value('(./text())[1]', " +
				"'nvarchar(max)'), 1, 2, '')",
			"a&b, c<d, e",
		},
		{
			"SELECT a.id, (SELECT b.n + ';' FROM name b WHERE b.id <= a.id ORDER BY b.id FOR XML PATH(''), " +
				"TYPE).value('text()[1]', 'varchar(100)') FROM name a ORDER BY a.id",
			"1 a&b;; 2 a&b;c<d;; 3 a&b;c<d;e;",
		},
		{"SELECT (SELECT n FROM name WHERE id = 9 FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)')", "NULL"},
		{
			shop + "SELECT @x.value('(/Root/Order/@OrderID)[1]', 'int'), @x.value('(/Root/Order/@at)[1]', 'datetime2(3)'), " +
				"@x.value('(/Root/nope)[1]', 'int'), @x.value('count(//Item)', 'int')",
			"1 2024-05-06T07:08:09.123 NULL 3",
		},
		{shop + "SELECT @x.value('/Root/Order/@OrderID', 'int')", "!2389/16/1/1"},
		{
			shop + "SELECT @x.query('/Root/Order[@OrderID=2]'), @x.exist('/Root/Order[@OrderID=\"2\"]'), " +
				"@x.exist('/Root/Order[@OrderID=\"3\"]')",
			`<Order OrderID="2"><Item>Boots</Item></Order> true false`,
		},
		{
			shop + "SELECT T.c.value('@OrderID', 'int'), T.c.value('count(Item)', 'int'), T.c.value('(Item/text())[1]', " +
				"'varchar(10)') FROM @x.nodes('/Root/Order') AS T(c)",
			"1 2 Rope; 2 1 Boots",
		},
		{
			shop + "SELECT o.c.value('@OrderID', 'int'), i.c.value('.', 'varchar(10)') FROM @x.nodes('/Root/Order') o(c) " +
				"CROSS APPLY o.c.nodes('Item') i(c)",
			"1 Rope; 1 Tent; 2 Boots",
		},
		{
			shop + "SELECT o.c.value('@OrderID', 'int'), i.c.value('.', 'varchar(10)') FROM @x.nodes('/Root/Order') o(c) " +
				"OUTER APPLY o.c.nodes('Item[2]') i(c)",
			"1 Tent; 2 NULL",
		},
		{
			shop + "SELECT c.query('.') FROM @x.nodes('//Item') T(c)",
			"<Item>Rope</Item>; <Item>Tent</Item>; <Item>Boots</Item>",
		},
		{
			shop + "SELECT c.value('../@OrderID', 'int') FROM @x.nodes('//Item') T(c) WHERE c.exist('.[. = \"Boots\"]') = 1",
			"2",
		},
		{
			shop + "DECLARE @n int = 2, @s varchar(9) = 'Tent'; SELECT @x.value('(/Root/Order[@OrderID = " +
				"sql:variable(\"@n\")]/Item)[1]', 'varchar(9)'), @x.exist('//Item[. = sql:variable(\"@s\")]')",
			"Boots true",
		},
		{
			shop + "SELECT id, @x.exist('/Root/Order[@OrderID = sql:column(\"name.id\")]') FROM name ORDER BY id",
			"1 true; 2 true; 3 false",
		},
		{shop + "IF @x.exist('/Root/Order') = 1 SELECT 'yes'", "yes"},
		{shop + "SELECT @x.query('.').value('(/Root/Order/Item)[3]', 'char(3)') + '|'", "Boo|"},
		{
			"DECLARE @x xml; SELECT @x.value('(/a)[1]', 'int'), @x.query('/a'), @x.exist('/a'), (SELECT COUNT(*) FROM " +
				"@x.nodes('/a') T(c))",
			"NULL NULL NULL 0",
		},
		{
			"CREATE TABLE doc (id int PRIMARY KEY, x xml NULL); INSERT doc VALUES (1, '<e n=\"login\"><d k=\"a\">5</d><d " +
				"k=\"b\">x</d></e>'), (2, NULL), (3, '<e n=\"error\"><d k=\"a\">7</d></e>')",
			"ok",
		},
		{
			"SELECT id, x.value('(e/@n)[1]', 'varchar(20)'), x.value('(e/d[@k=\"a\"]/text())[1]', 'int') FROM doc WHERE " +
				"x.exist('e/d') = 1 ORDER BY id",
			"1 login 5; 3 error 7",
		},
		{
			"SELECT d.id, n.v.value('@k', 'char(1)'), n.v.value('.', 'varchar(5)') FROM dbo.doc AS d CROSS APPLY " +
				"d.x.nodes('/e/d') AS n(v) ORDER BY 1, 2",
			"1 a 5; 1 b x; 3 a 7",
		},
		{
			"SELECT id, COUNT(v) FROM (SELECT d.id, n.c.value('.', 'varchar(5)') AS v FROM doc d OUTER APPLY x.nodes('/e/d') " +
				"n(c)) q GROUP BY id ORDER BY id",
			"1 2; 2 0; 3 1",
		},
		{
			"CREATE TABLE wide (id int PRIMARY KEY, x xml NOT NULL); INSERT wide SELECT value, CONCAT('<l id=\"', value, " +
				"'\"><i>', value, '</i><i>1</i></l>') FROM GENERATE_SERIES(1, 200)",
			"ok",
		},
		{
			"SELECT COUNT(*), SUM(i.c.value('.', 'int')), SUM(i.c.value('../@id', 'int')) FROM wide CROSS APPLY " +
				"x.nodes('/l') l(c) CROSS APPLY l.c.nodes('i') i(c)",
			"400 20300 40200",
		},
		{
			"SELECT TOP (2) id % 2, SUM(i.c.value('.', 'int')) FROM wide CROSS APPLY x.nodes('/l/i') i(c) GROUP BY id % " +
				"2 ORDER BY 1",
			"0 10200; 1 10100",
		},
		{
			"SELECT TOP (2) w.id, i.c.value('../@id', 'int') FROM wide w CROSS APPLY x.nodes('/l/i') i(c) ORDER BY " +
				"i.c.value('.', 'int') DESC",
			"200 200; 199 199",
		},
		{"SELECT x.value('/e/@n', 'int') FROM dbo.doc AS d", "!2389/16/1/1"},
		{"SELECT SUM(x.value('(e/d[@k=\"a\"])[1]', 'int')) FROM doc", "12"},
		{"SELECT x.value('(e/d)[2]', 'int') FROM doc WHERE id = 1", "!245/16/1/1"},
		{
			"SELECT q.d.value('(/event/@name)[1]', 'varchar(30)') FROM (SELECT CAST(v AS xml) AS d FROM (VALUES (N'<event " +
				"name=\"a\"/>'), (N'<event name=\"b\"/>')) s(v)) q",
			"a; b",
		},
		{
			"SELECT n.e.value('(data[@name=\"duration\"]/value)[1]', 'bigint') FROM (SELECT " +
				"CAST('<RingBufferTarget><event><data " +
				"name=\"duration\"><value>12</value></data></event><event/></RingBufferTarget>' AS xml) AS t) AS r CROSS APPLY " +
				"r.t.nodes('RingBufferTarget/event') AS n(e)",
			"12; NULL",
		},
		{
			"SELECT CAST('<a>5</a>' AS xml).value('(/a)[1]', 'int') + 1, CONVERT(xml, '<a> <b/> </a>', " +
				"1).value('string-length(.)', 'int'), TRY_CAST('<a' AS xml), CAST(CAST('<a b=''1''></a>' AS xml) AS nvarchar(50))",
			`6 2 NULL <a b="1"/>`,
		},
		{
			"SELECT CAST('' AS xml).value('xs:hexBinary(\"0aFF\")', 'varbinary(9)'), CAST('' AS " +
				"xml).value('xs:hexBinary(\"0aFF\")', 'varchar(9)')",
			"0x0AFF 0AFF",
		},
		{
			"SELECT CAST('<a>0102</a>' AS xml).value('xs:hexBinary(substring(/a[1], 0))', 'binary(3)'), CAST('<a>AQI=</a>' " +
				"AS xml).value('xs:base64Binary(/a[1])', 'varbinary(9)')",
			"0x010200 0x0102",
		},
		{
			"DECLARE @s varchar(9) = '0x0102', @b varbinary(9) = 0x0A0B; SELECT CAST('' AS " +
				"xml).value('xs:hexBinary(substring(sql:variable(\"@s\"), 3))', 'varbinary(9)'), CAST('' AS " +
				"xml).value('xs:hexBinary(sql:variable(\"@b\"))', 'varchar(9)')",
			"0x0102 0A0B",
		},
		{
			"SELECT CAST('<a>0102</a><a>012</a><a>xy</a>' AS xml).value('count(for $a in /a return xs:hexBinary($a))', 'int')",
			"1",
		},
		{"SELECT CAST('' AS xml).value('xs:hexBinary(\"012\")', 'varbinary(9)')", "!9319/16"},
		{
			"WITH XMLNAMESPACES ('urn:o' AS o, DEFAULT 'urn:d') SELECT CAST('<r xmlns=\"urn:d\" " +
				"xmlns:z=\"urn:o\"><z:a>5</z:a></r>' AS xml).value('(/r/o:a)[1]', 'int')",
			"5",
		},
		{
			"SELECT CAST('<z:a xmlns:z=\"urn:o\">5</z:a>' AS xml).value('declare namespace p=\"urn:o\"; (/p:a)[1]', 'int')",
			"5",
		},
		{
			"SELECT CAST('<a>AQI=</a>' AS xml).value('(/a)[1]', 'varbinary(10)'), CAST('<a>true</a>' AS " +
				"xml).value('(/a)[1]', 'bit'), CAST('<a>1.5</a>' AS xml).value('(/a)[1]', 'decimal(9,2)')",
			"0x0102 true 1.50",
		},
	})
}

// TestXMLModify: docs/t-sql/xml/modify-method-xml-data-type.md, insert-xml-dml.md, delete-xml-dml.md,
// replace-value-of-xml-dml.md.
func TestXMLModify(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	const given = `DECLARE @x xml = '<r><a n="1">x</a><b/></r>', @n int = 7, @s nvarchar(9) = N'é&'; `
	for change, want := range map[string]string{
		`insert <c>{sql:variable("@n")}</c> into (/r)[1]`:                                `<r><a n="1">x</a><b/><c>7</c></r>`,
		`insert <c/> as first into (/r)[1]`:                                              `<r><c/><a n="1">x</a><b/></r>`,
		`insert (<c/>, <d/>) after (/r/a)[1]`:                                            `<r><a n="1">x</a><c/><d/><b/></r>`,
		`insert <c/> before (/r/b)[1]`:                                                   `<r><a n="1">x</a><c/><b/></r>`,
		`insert attribute m {sql:variable("@s")} into (/r/a)[1]`:                         `<r><a n="1" m="é&amp;">x</a><b/></r>`,
		`insert text {"y"} as last into (/r/a)[1]`:                                       `<r><a n="1">xy</a><b/></r>`,
		`insert /r/a into (/r/b)[1]`:                                                     `<r><a n="1">x</a><b><a n="1">x</a></b></r>`,
		`delete /r/a/@n`:                                                                 `<r><a>x</a><b/></r>`,
		`delete /r/*[. = "x"]`:                                                           `<r><b/></r>`,
		`delete //nope`:                                                                  `<r><a n="1">x</a><b/></r>`,
		`replace value of (/r/a/@n)[1] with (/r/a/@n)[1] + 1`:                            `<r><a n="2">x</a><b/></r>`,
		`replace value of (/r/a/text())[1] with concat("<", sql:variable("@s"))`:         `<r><a n="1">&lt;é&amp;</a><b/></r>`,
		`replace value of (/r/a/text())[1] with ()`:                                      `<r><a n="1"/><b/></r>`,
		`replace value of (/r/a/@n)[1] with if (count(/r/b) > 1) then "many" else "few"`: `<r><a n="few">x</a><b/></r>`,
	} {
		converse(t, db, []say{{given + "SET @x.modify('" + change + "'); SELECT @x", want}})
	}
	converse(t, db, []say{
		{
			"CREATE TABLE doc (id int PRIMARY KEY, n int NOT NULL, x xml NULL); INSERT doc VALUES (1, 5, '<r><v>1</v></r>'), " +
				"(2, 6, '<r><v>2</v></r>')",
			"ok",
		},
		{
			"UPDATE doc SET x.modify('replace value of (/r/v/text())[1] with sql:column(\"n\")'), n = 0 OUTPUT deleted.x, " +
				"inserted.x WHERE id = 2",
			"<r><v>2</v></r> <r><v>6</v></r>",
		},
		{
			"UPDATE d SET x.modify('insert <w>{sql:column(\"s.w\")}</w> into (/r)[1]') FROM doc d JOIN (VALUES (1, 'one'), " +
				"(2, 'two')) s(id, w) ON s.id = d.id",
			"ok",
		},
		{"SELECT id, n, x FROM doc ORDER BY id", "1 5 <r><v>1</v><w>one</w></r>; 2 0 <r><v>6</v><w>two</w></r>"},
		{
			"DECLARE @a int = 1, @b int = 2; SELECT CAST('<r/>' AS xml).query('<x " +
				"a=\"{sql:variable(''@b'')}\">{sql:variable(\"@a\"), sql:variable(\"@b\"), sql:variable(\"@a\")}</x>')",
			"<x a=\"2\">1 2 1</x>",
		},
	})
}

// TestAutoNestsTables: docs/relational-databases/xml/use-auto-mode-with-for-xml.md,
// add-namespaces-to-queries-with-with-xmlnamespaces.md, columns-that-contain-a-null-value-by-default.md and
// docs/relational-databases/json/format-json-output-automatically-with-auto-mode-sql-server.md.
func TestAutoNestsTables(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE p (id int PRIMARY KEY, nm varchar(9) NULL); CREATE TABLE c (id int PRIMARY KEY, pid int, cnm " +
				"varchar(9) NULL)",
			"ok",
		},
		{"INSERT p VALUES (1, 'x<y'), (2, NULL), (3, 'z'); INSERT c VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, NULL)", "ok"},
		{
			"SELECT p.id, p.nm, c.cnm FROM p JOIN c ON c.pid = p.id ORDER BY p.id, c.id FOR XML AUTO",
			`<p id="1" nm="x&lt;y"><c cnm="a"/><c cnm="b"/></p><p id="2"><c/></p>`,
		},
		{
			"SELECT p.id, c.cnm, p.nm FROM p LEFT JOIN c ON c.pid = p.id ORDER BY p.id, c.id FOR XML AUTO, ELEMENTS, " +
				"ROOT('all')",
			`<all><p><id>1</id><nm>x&lt;y</nm><c><cnm>a</cnm></c><c><cnm>b</cnm></c></p><p><id>2</id><c/></p><p><id>3</id><nm>z</nm><c/></p></all>`,
		},
		{
			"SELECT q.cnm, p.id, 1 + 1 AS two FROM dbo.p JOIN dbo.c AS q ON q.pid = p.id WHERE q.id < 3 ORDER BY q.id " +
				"FOR XML AUTO",
			`<q cnm="a"><dbo.p id="1" two="2"/></q><q cnm="b"><dbo.p id="1" two="2"/></q>`,
		},
		{
			"SELECT p.id, p.nm, c.id AS cid, c.cnm FROM p LEFT JOIN c ON c.pid = p.id WHERE p.id <> 2 ORDER BY p.id, c.id " +
				"FOR JSON AUTO",
			`[{"id":1,"nm":"x<y","c":[{"cid":1,"cnm":"a"},{"cid":2,"cnm":"b"}]},{"id":3,"nm":"z","c":[{}]}]`,
		},
		{
			"SELECT p.id, c.cnm FROM p JOIN c ON c.pid = p.id WHERE p.id = 2 FOR JSON AUTO, INCLUDE_NULL_VALUES, ROOT('r')",
			`{"r":[{"id":2,"c":[{"cnm":null}]}]}`,
		},
		{"SELECT c.cnm FROM p JOIN c ON c.pid = p.id ORDER BY c.id FOR XML AUTO", `<c cnm="a"/><c cnm="b"/><c/>`},
		{"SELECT COUNT(*) AS n FROM p FOR XML AUTO", `<p n="3"/>`},
		{"SELECT 1 AS a FOR XML AUTO", "!6800/16/1/1"},
		{"SELECT 1 AS a FOR JSON AUTO", "!13600/16/1/1"},
		{"SELECT p.id, c.id + 1 FROM p, c FOR XML AUTO", "!6809/16"},
		{
			"SELECT p.id, (SELECT c.cnm FROM c WHERE c.pid = p.id ORDER BY c.id FOR XML AUTO, TYPE) FROM p WHERE id = 1 FOR " +
				"XML PATH('p')",
			`<p><id>1</id><c cnm="a"/><c cnm="b"/></p>`,
		},
		{"SELECT p.id, c.cnm FROM p JOIN c ON c.pid = p.id WHERE 1 = 0 FOR XML AUTO", ""},
		{
			"SELECT id AS [@id], 'a & b' AS [comment()], 'do < it' AS [processing-instruction(PI)], 'text' AS [text()], nm " +
				"AS [e/text()], NULL AS [e/comment()], '5' AS [e/processing-instruction(q)] FROM p WHERE id = 1 FOR XML PATH",
			`<row id="1"><!--a & b--><?PI do < it?>text<e>x&lt;y<?q 5?></e></row>`,
		},
		{
			"SELECT (SELECT 'SELECT 1 < 2' AS [processing-instruction(query)] FOR XML PATH(''), TYPE)",
			"<?query SELECT 1 < 2?>",
		},
		{"WITH XMLNAMESPACES ('urn:p' AS p) SELECT ', ' + nm FROM p WHERE id = 1 FOR XML PATH('')", ", x&lt;y"},
		{
			"WITH XMLNAMESPACES ('urn:p' AS p) SELECT id, nm AS [p:a/b], id AS [p:a/p:c] FROM p WHERE id = 1 FOR XML PATH('')",
			`<id xmlns:p="urn:p">1</id><p:a xmlns:p="urn:p"><b>x&lt;y</b><p:c>1</p:c></p:a>`,
		},
		{
			"WITH XMLNAMESPACES ('urn:p' AS p) SELECT id AS [p:a] FROM p WHERE id = 1 FOR XML PATH(''), ROOT('r')",
			`<r xmlns:p="urn:p"><p:a>1</p:a></r>`,
		},
		{
			"SELECT id, CAST(NULL AS int) AS n FROM p WHERE id = 1 FOR XML PATH(''), ELEMENTS XSINIL",
			`<id xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">1</id><n xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>`,
		},
		{
			"WITH XMLNAMESPACES ('urn:p' AS p, DEFAULT 'urn:d') SELECT id, nm FROM p WHERE id = 1 FOR XML PATH('p:row')",
			`<p:row xmlns="urn:d" xmlns:p="urn:p"><id>1</id><nm>x&lt;y</nm></p:row>`,
		},
		{
			"SELECT id, nm FROM p WHERE id > 1 ORDER BY id FOR XML RAW, ELEMENTS XSINIL, ROOT('r')",
			`<r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><row><id>2</id><nm xsi:nil="true"/></row><row><id>3</id><nm>z</nm></row></r>`,
		},
		{
			"SELECT 1 AS 'td', '' , 2 AS 'td', 3 AS 'b/@n', 4 AS 'b', 5 AS 'b/c', NULL AS 'd/@x', NULL AS 'd/e', 6 AS " +
				"'data()', 7 AS 'data()' FOR XML PATH('tr')",
			`<tr><td>1</td><td>2</td><b n="3">4<c>5</c></b>6 7</tr>`,
		},
		{"SELECT 1 AS td, 2 AS td, NULL AS u FOR XML PATH('tr')", "<tr><td>12</td></tr>"},
		{
			"SELECT id AS '@id', nm AS 'x/@nm' FROM p ORDER BY id FOR XML PATH('p')",
			`<p id="1"><x nm="x&lt;y"/></p><p id="2"/><p id="3"><x nm="z"/></p>`,
		},
		{"SELECT nm AS x, id AS '@id' FROM p FOR XML PATH", "!6852/16"},
		{"SELECT id AS 'a b' FROM p FOR XML PATH", "!6850/16"},
		{
			"SELECT nm AS x FROM p WHERE id = 2 FOR XML PATH, ELEMENTS XSINIL",
			`<row xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><x xsi:nil="true"/></row>`,
		},
		{"SELECT id, CAST('<a/>' AS xml) AS x FROM p WHERE id = 1 FOR XML RAW", `<row id="1"><x><a/></x></row>`},
	})
}

// TestOpenXML: docs/t-sql/functions/openxml-transact-sql.md and
// docs/relational-databases/system-stored-procedures/sp-xml-preparedocument-transact-sql.md.
func TestOpenXML(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	const prepared = `DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, N'<root><c id="1" nm="a"><o n="10">x</o><o n="11"/></c><c id="2" nm="b &amp; c"><nm>inner</nm></c></root>'; `
	converse(t, db, []say{
		{
			prepared +
				"SELECT * FROM OPENXML(@h, '/root/c', 1) WITH (id int, nm varchar(10)) ORDER BY id; EXEC sp_xml_removedocument @h",
			"1 a; 2 b & c",
		},
		{prepared + "SELECT id, nm FROM OPENXML(@h, '/root/c', 2) WITH (id int, nm varchar(10))", "NULL NULL; NULL inner"},
		{prepared + "SELECT id, nm FROM OPENXML(@h, '/root/c', 3) WITH (id int, nm varchar(10))", "1 a; 2 b & c"},
		{
			prepared + "SELECT c, n, t FROM OPENXML(@h, '/root/c/o', 2) WITH (c int '../@id', n int '@n', t varchar(5) '.')",
			"1 10 x; 1 11 ",
		},
		{
			prepared +
				"SELECT c.id, o.n FROM OPENXML(@h, '/root/c') WITH (id int) AS c JOIN OPENXML(@h, '//o') WITH (p int '../@id', " +
				"n int) AS o ON o.p = c.id ORDER BY n",
			"1 10; 1 11",
		},
		{prepared + "SELECT x FROM OPENXML(@h, '/root/c[@id=\"2\"]') WITH (x xml 'nm')", "<nm>inner</nm>"},
		{
			"DECLARE @h int, @x xml = '<r xmlns:p=\"urn:x\"><p:a p:id=\"1\"/></r>'; EXEC sp_xml_preparedocument @h OUTPUT, " +
				"@x, '<root xmlns:q=\"urn:x\"/>'; SELECT id FROM OPENXML(@h, '/r/q:a') WITH (id int '@q:id')",
			"1",
		},
		{"CREATE TABLE shape (id int, nm varchar(10))", "ok"},
		{
			prepared + "INSERT shape SELECT * FROM OPENXML(@h, '/root/c') WITH shape; SELECT COUNT(*), MAX(nm) FROM shape",
			"2 b & c",
		},
		{"SELECT id FROM OPENXML(1, '/root') WITH (id int)", "!102/15"},
		{"DECLARE @h int = 99; SELECT id FROM OPENXML(@h, '/root') WITH (id int)", "!8179/16/5/1"},
		{"DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, '<a>'", "!6602/16/2"},
		{"EXEC sp_xml_removedocument 99", "!8179/16/5"},
		{prepared + "SELECT * FROM OPENXML(@h, '/root')", "!40517/16/1/1"},
		{prepared + "SELECT * FROM OPENXML(@h, '/root/c[starts-with(@nm, \"a\")]') WITH (id int)", "!40517/16/1/1"},
		{prepared + "SELECT * FROM OPENXML(@h, '/root/c[@nm < \"b\"]') WITH (id int)", "!40517/16/1/1"},
		{prepared + "SELECT * FROM OPENXML(@h, '/root') WITH (id int '@mp:id')", "!40517/16/1/1"},
	})
}

// TestScriptsWithXML has shapes of scripts that look around: event sessions, ring buffers, query plans, lists in
// strings.
func TestScriptsWithXML(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"DECLARE @s varchar(50) = 'a,b&,c'; SELECT i.value('.', 'varchar(9)') FROM (SELECT CAST('<x>' + " +
				"REPLACE(REPLACE(@s, '&', '&amp;'), ',', '</x><x>') + '</x>' AS xml) AS d) q CROSS APPLY d.nodes('/x') t(i)",
			"a; b&; c",
		},
		{
			"SELECT x.n.value('local-name(.)', 'sysname'), x.n.value('.', 'varchar(9)') FROM (SELECT CAST('<r a=\"1\" " +
				"b=\"2\"/>' AS xml) AS d) q CROSS APPLY q.d.nodes('/r/@*') x(n)",
			"a 1; b 2",
		},
		{
			`WITH XMLNAMESPACES (DEFAULT 'http://schemas.microsoft.com/sqlserver/2004/07/showplan') SELECT s.n.value('(@StatementText)[1]', 'varchar(20)'), s.n.exist('.//RelOp[@PhysicalOp="Index Scan"]'), s.n.value('count(.//RelOp)', 'int')
			FROM (SELECT CAST('<ShowPlanXML xmlns="http://schemas.microsoft.com/sqlserver/2004/07/showplan"><BatchSequence><Batch><Statements><StmtSimple StatementText="SELECT 1"><QueryPlan><RelOp PhysicalOp="Sort"><Sort><RelOp PhysicalOp="Index Scan"/></Sort></RelOp></QueryPlan></StmtSimple></Statements></Batch></BatchSequence></ShowPlanXML>' AS xml) AS p) q
			CROSS APPLY q.p.nodes('/ShowPlanXML/BatchSequence/Batch/Statements/StmtSimple') AS s(n)`,
			"SELECT 1 true 2",
		},
		{
			`SELECT record.value('(./Record/@id)[1]', 'int'), 100 - record.value('(./Record/SchedulerMonitorEvent/SystemHealth/SystemIdle)[1]', 'int')
			FROM (SELECT CONVERT(xml, N'<Record id="5" type="RING_BUFFER_SCHEDULER_MONITOR" time="9"><SchedulerMonitorEvent><SystemHealth><ProcessUtilization>3</ProcessUtilization><SystemIdle>95</SystemIdle></SystemHealth></SchedulerMonitorEvent></Record>') AS record) x`,
			"5 5",
		},
		{
			`SELECT n.c.value('(@timestamp)[1]', 'datetime2(0)') AS at, n.c.value('(action[@name="sql_text"]/value)[1]', 'nvarchar(20)'), n.c.query('(data/value/deadlock)[1]')
			FROM (SELECT CAST('<RingBufferTarget><event name="xml_deadlock_report" timestamp="2024-05-06T07:08:09.000Z"><data name="xml_report"><value><deadlock><victim-list/></deadlock></value></data><action name="sql_text"><value>SELECT 2</value></action></event></RingBufferTarget>' AS xml) AS target_data) AS t
			CROSS APPLY t.target_data.nodes('RingBufferTarget/event[@name="xml_deadlock_report"]') AS n(c)`,
			"2024-05-06T07:08:09 SELECT 2 <deadlock><victim-list/></deadlock>",
		},
		{
			"SELECT COUNT(*) FROM (SELECT CAST(target_data AS xml) AS d FROM sys.dm_xe_session_targets) q CROSS APPLY " +
				"q.d.nodes('//event') n(e)",
			"0",
		},
		{
			"CREATE FUNCTION dbo.item (@x xml, @n int) RETURNS varchar(20) AS BEGIN RETURN " +
				"@x.value('(/l/i[sql:variable(\"@n\")])[1]', 'varchar(20)') END",
			"ok",
		},
		{"SELECT dbo.item('<l><i>a</i><i>b</i></l>', 2)", "b"},
		{"CREATE PROCEDURE shred @x xml AS SELECT i.value('@k', 'int') FROM @x.nodes('/l/i') l(i)", "ok"},
		{"EXEC shred '<l><i k=\"1\"/><i k=\"2\"/></l>'", "1; 2"},
		{
			"CREATE VIEW shredded AS SELECT i.value('@k', 'int') AS k FROM (SELECT CAST('<l><i k=\"1\"/><i k=\"2\"/></l>' AS " +
				"xml) AS x) q CROSS APPLY x.nodes('/l/i') l(i)",
			"ok",
		},
		{"SELECT SUM(k) FROM shredded", "3"},
	})
}

// TestXMLRefusals: docs/relational-databases/errors-events/database-engine-events-and-errors-2000-to-2999.md and its
// kin.
func TestXMLRefusals(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (id int, x xml NULL); INSERT t VALUES (1, '<a/>')", "ok"},
		{"INSERT t VALUES (2, '<a>')", "!9400/16/1/1"},
		{"SELECT CAST('<a><b></a>' AS xml)", "!9436/16/1/1"},
		{"SELECT CAST(N'<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>' AS xml)", "!9402/16/1/1"},
		{"SELECT CAST('<!DOCTYPE a><a/>' AS xml)", "!6359/16/1/1"},
		{"SELECT CAST(1 AS xml)", "!529/16/2/1"},
		{"DECLARE @s varchar(10) = (SELECT x FROM t)", "!257/16/3/1"},
		{"SELECT CAST(x AS varchar(3)) FROM t", "!6354/16/10/1"},
		{"SELECT id.value('.', 'int') FROM t", "!258/15/1/1"},
		{"SELECT x.VALUE('.', 'int') FROM t", "!227/15/1/1"},
		{"SELECT x.value('.') FROM t", "!174/15/1/1"},
		{"DECLARE @p varchar(9) = '.'; SELECT x.value(@p, 'int') FROM t", "!8172/16/1/1"},
		{"SELECT x.value('.', 'xml') FROM t", "!9500/16/1/1"},
		{"SELECT x.modify('delete /a') FROM t", "!8137/16/1/1"},
		{"SELECT x.nodes('/a') FROM t", "!227/15/1/1"},
		{"SELECT n.c FROM t CROSS APPLY x.nodes('/a') n(c)", "!493/16/1/1"},
		{"SELECT * FROM t CROSS APPLY x.nodes('/a') n(c)", "!493/16/1/1"},
		{"SELECT COUNT(*) FROM t CROSS APPLY x.nodes('/a') n(c) WHERE c IS NOT NULL", "1"},
		{"SELECT 1 FROM t CROSS APPLY x.nodes('/a') n", "!318/15/1/1"},
		{"SELECT x.exist('/a') FROM t GROUP BY x.exist('/a')", "!4148/16/1/1"},
		{"SELECT x.exist('/a instance of element()') FROM t", "!40517/16/1/1"},
		{"DECLARE @x xml = '<r/>'; SET @x.modify('insert <a/> into /r/b')", "!2226/16/1/1"},
		{"DECLARE @x xml = '<r/>'; SET @x.modify('/r')", "!6305/16/1/1"},
		{"DECLARE @x xml; SET @x.modify('delete /r')", "!5302/16/1/1"},
		{"DECLARE @x xml = '<r/>'; SET @x.value('.', 'int')", "!8113/16/1/1"},
		{"DECLARE @x int; SET @x.modify('delete /r')", "!258/15/1/1"},
		{"UPDATE t SET x.modify('replace value of (/a)[1] with \"1\"')", "!2356/16/1/1"},
		{"SELECT x.exist('/a[@b = sql:variable(\"@no\")]') FROM t", "!9501/16/2/1"},
		{"SELECT x.exist('/a[@b = sql:column(\"no\")]') FROM t", "!207/16/1/1"},
		{"SELECT x.exist('/a[@b = sql:column(\"x\")]') FROM t", "!9342/16/1/1"},
		{"CREATE TABLE u (x xml, CHECK (x.exist('/a') = 1))", "!423/16/1/1"},
		{"CREATE TABLE u (x xml, n AS x.value('(/a)[1]', 'int'))", "!435/16/1/1"},
		{"CREATE TABLE u (x xml(sc))", "!40517/16/1/1"},
		{"SELECT dbo.nothing.value('.', 'int')", "!4121/16/1/1"},
	})
}
