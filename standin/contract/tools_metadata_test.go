// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"regexp"
	"strconv"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// TestToolsMetadata has the catalogue queries of object mappers and management tools in their shapes: SQLAlchemy's
// foreign keys, Entity Framework's scaffolding, SQL Server Management Objects' columns and files
// (docs/relational-databases/system-catalog-views/catalog-views-transact-sql.md,
// docs/relational-databases/system-information-schema-views/system-information-schema-views-transact-sql.md).
func TestToolsMetadata(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE parent (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY, name nvarchar(20) NULL CONSTRAINT df_name " +
				"DEFAULT N'x')",
			"ok",
		},
		{
			"CREATE TABLE child (id int IDENTITY(5, 2) CONSTRAINT pk_c PRIMARY KEY, parent int NULL CONSTRAINT fk_c " +
				"REFERENCES parent ON DELETE CASCADE, twice AS id * 2)",
			"ok",
		},
		{`WITH fk AS (
SELECT r.CONSTRAINT_SCHEMA, r.CONSTRAINT_NAME, k.ORDINAL_POSITION, k.COLUMN_NAME AS constrained, r.UNIQUE_CONSTRAINT_NAME, r.UPDATE_RULE, r.DELETE_RULE
FROM INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS r JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE k ON k.TABLE_SCHEMA = r.CONSTRAINT_SCHEMA AND k.CONSTRAINT_NAME = r.CONSTRAINT_NAME
WHERE k.TABLE_NAME = 'child' AND k.TABLE_SCHEMA = 'dbo'),
keys AS (SELECT CONSTRAINT_NAME, ORDINAL_POSITION, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE),
indexes AS (SELECT i.name AS index_name, ic.key_ordinal AS ordinal_position, o.name AS table_name, c.name AS column_name FROM sys.indexes i JOIN sys.objects o ON o.object_id = i.object_id
JOIN sys.index_columns ic ON ic.object_id = o.object_id AND ic.index_id = i.index_id JOIN sys.columns c ON c.object_id = i.object_id AND c.column_id = ic.column_id)
SELECT fk.CONSTRAINT_NAME, fk.ORDINAL_POSITION, fk.constrained, keys.TABLE_NAME, keys.COLUMN_NAME, fk.UPDATE_RULE, fk.DELETE_RULE
FROM fk JOIN keys ON keys.CONSTRAINT_NAME = fk.UNIQUE_CONSTRAINT_NAME AND keys.ORDINAL_POSITION = fk.ORDINAL_POSITION
UNION
SELECT fk.CONSTRAINT_NAME, fk.ORDINAL_POSITION, fk.constrained, indexes.table_name, indexes.column_name, fk.UPDATE_RULE, fk.DELETE_RULE
FROM fk JOIN indexes ON indexes.index_name = fk.UNIQUE_CONSTRAINT_NAME AND indexes.ordinal_position = fk.ORDINAL_POSITION
ORDER BY fk.CONSTRAINT_NAME, fk.ORDINAL_POSITION`, "fk_c 1 parent parent id NO ACTION CASCADE"},
		{"SELECT t.id FROM parent t UNION SELECT c.id FROM child c ORDER BY t.id", ""},
		{"SELECT t.id FROM parent t UNION SELECT c.id FROM child c ORDER BY c.id", "!4104/16/1"},
		{
			`SELECT i.COLUMN_NAME, k.definition, CAST(n.seed_value AS numeric), CAST(n.increment_value AS numeric) FROM INFORMATION_SCHEMA.COLUMNS i
LEFT JOIN sys.computed_columns k ON k.object_id = OBJECT_ID(i.TABLE_SCHEMA + N'.' + i.TABLE_NAME) AND k.name = (i.COLUMN_NAME COLLATE DATABASE_DEFAULT)
LEFT JOIN sys.identity_columns n ON n.object_id = OBJECT_ID(i.TABLE_SCHEMA + N'.' + i.TABLE_NAME) AND n.name = (i.COLUMN_NAME COLLATE DATABASE_DEFAULT)
WHERE i.TABLE_NAME = N'child' ORDER BY i.ORDINAL_POSITION`,
			"id NULL 5 2; parent NULL NULL NULL; twice (id * 2) NULL NULL",
		},
		{
			`SELECT c.name, dc.definition, CAST(e.value AS nvarchar(max)) FROM (SELECT v.name, v.object_id, v.schema_id FROM sys.views v UNION ALL SELECT t.name, t.object_id, t.schema_id FROM sys.tables t) o
JOIN sys.columns c ON c.object_id = o.object_id LEFT JOIN sys.extended_properties e ON e.major_id = o.object_id AND e.minor_id = c.column_id AND e.class = 1 AND e.name = 'MS_Description'
LEFT JOIN sys.default_constraints dc ON dc.parent_object_id = c.object_id AND dc.parent_column_id = c.column_id WHERE o.name = 'parent' ORDER BY c.column_id`,
			"id NULL NULL; name (N'x') NULL",
		},
		{
			`SELECT c.name, CAST(ISNULL(k.index_column_id, 0) AS bit), u.name, ISNULL(x.name, N'') FROM sys.tables t JOIN sys.all_columns c ON c.object_id = t.object_id
LEFT JOIN sys.indexes i ON i.object_id = c.object_id AND 1 = i.is_primary_key LEFT JOIN sys.index_columns k ON k.index_id = i.index_id AND k.column_id = c.column_id AND k.object_id = c.object_id
LEFT JOIN sys.types u ON u.user_type_id = c.user_type_id LEFT JOIN sys.xml_schema_collections x ON x.xml_collection_id = c.xml_collection_id
WHERE t.name = 'parent' AND SCHEMA_NAME(t.schema_id) = 'dbo' ORDER BY c.column_id`,
			"id true int ; name false nvarchar ",
		},
		{
			"SELECT IIF(FILEPROPERTY(name, 'SpaceUsed') BETWEEN 1 AND size, 'some', 'none'), FILEPROPERTY(name, " +
				"'IsLogFile'), FILEPROPERTY('nothing', 'SpaceUsed') FROM sys.database_files WHERE type = 0",
			"some 0 NULL",
		},
		{
			"SELECT IIF(@@VERSION LIKE 'Microsoft % - ' + CAST(SERVERPROPERTY('ProductVersion') AS varchar(20)) + ' " +
				"(X64)%', 1, 0)",
			"1",
		},
		{
			"CREATE TABLE ordered (id bigint PRIMARY KEY IDENTITY NOT NULL, other int UNIQUE NOT NULL); CREATE TABLE " +
				"ordered2 (id int UNIQUE IDENTITY(5, 5) NOT NULL PRIMARY KEY, n int CONSTRAINT df DEFAULT 1 NOT NULL)",
			"ok",
		},
		{
			"SELECT COUNT(*) FROM sys.columns WHERE object_id IN (OBJECT_ID('ordered'), OBJECT_ID('ordered2')) AND " +
				"is_nullable = 1",
			"0",
		},
		{"DROP TABLE ordered, ordered2", "ok"},
		{"SELECT id FROM parent ORDER BY id OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY FOR UPDATE", "!1003/15"},
		{"SELECT CURRENT_TIMEZONE(), CURRENT_TIMEZONE_ID()", "(UTC) Coordinated Universal Time UTC"},
		{
			"SELECT t.name, CASE WHEN SUM(u.total_pages) * 8 > 0 THEN 'some' END FROM sys.tables t JOIN sys.partitions p ON " +
				"p.object_id = t.object_id JOIN sys.allocation_units u ON u.container_id = p.hobt_id GROUP BY t.name " +
				"ORDER BY t.name",
			"child some; parent some",
		},
		{"ALTER TABLE child ADD CONSTRAINT ck_c CHECK (parent > 0 OR id > 0)", "ok"},
		{
			"SELECT TABLE_NAME, COLUMN_NAME, CONSTRAINT_NAME FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE ORDER BY 3, 2",
			"child id ck_c; child parent ck_c; child parent fk_c; child id pk_c; parent id pk_p",
		},
		{
			"SELECT TABLE_NAME, CONSTRAINT_NAME FROM INFORMATION_SCHEMA.CONSTRAINT_TABLE_USAGE ORDER BY 2",
			"child ck_c; child fk_c; child pk_c; parent pk_p",
		},
		{
			"CREATE TABLE defaults (a int DEFAULT 5, b int DEFAULT (6), c datetime DEFAULT GETDATE(), d uniqueidentifier " +
				"DEFAULT (NEWID()), e varchar(9) DEFAULT ('X'))",
			"ok",
		},
		{
			"SELECT definition FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('defaults') ORDER BY " +
				"parent_column_id",
			"((5)); ((6)); (getdate()); (newid()); ('X')",
		},
		{
			"CREATE TABLE negative (a int DEFAULT -1, b date DEFAULT (dateadd(DAY, 1, GETDATE())), c int DEFAULT (1 + 2 * " +
				"3), d int DEFAULT (ABS(-2)), e varchar(9) DEFAULT 'it''s', f int DEFAULT CHECKSUM(N'x', 1.5))",
			"ok",
		},
		{
			"SELECT definition FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('negative') ORDER BY " +
				"parent_column_id",
			"((-1)); (dateadd(day,(1),getdate())); ((1)+(2)*(3)); (abs((-2))); ('it''s'); (checksum(N'x',(1.5)))",
		},
		{
			"SELECT langid, name, alias, lcid, datefirst, dateformat FROM sys.syslanguages WHERE langid = 0",
			"0 us_english English 1033 7 mdy",
		},
		{"SET ARITHIGNORE ON; DECLARE @o int = @@OPTIONS; SET ARITHIGNORE OFF; SELECT 128 & @o", "128"},
		{
			"SELECT COUNT(*) FROM sys.assembly_types t JOIN sys.assemblies a ON a.assembly_id = t.assembly_id WHERE " +
				"t.is_user_defined = 1 AND t.is_assembly_type = 1 AND t.is_table_type = 0",
			"0",
		},
		{
			"SELECT COUNT(*) FROM sys.services UNION ALL SELECT COUNT(*) FROM sys.service_queues UNION ALL SELECT COUNT(*) " +
				"FROM sys.routes UNION ALL SELECT COUNT(*) FROM sys.event_notifications UNION ALL SELECT COUNT(*) FROM " +
				"sys.sensitivity_classifications UNION ALL SELECT COUNT(*) FROM sys.destination_data_spaces",
			"0; 0; 0; 0; 0; 0",
		},
	})
}

