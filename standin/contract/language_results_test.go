// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestRoutinesOfTheInformationSchema:
// docs/relational-databases/system-information-schema-views/routines-transact-sql.md, parameters-transact-sql.md, and
// sys.parameters, where number 0 is what a function returns and defaults of T-SQL are not kept.
func TestRoutinesOfTheInformationSchema(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE FUNCTION half (@a int = 4) RETURNS decimal(9, 2) AS BEGIN RETURN @a / 2.0 END",
			"ok",
		}, {"CREATE FUNCTION called () RETURNS nvarchar(20) AS BEGIN RETURN N'x' END", "ok"},
		{
			"CREATE FUNCTION listed () RETURNS TABLE AS RETURN SELECT 1 AS a",
			"ok",
		}, {"CREATE PROCEDURE does @a int, @b varchar(9) OUTPUT AS SELECT 1", "ok"},
		{
			"SELECT ROUTINE_NAME, ROUTINE_TYPE, ROUTINE_BODY, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, " +
				"NUMERIC_PRECISION, NUMERIC_SCALE, SQL_DATA_ACCESS, MAX_DYNAMIC_RESULT_SETS, IS_USER_DEFINED_CAST " +
				"FROM INFORMATION_SCHEMA.ROUTINES ORDER BY ROUTINE_NAME",
			"called FUNCTION SQL nvarchar 20 40 NULL NULL READS 0 NO; does PROCEDURE SQL NULL NULL NULL NULL NULL " +
				"MODIFIES -1 NO; " +
				"half FUNCTION SQL decimal NULL NULL 9 2 READS 0 NO; listed FUNCTION SQL TABLE NULL NULL NULL NULL READS 0 NO",
		},
		{
			"SELECT OBJECT_NAME(object_id), parameter_id, name, TYPE_NAME(user_type_id), is_output, has_default_value FROM " +
				"sys.parameters ORDER BY 1, 2",
			"called 0  nvarchar true false; does 1 @a int false false; does 2 @b varchar true false; half 0  decimal true " +
				"false; half 1 @a int false false",
		},
		{
			"SELECT ORDINAL_POSITION, PARAMETER_MODE, IS_RESULT, PARAMETER_NAME, DATA_TYPE FROM " +
				"INFORMATION_SCHEMA.PARAMETERS WHERE SPECIFIC_NAME IN ('half', 'does') ORDER BY SPECIFIC_NAME, 1",
			"1 IN NO @a int; 2 INOUT NO @b varchar; 0 OUT YES  decimal; 1 IN NO @a int",
		},
	})
}

// TestAverageOfIntegersOverflows: the sum under an average has the type of the result
// (docs/t-sql/functions/avg-transact-sql.md, Return types).
func TestAverageOfIntegersOverflows(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"SELECT AVG(a) FROM (VALUES (2147483647), (2147483647)) x (a)",
			"!8115/16/2",
		}, {"SELECT AVG(a) OVER () FROM (VALUES (-2147483648), (-1)) x (a)", "!8115/16/2"},
		{
			"SELECT AVG(CAST(a AS bigint)), AVG(CAST(a AS float)) FROM (VALUES (2147483647), (2147483647)) x (a)",
			"2147483647 2.147483647e+09",
		},
		{
			"SELECT AVG(CAST(a AS smallint)) FROM (VALUES (32767), (32767), (NULL)) x (a)",
			"32767",
		}, {"SELECT AVG(DISTINCT a) FROM (VALUES (2147483647), (2147483647)) x (a)", "2147483647"},
	})
}

// TestWhatFunctionsNeverReturn: types and rows that no function returns
// (docs/relational-databases/user-defined-functions/user-defined-functions.md,
// docs/t-sql/statements/create-function-transact-sql.md), and frames of windows, whose numbers are integers without a
// sign.
func TestWhatFunctionsNeverReturn(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE FUNCTION f () RETURNS text AS BEGIN RETURN 'a' END",
			"!2733/16/1",
		}, {"CREATE FUNCTION f () RETURNS timestamp AS BEGIN RETURN 0x1 END", "!2733/16/1"},
		{
			"CREATE FUNCTION f () RETURNS int AS BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; FETCH NEXT FROM c; CLOSE c; " +
				"RETURN 1 END",
			"!444/16",
		},
		{
			"CREATE FUNCTION f () RETURNS int AS BEGIN DECLARE @a int; DECLARE c CURSOR FOR SELECT 1; OPEN c; FETCH NEXT " +
				"FROM c INTO @a; CLOSE c; DEALLOCATE c; RETURN @a END",
			"ok",
		},
		{"CREATE FUNCTION g () RETURNS sql_variant AS BEGIN RETURN 1 END", "ok"},
		{
			"SELECT 1; SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN -1 PRECEDING AND CURRENT ROW) FROM (VALUES (1)) x (a)",
			"!102/15/1",
		},
		{"SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND -1 FOLLOWING) FROM (VALUES (1)) x (a)", "!102/15/1"},
		{
			"DECLARE @n int = 1; SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN @n PRECEDING AND CURRENT ROW) FROM " +
				"(VALUES (1)) x (a)",
			"!102/15/1",
		},
		{
			"SELECT SUM(a) OVER (ORDER BY a ROWS 1.5 PRECEDING) FROM (VALUES (1)) x (a)",
			"!102/15/1",
		}, {"SELECT SUM(a) OVER (ORDER BY a ROWS (1) PRECEDING) FROM (VALUES (1)) x (a)", "!102/15/1"},
		{
			"SELECT SUM(a) OVER (ORDER BY a ROWS NULL PRECEDING) FROM (VALUES (1)) x (a)",
			"!156/15/1",
		}, {"SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) FROM (VALUES (1), (2)) x (a)", "3; 3"},
	})
}
