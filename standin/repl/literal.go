// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// lit is a Go value as a T-SQL literal, for texts that go to another server.
func lit(v any) string {
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

// fill replaces each ? of a text by a literal. The text must have no other question mark.
func fill(format string, args ...any) string {
	parts := strings.Split(format, "?")
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i < len(parts)-1 {
			b.WriteString(lit(args[i]))
		}
	}
	return b.String()
}

// bracket is an identifier in brackets.
func bracket(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// twoPart is schema.name in brackets.
func twoPart(schema, name string) string {
	if schema == "" {
		schema = "dbo"
	}
	return bracket(schema) + "." + bracket(name)
}
