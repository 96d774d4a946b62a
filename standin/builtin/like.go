// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"strings"

	"geosql.dev/standin/sqltype"
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

// likeRunes goes back to the last % alone when a character does not match: what stood before it has its first match
// already, and a later one leaves less of the text. So the time is at most the product of the lengths.
func likeRunes(t, p []rune, escape rune, collation string) bool {
	at, next := 0, 0
	behind, from := -1, 0 // where the pattern goes on behind the last %, and where in the text
	for {
		switch {
		case behind == len(p), next == len(p) && at == len(t):
			return true
		case next < len(p) && p[next] == '%' && !escapes(p[next:], escape):
			next++
			behind, from = next, at
			continue
		case next < len(p) && at < len(t):
			if n := likeOne(t[at], p[next:], escape, collation); n > 0 {
				at, next = at+1, next+n
				continue
			}
		}
		if behind < 0 || from == len(t) {
			return false
		}
		from++
		at, next = from, behind
	}
}

// escapes tells whether a pattern begins with the escape character and what it stands before.
func escapes(p []rune, escape rune) bool { return escape != 0 && p[0] == escape && len(p) > 1 }

// likeOne is the length of the begin of a pattern that is for one character, 0 when it is for another one.
func likeOne(c rune, p []rune, escape rune, collation string) int {
	switch {
	case escapes(p, escape):
		if sameRune(c, p[1], collation) {
			return 2
		}
	case p[0] == '_':
		return 1
	case p[0] == '[':
		if end := closing(p, escape); end >= 0 && inSet(c, p[1:end], escape, collation) {
			return end + 1
		}
	case sameRune(c, p[0], collation):
		return 1
	}
	return 0
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
