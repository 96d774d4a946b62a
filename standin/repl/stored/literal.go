// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/syntax"
)

// Literal is a Go value as a T-SQL literal, for texts that go to another server.
func Literal(v any) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "N" + quoted(x)
	case []byte:
		if x == nil {
			return "NULL"
		}
		return "0x" + strings.ToUpper(hex.EncodeToString(x))
	case bool:
		if x {
			return "1"
		}
		return "0"
	case time.Time:
		return "'" + x.UTC().Format("2006-01-02T15:04:05.000") + "'"
	case uuid.UUID:
		return "'" + x.String() + "'"
	}
	return fmt.Sprint(v)
}

// quoted is a text in quotes.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// TwoPart is schema.name in brackets.
func TwoPart(schema, name string) string {
	if schema == "" {
		schema = "dbo"
	}
	return syntax.QuoteName(schema) + "." + syntax.QuoteName(name)
}
