// SPDX-License-Identifier: Apache-2.0

package token

// quotesFrom changes what double quotes mean behind SET ... QUOTED_IDENTIFIER ON or OFF. Within a module the statement
// is without effect on how the module is read.
func (l *lexer) quotesFrom(tokens []Token) {
	last := len(tokens) - 1
	on := tokens[last].Is("ON")
	if !on && !tokens[last].Is("OFF") || DefinesModule(tokens) {
		return
	}
	found := false
	for i := last - 1; i >= 0; i-- {
		switch t := tokens[i]; {
		case t.Is("SET"):
			if found {
				l.doubleQuotes = on
			}
			return
		case t.Is("QUOTED_IDENTIFIER"), t.Is("ANSI_DEFAULTS"):
			found = true
		case t.Kind != Word && !t.Is(","):
			return
		}
	}
}