// TestDefinitionsOfChecks: conditions are kept with names in brackets, numbers in parentheses and IN as comparisons
// from its last value to its first, as Microsoft's sample database shows its own (AdventureWorks: upper([Gender])='F'
// OR upper([Gender])='M' for IN ('M', 'F')). Mappers read enumerations from them.
func TestDefinitionsOfChecks(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	for _, c := range []struct{ condition, kept, bad string }{
		{"Gender IN ('M', 'F')", "([Gender]='F' OR [Gender]='M')", "'X', 1"},
		{"upper(Gender) in ('M', 'F')", "(upper([Gender])='F' OR upper([Gender])='M')", "'X', 1"},
		{"n BETWEEN 1 AND 5", "([n]>=(1) AND [n]<=(5))", "'M', 6"},
		{"(n > 1 OR Gender = N'M') AND n != -7", "(([n]>(1) OR [Gender]=N'M') AND [n]<>(-7))", "'M', -7"},
		{"n IN (1, 2) AND Gender IS NOT NULL", "(([n]=(2) OR [n]=(1)) AND [Gender] IS NOT NULL)", "NULL, 1"},
		{"NOT (n = 1 AND (Gender = 'M' AND n < 2))", "(NOT ([n]=(1) AND [Gender]='M' AND [n]<(2)))", "'M', 1"},
		{"Gender NOT LIKE '%[^A-Z]%'", "(NOT [Gender] like '%[^A-Z]%')", "'1', 1"},
		{"(n + 1) * 2 >= 4 - (n - 1)", "(([n]+(1))*(2)>=(4)-([n]-(1)))", "'M', 0"},
		{"n IN (1)", "([n]=(1))", "'M', 2"},
		{"len(Gender) > 0 or n is null", "(len([Gender])>(0) OR [n] IS NULL)", "'', 1"},
	} {
		converse(t, db, []say{
			{
				"DROP TABLE IF EXISTS checked; CREATE TABLE checked (Gender nvarchar(9), n int, CONSTRAINT ck CHECK (" +
					c.condition + "))",
				"ok",
			},
			{"SELECT definition FROM sys.check_constraints WHERE name = 'ck'", c.kept},
			{"INSERT INTO checked VALUES (" + c.bad + ")", "!547/16"},
			{
				"SELECT COUNT(*) FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE WHERE CONSTRAINT_NAME = 'ck' AND COLUMN_NAME " +
					"IN ('Gender', 'n')",
				columnsNamed(c.condition),
			},
		})
	}
}

