// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

// quotesFrom changes what double quotes mean behind SET ... QUOTED_IDENTIFIER ON or OFF. Within a module the statement
// is without effect on how the module is read.
func (l *lexer) quotesFrom(tokens []token) {
	last := len(tokens) - 1
	on := tokens[last].is("ON")
	if !on && !tokens[last].is("OFF") || definesModule(tokens) {
		return
	}
	found := false
	for i := last - 1; i >= 0; i-- {
		switch t := tokens[i]; {
		case t.is("SET"):
			if found {
				l.doubleQuotes = on
			}
			return
		case t.is("QUOTED_IDENTIFIER"), t.is("ANSI_DEFAULTS"):
			found = true
		case t.kind != tokenWord && !t.is(","):
			return
		}
	}
}

// definesModule tells whether a batch begins with CREATE or ALTER of a procedure, function, trigger or view.
func definesModule(tokens []token) bool {
	_, kind := moduleName(tokens)
	return kind != ""
}

// stringLiteral is a value in single quotes.
func stringLiteral(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// withSingleQuotes is the batch's text between two bytes, its strings in single quotes.
func (b *Batch) withSingleQuotes(from, to int) string {
	if to < from {
		return ""
	}
	var out strings.Builder
	for _, t := range b.tokens {
		if t.kind != tokenString || t.text[0] != '"' || t.pos < from || t.end > to {
			continue
		}
		out.WriteString(b.Text[from:t.pos])
		out.WriteString(stringLiteral(t.value))
		from = t.end
	}
	out.WriteString(b.Text[from:to])
	return out.String()
}
