// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// numbered refuses by their names procedures of one name with numbers
// (docs/t-sql/statements/create-procedure-transact-sql.md, ;number) and the full-text predicates and functions over all
// columns, which teesql does not read.
func numbered(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 0; i+3 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		switch t, next := tokens[i], tokens[i+1]; {
		case isProcedure(t) && i > 0 && tokens[i-1].IsOneOf("CREATE", "ALTER", "DROP"):
			at := token.AfterName(tokens, i+1)
			if at+1 < len(tokens) && tokens[at].Is(";") && tokens[at+1].Kind == token.Integer {
				return sqlerr.Unsupported("A procedure with a number").At(t.Line)
			}
		case t.IsOneOf("CONTAINS", "FREETEXT") && next.Is("(") && tokens[i+2].Is("*"):
			return sqlerr.Unsupported("The condition " + t.Fold).At(t.Line)
		case t.IsOneOf("CONTAINSTABLE", "FREETEXTTABLE") && next.Is("("):
			return sqlerr.Unsupported("The table reference " + t.Fold).At(t.Line)
		}
	}
	return nil
}

// assignedInSet refuses assignments of variables in queries that UNION, INTERSECT or EXCEPT make one of (10734;
// docs/t-sql/language-elements/set-operators-union-transact-sql.md, where a query specification returns rows).
func assignedInSet(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 0; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("SELECT") || tokens[i+1].Kind != token.Variable || !tokens[i+2].Is("=") {
			continue
		}
		if i > 0 && tokens[i-1].IsOneOf("UNION", "INTERSECT", "EXCEPT") ||
			i > 1 && tokens[i-1].Is("ALL") && tokens[i-2].Is("UNION") ||
			joinedByNext(tokens, i+3) {
			return sqlerr.New(10734, 1).At(tokens[i+1].Line)
		}
	}
	return nil
}

// joinedByNext tells whether the query that goes on at a token is the first of a set operation.
func joinedByNext(tokens []token.Token, at int) bool {
	depth := 0
	for ; at < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth--; depth < 0 {
				return false
			}
		case depth > 0:
		case t.IsOneOf("UNION", "INTERSECT", "EXCEPT"):
			return true
		case t.IsOneOf(";", "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "DECLARE", "SET", "IF", "ELSE", "WHILE", "BEGIN",
			"EXEC", "EXECUTE", "PRINT", "RETURN"):
			return false
		case t.Is("END"): // of CASE, or of a block
			if !closesCase(tokens, at) {
				return false
			}
		}
	}
	return false
}

// closesCase tells whether an END is that of a CASE before it.
func closesCase(tokens []token.Token, at int) bool {
	open := 1
	for at--; at >= 0; at-- {
		switch t := tokens[at]; {
		case t.Is("END"):
			open++
		case t.IsOneOf("CASE", "BEGIN"):
			if open--; open == 0 {
				return t.Is("CASE")
			}
		}
	}
	return false
}
