// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// withoutCursor refuses WHERE CURRENT OF that no cursor follows: the statement would be one without a condition
// (docs/t-sql/statements/delete-transact-sql.md, docs/t-sql/queries/update-transact-sql.md, Syntax); and a value for a
// variable of type cursor (docs/t-sql/language-elements/declare-local-variable-transact-sql.md, Syntax).
func withoutCursor(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		switch before, t, next := tokens[i-1], tokens[i], tokens[i+1]; {
		case before.Is("CURRENT") && t.Is("OF") && i > 1 && tokens[i-2].Is("WHERE") && !token.IsName(next) &&
			next.Kind != token.Variable:
			return token.Near(tokens, i+1)
		case before.Kind == token.Variable && t.Is("CURSOR") && next.Is("="):
			return token.Near(tokens, i+1)
		case t.Is("FOR") && next.Is("SELECT") &&
			(before.Is("CURSOR") || cursorOptions[before.Fold] && tokens[i-2].Kind == token.Word):
			if err := intoOfCursor(tokens, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// mixedCursor tells whether a cursor has the words of SQL-92 before CURSOR and those of Transact-SQL behind it
// (docs/t-sql/language-elements/declare-cursor-transact-sql.md, Remarks).
func mixedCursor(tokens []token.Token, at int) bool {
	early := false
	for ; at < len(tokens) && !tokens[at].Is("CURSOR"); at++ {
		early = early || tokens[at].IsOneOf("INSENSITIVE", "SCROLL")
	}
	return early && at+1 < len(tokens) && cursorOptions[tokens[at+1].Fold]
}

// intoOfCursor is 154 for a query of a cursor with INTO (the page, select_statement), from its FOR on.
func intoOfCursor(tokens []token.Token, at int) *sqlerr.Error {
	depth := 0
	for at++; at+1 < len(tokens) && (depth > 0 || !tokens[at].IsOneOf(";", "FROM", "UNION", "WHERE")); at++ {
		switch t := tokens[at]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is("INTO"):
			return sqlerr.New(154, 1, "INTO", "a cursor declaration").At(t.Line)
		}
	}
	return nil
}
