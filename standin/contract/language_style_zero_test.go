// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestClocksThatAreChanged: hours that clocks leave out or show twice, on both sides of Greenwich
// (docs/t-sql/queries/at-time-zone-transact-sql.md, Examples).
func TestClocksThatAreChanged(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	at := func(moment, zone string) string {
		return "SELECT CONVERT(varchar(40), CAST('" + moment + "' AS datetime2(0)) AT TIME ZONE '" + zone + "', 121)"
	}
	const europe, pacific = "Central European Standard Time", "Pacific Standard Time"
	converse(t, db, []say{
		{
			at("2022-03-27 01:01", europe),
			"2022-03-27 01:01:00 +01:00",
		}, {at("2022-03-27 02:01", europe), "2022-03-27 03:01:00 +02:00"},
		{at("2022-03-27 03:01", europe), "2022-03-27 03:01:00 +02:00"},
		{
			at("2022-10-30 01:01", europe),
			"2022-10-30 01:01:00 +02:00",
		}, {at("2022-10-30 02:01", europe), "2022-10-30 02:01:00 +01:00"},
		{at("2022-10-30 03:01", europe), "2022-10-30 03:01:00 +01:00"},
		{
			at("2020-03-08 01:30", pacific),
			"2020-03-08 01:30:00 -08:00",
		}, {at("2020-03-08 02:30", pacific), "2020-03-08 03:30:00 -07:00"},
		{at("2020-03-08 03:30", pacific), "2020-03-08 03:30:00 -07:00"},
		{
			at("2020-11-01 00:30", pacific),
			"2020-11-01 00:30:00 -07:00",
		}, {at("2020-11-01 01:30", pacific), "2020-11-01 01:30:00 -08:00"},
		{at("2020-11-01 02:30", pacific), "2020-11-01 02:30:00 -08:00"},
		{
			at("2020-07-01 12:00", "UTC"),
			"2020-07-01 12:00:00 +00:00",
		}, {at("2020-07-01 12:00", "India Standard Time"), "2020-07-01 12:00:00 +05:30"},
	})
}

// TestStylesOfDatesAndTimes: 0 is 100 for every type, and the styles of a date or of a time alone are not the other's
// (docs/t-sql/functions/cast-and-convert-transact-sql.md, date and time styles).
func TestStylesOfDatesAndTimes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT CONVERT(varchar(40), CAST('2020-01-02' AS date), 0), CONVERT(varchar(40), CAST('12:34:05.1234' AS " +
				"time(4)), 0), CONVERT(varchar(40), CAST('2020-01-02 15:04' AS datetime2), 0)",
			"Jan  2 2020 12:34PM Jan  2 2020  3:04PM",
		},
		{"DECLARE @s int = 0; SELECT CONVERT(varchar(40), CAST('2020-01-02' AS date), @s); SET @s = 23", "Jan  2 2020"},
		{"DECLARE @s int; SELECT CONVERT(varchar(40), CAST('2020-01-02' AS date), @s)", "NULL"},
		{
			"SELECT CONVERT(varchar(40), CAST('2020-01-02' AS date)), CAST(CAST('2020-01-02' AS date) AS varchar(40)), " +
				"CONVERT(varchar(40), CAST('2020-01-02' AS datetime), 0)",
			"2020-01-02 2020-01-02 Jan  2 2020 12:00AM",
		},
		{
			"SELECT CONVERT(varchar(40), CAST('03:04' AS time), 101)",
			"!9809/16",
		}, {"SELECT CONVERT(varchar(40), CAST('2020-01-02' AS date), 108)", "!9809/16"},
	})
}

// TestFormerLargeTypes: text and ntext convert to characters, image to bytes alone
// (docs/t-sql/functions/cast-and-convert-transact-sql.md, the table of conversions, and
// docs/t-sql/data-types/sql-variant-transact-sql.md, Restrictions).
func TestFormerLargeTypes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE t (a text, b ntext, c image); INSERT t VALUES ('a', N'b', 0x01); INSERT t (a, b) VALUES (N'ä', 'c')",
			"",
		},
		{
			"SELECT CAST(CAST('1' AS text) AS int)",
			"!529/16",
		}, {"SELECT CAST(1 AS text)", "!529/16"}, {"SELECT CAST(GETDATE() AS ntext)", "!529/16"},
		{"SELECT CAST(CAST(0x01 AS image) AS varchar(9))", "!529/16"},
		{
			"INSERT t (a) VALUES (1)",
			"!206/16",
		}, {"INSERT t (c) VALUES (N'x')", "!206/16"}, {"SELECT CAST(CAST(1 AS sql_variant) AS text)", "!529/16"},
		{
			"SELECT CAST(a AS varchar(9)), CAST(b AS varchar(9)), CONVERT(varchar(9), CAST(c AS varbinary(9)), 1) FROM t " +
				"WHERE a LIKE 'a'",
			"a b 0x01",
		},
	})
}
