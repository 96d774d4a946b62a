// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// FormatMessage fills arguments in, as FORMATMESSAGE and RAISERROR do
// (docs/t-sql/language-elements/raiserror-transact-sql.md).
func FormatMessage(text string, args []any) (string, *sqlerr.Error) {
	var out strings.Builder
	next := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '%' {
			out.WriteByte('%')
			i++
			continue
		}
		end := i + 1
		for end < len(text) && strings.IndexByte("-+ 0#123456789.*hlI64", text[end]) >= 0 {
			end++
		}
		if end >= len(text) || strings.IndexByte("diosuxX", text[end]) < 0 {
			return "", sqlerr.New(2787, 1, text[i:min(len(text), end+1)])
		}
		flags := strings.NewReplacer("h", "", "l", "", "I64", "").Replace(text[i+1 : end])
		for strings.Contains(flags, "*") {
			width := any(int64(0))
			if next < len(args) {
				width = args[next]
			}
			next++
			flags = strings.Replace(flags, "*", fmt.Sprint(width), 1)
		}
		var v any
		if next < len(args) {
			v = args[next]
		}
		next++
		verb, value, err := messageArgument(text[end], v, text[i+1:end], next)
		switch {
		case err != nil:
			return "", err
		case v == nil:
			flags = ""
		}
		fmt.Fprintf(&out, "%"+flags+string(verb), value)
		i = end
	}
	if text := out.String(); sqltype.Cut(text, longestMessage) != text {
		return sqltype.Cut(text, longestMessage-len("...")) + "...", nil
	}
	return out.String(), nil
}

// longestMessage is how many characters a message has; a longer one ends in an ellipsis
// (docs/t-sql/language-elements/raiserror-transact-sql.md, msg_str).
const longestMessage = 2047

// messageArgument is an argument, of that number, for a conversion with its flags: as Go has both.
func messageArgument(verb byte, v any, flags string, number int) (byte, any, *sqlerr.Error) {
	if verb == 'i' || verb == 'u' {
		verb = 'd'
	}
	switch x := v.(type) {
	case nil:
		return 's', "(null)", nil
	case bool:
		return verb, map[bool]int{true: 1}[x], nil
	case int64:
		if verb == 's' {
			return 0, nil, sqlerr.New(2786, 1, number)
		}
		return verb, x, nil
	case string:
		if verb != 's' {
			return 0, nil, sqlerr.New(2786, 1, number)
		}
		return verb, x, nil
	case decimal.Decimal:
		whole, ok := wholeArgument(x, flags)
		if !ok {
			return 0, nil, sqlerr.New(2748, 1, sqltype.TypeOf(v).Kind, number)
		}
		return verb, whole, nil
	}
	return 0, nil, sqlerr.New(2748, 1, sqltype.TypeOf(v).Kind, number)
}

// wholeArgument is a constant beyond int's range, which %I64d takes.
func wholeArgument(d decimal.Decimal, flags string) (int64, bool) {
	n, err := strconv.ParseInt(d.String(), 10, 64)
	return n, err == nil && strings.Contains(flags, "I64")
}
