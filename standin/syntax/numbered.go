// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// numbered refuses by their names procedures of one name with numbers
// (docs/t-sql/statements/create-procedure-transact-sql.md, ;number) and the full-text predicates and functions over all
// columns, which teesql does not read.
func numbered(tokens []token, inside []bool) *sqlerr.Error {
	for i := 0; i+3 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		switch t, next := tokens[i], tokens[i+1]; {
		case isProcedure(t) && i > 0 && tokens[i-1].isOneOf("CREATE", "ALTER", "DROP"):
			if at := afterName(tokens, i+1); at+1 < len(tokens) && tokens[at].is(";") && tokens[at+1].kind == tokenInteger {
				return sqlerr.Unsupported("A procedure with a number").At(t.line)
			}
		case t.isOneOf("CONTAINS", "FREETEXT") && next.is("(") && tokens[i+2].is("*"):
			return sqlerr.Unsupported("The condition " + t.fold).At(t.line)
		case t.isOneOf("CONTAINSTABLE", "FREETEXTTABLE") && next.is("("):
			return sqlerr.Unsupported("The table reference " + t.fold).At(t.line)
		}
	}
	return nil
}

// assignedInSet refuses assignments of variables in queries that UNION, INTERSECT or EXCEPT make one of (10734;
// docs/t-sql/language-elements/set-operators-union-transact-sql.md, where a query specification returns rows).
func assignedInSet(tokens []token, inside []bool) *sqlerr.Error {
	for i := 0; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("SELECT") || tokens[i+1].kind != tokenVariable || !tokens[i+2].is("=") {
			continue
		}
		if i > 0 && tokens[i-1].isOneOf("UNION", "INTERSECT", "EXCEPT") ||
			i > 1 && tokens[i-1].is("ALL") && tokens[i-2].is("UNION") ||
			joinedByNext(tokens, i+3) {
			return sqlerr.New(10734, 1).At(tokens[i+1].line)
		}
	}
	return nil
}

// joinedByNext tells whether the query that goes on at a token is the first of a set operation.
func joinedByNext(tokens []token, at int) bool {
	depth := 0
	for ; at < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth < 0 {
				return false
			}
		case depth > 0:
		case t.isOneOf("UNION", "INTERSECT", "EXCEPT"):
			return true
		case t.isOneOf(";", "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "DECLARE", "SET", "IF", "ELSE", "WHILE", "BEGIN",
			"EXEC", "EXECUTE", "PRINT", "RETURN"):
			return false
		case t.is("END"): // of CASE, or of a block
			if !closesCase(tokens, at) {
				return false
			}
		}
	}
	return false
}

// closesCase tells whether an END is that of a CASE before it.
func closesCase(tokens []token, at int) bool {
	open := 1
	for at--; at >= 0; at-- {
		switch t := tokens[at]; {
		case t.is("END"):
			open++
		case t.isOneOf("CASE", "BEGIN"):
			if open--; open == 0 {
				return t.is("CASE")
			}
		}
	}
	return false
}
