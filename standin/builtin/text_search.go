// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

func charIndex(e *Evaluation, a []any) (any, *sqlerr.Error) {
	find, in := []rune(sqltype.AsText(a[0], e.Types[0])), []rune(sqltype.AsText(a[1], e.Types[1]))
	start := 0
	if len(a) > 2 {
		start = max(0, int(integer(a[2]))-1)
	}
	if len(find) == 0 {
		return int64(0), nil
	}
	for i := start; i+len(find) <= len(in); i++ {
		if beginsWith(in[i:], find, e.Collation) {
			return int64(i + 1), nil
		}
	}
	return int64(0), nil
}

// beginsWith tells whether a text begins with another one by a collation.
func beginsWith(text, with []rune, collation string) bool {
	if len(text) < len(with) {
		return false
	}
	for i, r := range with {
		if !sameRune(text[i], r, collation) {
			return false
		}
	}
	return true
}

func patIndex(e *Evaluation, a []any) (any, *sqlerr.Error) {
	pattern, in := a[0].(string), []rune(a[1].(string))
	anchored := !strings.HasPrefix(pattern, "%")
	p := []rune(strings.TrimPrefix(pattern, "%"))
	for i := 0; i <= len(in); i++ {
		if likeRunes(in[i:], p, 0, e.Collation) {
			return int64(i + 1), nil
		}
		if anchored {
			break
		}
	}
	return int64(0), nil
}

// replaceAll replaces what equals old by a collation.
func replaceAll(s, old, with, collation string) string {
	if collation == sqltype.DefaultCollationKey {
		return replaceFold(s, old, with)
	}
	in, find := []rune(s), []rune(old)
	if len(find) == 0 {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(in); {
		if beginsWith(in[i:], find, collation) {
			out.WriteString(with)
			i += len(find)
			continue
		}
		out.WriteRune(in[i])
		i++
	}
	return out.String()
}

func replaceFold(s, old, with string) string {
	if old == "" {
		return s
	}
	lo, ln := strings.ToLower(s), strings.ToLower(old)
	if len(lo) != len(s) || len(ln) != len(old) {
		return strings.ReplaceAll(s, old, with)
	}
	var out strings.Builder
	for {
		i := strings.Index(lo, ln)
		if i < 0 {
			out.WriteString(s)
			return out.String()
		}
		out.WriteString(s[:i] + with)
		s, lo = s[i+len(old):], lo[i+len(old):]
	}
}
