// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"strings"

	"geosql.dev/operator/standin/sqltype"
)

// Like is LIKE (docs/t-sql/language-elements/like-transact-sql.md): %, _, [set], [^set], an escape character; the
// comparison of characters is the collation's. Trailing spaces of the pattern count, those of the text may be ignored.
func Like(text, pattern string, escape rune, collation string) bool {
	t, p := []rune(text), []rune(pattern)
	if likeRunes(t, p, escape, collation) {
		return true
	}
	trimmed := []rune(strings.TrimRight(text, " "))
	return len(trimmed) < len(t) && likeRunes(trimmed, p, escape, collation)
}

func likeRunes(t, p []rune, escape rune, collation string) bool {
	for len(p) > 0 {
		switch {
		case escape != 0 && p[0] == escape && len(p) > 1:
			if len(t) == 0 || !sameRune(t[0], p[1], collation) {
				return false
			}
			t, p = t[1:], p[2:]
		case p[0] == '%':
			for len(p) > 0 && p[0] == '%' {
				p = p[1:]
			}
			if len(p) == 0 {
				return true
			}
			for i := 0; i <= len(t); i++ {
				if likeRunes(t[i:], p, escape, collation) {
					return true
				}
			}
			return false
		case p[0] == '_':
			if len(t) == 0 {
				return false
			}
			t, p = t[1:], p[1:]
		case p[0] == '[':
			end := closing(p, escape)
			if len(t) == 0 || end < 0 || !inSet(t[0], p[1:end], escape, collation) {
				return false
			}
			t, p = t[1:], p[end+1:]
		default:
			if len(t) == 0 || !sameRune(t[0], p[0], collation) {
				return false
			}
			t, p = t[1:], p[1:]
		}
	}
	return len(t) == 0
}

// closing is where a set ends; one that does not end, or has nothing in it, is no character.
func closing(p []rune, escape rune) int {
	for i := 1; i < len(p); i++ {
		if escape != 0 && p[i] == escape {
			i++
			continue
		}
		if p[i] == ']' {
			return i
		}
	}
	return -1
}

func inSet(r rune, set []rune, escape rune, collation string) bool {
	not := len(set) > 0 && set[0] == '^'
	if not {
		set = set[1:]
	}
	found := false
	for i := 0; i < len(set); i++ {
		if escape != 0 && set[i] == escape && i+1 < len(set) {
			i++
		}
		if i+2 < len(set) && set[i+1] == '-' {
			if compareRune(r, set[i], collation) >= 0 && compareRune(r, set[i+2], collation) <= 0 {
				found = true
			}
			i += 2
			continue
		}
		found = found || sameRune(r, set[i], collation)
	}
	return found != not
}

func sameRune(a, b rune, collation string) bool { return a == b || compareRune(a, b, collation) == 0 }

func compareRune(a, b rune, collation string) int {
	return sqltype.CompareByKey(collation, string(a), string(b))
}
