// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// DefaultCollation is the collation of a new instance.
const DefaultCollation = "SQL_Latin1_General_CP1_CI_AS"

// DefaultCollationKey is its Key.
const DefaultCollationKey = "tsql_ci_as"

// Collation is how character values compare.
type Collation struct {
	// Name is its full name, as the views tell it.
	Name string
	// Binary compares code points; else CaseSensitive and AccentSensitive say what counts.
	Binary, CaseSensitive, AccentSensitive bool
}

// ParseCollation recognises the name of a collation; ok is false for names that are none.
func ParseCollation(name string) (c Collation, ok bool) {
	c.Name, ok = canonicalCollation(name)
	for _, part := range strings.Split(strings.ToUpper(name), "_") {
		switch part {
		case "BIN", "BIN2":
			c.Binary = true
		case "CS":
			c.CaseSensitive = true
		case "AS":
			c.AccentSensitive = true
		}
	}
	return c, ok
}

// Key is the collation's name for the engine: collations that compare alike share it.
func (c Collation) Key() string {
	switch {
	case c.Binary:
		return "tsql_bin2"
	case c.CaseSensitive:
		return "tsql_cs_as"
	case !c.AccentSensitive:
		return "tsql_ci_ai"
	}
	return "tsql_ci_as"
}

// CollationKeys are all values of Key.
var CollationKeys = []string{"tsql_ci_as", "tsql_cs_as", "tsql_ci_ai", "tsql_bin2"}

// CompareByKey compares two strings as the collation of that key does: -1, 0 or 1. Trailing spaces don't count
// (docs/t-sql/language-elements/string-comparison-assignment.md).
func CompareByKey(key, a, b string) int {
	switch key {
	case "tsql_bin2":
		return compareBinary(a, b)
	case "tsql_cs_as":
		return compareText(a, b, true, true)
	case "tsql_ci_ai":
		return compareText(a, b, false, false)
	}
	return compareText(a, b, false, true)
}

func compareBinary(a, b string) int {
	ra, rb := utf16.Encode([]rune(a)), utf16.Encode([]rune(b))
	for i := 0; i < len(ra) || i < len(rb); i++ {
		ca, cb := uint16(' '), uint16(' ')
		if i < len(ra) {
			ca = ra[i]
		}
		if i < len(rb) {
			cb = rb[i]
		}
		if ca != cb {
			if ca < cb {
				return -1
			}
			return 1
		}
	}
	return 0
}

// compareText compares letters first without case, and, when case counts, breaks ties with lower before upper.
func compareText(a, b string, caseCounts, accentCounts bool) int {
	tie := 0
	for len(a) > 0 || len(b) > 0 {
		ca, na := nextRune(a)
		cb, nb := nextRune(b)
		a, b = a[na:], b[nb:]
		if ca == cb {
			continue
		}
		fa, fb := weight(ca, accentCounts), weight(cb, accentCounts)
		if fa != fb {
			if fa < fb {
				return -1
			}
			return 1
		}
		if tie == 0 && caseCounts {
			tie = 1
			if unicode.IsLower(ca) {
				tie = -1
			}
		}
	}
	return tie
}

func nextRune(s string) (rune, int) {
	if s == "" {
		return ' ', 0
	}
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

// weight orders spaces and punctuation before digits before letters, and letters with accents right after their base.
func weight(r rune, accentCounts bool) int64 {
	base, accent := r, int64(0)
	if r >= 0xC0 {
		if b, ok := baseLetters[r]; ok {
			base, accent = b, int64(r)
		}
	}
	base = unicode.ToLower(base)
	if !accentCounts {
		accent = 0
	} else if accent != 0 {
		accent = int64(unicode.ToLower(r))
	}
	class := int64(0)
	switch {
	case unicode.IsDigit(base):
		class = 1
	case unicode.IsLetter(base):
		class = 2
	}
	return class<<48 | int64(base)<<24 | accent
}

var baseLetters = func() map[rune]rune {
	m := map[rune]rune{}
	for base, accented := range map[rune]string{
		'A': "ÀÁÂÃÄÅ", 'C': "Ç", 'E': "ÈÉÊË", 'I': "ÌÍÎÏ", 'N': "Ñ", 'O': "ÒÓÔÕÖ", 'U': "ÙÚÛÜ", 'Y': "ÝŸ",
		'a': "àáâãäå", 'c': "ç", 'e': "èéêë", 'i': "ìíîï", 'n': "ñ", 'o': "òóôõö", 'u': "ùúûü", 'y': "ýÿ",
		'S': "Š", 's': "š", 'Z': "Ž", 'z': "ž",
	} {
		for _, r := range accented {
			m[r] = base
		}
	}
	return m
}()
