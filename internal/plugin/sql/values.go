// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	driver "github.com/microsoft/go-mssqldb"

	"geosql.dev/operator/internal/mssql"
)

// textOf is a value as SQL Server's tools show it, and whether there is one: NULL is none.
func textOf(c mssql.Column, value any) (text string, there bool) {
	switch v := value.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		bits := 64
		if c.Type == "REAL" {
			bits = 32
		}
		return strconv.FormatFloat(v, 'g', -1, bits), true
	case time.Time:
		return v.Format(layout(c)), true
	case []byte:
		return bytesOf(c, v), true
	}
	return fmt.Sprint(value), true
}

// bytesOf is a value that the driver leaves as bytes: a number with a fixed point as its digits, others as they are.
func bytesOf(c mssql.Column, v []byte) string {
	switch {
	case fixedPoint(c):
		return string(v)
	case c.Type == "UNIQUEIDENTIFIER":
		var id driver.UniqueIdentifier
		if err := id.Scan(v); err == nil {
			return id.String()
		}
	}
	return "0x" + strings.ToUpper(hex.EncodeToString(v))
}

func fixedPoint(c mssql.Column) bool {
	return c.Type == "DECIMAL" || c.Type == "MONEY" || c.Type == "SMALLMONEY"
}

// layout of a moment, with as many digits after the second as the type has.
func layout(c mssql.Column) string {
	fraction := ""
	if c.Scale > 0 {
		fraction = "." + strings.Repeat("0", c.Scale)
	}
	switch c.Type {
	case "DATE":
		return time.DateOnly
	case "TIME":
		return time.TimeOnly + fraction
	case "SMALLDATETIME":
		return "2006-01-02 15:04"
	case "DATETIME":
		return "2006-01-02 15:04:05.000"
	case "DATETIME2":
		return time.DateTime + fraction
	case "DATETIMEOFFSET":
		return time.DateTime + fraction + " -07:00"
	}
	return "2006-01-02 15:04:05.9999999"
}

// names are those of the columns, each another one: an expression without a name is column3, and a name that comes
// again has a number behind it.
func names(columns []mssql.Column) []string {
	seen, all := map[string]bool{}, make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		if name == "" {
			name = fmt.Sprintf("column%d", i+1)
		}
		one := name
		for n := 2; seen[one]; n++ {
			one = fmt.Sprintf("%s_%d", name, n)
		}
		seen[one] = true
		all[i] = one
	}
	return all
}