// columnsNamed is how many of the columns Gender and n a condition names.
func columnsNamed(condition string) string {
	count := 0
	for _, column := range []string{`\bGender\b`, `\bn\b`} {
		if regexp.MustCompile(column).MatchString(condition) {
			count++
		}
	}
	return strconv.Itoa(count)
}

// TestUserOptions: docs/t-sql/database-console-commands/dbcc-useroptions-transact-sql.md and
// dbcc-opentran-transact-sql.md.
func TestUserOptions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"SET TRANSACTION ISOLATION LEVEL SNAPSHOT; SET LOCK_TIMEOUT 500; SET ARITHABORT ON; SET XACT_ABORT ON", "ok"},
		{
			"DBCC USEROPTIONS",
			"textsize 2147483647; language us_english; dateformat mdy; datefirst 7; lock_timeout 500; quoted_identifier SET; " +
				"arithabort SET; ansi_null_dflt_on SET; xact_abort SET; ansi_warnings SET; ansi_padding SET; ansi_nulls SET; " +
				"concat_null_yields_null SET; isolation level snapshot",
		},
		{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT -1; SET XACT_ABORT OFF", "ok"},
		{"DBCC USEROPTIONS(1)", "!2583/16"},
		{"CREATE TABLE bad (id int NULL PRIMARY KEY)", "!8111/16/1/1"},
	})
	_, err := tryQuery(db, "CREATE TABLE bad (id int NULL PRIMARY KEY)")
	g := NewWithT(t)
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.All).To(HaveExactElements(HaveField("Number", int32(8111)), HaveField("Number", int32(1750))))
}

