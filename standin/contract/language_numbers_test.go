// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestCountedDecimals: docs/t-sql/statements/create-table-transact-sql-identity-property.md and
// create-sequence-transact-sql.md, which have decimal and numeric without a scale.
func TestCountedDecimals(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE n (id numeric(18, 0) IDENTITY (10, 5) NOT NULL CONSTRAINT pk_n PRIMARY KEY, a varchar(10) NULL); " +
				"INSERT n (a) VALUES ('one'), ('two'); INSERT n (a) SELECT 'three'",
			"ok",
		},
		{"SELECT SCOPE_IDENTITY(), @@IDENTITY, IDENT_CURRENT('n')", "20 20 20"},
		{"SELECT id, a FROM n WHERE id = 15", "15 two"},
		{
			"SET IDENTITY_INSERT n ON; INSERT n (id, a) VALUES (100, 'given'); SET IDENTITY_INSERT n OFF; INSERT n (a) " +
				"VALUES ('next')",
			"ok",
		},
		{"SELECT id, a FROM n WHERE id >= 20 ORDER BY id DESC", "105 next; 100 given; 20 three"},
		{"INSERT n (a) VALUES ('x'); SELECT COUNT(*) FROM n a JOIN n b ON a.id = b.id", "6"},
		{"DBCC CHECKIDENT ('n', RESEED, 5); DBCC CHECKIDENT ('n'); INSERT n (a) VALUES ('y'); SELECT MAX(id) FROM n", "115"},
		{"CREATE TABLE small (id decimal(2, 0) IDENTITY (98, 1), a int NULL); INSERT small (a) VALUES (1), (2)", "ok"},
		{"INSERT small (a) VALUES (3)", "!8115/16"},
		{"CREATE TABLE scaled (id decimal(5, 1) IDENTITY)", "!2749/16"},
		{"CREATE SEQUENCE tens AS decimal(3, 0) START WITH 125 INCREMENT BY 25 MINVALUE 100 MAXVALUE 200 CYCLE", "ok"},
		{"SELECT NEXT VALUE FOR tens; SELECT NEXT VALUE FOR tens; SELECT NEXT VALUE FOR tens", "125"},
		{
			"CREATE TABLE taken (n decimal(3, 0) NOT NULL DEFAULT NEXT VALUE FOR tens, a int NULL); INSERT taken (a) VALUES " +
				"(1), (2); SELECT n FROM taken WHERE n IN (100, 200) ORDER BY n",
			"100; 200",
		},
		{"CREATE SEQUENCE scaled_sequence AS decimal(5, 1)", "!11702/16"},
	})
}

// TestModulesEndAsWritten: docs/t-sql/statements/merge-transact-sql.md, whose statement needs its semicolon at the end
// of a procedure, too.
func TestModulesEndAsWritten(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE m (id int PRIMARY KEY, n int NOT NULL); INSERT m VALUES (1, 1)", "ok"},
		{
			"CREATE PROCEDURE merging @id int AS MERGE m USING (SELECT @id AS id) AS s ON m.id = s.id WHEN MATCHED THEN " +
				"UPDATE SET n += 1 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 0);",
			"ok",
		},
		{"EXEC merging 1; EXEC merging 2; SELECT id, n FROM m ORDER BY id", "1 2; 2 0"},
		{
			"ALTER PROCEDURE merging @id int AS BEGIN MERGE m USING (SELECT @id AS id) AS s ON m.id = s.id WHEN MATCHED THEN " +
				"DELETE; END",
			"ok",
		},
		{"EXEC merging 1; SELECT id, n FROM m ORDER BY id", "2 0"},
		{
			"CREATE TABLE asked (id int); EXEC ('CREATE TRIGGER passing ON asked AFTER INSERT AS MERGE m USING inserted AS s " +
				"ON m.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, 7);')",
			"ok",
		},
		{"INSERT asked VALUES (5); SELECT id, n FROM m ORDER BY id", "2 0; 5 7"},
		{"SELECT RIGHT(RTRIM(definition), 1) FROM sys.sql_modules WHERE object_id = OBJECT_ID('passing')", ";"},
	})
}

// TestTableOptions: docs/t-sql/statements/alter-table-transact-sql.md and create-statistics-transact-sql.md.
func TestTableOptions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE o (a int NULL)", "ok"},
		{
			"ALTER TABLE o SET (LOCK_ESCALATION = AUTO); SELECT lock_escalation, lock_escalation_desc FROM sys.tables " +
				"WHERE name = 'o'",
			"2 AUTO",
		},
		{
			"ALTER TABLE o SET (LOCK_ESCALATION = DISABLE); SELECT lock_escalation_desc FROM sys.tables WHERE name = 'o'",
			"DISABLE",
		},
		{"ALTER TABLE nowhere SET (LOCK_ESCALATION = TABLE)", "!4902/16"},
		{
			"CREATE STATISTICS st ON o (a) WITH FULLSCAN, PERSIST_SAMPLE_PERCENT = ON, MAXDOP = 2; SELECT name FROM " +
				"sys.stats WHERE object_id = OBJECT_ID('o')",
			"st",
		},
		{"UPDATE STATISTICS o st WITH SAMPLE 10 PERCENT, PERSIST_SAMPLE_PERCENT = OFF", "ok"},
		{
			"CREATE TABLE #counted (a int); UPDATE STATISTICS #counted WITH ROWCOUNT = 9223372036854775807, PAGECOUNT = " +
				"9223372036854775807; SELECT COUNT(*) FROM #counted",
			"0",
		},
		{"UPDATE STATISTICS nowhere WITH ROWCOUNT = 5", "!2706"},
	})
}

// TestAnglesHaveTheTypeOfTheirArgument: docs/t-sql/functions/degrees-transact-sql.md, radians-transact-sql.md (Return
// types).
func TestAnglesHaveTheTypeOfTheirArgument(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"SELECT DEGREES(1), RADIANS(180), DEGREES(CAST(2 AS bigint)), DEGREES(CAST(1 AS tinyint)), RADIANS(CAST(-180 " +
				"AS smallint))",
			"57 3 114 57 -3",
		},
		{"SELECT DEGREES(PI() / 2), RADIANS(-45.01e0), DEGREES(NULL + 1e0)", "90 -0.7855726963226477 NULL"},
		{
			"SELECT LEFT(RADIANS(180.0), 16), SQL_VARIANT_PROPERTY(RADIANS(180.0), 'Scale'), " +
				"SQL_VARIANT_PROPERTY(DEGREES(CAST(1 AS smallmoney)), 'BaseType')",
			"3.14159265358979 18 money",
		},
		{"SELECT DEGREES(CAST(1 AS money))", "57.2958"}, {"SELECT DEGREES(2147483647)", "!8115/16"},
	})
}
