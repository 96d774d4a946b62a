// SPDX-License-Identifier: Apache-2.0

package jsondata

import (
	"encoding/base64"
	"strconv"
	"time"

	"geosql.dev/standin/sqltype"
)

// Scalar is a value of T-SQL in JSON
// (docs/relational-databases/json/how-for-json-converts-sql-server-data-types-to-json-data-types-sql-server.md).
func Scalar(v any, t sqltype.Type) string {
	switch x := v.(type) {
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return sqltype.AsScientific(x)
	case []byte:
		if t.Kind.IsBinary() {
			return Quote(base64.StdEncoding.EncodeToString(x))
		}
	case time.Time:
		return Quote(sqltype.AsISO8601(x, t))
	}
	s := sqltype.AsText(v, t)
	if t.Kind.IsExact() {
		return s
	}
	return Quote(s)
}
