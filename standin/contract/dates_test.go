// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestDateFormat: docs/t-sql/statements/set-dateformat-transact-sql.md, and the formats of numbers of
// docs/t-sql/data-types/datetime-transact-sql.md and date-transact-sql.md.
func TestDateFormat(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE days (a datetime NULL, b date NULL)", "ok"},
		{"CREATE PROCEDURE takes @d datetime AS SELECT @d", "ok"},
		{
			"SET DATEFORMAT dmy; SELECT CAST('13/04/2020' AS datetime), CAST('2020-13-04' AS datetime), CAST('2020-04-13' AS " +
				"date), CAST('2020-04-13T01:00:00' AS datetime), CAST('13.04.20' AS date), ISDATE('13/04/2020'), " +
				"ISDATE('04/13/2020')",
			"2020-04-13T00:00:00 2020-04-13T00:00:00 2020-04-13T00:00:00 2020-04-13T01:00:00 2020-04-13T00:00:00 1 0",
		},
		{
			"INSERT days VALUES ('25/12/2021', '25/12/2021'); DECLARE @v varchar(20) = '26/12/2021'; INSERT days VALUES (@v, " +
				"@v); SELECT b FROM days WHERE a >= '25/12/2021'",
			"2021-12-25T00:00:00; 2021-12-26T00:00:00",
		},
		{"DECLARE @d datetime = '27/12/2021'; SELECT @d", "2021-12-27T00:00:00"},
		{"EXEC takes '28/12/2021'", "2021-12-28T00:00:00"},
		{"EXEC sp_executesql N'SELECT @p', N'@p date', @p = '29/12/2021'", "2021-12-29T00:00:00"},
		{
			"SELECT CONVERT(datetime, '12/25/2021', 101), CONVERT(datetime, '20211225'), CONVERT(datetime, 'Dec 25 2021')",
			"2021-12-25T00:00:00 2021-12-25T00:00:00 2021-12-25T00:00:00",
		},
		{"SELECT CAST('12/25/2021' AS datetime)", "!242/16/3"},
		{"SELECT TRY_CAST('12/25/2021' AS datetime)", "NULL"},
		{
			"SET DATEFORMAT ymd; SELECT CAST('21/12/25' AS datetime), CAST('2021-12-25' AS datetime)",
			"2021-12-25T00:00:00 2021-12-25T00:00:00",
		},
		{
			"SET DATEFORMAT ydm; SELECT CAST('21/25/12' AS datetime), CAST('2021/25/12' AS smalldatetime), " +
				"CAST('2021-12-25' AS date)",
			"2021-12-25T00:00:00 2021-12-25T00:00:00 2021-12-25T00:00:00",
		},
		{"SELECT CAST('21/25/12' AS date)", "!241/16/1"},
		{"SET DATEFORMAT myd; SELECT CAST('12/21/25' AS datetime)", "2021-12-25T00:00:00"},
		{"SET DATEFORMAT dym; SELECT CAST('25/2021/12' AS datetime)", "2021-12-25T00:00:00"},
		{"SELECT date_format FROM sys.dm_exec_sessions WHERE session_id = @@SPID", "dym"},
		{"DECLARE @o nvarchar(3) = N'mdy'; SET DATEFORMAT @o; SELECT CAST('12/25/2021' AS datetime)", "2021-12-25T00:00:00"},
		{"SET DATEFORMAT abc", "!2741/16/1"},
		{"CREATE PROCEDURE turns AS SET DATEFORMAT dmy; SELECT CAST('01/02/2021' AS datetime)", "ok"},
		{"EXEC turns", "2021-02-01T00:00:00"},
		{"SELECT CAST('01/02/2021' AS datetime)", "2021-01-02T00:00:00"},
	})
}

// TestDateFirst: docs/t-sql/statements/set-datefirst-transact-sql.md, docs/t-sql/functions/datepart-transact-sql.md.
func TestDateFirst(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	const query = "SELECT @@DATEFIRST, DATEPART(weekday, '20261122'), DATEPART(week, '20260105'), DATEPART(week, " +
		"'20260104'), DATENAME(dw, '20261122'), DATETRUNC(week, CAST('20261121' AS date)), DATEDIFF(week, '20260103', " +
		"'20260104')"
	converse(t, db, []say{
		{query, "7 1 2 2 Sunday 2026-11-15T00:00:00 1"},
		{"SET DATEFIRST 1; " + query, "1 7 2 1 Sunday 2026-11-16T00:00:00 1"},
		{"SET DATEFIRST 3; SELECT DATEPART(weekday, '20261122'), DATEPART(weekday, '20261125')", "5 1"},
		{"SELECT date_first FROM sys.dm_exec_sessions WHERE session_id = @@SPID", "3"},
		{"SET DATEFIRST 8", "!2742/16/1"},
		{"DECLARE @d tinyint = 7; SET DATEFIRST @d; " + query, "7 1 2 2 Sunday 2026-11-15T00:00:00 1"},
	})
}
