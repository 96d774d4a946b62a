// SPDX-License-Identifier: Apache-2.0

package catalogproc

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

// odbcTypes are the rows of sp_datatype_info: name, ODBC data type, column size, literal prefix and suffix, create
// parameters, searchable, scale range
// (docs/relational-databases/system-stored-procedures/sp-datatype-info-transact-sql.md).
var odbcTypes = []struct {
	name               string
	odbc, size         int64
	prefix, suffix     string
	params             string
	search             int64
	minScale, maxScale any
	sqlType, radix     any
}{
	{"datetimeoffset", -155, 34, "'", "'", "scale", 3, int64(0), int64(7), int64(-155), nil},
	{"time", -154, 16, "'", "'", "scale", 3, int64(0), int64(7), int64(-154), nil},
	{"xml", -152, 0, "N'", "'", "", 0, nil, nil, int64(-152), nil},
	{"sql_variant", -150, 8000, "", "", "", 2, int64(0), int64(0), int64(-150), nil},
	{"uniqueidentifier", -11, 36, "'", "'", "", 2, nil, nil, int64(-11), nil},
	{"ntext", -10, 1073741823, "N'", "'", "", 1, nil, nil, int64(-10), nil},
	{"nvarchar", -9, 4000, "N'", "'", "max length", 3, nil, nil, int64(-9), nil},
	{"sysname", -9, 128, "N'", "'", "", 3, nil, nil, int64(-9), nil},
	{"nchar", -8, 4000, "N'", "'", "length", 3, nil, nil, int64(-8), nil},
	{"bit", -7, 1, "", "", "", 2, int64(0), int64(0), int64(-7), nil},
	{"tinyint", -6, 3, "", "", "", 2, int64(0), int64(0), int64(-6), int64(10)},
	{"bigint", -5, 19, "", "", "", 2, int64(0), int64(0), int64(-5), int64(10)},
	{"image", -4, 2147483647, "0x", "", "", 0, nil, nil, int64(-4), nil},
	{"varbinary", -3, 8000, "0x", "", "max length", 2, nil, nil, int64(-3), nil},
	{"binary", -2, 8000, "0x", "", "length", 2, nil, nil, int64(-2), nil},
	{"timestamp", -2, 8, "0x", "", "", 2, nil, nil, int64(-2), nil},
	{"text", -1, 2147483647, "'", "'", "", 1, nil, nil, int64(-1), nil},
	{"char", 1, 8000, "'", "'", "length", 3, nil, nil, int64(1), nil},
	{"numeric", 2, 38, "", "", "precision,scale", 2, int64(0), int64(38), int64(2), int64(10)},
	{"decimal", 3, 38, "", "", "precision,scale", 2, int64(0), int64(38), int64(3), int64(10)},
	{"money", 3, 19, "$", "", "", 2, int64(4), int64(4), int64(3), int64(10)},
	{"smallmoney", 3, 10, "$", "", "", 2, int64(4), int64(4), int64(3), int64(10)},
	{"int", 4, 10, "", "", "", 2, int64(0), int64(0), int64(4), int64(10)},
	{"smallint", 5, 5, "", "", "", 2, int64(0), int64(0), int64(5), int64(10)},
	{"float", 6, 53, "", "", "", 2, nil, nil, int64(6), int64(2)},
	{"real", 7, 24, "", "", "", 2, nil, nil, int64(7), int64(2)},
	{"varchar", 12, 8000, "'", "'", "max length", 3, nil, nil, int64(12), nil},
	{"date", 91, 10, "'", "'", "", 3, nil, nil, int64(9), nil},
	{"datetime2", 93, 27, "'", "'", "scale", 3, int64(0), int64(7), int64(9), nil},
	{"datetime", 93, 23, "'", "'", "", 3, int64(3), int64(3), int64(9), nil},
	{"smalldatetime", 93, 16, "'", "'", "", 3, int64(0), int64(0), int64(9), nil},
}

// dataTypeInfo is sp_datatype_info.
func dataTypeInfo(ctx context.Context, c *engine.ProcCall) error {
	cols := engine.ColumnList(
		"TYPE_NAME sysname, DATA_TYPE smallint, PRECISION int, LITERAL_PREFIX varchar(32), LITERAL_SUFFIX varchar(32), " +
			"CREATE_PARAMS varchar(32), NULLABLE smallint, " +
			"CASE_SENSITIVE smallint, SEARCHABLE smallint, UNSIGNED_ATTRIBUTE smallint, MONEY smallint, AUTO_INCREMENT " +
			"smallint, LOCAL_TYPE_NAME sysname, MINIMUM_SCALE smallint, " +
			"MAXIMUM_SCALE smallint, SQL_DATA_TYPE smallint, SQL_DATETIME_SUB smallint, NUM_PREC_RADIX int, " +
			"INTERVAL_PRECISION smallint, USERTYPE smallint",
	)
	var rows [][]any
	for _, t := range odbcTypes {
		if want := c.Int("@data_type"); want != 0 && want != t.odbc {
			continue
		}
		unsigned, money, auto := any(nil), int64(0), any(nil)
		if t.radix != nil || t.name == "bit" {
			unsigned, auto = map[bool]int64{true: 1}[t.name == "tinyint"], int64(0)
		}
		if t.name == "money" || t.name == "smallmoney" {
			money = 1
		}
		sub := any(nil)
		if t.odbc >= 91 && t.odbc <= 93 {
			sub = t.odbc - 90
		}
		rows = append(
			rows,
			[]any{
				t.name,
				t.odbc,
				t.size,
				orNull(t.prefix),
				orNull(t.suffix),
				orNull(t.params),
				int64(1),
				int64(0),
				t.search,
				unsigned,
				money,
				auto,
				t.name,
				t.minScale,
				t.maxScale,
				t.sqlType,
				sub,
				t.radix,
				nil,
				int64(0),
			},
		)
	}
	return c.ResultSet(cols, rows)
}

// odbcColumn is a type in ODBC's terms, as sp_columns and sp_sproc_columns give it.
type odbcColumn struct {
	name                    string
	odbc, precision, length int64
	nullable                int64
	scale, radix, octets    any
	sqlType, sub, own       any
}

// odbcColumnOf describes a system type whose values have so many bytes.
func odbcColumnOf(name string, bytes, precision, scale int64) odbcColumn {
	d := odbcColumn{name: name, precision: precision, length: bytes, nullable: 1}
	for _, t := range odbcTypes {
		if t.name != name {
			continue
		}
		d.odbc, d.sqlType, d.radix = t.odbc, t.sqlType, t.radix
		if t.odbc >= 91 && t.odbc <= 93 {
			d.sub = t.odbc - 90
		}
		if t.radix != nil || t.maxScale != nil {
			d.scale = scale
		}
		if precision == 0 {
			d.precision = t.size
		}
	}
	if strings.Contains(name, "char") || strings.Contains(name, "binary") {
		d.precision, d.octets = bytes, bytes
		if strings.HasPrefix(name, "n") {
			d.precision = bytes / 2
		}
		if bytes < 0 {
			d.precision, d.length, d.octets = 0, 0, int64(0)
		}
	}
	if strings.HasPrefix(name, "decimal") || strings.HasPrefix(name, "numeric") {
		d.length = precision + 2
	}
	for _, i := range sqltype.Infos {
		if i.Name == name {
			d.own = i.SystemTypeID
		}
	}
	return d
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