// TestColumnsAreNamedAsWritten: a result's column has the letters of the statement, not of the table: object mappers
// look up results by the names that they asked for.
func TestColumnsAreNamedAsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	converse(
		t,
		db,
		[]say{
			{"CREATE TABLE named (Id int NOT NULL, [Two words] int)", "ok"},
			{"CREATE VIEW shown AS SELECT ID, [two WORDS] FROM named", "ok"},
			{"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('shown') ORDER BY column_id", "ID; two WORDS"},
		},
	)
	for text, want := range map[string][]string{
		"SELECT \"NAME\", d.COLLATION_name FROM sys.databases d": {"NAME", "COLLATION_name"},
		"SELECT * FROM named":                                       {"Id", "Two words"},
		"SELECT iD, n.[two words] FROM named n":                     {"iD", "two words"},
		"SELECT x.ID FROM (SELECT id FROM named) x ORDER BY X.id":   {"ID"},
		"INSERT named OUTPUT INSERTED.ID VALUES (1, 2)":             {"ID"},
		"WITH c AS (SELECT ID FROM named) SELECT * FROM c":          {"ID"},
		"SELECT ID + 0, MAX(ID) AS id FROM named GROUP BY named.id": {"", "id"},
	} {
		rows, err := db.QueryContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(rows.Columns()).To(Equal(want), text)
		g.Expect(rows.Close()).To(Succeed())
	}
}

// TestNamesAsArguments: an argument of EXECUTE may be a name without quotation marks; delimiters are not part of the
// value (docs/t-sql/language-elements/execute-transact-sql.md).
func TestNamesAsArguments(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE PROCEDURE echoes @a nvarchar(50), @b nvarchar(50) = N'-' AS SELECT @a, @b", "ok"},
		{"EXEC echoes [dbo], \"a \"\"b\"", "dbo a \"b"},
		{"EXEC echoes plain, [x]]y]", "plain x]y"},
		{"EXEC echoes @b = [dbo], @a = 1", "1 dbo"},
		{"CREATE TABLE customer (id int CONSTRAINT pk_customer PRIMARY KEY, name int)", "ok"},
		{
			`EXEC sp_rename "dbo.customer.name", "word"`,
			"ok",
		}, {`EXEC sp_rename "customer.pk_customer", "pk_c"`, "ok"}, {`EXEC sp_rename "customer.nothing", "x"`, "!15225"},
		{"CREATE VIEW shown AS SELECT id FROM customer", "ok"},
		{
			"EXEC sp_rename 'dbo.shown.id', 'x', 'COLUMN'",
			"!15248",
		}, {"EXEC sp_rename 'dbo.shown.id', 'x', 'INDEX'", "!15248"},
		{"EXEC sp_rename 'dbo.customer.word', 'id', 'COLUMN'", "!15335"},
		{
			"SELECT COL_NAME(OBJECT_ID('customer'), 2), OBJECT_NAME(object_id) FROM sys.key_constraints WHERE type = 'PK'",
			"word pk_c",
		},
		{
			"EXECUTE sp_addextendedproperty 'MS_Description', N'of the shop', 'schema', [dbo], 'table', customer, " +
				"'column', [id]",
			"ok",
		},
		{
			"SELECT name, CAST(value AS nvarchar(20)), minor_id FROM sys.extended_properties WHERE major_id = " +
				"OBJECT_ID('customer')",
			"MS_Description of the shop 1",
		},
	})
}
