// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestObjectProperties: docs/t-sql/functions/objectproperty-transact-sql.md and objectpropertyex-transact-sql.md.
func TestObjectProperties(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	for _, text := range []string{
		"CREATE TABLE p (id int NOT NULL CONSTRAINT p_key PRIMARY KEY)",
		`CREATE TABLE t (id int NOT NULL CONSTRAINT t_key PRIMARY KEY NONCLUSTERED, p int CONSTRAINT t_p REFERENCES p ON DELETE CASCADE, n int CONSTRAINT t_n DEFAULT 1, c int, CONSTRAINT t_c CHECK (c > n),
			CONSTRAINT t_u UNIQUE (n), v rowversion, g uniqueidentifier ROWGUIDCOL, b text)`,
		"CREATE TRIGGER g1 ON t AFTER INSERT, UPDATE AS RETURN", "CREATE TRIGGER g2 ON t INSTEAD OF DELETE AS RETURN",
		"CREATE TRIGGER g3 ON t AFTER INSERT AS RETURN",
		"EXEC sp_settriggerorder 'g3', 'first', 'INSERT'", "DISABLE TRIGGER g1 ON t",
		"CREATE PROCEDURE pr AS RETURN", "CREATE VIEW v WITH SCHEMABINDING AS SELECT id FROM dbo.p",
		"CREATE FUNCTION fi () RETURNS TABLE AS RETURN SELECT 1 AS a",
		"CREATE FUNCTION ft () RETURNS @t TABLE (a int) AS BEGIN RETURN END",
		"CREATE FUNCTION fs () RETURNS int WITH ENCRYPTION AS BEGIN RETURN 1 END",
		"CREATE TABLE plain (a int)", "CREATE STATISTICS st ON t (c)",
	} {
		mustExec(t, db, text)
	}
	of := func(object string, properties ...string) string {
		text := "SELECT "
		for i, p := range properties {
			if i > 0 {
				text += ", "
			}
			text += "OBJECTPROPERTY(OBJECT_ID('" + object + "'), '" + p + "')"
		}
		return text
	}
	converse(t, db, []say{
		{
			of(
				"t",
				"TableHasForeignKey",
				"TableHasForeignRef",
				"TableHasCheckCnst",
				"TableHasDefaultCnst",
				"TableHasUniqueCnst",
				"TableHasPrimaryKey",
				"TableHasIdentity",
			),
			"1 0 1 1 1 1 0",
		},
		{
			of(
				"p",
				"TableHasForeignKey",
				"TableHasForeignRef",
				"TableHasCheckCnst",
				"TableHasClustIndex",
				"TableHasNonclustIndex",
				"TableHasIndex",
				"IsIndexed",
			),
			"0 1 0 1 0 1 1",
		},
		{
			of(
				"plain",
				"TableHasForeignKey",
				"TableHasForeignRef",
				"TableHasIndex",
				"TableHasInsertTrigger",
				"TableInsertTriggerCount",
				"TableHasTextImage",
				"IsIndexable",
			),
			"0 0 0 0 0 0 1",
		},
		{
			of(
				"t",
				"TableHasClustIndex",
				"TableHasNonclustIndex",
				"TableHasTimestamp",
				"TableHasRowGuidCol",
				"TableHasTextImage",
				"TableTemporalType",
				"TableIsFake",
			),
			"0 1 1 1 1 0 0",
		},
		{
			of(
				"t",
				"TableHasInsertTrigger",
				"TableInsertTriggerCount",
				"TableDeleteTriggerCount",
				"HasUpdateTrigger",
				"HasAfterTrigger",
				"HasInsteadOfTrigger",
			),
			"1 2 1 1 1 1",
		},
		{
			"SELECT IIF(OBJECTPROPERTY(OBJECT_ID('t'), 'TableInsertTrigger') = OBJECT_ID('g1'), 1, 0), " +
				"IIF(OBJECTPROPERTY(OBJECT_ID('t'), 'TableDeleteTrigger') = OBJECT_ID('g2'), 1, 0)",
			"1 1",
		},
		{
			of(
				"g1",
				"IsTrigger",
				"IsExecuted",
				"IsConstraint",
				"ExecIsAfterTrigger",
				"ExecIsInsertTrigger",
				"ExecIsDeleteTrigger",
				"ExecIsTriggerDisabled",
				"ExecIsFirstInsertTrigger",
			),
			"1 1 0 1 1 0 1 0",
		},
		{
			of("g2", "ExecIsInsteadOfTrigger", "ExecIsAfterTrigger", "ExecIsDeleteTrigger", "ExecIsTriggerNotForRepl"),
			"1 0 1 0",
		},
		{of("g3", "ExecIsFirstInsertTrigger", "ExecIsLastInsertTrigger"), "1 0"},
		{
			of(
				"pr",
				"IsProcedure",
				"IsExecuted",
				"ExecIsStartup",
				"IsEncrypted",
				"ExecIsQuotedIdentOn",
				"ExecIsAnsiNullsOn",
				"TableHasIndex",
				"ExecIsInsertTrigger",
			),
			"1 1 0 0 1 1 NULL NULL",
		},
		{of("v", "IsView", "IsSchemaBound", "IsTable", "TableHasIndex", "HasInsertTrigger"), "1 1 0 NULL 0"},
		{of("fi", "IsInlineFunction", "IsTableFunction", "IsScalarFunction", "IsSchemaBound"), "1 1 0 0"},
		{of("ft", "IsInlineFunction", "IsTableFunction", "IsExecuted"), "0 1 1"},
		{of("fs", "IsScalarFunction", "IsEncrypted", "IsDeterministic"), "1 1 0"},
		{of("t_key", "IsPrimaryKey", "IsConstraint", "CnstIsClustKey", "CnstIsNonclustKey", "CnstIsColumn"), "1 1 0 1 0"},
		{of("p_key", "CnstIsClustKey", "IsUniqueCnst", "CnstIsNonclustKey"), "1 0 0"},
		{
			of(
				"t_p",
				"IsForeignKey",
				"CnstIsDeleteCascade",
				"CnstIsUpdateCascade",
				"CnstIsDisabled",
				"CnstIsNotRepl",
				"CnstIsNotTrusted",
				"CnstIsColumn",
			),
			"1 1 0 0 0 0 1",
		},
		{of("t_c", "IsCheckCnst", "IsDefaultCnst", "CnstIsColumn"), "1 0 0"},
		{of("t_n", "IsDefaultCnst", "CnstIsColumn", "IsTable"), "1 1 0"},
		{of("t", "NoSuch", "IsDefault", "IsRule", "SchemaId"), "NULL 0 0 1"},
		{
			"SELECT OBJECTPROPERTYEX(OBJECT_ID('t'), 'BaseType'), OBJECTPROPERTYEX(OBJECT_ID('t'), 'TableHasForeignKey'), " +
				"OBJECTPROPERTY(OBJECT_ID('t'), 'BaseType')",
			"U  1 NULL",
		},
		{
			"SELECT INDEXPROPERTY(OBJECT_ID('p'), 'p_key', 'IndexDepth'), INDEXPROPERTY(OBJECT_ID('t'), 't_key', " +
				"'IsClustered'), INDEXPROPERTY(OBJECT_ID('t'), 't_key', 'IsStatistics'), INDEXPROPERTY(OBJECT_ID('t'), 't_key', " +
				"'IsHypothetical')",
			"1 0 0 0",
		},
		{
			"SELECT INDEXPROPERTY(OBJECT_ID('t'), 'st', 'IsStatistics'), INDEXPROPERTY(OBJECT_ID('t'), 'st', " +
				"'IsAutoStatistics'), INDEXPROPERTY(OBJECT_ID('t'), 'st', 'IsUnique'), INDEXPROPERTY(OBJECT_ID('t'), 'no', " +
				"'IsUnique')",
			"1 0 0 NULL",
		},
	})
}
