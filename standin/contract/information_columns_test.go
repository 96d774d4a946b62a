// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

// TestInformationColumns: INFORMATION_SCHEMA.COLUMNS and ROUTINE_COLUMNS tell the same of columns of the same types:
// the system's type and the alias type beside it, how long text and image data are, -1 for xml and what is (max), and
// nothing of the length of a rowversion
// (docs/relational-databases/system-information-schema-views/columns-transact-sql.md, routine-columns-transact-sql.md).
func TestInformationColumns(t *testing.T) {
	t.Parallel()
	const columns = "a dbo.code NOT NULL, b sysname, c rowversion, d xml, e varbinary(max), f text, g ntext, h image, " +
		"i numeric(9, 2), j float, k datetime2(3), l bit, m nvarchar(5)"
	const look = "SELECT COLUMN_NAME, IS_NULLABLE, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, " +
		"NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, CHARACTER_SET_NAME, DOMAIN_SCHEMA, DOMAIN_NAME FROM " +
		"INFORMATION_SCHEMA.%s WHERE TABLE_NAME = '%s' ORDER BY ORDINAL_POSITION"
	const want = "a NO varchar 7 7 NULL NULL NULL iso_1 dbo code; b NO nvarchar 128 256 NULL NULL NULL UNICODE NULL " +
		"NULL; c NO timestamp NULL NULL NULL NULL NULL NULL NULL NULL; " +
		"d YES xml -1 -1 NULL NULL NULL NULL NULL NULL; e YES varbinary -1 -1 NULL NULL NULL NULL NULL NULL; f YES text " +
		"2147483647 2147483647 NULL NULL NULL iso_1 NULL NULL; " +
		"g YES ntext 1073741823 2147483646 NULL NULL NULL UNICODE NULL NULL; h YES image 2147483647 2147483647 NULL NULL " +
		"NULL NULL NULL NULL; i YES numeric NULL NULL 9 2 NULL NULL NULL NULL; " +
		"j YES float NULL NULL 53 NULL NULL NULL NULL NULL; k YES datetime2 NULL NULL NULL NULL 3 NULL NULL NULL; l YES " +
		"bit NULL NULL NULL NULL NULL NULL NULL NULL; m YES nvarchar 5 10 NULL NULL NULL UNICODE NULL NULL"
	of := func(view, name string) string { return strings.NewReplacer("%s'", name+"'", "%s", view).Replace(look) }
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TYPE dbo.code FROM varchar(7)", "ok"},
		{"CREATE TABLE t (" + columns + ")", "ok"},
		{"CREATE FUNCTION f () RETURNS @t TABLE (" + columns + ") AS BEGIN RETURN END", "ok"},
		{of("COLUMNS", "t"), want},
		{of("ROUTINE_COLUMNS", "f"), want},
		{"SELECT COUNT(*) FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'f'", "0"},
		{"SELECT COUNT(*) FROM INFORMATION_SCHEMA.ROUTINE_COLUMNS WHERE TABLE_NAME = 't'", "0"},
		{
			"SELECT DOMAIN_CATALOG FROM INFORMATION_SCHEMA.COLUMNS WHERE DOMAIN_NAME = 'code' AND DOMAIN_CATALOG <> DB_NAME()",
			"",
		},
	})
}
