// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// tableHints are the first words of WITH ( ... ) behind a table (docs/t-sql/queries/hints-transact-sql-table.md,
// Syntax).
var tableHints = token.Words(
	`FORCESCAN FORCESEEK HOLDLOCK IGNORE_CONSTRAINTS IGNORE_TRIGGERS INDEX KEEPDEFAULTS KEEPIDENTITY NOEXPAND NOLOCK NOWAIT
	PAGLOCK READCOMMITTED READCOMMITTEDLOCK READPAST READUNCOMMITTED REPEATABLEREAD ROWLOCK SERIALIZABLE SNAPSHOT
	SPATIAL_WINDOW_MAX_CELLS TABLOCK TABLOCKX UPDLOCK XLOCK`,
)

// badTableHints judges the parentheses that open at a token where they hold table hints: each begins with the name of
// one, behind WITH those of a statement's target with one that there is, and without WITH, where the parentheses look
// like a function's arguments, they are parted by commas.
func badTableHints(tokens []token.Token, opening int) *sqlerr.Error {
	first := tokens[opening+1]
	if !token.IsTableHint(tokens, opening+1) {
		return nil
	}
	if tokens[opening-1].Is("WITH") {
		if hintsOfTarget(tokens, opening-1) {
			if at := unknownWord(tokens, opening+1, tableHints); at > 0 {
				return sqlerr.New(321, 1, tokens[at].Text).At(tokens[at].Line)
			}
		}
		return badHintsBehindWith(tokens, opening)
	}
	if first.Kind != token.Word || !tableHints[first.Fold] {
		return nil
	}
	end := token.ClosingParenthesis(tokens, opening)
	for i := opening + 1; i < end; i++ {
		switch t, before := tokens[i], tokens[i-1]; {
		case t.Is("INDEX") && before.Is(","):
			return sqlerr.New(1018, 1, t.Text).At(t.Line)
		case t.Kind == token.Word && before.Kind == token.Word && token.IsName(t):
			return token.Near(tokens, i+1)
		case t.Kind == token.Word && before.Kind == token.Word:
			return token.Near(tokens, i)
		}
	}
	return nil
}

// badHintsBehindWith finds what is no word where a hint of WITH ( ... ) begins, and an INDEX that names none. Numbers
// are those of indexes in old texts: FROM t WITH (1).
func badHintsBehindWith(tokens []token.Token, opening int) *sqlerr.Error {
	end := token.ClosingParenthesis(tokens, opening)
	depth := 0
	for i := opening; i < end; i++ {
		t, next := tokens[i], tokens[i+1]
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		}
		switch {
		case depth != 1:
		case t.Is("INDEX") && next.IsOneOf(")", ","):
			return token.Near(tokens, i+1)
		case t.IsOneOf("(", ",") && hintsOfTarget(tokens, opening-1) && next.Kind != token.Word:
			return token.Near(tokens, i+1)
		}
	}
	return nil
}

// hintsOfTarget tells whether the WITH at a token belongs to the table that INSERT, UPDATE or DELETE changes.
func hintsOfTarget(tokens []token.Token, with int) bool {
	at := with - 1
	for at > 1 && token.IsName(tokens[at]) && tokens[at-1].Is(".") {
		at -= 2
	}
	if at < 1 || !token.IsName(tokens[at]) {
		return false
	}
	lead := tokens[at-1]
	switch {
	case lead.IsOneOf("INTO", "FROM") && at > 1:
		return tokens[at-2].IsOneOf("INSERT", "DELETE")
	case lead.IsOneOf("INSERT", "UPDATE", "DELETE"):
		return at < 2 || !tokens[at-2].IsOneOf("FOR", "AFTER", "OF", ",", "GRANT", "DENY", "REVOKE", "ON")
	}
	return false
}

// UnknownHint is 321 for an error near a word in the place of a table hint, nil for other places.
func UnknownHint(tokens []token.Token, at int) *sqlerr.Error {
	if at < 2 || at+1 >= len(tokens) || tokens[at].Kind != token.Word || tokens[at].Reserved ||
		tableHints[tokens[at].Fold] ||
		!tokens[at+1].Is(")") && !tokens[at+1].Is(",") {
		return nil
	}
	open := at - 1
	for open > 0 && (tokens[open].Is(",") || tokens[open].Kind == token.Word && !tokens[open].Reserved) {
		open--
	}
	if open < 1 || !tokens[open].Is("(") || !tokens[open-1].Is("WITH") {
		return nil
	}
	for i := open; i >= 0 && !tokens[i].Is(";"); i-- {
		if tokens[i].IsOneOf("FROM", "JOIN", "UPDATE", "INTO", "MERGE") {
			return sqlerr.New(321, 1, tokens[at].Text).At(tokens[at].Line)
		}
	}
	return nil
}
