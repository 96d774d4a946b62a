// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// outOfPlace refuses what teesql lets pass in a place where it may not stand: table variables and what they may not
// have (docs/t-sql/data-types/table-transact-sql.md), halves of OFFSET and FETCH
// (docs/t-sql/queries/select-order-by-clause-transact-sql.md), TOP without parentheses in a change
// (docs/t-sql/queries/top-transact-sql.md), an IDENTITY with a seed alone, and INTO in a view
// (docs/t-sql/statements/create-view-transact-sql.md, select_statement).
func outOfPlace(tokens []token.Token, inside []bool) *sqlerr.Error {
	view := endOfViewName(tokens)
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] || tokens[i].Kind != token.Word {
			continue
		}
		at := 0
		switch t, next := tokens[i], tokens[i+1]; {
		case t.Is("TABLE") && next.Kind == token.Variable && i > 0 &&
			tokens[i-1].IsOneOf("CREATE", "ALTER", "DROP", "TRUNCATE"):
			at = i + 1
		case t.Is("TABLE") && next.Is("(") && i > 0 &&
			(tokens[i-1].Kind == token.Variable || tokens[i-1].Is("AS") && definesType(tokens, i)):
			at = notInTableType(tokens, i+1)
		case t.Is("OFFSET"), t.Is("FETCH"):
			err, bad := badRange(tokens, i)
			if err != nil {
				return err
			}
			at = bad
		case t.Is("TOP") && next.Kind == token.Integer && i > 0 && tokens[i-1].IsOneOf("DELETE", "UPDATE", "INSERT", "MERGE"):
			at = i + 1
		case t.Is("IDENTITY") && next.Is("(") && i+3 < len(tokens) && tokens[i+2].Kind == token.Integer &&
			tokens[i+3].Is(")"):
			at = i + 3
		case t.Is("INTO") && view > 0 && i > view:
			at = i
		case t.Is("COALESCE") && next.Is("("):
			at = loneArgument(tokens, i+1)
		case t.Is("INSERT"):
			at = emptyColumns(tokens, i)
		}
		if at > 0 {
			return token.Near(tokens, at)
		}
	}
	return nil
}

// definesType tells whether the TABLE at a token is that of CREATE TYPE name AS TABLE.
func definesType(tokens []token.Token, at int) bool {
	for i := at - 2; i >= 0 && (token.IsName(tokens[i]) || tokens[i].Is(".")); i-- {
		if i > 1 && tokens[i-1].Is("TYPE") && tokens[i-2].Is("CREATE") {
			return true
		}
	}
	return false
}

// notInTableType finds a foreign key or the name of a constraint in the definition whose parenthesis opens at a token.
func notInTableType(tokens []token.Token, opening int) int {
	depth := 0
	for i := opening; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth--; depth == 0 {
				return 0
			}
		case t.Is("REFERENCES"), t.Is("FOREIGN"), t.Is("CONSTRAINT"):
			return i
		}
	}
	return 0
}

// badRange judges OFFSET and FETCH with a number of rows: ROW or ROWS has to follow it, and ONLY that of FETCH, which
// needs an OFFSET before it (153).
func badRange(tokens []token.Token, at int) (*sqlerr.Error, int) {
	count := at + 1
	fetch := tokens[at].Is("FETCH")
	if fetch {
		if !tokens[count].IsOneOf("NEXT", "FIRST") {
			return nil, 0
		}
		count++
	}
	if count+1 >= len(tokens) || tokens[count].Kind != token.Integer && tokens[count].Kind != token.Variable ||
		tokens[count+1].Is(",") {
		return nil, 0
	}
	after := tokens[count+1]
	switch {
	case after.Kind == token.End, after.IsOneOf(";", ")", "FETCH", "ONLY", "OPTION"):
		return nil, count + 1
	case !after.IsOneOf("ROW", "ROWS"):
		return nil, 0 // an expression goes on
	case fetch && at > 0 && !tokens[at-1].IsOneOf("ROW", "ROWS"):
		return sqlerr.New(153, 2, tokens[at+1].Fold, "FETCH").At(tokens[at].Line), 0
	case fetch && !tokens[count+2].Is("ONLY"):
		return nil, count + 2
	}
	return nil, 0
}

// loneArgument is the parenthesis that closes after the only argument of a function that needs two.
func loneArgument(tokens []token.Token, opening int) int {
	depth := 0
	for i := opening; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("("):
			depth++
		case t.Is(",") && depth == 1:
			return 0
		case t.Is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// emptyColumns is the parenthesis that closes an empty list of columns after the table of an INSERT.
func emptyColumns(tokens []token.Token, at int) int {
	i := at + 1
	if tokens[i].Is("INTO") {
		i++
	}
	for i+2 < len(tokens) && token.IsName(tokens[i]) {
		if i++; !tokens[i].Is(".") {
			break
		}
		i++
	}
	if i+1 < len(tokens) && tokens[i].Is("(") && tokens[i+1].Is(")") {
		return i + 1
	}
	return 0
}
