// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// inPages are collations with a text of their code page, the bytes that it has there, and a text that the page lacks.
var inPages = []struct{ collation, text, bytes, lacks string }{
	{"Czech_CI_AS", "Příliš žluť", "50F8ED6C699A209E6C759D", "Я"},
	{"Cyrillic_General_CI_AS", "Привет", "CFF0E8E2E5F2", "é"},
	{"SQL_Latin1_General_CP1251_CS_AS", "Ёж", "A8E6", "é"},
	{"SQL_Latin1_General_CP437_CI_AS", "é", "82", "Я"},
	{"Greek_CI_AS", "Ωμέγα", "D9ECDDE3E1", "é"},
	{"Turkish_CI_AS", "ığ", "FDF0", "Я"},
	{"Hebrew_CI_AS", "שלום", "F9ECE5ED", "é"},
	{"Arabic_CI_AS", "سلام", "D3E1C7E3", "Я"},
	{"Lithuanian_CI_AS", "Žąsis", "DEE0736973", "Я"},
	{"Thai_CI_AS", "ไทย", "E4B7C2", "é"},
	{"Japanese_CI_AS", "日本ア", "93FA967B8341", "é"},
	{"Chinese_PRC_CI_AS", "中文", "D6D0CEC4", "ñ"},
	{"Korean_Wansung_CI_AS", "한글", "C7D1B1DB", "é"},
	{"Chinese_Taiwan_Stroke_CI_AS", "中文", "A4A4A4E5", "é"},
	{"Latin1_General_100_CI_AS_SC_UTF8", "Я日😀", "D0AFE697A5F09F9880", ""},
	{"French_CI_AS", "é€", "E980", "Я"},
	{"Vietnamese_CI_AS", "ơư₫", "F5FDFE", "Я"},
	{"SQL_Latin1_General_CP850_CI_AS", "éß", "82E1", "Я"},
}

// TestCodePages: a varchar has the characters of its collation's code page, bytes in that page, and reaches its client
// in it (docs/relational-databases/collations/collation-and-unicode-support.md, Code page; [MS-TDS] 2.2.5.1.2).
func TestCodePages(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, p := range inPages {
		t.Run(p.collation, func(t *testing.T) {
			g := NewWithT(t)
			name := uniqueName("pages")
			mustExec(
				t,
				db,
				"CREATE TABLE "+name+" (id int PRIMARY KEY, v varchar(40) COLLATE "+p.collation+", c char(12) COLLATE "+
					p.collation+", m varchar(max) COLLATE "+p.collation+", x text COLLATE "+p.collation+")",
			)
			mustExec(t, db, "INSERT "+name+" VALUES (1, @p1, @p1, @p1, @p1)", p.text)
			g.Expect(query(t, db, "SELECT v, RTRIM(c), m, x FROM "+name)).To(Equal([][]any{{p.text, p.text, p.text, p.text}}))
			g.Expect(value(t, db, "SELECT CONVERT(varchar(80), CAST(v AS varbinary(40)), 2) FROM "+name)).To(Equal(p.bytes))
			g.Expect(query(t, db, "SELECT DATALENGTH(v), DATALENGTH(c), DATALENGTH(m) FROM "+name)).
				To(Equal([][]any{{int64(len(p.bytes) / 2), int64(12), int64(len(p.bytes) / 2)}}))
			g.Expect(query(t, db,
				"SELECT v + 'x', UPPER(LOWER('a')) + v, REPLACE(v, 'q', 'z'), LEFT(v, 40), ISNULL(v, ''), CASE WHEN id = 1 THEN "+
					"v ELSE '' END, MAX(v) OVER (), CONCAT(v, id), (SELECT MAX(v) FROM "+name+") FROM "+name)).
				To(Equal([][]any{{p.text + "x", "A" + p.text, p.text, p.text, p.text, p.text, p.text, p.text + "1", p.text}}))
			g.Expect(query(t, db, "SELECT v FROM "+name+" UNION SELECT 'a' ORDER BY 1 DESC")).To(HaveLen(2))
			g.Expect(value(t, db, "SELECT TOP 1 x FROM (SELECT MIN(v) AS x FROM "+name+" GROUP BY id) AS d")).To(Equal(p.text))
			g.Expect(value(t, db, "SELECT STRING_AGG(v, ',') FROM "+name)).To(Equal(p.text))
			g.Expect(value(t, db, "SELECT CAST(CAST(v AS sql_variant) AS nvarchar(40)) FROM "+name)).To(Equal(p.text))
			g.Expect(value(t, db, "SELECT CAST(v AS sql_variant) FROM "+name)).To(Equal(p.text))
			g.Expect(value(t, db, "SELECT CAST(v AS varchar(50)) FROM "+name)).To(Equal(p.text))
			g.Expect(value(t, db, "SELECT CAST(@p1 COLLATE "+p.collation+" AS varchar(40))", p.text)).To(Equal(p.text))
			mustExec(t, db, "SELECT v, m, UPPER(v) AS u INTO "+name+"b FROM "+name)
			g.Expect(query(t, db, "SELECT v, m FROM "+name+"b")).To(Equal([][]any{{p.text, p.text}}))
			if p.lacks != "" {
				mustExec(t, db, "UPDATE "+name+" SET v = @p1", p.lacks)
				g.Expect(value(t, db, "SELECT CAST(v AS nvarchar(9)) FROM "+name)).To(Equal("?"))
			}
		})
	}
}

