// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"fmt"
	"strconv"
	"strings"
)

// StoredLiteral is a stored form as a literal of SQLite.
func StoredLiteral(raw any) string {
	switch x := raw.(type) {
	case nil:
		return "NULL"
	case int64:
		if x == -9223372036854775808 {
			return "(-9223372036854775807-1)"
		}
		return strconv.FormatInt(x, 10)
	case float64:
		s := strconv.FormatFloat(x, 'e', 17, 64)
		return s
	case string:
		return textLiteral(x)
	case []byte:
		return fmt.Sprintf("x'%x'", x)
	}
	return "NULL"
}

func textLiteral(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Sprintf("CAST(x'%x' AS TEXT)", s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
