// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestTextsThatAreHardlyNumbers: a sign alone, a point alone and every currency symbol
// (docs/t-sql/functions/isnumeric-transact-sql.md, docs/t-sql/data-types/money-and-smallmoney-transact-sql.md).
func TestTextsThatAreHardlyNumbers(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT ISNUMERIC('+'), ISNUMERIC('-'), ISNUMERIC('.'), ISNUMERIC(' + '), ISNUMERIC('$'), ISNUMERIC(N'¥5'), " +
				"ISNUMERIC(N'₩5')",
			"1 1 1 1 1 1 1",
		},
		{"SELECT ISNUMERIC(''), ISNUMERIC('+-'), ISNUMERIC('e'), ISNUMERIC('a+')", "0 0 0 0"},
		{
			"SELECT CAST(N'¥4.91' AS money), CAST(N'-€2' AS smallmoney), CAST('-' AS money), CAST('.' AS money)",
			"4.9100 -2.0000 0.0000 0.0000",
		},
		{"SELECT CAST('+' AS int), CAST('-' AS bigint), CAST('+5' AS int), CAST('-5' AS int)", "0 0 5 -5"},
		{"SELECT CAST('+-5' AS int)", "!245/16"},
		{"SELECT CAST('-' AS decimal(5, 2))", "!8114/16"},
	})
}

// TestRowversionHasEightBytes: shorter values are filled with zeros, on the side where their type is
// (docs/t-sql/data-types/rowversion-transact-sql.md).
func TestRowversionHasEightBytes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT CONVERT(varchar(20), CAST(CAST('abc' AS rowversion) AS varbinary(8)), 1), CONVERT(varchar(20), " +
				"CAST(CAST(0xfe AS timestamp) AS varbinary(8)), 1)",
			"0x6162630000000000 0xFE00000000000000",
		},
		{"SELECT CONVERT(varchar(20), CAST(CAST(1 AS rowversion) AS varbinary(8)), 1)", "0x0000000000000001"},
	})
}

// TestZonesOfWindows: AT TIME ZONE knows every zone of Windows, in any case of letters
// (docs/t-sql/queries/at-time-zone-transact-sql.md).
func TestZonesOfWindows(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	at := func(zone string) string {
		return "SELECT CONVERT(varchar(6), RIGHT(CONVERT(varchar(40), CAST('2024-01-15 12:00' AS datetime2(0)) AT " +
			"TIME ZONE '" + zone + "', 121), 6))"
	}
	converse(t, db, []say{
		{
			at("Iran Standard Time"),
			"+03:30",
		}, {at("Central Standard Time (Mexico)"), "-06:00"}, {at("nepal standard time"), "+05:45"},
		{
			at("Venezuela Standard Time"),
			"-04:00",
		}, {at("UTC+12"), "+12:00"}, {at("utc-11"), "-11:00"}, {at("Dateline Standard Time"), "-12:00"},
		{
			at("Aus Central W. Standard Time"),
			"+08:45",
		}, {at("Tasmania Standard Time"), "+11:00"}, {at("Morocco Standard Time"), "+01:00"},
		{at("UTC-10"), "!9820/16"},
		{
			"SELECT COUNT(*) FROM sys.time_zone_info WHERE name COLLATE Latin1_General_BIN2 IN ('UTC+12', 'US Eastern " +
				"Standard Time', 'SA Pacific Standard Time', 'Central Standard Time (Mexico)', 'N. Central Asia Standard Time', " +
				"'Mid-Atlantic Standard Time')",
			"6",
		},
		{"SELECT CONNECTIONPROPERTY('physical_net_transport')", "TCP"},
	})
}
