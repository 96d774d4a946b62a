// SPDX-License-Identifier: Apache-2.0

package xmldata

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The namespaces that are bound without a declaration (Namespaces in XML 1.0, section 3).
const (
	// XMLSpace is what the prefix xml stands for.
	XMLSpace = "http://www.w3.org/XML/1998/namespace"
	// DeclarationSpace is what the prefix xmlns stands for.
	DeclarationSpace = "http://www.w3.org/2000/xmlns/"
)

// StartsName tells whether a name of XML without a colon may begin with r.
func StartsName(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
	default:
		return r != utf8.RuneError && unicode.IsLetter(r)
	}
}

// InName tells whether a name of XML without a colon may have r behind its first character.
func InName(r rune) bool {
	if r < utf8.RuneSelf {
		return StartsName(r) || r >= '0' && r <= '9' || r == '-' || r == '.'
	}
	return StartsName(r) || r == 0xb7 || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Lm)
}

// IsName tells whether s is a name without a colon.
func IsName(s string) bool {
	for i, r := range s {
		if i == 0 && !StartsName(r) || !InName(r) {
			return false
		}
	}
	return s != ""
}

// isCharacter tells whether XML may have r at all (XML 1.0, production 2).
func isCharacter(r rune) bool {
	switch {
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r'
	case r >= 0xd800 && r <= 0xdfff, r == 0xfffe, r == 0xffff:
		return false
	}
	return r <= unicode.MaxRune
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// EncodeName writes what a name of XML may not have as _xHHHH_.
func EncodeName(s string) string {
	var b strings.Builder
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r > 127
		if letter || i > 0 && (r >= '0' && r <= '9' || r == '.' || r == '-' || r == ':') {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "_x%04X_", r)
	}
	return b.String()
}
