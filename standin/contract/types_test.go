// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"math"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

func at(year int, month time.Month, day, hour, minute, second, ns int) time.Time {
	return time.Date(year, month, day, hour, minute, second, ns, time.UTC)
}

// literals are values at the edges of each type, and what a driver reads.
var literals = []struct {
	typ, literal, driverType string
	want                     any
}{
	{"bit", "1", "BIT", true},
	{"tinyint", "255", "TINYINT", int64(255)},
	{"smallint", "-32768", "SMALLINT", int64(-32768)},
	{"int", "-2147483648", "INT", int64(math.MinInt32)},
	{"bigint", "9223372036854775807", "BIGINT", int64(math.MaxInt64)},
	{"bigint", "-9223372036854775808", "BIGINT", int64(math.MinInt64)},
	{"decimal(38,0)", "99999999999999999999999999999999999999", "DECIMAL", "99999999999999999999999999999999999999"},
	{
		"decimal(38,38)",
		"-0.12345678901234567890123456789012345678",
		"DECIMAL",
		"-0.12345678901234567890123456789012345678",
	},
	{"decimal(5,2)", "-1.5", "DECIMAL", "-1.50"},
	{"numeric(10,0)", "7", "DECIMAL", "7"},
	{"money", "-922337203685477.5808", "MONEY", "-922337203685477.5808"},
	{"smallmoney", "214748.3647", "SMALLMONEY", "214748.3647"},
	{"float", "-1.7976931348623157E+308", "FLOAT", -math.MaxFloat64},
	{"float", "2.2250738585072014E-308", "FLOAT", 2.2250738585072014e-308},
	{"real", "1.5", "REAL", 1.5},
	{"date", "'0001-01-01'", "DATE", at(1, 1, 1, 0, 0, 0, 0)},
	{"date", "'9999-12-31'", "DATE", at(9999, 12, 31, 0, 0, 0, 0)},
	{"time(7)", "'23:59:59.9999999'", "TIME", at(1, 1, 1, 23, 59, 59, 999999900)},
	{"time(0)", "'12:34:56'", "TIME", at(1, 1, 1, 12, 34, 56, 0)},
	{"datetime2(7)", "'9999-12-31 23:59:59.9999999'", "DATETIME2", at(9999, 12, 31, 23, 59, 59, 999999900)},
	{"datetime2(3)", "'2026-11-20T09:36:20.125'", "DATETIME2", at(2026, 11, 20, 9, 36, 20, 125e6)},
	{"datetime", "'1753-01-01 00:00:00.003'", "DATETIME", at(1753, 1, 1, 0, 0, 0, 3e6)},
	{"datetime", "'9999-12-31 23:59:59.997'", "DATETIME", at(9999, 12, 31, 23, 59, 59, 997e6)},
	{"smalldatetime", "'2079-06-06 23:59'", "SMALLDATETIME", at(2079, 6, 6, 23, 59, 0, 0)},
	{
		"datetimeoffset(7)",
		"'2026-11-20 09:36:20.1234567 +05:30'",
		"DATETIMEOFFSET",
		time.Date(2026, 11, 20, 9, 36, 20, 123456700, time.FixedZone("", 19800)),
	},
	{"char(5)", "'ab'", "CHAR", "ab   "},
	{"varchar(10)", "'café €'", "VARCHAR", "café €"},
	{"varchar(max)", "REPLICATE(CAST('x' AS varchar(max)), 20000)", "VARCHAR", strings.Repeat("x", 20000)},
	{"nchar(4)", "N'ж'", "NCHAR", "ж   "},
	{"nvarchar(20)", "N'😀 grüße'", "NVARCHAR", "😀 grüße"},
	{"nvarchar(20)", "N''", "NVARCHAR", ""},
	{"nvarchar(max)", "REPLICATE(CAST(N'ж' AS nvarchar(max)), 9000)", "NVARCHAR", strings.Repeat("ж", 9000)},
	{"binary(4)", "0x0102", "BINARY", []byte{1, 2, 0, 0}},
	{"varbinary(10)", "0x00FF", "VARBINARY", []byte{0, 0xFF}},
	{"varbinary(10)", "0x", "VARBINARY", []byte{}},
	{"varbinary(max)", "0xABCD", "VARBINARY", []byte{0xAB, 0xCD}},
}

// TestTypesThereAndBack writes a value as a literal into a column of each type and reads it.
// By docs/t-sql/data-types/data-types-transact-sql.md.
func TestTypesThereAndBack(t *testing.T) {
	db := newDatabase(t)
	for _, c := range literals {
		t.Run(c.typ+" "+c.literal[:min(len(c.literal), 30)], func(t *testing.T) {
			g := NewWithT(t)
			table := uniqueName("v")
			mustExec(t, db, "CREATE TABLE "+table+" (id int PRIMARY KEY, v "+c.typ+")")
			mustExec(t, db, "INSERT INTO "+table+" VALUES (1, "+c.literal+"), (2, NULL)")
			rows, err := db.Query("SELECT v FROM " + table + " ORDER BY id")
			g.Expect(err).NotTo(HaveOccurred())
			types, err := rows.ColumnTypes()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(types[0].DatabaseTypeName()).To(Equal(c.driverType))
			g.Expect(rows.Close()).To(Succeed())
			got := query(t, db, "SELECT v FROM "+table+" ORDER BY id")
			g.Expect(got).To(HaveLen(2))
			if want, ok := c.want.(time.Time); ok {
				g.Expect(got[0][0]).To(BeTemporally("==", want))
				_, offset := got[0][0].(time.Time).Zone()
				_, wanted := want.Zone()
				g.Expect(offset).To(Equal(wanted))
			} else {
				g.Expect(got[0][0]).To(Equal(c.want))
			}
			g.Expect(got[1][0]).To(BeNil())
		})
	}
}

