// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestExtendedPropertyLevels:
// docs/relational-databases/system-stored-procedures/sp-addextendedproperty-transact-sql.md, Arguments and examples D,
// G and H, with what
// docs/relational-databases/system-catalog-views/extended-properties-catalog-views-sys-extended-properties.md shows of
// them.
func TestExtendedPropertyLevels(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TYPE dbo.OrderNumber FROM nvarchar(25) NOT NULL; CREATE USER CustomApp WITHOUT LOGIN", "ok"},
		{
			"CREATE TABLE t (a int CONSTRAINT pk PRIMARY KEY, b int CONSTRAINT ck CHECK (b > 0)); CREATE INDEX ix ON t (b)",
			"ok",
		},
		{"CREATE TRIGGER tr ON t AFTER INSERT AS RETURN", "ok"},
		{"CREATE TRIGGER watch ON DATABASE FOR DROP_TABLE AS RETURN", "ok"},
		{"CREATE PROCEDURE p @a int AS SELECT @a", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'group', N'FILEGROUP', N'PRIMARY'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'type', N'SCHEMA', N'dbo', N'TYPE', N'OrderNumber'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'user', N'USER', N'CustomApp'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'watch', N'TRIGGER', N'watch'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'table', N'SCHEMA', N'dbo', N'TABLE', N't'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'column', N'SCHEMA', N'dbo', N'TABLE', N't', N'COLUMN', N'b'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'constraint', N'SCHEMA', N'dbo', N'TABLE', N't', N'CONSTRAINT', N'ck'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'index', N'SCHEMA', N'dbo', N'TABLE', N't', N'INDEX', N'ix'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'trigger', N'SCHEMA', N'dbo', N'TABLE', N't', N'TRIGGER', N'tr'", "ok"},
		{"EXEC sp_addextendedproperty N'x', N'parameter', N'SCHEMA', N'dbo', N'PROCEDURE', N'p', N'PARAMETER', N'@a'", "ok"},
		{"SELECT value, class, class_desc, minor_id FROM sys.extended_properties ORDER BY class, CAST(value AS nvarchar(20))",
			"column 1 OBJECT_OR_COLUMN 2; constraint 1 OBJECT_OR_COLUMN 0; table 1 OBJECT_OR_COLUMN 0; trigger 1 " +
				"OBJECT_OR_COLUMN 0; watch 1 OBJECT_OR_COLUMN 0; " +
				"parameter 2 PARAMETER 1; user 4 DATABASE_PRINCIPAL 0; type 6 TYPE 0; index 7 INDEX 2; group 20 DATASPACE 0"},
		{"SELECT OBJECT_NAME(major_id) FROM sys.extended_properties WHERE value = N'constraint'", "ck"},
		{
			"SELECT objtype, objname, value FROM fn_listextendedproperty(NULL, 'SCHEMA', 'dbo', 'TABLE', 't', " +
				"'CONSTRAINT', NULL)",
			"CONSTRAINT ck constraint",
		},
		{
			"SELECT objtype, objname, value FROM fn_listextendedproperty(NULL, 'SCHEMA', 'dbo', 'TABLE', 't', 'INDEX', 'ix')",
			"INDEX ix index",
		},
		{
			"SELECT objtype, objname, value FROM fn_listextendedproperty(NULL, 'SCHEMA', 'dbo', 'TABLE', 't', 'COLUMN', NULL)",
			"COLUMN b column",
		},
		{
			"SELECT objtype, objname, value FROM fn_listextendedproperty(NULL, 'SCHEMA', 'dbo', 'TABLE', NULL, NULL, NULL)",
			"TABLE t table",
		},
		{
			"EXEC sp_updateextendedproperty N'x', N'other', N'SCHEMA', N'dbo', N'TABLE', N't', N'INDEX', N'ix'; SELECT value " +
				"FROM sys.extended_properties WHERE class = 7",
			"other",
		},
		{"EXEC sp_dropextendedproperty N'x', N'SCHEMA', N'dbo', N'TABLE', N't', N'CONSTRAINT', N'ck'", "ok"},
		{
			"EXEC sp_addextendedproperty N'x', N'none', N'SCHEMA', N'dbo', N'TABLE', N't', N'CONSTRAINT', N'nope'",
			"!15135/16/8",
		},
		{"EXEC sp_addextendedproperty N'x', N'none', N'FILEGROUP', N'nope'", "!15135/16/8"},
	})
}

// TestInsertCharacterData: docs/t-sql/xml/insert-xml-dml.md, example F: a CDATA section is added as a text node.
func TestInsertCharacterData(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"DECLARE @d xml = '<r><f> </f></r>'; SET @d.modify('insert <![CDATA[ <notxml> as text </notxml> or cdata ]]> " +
				"into (/r/f)[1]'); SELECT CAST(@d AS nvarchar(max))",
			"<r><f> &lt;notxml&gt; as text &lt;/notxml&gt; or cdata </f></r>",
		},
		{"DECLARE @d xml = '<r/>'; SET @d.modify('insert <![CDATA[ never closed into (/r)[1]')", "!2273/16"},
	})
}
