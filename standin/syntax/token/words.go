// SPDX-License-Identifier: Apache-2.0

package token

import "strings"

// IsName tells whether a token is a name: quoted, or a word that is not reserved.
func IsName(t Token) bool {
	return t.Kind == Quoted || t.Kind == Word && !t.Reserved
}

// Words is the set of the words of a text.
func Words(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// MaxIdentifier is the longest name: 128 characters (docs/relational-databases/databases/database-identifiers.md).
const MaxIdentifier = 128

// FirstRunes are the first n characters of a text.
func FirstRunes(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		r = r[:n]
	}
	return string(r)
}

// Upper is a word in the case that Token.Fold has.
func Upper(s string) string { return strings.ToUpper(s) }

// NamesObject are the words that the name of an object follows.
var NamesObject = Words("FROM JOIN INTO INSERT UPDATE DELETE MERGE TABLE VIEW PROC PROCEDURE EXEC EXECUTE")
