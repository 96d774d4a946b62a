// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
)

// withoutCursor refuses WHERE CURRENT OF that no cursor follows: the statement would be one without a condition
// (docs/t-sql/statements/delete-transact-sql.md, docs/t-sql/queries/update-transact-sql.md, Syntax); and a value for a
// variable of type cursor (docs/t-sql/language-elements/declare-local-variable-transact-sql.md, Syntax).
func withoutCursor(tokens []token, inside []bool) *sqlerr.Error {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		switch before, t, next := tokens[i-1], tokens[i], tokens[i+1]; {
		case before.is("CURRENT") && t.is("OF") && i > 1 && tokens[i-2].is("WHERE") && !isName(next) &&
			next.kind != tokenVariable:
			return near(tokens, i+1)
		case before.kind == tokenVariable && t.is("CURSOR") && next.is("="):
			return near(tokens, i+1)
		case t.is("FOR") && next.is("SELECT") &&
			(before.is("CURSOR") || cursorOptions[before.fold] && tokens[i-2].kind == tokenWord):
			if err := intoOfCursor(tokens, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// mixedCursor tells whether a cursor has the words of SQL-92 before CURSOR and those of Transact-SQL behind it
// (docs/t-sql/language-elements/declare-cursor-transact-sql.md, Remarks).
func mixedCursor(tokens []token, at int) bool {
	early := false
	for ; at < len(tokens) && !tokens[at].is("CURSOR"); at++ {
		early = early || tokens[at].isOneOf("INSENSITIVE", "SCROLL")
	}
	return early && at+1 < len(tokens) && cursorOptions[tokens[at+1].fold]
}

// intoOfCursor is 154 for a query of a cursor with INTO (the page, select_statement), from its FOR on.
func intoOfCursor(tokens []token, at int) *sqlerr.Error {
	depth := 0
	for at++; at+1 < len(tokens) && (depth > 0 || !tokens[at].isOneOf(";", "FROM", "UNION", "WHERE")); at++ {
		switch t := tokens[at]; {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && t.is("INTO"):
			return sqlerr.New(154, 1, "INTO", "a cursor declaration").At(t.line)
		}
	}
	return nil
}

// cursorQuery refuses what else the query of a cursor does not have: FOR BROWSE, and assignments of variables (154).
func (f *finisher) cursorQuery(definition *ast.CursorDefinition) {
	if definition == nil || definition.Select == nil {
		return
	}
	q, ok := definition.Select.QueryExpression.(*ast.QuerySpecification)
	if !ok {
		return
	}
	if _, browse := q.ForClause.(*ast.BrowseForClause); browse {
		f.refuse(154, definition.Select, "FOR BROWSE", "a cursor declaration")
	}
	for _, element := range q.SelectElements {
		if n, assigns := element.(*ast.SelectSetVariable); assigns && f.err == nil {
			f.err = sqlerr.New(154, 3, "variable assignment", "a cursor declaration").At(Line(n))
		}
	}
}