// TestParametersThereAndBack inserts parameters and reads them back.
// By [MS-TDS] 2.2.6.6, docs/t-sql/data-types/data-types-transact-sql.md.
func TestParametersThereAndBack(t *testing.T) {
	db := newDatabase(t)
	guid := mssql.UniqueIdentifier{
		0x6F,
		0x96,
		0x19,
		0xFF,
		0x8B,
		0x86,
		0xD0,
		0x11,
		0xB4,
		0x2D,
		0x00,
		0xC0,
		0x4F,
		0xC9,
		0x64,
		0xFF,
	}
	for _, c := range []struct {
		typ         string
		param, want any
	}{
		{"bigint", int64(math.MinInt64), int64(math.MinInt64)},
		{"int", int32(5), int64(5)},
		{"bit", true, true},
		{"float", 0.1, 0.1},
		{"nvarchar(100)", "grüße 😀 ''quoted''", "grüße 😀 ''quoted''"},
		{"nvarchar(max)", strings.Repeat("ä", 100_000), strings.Repeat("ä", 100_000)},
		{"varbinary(max)", []byte(strings.Repeat("\x00\x01\xFE", 100_000)), []byte(strings.Repeat("\x00\x01\xFE", 100_000))},
		{"nvarchar(10)", sql.NullString{}, nil},
		{"int", nil, nil},
		{"decimal(20,5)", "12345678901234.56789", "12345678901234.56789"},
		{"datetime2(7)", mssql.DateTime1(at(2026, 1, 2, 3, 4, 5, 0)), at(2026, 1, 2, 3, 4, 5, 0)},
		{"datetimeoffset(7)", time.Date(2026, 11, 20, 9, 36, 20, 123456700, time.FixedZone("", -3600)),
			time.Date(2026, 11, 20, 9, 36, 20, 123456700, time.FixedZone("", -3600))},
		{"uniqueidentifier", guid, guid},
	} {
		t.Run(c.typ, func(t *testing.T) {
			g := NewWithT(t)
			table := uniqueName("p")
			mustExec(t, db, "CREATE TABLE "+table+" (v "+c.typ+")")
			mustExec(t, db, "INSERT INTO "+table+" VALUES (@p1)", c.param)
			if want, ok := c.want.(mssql.UniqueIdentifier); ok {
				var got mssql.UniqueIdentifier
				g.Expect(db.QueryRow("SELECT v FROM " + table + " WHERE v = '" + want.String() + "'").Scan(&got)).To(Succeed())
				g.Expect(got).To(Equal(want))
				return
			}
			got := value(t, db, "SELECT v FROM "+table)
			if want, ok := c.want.(time.Time); ok {
				g.Expect(got).To(BeTemporally("==", want))
				return
			}
			if c.want == nil {
				g.Expect(got).To(BeNil())
				return
			}
			g.Expect(got).To(Equal(c.want))
		})
	}
}

// TestOutputParameters goes by [MS-TDS] 2.2.7.19, docs/t-sql/statements/create-procedure-transact-sql.md.
func TestOutputParameters(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	var n int64
	text := "before"
	_, err := db.Exec(
		"SELECT @n = 41 + 1; SET @text = REVERSE(@text)",
		sql.Named("n", sql.Out{Dest: &n}),
		sql.Named("text", sql.Out{Dest: &text, In: true}),
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(Equal(int64(42)))
	g.Expect(text).To(Equal("erofeb"))
}

// TestConversionErrors goes by docs/t-sql/functions/cast-and-convert-transact-sql.md.
func TestConversionErrors(t *testing.T) {
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(t, db, "CREATE TABLE t (small tinyint, short varchar(3), exact decimal(4,2))")
	for text, number := range map[string]int32{
		"SELECT CAST('abc' AS int)":                                      245,
		"SELECT CAST('abc' AS decimal(5,2))":                             8114,
		"SELECT CAST('2026-13-01' AS date)":                              241,
		"SELECT CAST(300 AS tinyint)":                                    220,
		"SELECT CAST(9223372036854775807 AS bigint) * CAST(2 AS bigint)": 8115,
		"SELECT 1/0":                       8134,
		"INSERT t (small) VALUES (256)":    220,
		"INSERT t (short) VALUES ('four')": 2628,
		"INSERT t (exact) VALUES (123.4)":  8115,
	} {
		g.Expect(failure(t, db, text).Number).To(Equal(number), text)
	}
	g.Expect(value(t, db, "SELECT COUNT(*) FROM t")).To(Equal(int64(0)))
}