// TestLengthsInBytes: the length of a varchar is in bytes, of which a character has several in some code pages
// (docs/t-sql/data-types/char-and-varchar-transact-sql.md).
func TestLengthsInBytes(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	mustExec(
		t,
		db,
		"CREATE TABLE bytes (u varchar(4) COLLATE Latin1_General_100_CI_AS_SC_UTF8, j char(5) COLLATE Japanese_CI_AS)",
	)
	converse(t, connection(t, db), []say{
		{
			"INSERT bytes (u) VALUES (N'ЯЯ')",
			"ok",
		}, {"INSERT bytes (u) VALUES (N'ЯЯa')", "!2628/16/1/1"}, {"INSERT bytes (j) VALUES (N'日本ア')", "!2628/16/1/1"},
		{
			"DELETE bytes; INSERT bytes VALUES (CAST(N'aЯЯ' COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS varchar(4)), N'日本'); " +
				"SELECT u, DATALENGTH(u), LEN(u), DATALENGTH(j), LEN(j) FROM bytes",
			"aЯ 3 2 5 2",
		},
	})
}

// TestPagesOfBulkLoads: a client sends the rows of a bulk load in the code page that the columns were told in.
func TestPagesOfBulkLoads(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	mustExec(
		t,
		db,
		"CREATE TABLE loaded (c varchar(20) COLLATE Cyrillic_General_CI_AS, j varchar(20) COLLATE Japanese_CI_AS, u "+
			"varchar(20) COLLATE Latin1_General_100_CI_AS_SC_UTF8, w varchar(20))",
	)
	tx, err := db.Begin()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	load, err := tx.Prepare(mssql.CopyIn("loaded", mssql.BulkOptions{}, "c", "j", "u", "w"))
	g.Expect(err).NotTo(HaveOccurred())
	// go-mssqldb sends bytes as they are, and texts of varchar columns without a code page; the UTF-8 column it is told is
	// nvarchar.
	for _, row := range [][]any{{"plain", "plain", "plain", "plain"}, {nil, nil, sql.NullString{}, nil},
		{[]byte{0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2}, []byte{0x93, 0xFA, 0x96, 0x7B}, "Я日😀", []byte{0xE9, 0x80}}} {
		_, err = load.Exec(row...)
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err = load.Exec()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tx.Commit()).To(Succeed())
	g.Expect(query(t, db, "SELECT c, j, u, w FROM loaded WHERE c IS NOT NULL ORDER BY c")).
		To(Equal([][]any{{"plain", "plain", "plain", "plain"}, {"Привет", "日本", "Я日😀", "é€"}}))
	g.Expect(query(t, db,
		"SELECT DATALENGTH(c), DATALENGTH(j), DATALENGTH(u), DATALENGTH(w) FROM loaded WHERE c <> 'plain'")).
		To(Equal([][]any{{int64(6), int64(4), int64(9), int64(2)}}))
}

// TestUnicodeOnlyCollations: those without a code page are for nchar, nvarchar and ntext (error 459).
func TestUnicodeOnlyCollations(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	converse(t, connection(t, db), []say{
		{
			"CREATE TABLE nowhere (a varchar(9) COLLATE Indic_General_100_CI_AS)",
			"!459/16/1/1",
		}, {"SELECT 'a' COLLATE Khmer_100_CI_AS", "!459/16/1/1"},
		{
			"CREATE TABLE here (a nvarchar(9) COLLATE Indic_General_100_CI_AS)",
			"ok",
		}, {"SELECT N'a' COLLATE Khmer_100_CI_AS", "a"},
	})
}

