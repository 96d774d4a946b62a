// SPDX-License-Identifier: Apache-2.0

package tsql

// ColumnTypes selects name and type of the columns of a table of the connection's database; an alias type is given as
// what it is made of, one of the CLR by its own name. Source:
// docs/relational-databases/system-catalog-views/sys-columns-transact-sql.md.
func ColumnTypes(schema, table string) Statement {
	return new(
		builder,
	).sql(`SELECT c.name, LOWER(COALESCE(TYPE_NAME(CASE WHEN c.system_type_id = 240 THEN c.user_type_id
    ELSE c.system_type_id END), N''))
FROM sys.columns AS c JOIN sys.tables AS t ON t.object_id = c.object_id
    JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE s.name = @schema AND t.name = @table`).
		arg("schema", schema).
		arg("table", table).
		done("read the columns of " + schema + "." + table)
}

// TableRows counts the rows of a table of the connection's database.
func TableRows(schema, table string) Statement {
	return new(
		builder,
	).sql("SELECT COUNT_BIG(*) FROM ", Qualified(schema, table)).
		done("count the rows of " + schema + "." + table)
}

// TypedColumn is a column with the name of its type in lower case.
type TypedColumn struct{ Name, Type string }

// bytesOf are the types whose values have one form as bytes, which CAST gives; where that takes two steps the type
// between is named. Left out are sql_variant, whose bytes do not have the type of the value, types of the CLR, and what
// is newer than this list. Source: docs/t-sql/functions/cast-and-convert-transact-sql.md.
var bytesOf = map[string]string{
	"bigint": "", "int": "", "smallint": "", "tinyint": "", "bit": "", "decimal": "", "numeric": "", "money": "",
	"smallmoney": "",
	"float":      "", "real": "", "date": "", "time": "", "datetime": "", "smalldatetime": "", "datetime2": "",
	"datetimeoffset": "",
	"char":           "", "varchar": "", "nchar": "", "nvarchar": "", "binary": "", "varbinary": "", "image": "",
	"uniqueidentifier": "", "xml": "",
	"timestamp": "", "text": "varchar(max)", "ntext": "nvarchar(max)",
}

// Digestible tells that TableDigest can tell values of the type apart.
func Digestible(columnType string) bool {
	_, ok := bytesOf[columnType]
	return ok
}

// TableDigest selects the number of rows of a table of the connection's database and two sums over a hash (SHA-256) of
// each row's values in these columns, which are all Digestible. Each value counts with its length, and NULL is none, so
// that no two rows have the same bytes unless they are equal; and sums of hashes, unlike a checksum of checksums,
// change when two rows exchange a value. Source: docs/t-sql/functions/hashbytes-transact-sql.md: the input has no limit
// since SQL Server 2016.
func TableDigest(schema, table string, columns []TypedColumn) Statement {
	b := new(builder).sql("SELECT COUNT_BIG(*)")
	for _, from := range []string{"1", "9"} {
		b.sql(
			",\n    CAST(COALESCE(SUM(CAST(CAST(SUBSTRING(r.digest, ",
			from,
			", 8) AS bigint) AS decimal(38, 0))), 0) AS nvarchar(40))",
		)
	}
	b.sql("\nFROM (SELECT HASHBYTES(N'SHA2_256', CAST(0x AS varbinary(max))")
	for _, c := range columns {
		open, end := "CAST(", " AS varbinary(max))"
		if between := bytesOf[c.Type]; between != "" {
			open, end = "CAST(CAST(", " AS "+between+") AS varbinary(max))"
		}
		b.sql("\n    + COALESCE(0x01 + CAST(CAST(DATALENGTH(").
			name(c.Name).
			sql(") AS bigint) AS binary(8)) + ", open).
			name(c.Name).
			sql(end, ", 0x00)")
	}
	return b.sql(") AS digest FROM ", Qualified(schema, table), ") AS r").
		done("count and sum up the rows of " + schema + "." + table)
}
