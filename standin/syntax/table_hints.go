// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// tableHints are the first words of WITH ( ... ) behind a table (docs/t-sql/queries/hints-transact-sql-table.md,
// Syntax).
var tableHints = wordSet(
	`FORCESCAN FORCESEEK HOLDLOCK IGNORE_CONSTRAINTS IGNORE_TRIGGERS INDEX KEEPDEFAULTS KEEPIDENTITY NOEXPAND NOLOCK NOWAIT
	PAGLOCK READCOMMITTED READCOMMITTEDLOCK READPAST READUNCOMMITTED REPEATABLEREAD ROWLOCK SERIALIZABLE SNAPSHOT
	SPATIAL_WINDOW_MAX_CELLS TABLOCK TABLOCKX UPDLOCK XLOCK`,
)

// badTableHints judges the parentheses that open at a token where they hold table hints: each begins with the name of
// one, behind WITH those of a statement's target with one that there is, and without WITH, where the parentheses look
// like a function's arguments, they are parted by commas.
func badTableHints(tokens []token, opening int) *sqlerr.Error {
	first := tokens[opening+1]
	if !isTableHint(tokens, opening+1) {
		return nil
	}
	if tokens[opening-1].is("WITH") {
		if hintsOfTarget(tokens, opening-1) {
			if at := unknownWord(tokens, opening+1, tableHints); at > 0 {
				return sqlerr.New(321, 1, tokens[at].text).At(tokens[at].line)
			}
		}
		return badHintsBehindWith(tokens, opening)
	}
	if first.kind != tokenWord || !tableHints[first.fold] {
		return nil
	}
	end := closingParenthesis(tokens, opening)
	for i := opening + 1; i < end; i++ {
		switch t, before := tokens[i], tokens[i-1]; {
		case t.is("INDEX") && before.is(","):
			return sqlerr.New(1018, 1, t.text).At(t.line)
		case t.kind == tokenWord && before.kind == tokenWord && isName(t):
			return near(tokens, i+1)
		case t.kind == tokenWord && before.kind == tokenWord:
			return near(tokens, i)
		}
	}
	return nil
}

// badHintsBehindWith finds what is no word where a hint of WITH ( ... ) begins, and an INDEX that names none. Numbers
// are those of indexes in old texts: FROM t WITH (1).
func badHintsBehindWith(tokens []token, opening int) *sqlerr.Error {
	end := closingParenthesis(tokens, opening)
	depth := 0
	for i := opening; i < end; i++ {
		t, next := tokens[i], tokens[i+1]
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		switch {
		case depth != 1:
		case t.is("INDEX") && next.isOneOf(")", ","):
			return near(tokens, i+1)
		case t.isOneOf("(", ",") && hintsOfTarget(tokens, opening-1) && next.kind != tokenWord:
			return near(tokens, i+1)
		}
	}
	return nil
}

// hintsOfTarget tells whether the WITH at a token belongs to the table that INSERT, UPDATE or DELETE changes.
func hintsOfTarget(tokens []token, with int) bool {
	at := with - 1
	for at > 1 && isName(tokens[at]) && tokens[at-1].is(".") {
		at -= 2
	}
	if at < 1 || !isName(tokens[at]) {
		return false
	}
	lead := tokens[at-1]
	switch {
	case lead.isOneOf("INTO", "FROM") && at > 1:
		return tokens[at-2].isOneOf("INSERT", "DELETE")
	case lead.isOneOf("INSERT", "UPDATE", "DELETE"):
		return at < 2 || !tokens[at-2].isOneOf("FOR", "AFTER", "OF", ",", "GRANT", "DENY", "REVOKE", "ON")
	}
	return false
}

// unknownHint is 321 for an error near a word in the place of a table hint, nil for other places.
func unknownHint(tokens []token, at int) *sqlerr.Error {
	if at < 2 || at+1 >= len(tokens) || tokens[at].kind != tokenWord || tokens[at].reserved ||
		tableHints[tokens[at].fold] ||
		!tokens[at+1].is(")") && !tokens[at+1].is(",") {
		return nil
	}
	open := at - 1
	for open > 0 && (tokens[open].is(",") || tokens[open].kind == tokenWord && !tokens[open].reserved) {
		open--
	}
	if open < 1 || !tokens[open].is("(") || !tokens[open-1].is("WITH") {
		return nil
	}
	for i := open; i >= 0 && !tokens[i].is(";"); i-- {
		if tokens[i].isOneOf("FROM", "JOIN", "UPDATE", "INTO", "MERGE") {
			return sqlerr.New(321, 1, tokens[at].text).At(tokens[at].line)
		}
	}
	return nil
}