// TestPropertiesOfCollations goes by docs/t-sql/functions/collation-functions-collationproperty-transact-sql.md.
func TestPropertiesOfCollations(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	list := []say{{"SELECT CONVERT(int, COLLATIONPROPERTY('Nothing_CI_AS', 'CodePage'))", "NULL"}}
	for name, want := range map[string]string{
		"SQL_Latin1_General_CP1_CI_AS": "1252 1033 196609 0", "Traditional_Spanish_CS_AS_KS_WS": "1252 1034 0 0",
		"Cyrillic_General_100_BIN2": "1251 1049 0 2",
		"Japanese_XJIS_140_CI_AI":   "932 1041 196611 3", "Latin1_General_100_CI_AS_SC_UTF8": "65001 1033 196609 2",
		"Chinese_PRC_90_CS_AI_KS_WS": "936 2052 2 1",
	} {
		text := "SELECT "
		for i, property := range []string{"CodePage", "LCID", "ComparisonStyle", "Version"} {
			if i > 0 {
				text += ", "
			}
			text += "CONVERT(int, COLLATIONPROPERTY('" + name + "', '" + property + "'))"
		}
		list = append(list, say{text, want})
	}
	converse(t, connection(t, db), list)
}

// TestCodePageOfADatabase: constants, variables and parameters have the code page of the database
// (docs/t-sql/data-types/constants-transact-sql.md, Unicode strings; char-and-varchar-transact-sql.md, Remarks).
func TestCodePageOfADatabase(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	name := uniqueName("cyrillic")
	conn := connection(t, db)
	t.Cleanup(func() { mustExec(t, db, "DROP DATABASE IF EXISTS "+name) })
	converse(t, conn, []say{
		{"SELECT 'Привет', N'Привет', CAST('Я' AS nvarchar(9)), 'é€'", "?????? Привет ? é€"},
		{"CREATE DATABASE nowhere COLLATE Indic_General_90_CI_AS", "!453/16"},
		{"CREATE DATABASE " + name + " COLLATE cyrillic_general_CI_AS", "ok"},
		{"SELECT collation_name FROM sys.databases WHERE name = '" + name + "'", "Cyrillic_General_CI_AS"},
		{"USE " + name, "ok"},
		{
			"SELECT 'Привет', N'Привет', CAST('Я' AS nvarchar(9)), 'é€', CHAR(207), ASCII('П'), UPPER('я'), CAST(0xCFF0 AS " +
				"varchar(9)), LEN('Привет')",
			"Привет Привет Я ?€ П 207 Я Пр 6",
		},
		{"DECLARE @v varchar(9) = N'Привет'; SELECT @v, @v + 'ы'", "Привет Приветы"},
		{"EXEC sp_executesql N'SELECT @v', N'@v varchar(9)', N'Привет'", "Привет"},
		{
			"CREATE TABLE t (id int, v varchar(20), w varchar(20) COLLATE Latin1_General_CI_AS); INSERT t VALUES (1, " +
				"'Привет', 'é'), (2, N'Привет', N'é')",
			"ok",
		},
		{"SELECT id, v, w FROM t WHERE v = 'привет' ORDER BY id", "1 Привет ?; 2 Привет é"},
		{"CREATE PROCEDURE p @v varchar(9), @o varchar(9) OUTPUT AS SET @o = @v; SELECT @v", "ok"},
		{"DECLARE @o varchar(9); EXEC p 'Ё', @o OUTPUT; SELECT @o + 'ж'", "Ё"},
		{
			"CREATE FUNCTION f (@v varchar(9)) RETURNS varchar(9) AS BEGIN RETURN @v + 'ю' END",
			"ok",
		}, {"SELECT dbo.f(N'Ё')", "Ёю"},
		{"DECLARE @t TABLE (v varchar(9)); INSERT @t VALUES ('Ё'); SELECT v FROM @t", "Ё"},
		{"CREATE TABLE #t (v varchar(9)); INSERT #t VALUES ('Ё'); SELECT v FROM #t; DROP TABLE #t", "?"},
		{"USE master; DROP DATABASE " + name, "ok"},
	})
}
