// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// misshapen refuses what teesql lets pass and no reading makes sense of: joins without ON, derived tables without a
// name, CASE without WHEN, ALTER TABLE ADD COLUMN.
func misshapen(tokens []token.Token, inside []bool) *sqlerr.Error {
	joins := []int{0} // joins that wait for their ON, by depth of parentheses
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if inside[i] {
			continue
		}
		depth := len(joins) - 1
		switch {
		case t.Is("("):
			if hint := i > 0 && tokens[i-1].Is("OPTION"); hint {
				i = max(token.ClosingParenthesis(tokens, i), i)
				continue
			}
			joins = append(joins, 0)
		case t.Is("JOIN") && i > 0 && !tokens[i-1].Is("CROSS"):
			joins[depth]++
		case t.Is("ON") && joins[depth] > 0:
			joins[depth]--
			if at := scalarOfJoin(tokens, i+1); at > 0 {
				return sqlerr.New(4145, 1, tokens[min(at, len(tokens)-2)].Text).At(tokens[min(at, len(tokens)-2)].Line)
			}
		case joins[depth] > 0 && endsTables(t):
			return token.Near(tokens, i)
		case t.Is(")"):
			if depth > 0 {
				joins = joins[:depth]
			}
		case t.Is("CASE"):
			if at := caseWithoutWhen(tokens, i); at > 0 {
				return token.Near(tokens, at)
			}
		case t.Is("ADD") && tokens[i+1].Is("COLUMN") && i >= 3 && tokens[i-2].Is("TABLE"):
			return token.Near(tokens, i+1)
		}
		if t.Is("(") && (tokens[i+1].Is("SELECT") || tokens[i+1].Is("VALUES")) && i > 0 &&
			(tokens[i-1].Is("FROM") || tokens[i-1].Is("JOIN") || tokens[i-1].Is("APPLY")) {
			if at := token.ClosingParenthesis(tokens, i); at > 0 && at+1 < len(tokens) && isUnnamed(tokens[at+1]) {
				return token.Near(tokens, at)
			}
		}
	}
	return nil
}

// scalarOfJoin finds the end of what follows the ON of a join where that is a name or a constant alone, which teesql
// reads over with the whole FROM clause; 0 where it is more.
func scalarOfJoin(tokens []token.Token, at int) int {
	switch t := tokens[at]; {
	case t.Kind == token.Integer, t.Kind == token.Variable, t.Kind == token.String:
		at++
	case token.IsName(t):
		at = token.AfterName(tokens, at)
	default:
		return 0
	}
	if next := tokens[at]; endsTables(next) ||
		next.IsOneOf("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "AND", "OR", "ON") {
		return at
	}
	return 0
}

// endsTables are tokens after which no ON can belong to a join before them.
func endsTables(t token.Token) bool {
	if t.Kind == token.End || t.Is(";") || t.Is(")") {
		return true
	}
	if t.Kind != token.Word {
		return false
	}
	switch t.Fold {
	case "WHERE",
		"GROUP",
		"ORDER",
		"HAVING",
		"UNION",
		"EXCEPT",
		"INTERSECT",
		"SELECT",
		"INSERT",
		"DELETE",
		"END",
		"OPTION",
		"GO",
		"DECLARE":
		return true
	}
	return false
}

// isUnnamed tells that a token after a derived table is no name for it.
func isUnnamed(t token.Token) bool {
	return t.Kind == token.End || t.Is(";") || t.Is(")") || t.Is(",") ||
		t.Kind == token.Word && t.Reserved && !t.Is("AS") && !t.Is("PIVOT") && !t.Is("UNPIVOT") &&
			!t.Is("UNION") && !t.Is("EXCEPT") && !t.Is("INTERSECT")
}

// caseWithoutWhen is the END of a CASE at token at that has no WHEN, 0 when it has one.
func caseWithoutWhen(tokens []token.Token, at int) int {
	nested := 0
	for i := at + 1; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("CASE"):
			nested++
		case t.Is("WHEN") && nested == 0, t.Is(";"):
			return 0
		case t.Is("END") && nested == 0:
			return i
		case t.Is("END"):
			nested--
		}
	}
	return 0
}
