// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
)

// outOfPlace refuses what teesql lets pass in a place where it may not stand: table variables and what they may not
// have (docs/t-sql/data-types/table-transact-sql.md), halves of OFFSET and FETCH
// (docs/t-sql/queries/select-order-by-clause-transact-sql.md), TOP without parentheses in a change
// (docs/t-sql/queries/top-transact-sql.md), an IDENTITY with a seed alone, and INTO in a view
// (docs/t-sql/statements/create-view-transact-sql.md, select_statement).
func outOfPlace(tokens []token, inside []bool) *sqlerr.Error {
	view := endOfViewName(tokens)
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] || tokens[i].kind != tokenWord {
			continue
		}
		at := 0
		switch t, next := tokens[i], tokens[i+1]; {
		case t.is("TABLE") && next.kind == tokenVariable && i > 0 &&
			tokens[i-1].isOneOf("CREATE", "ALTER", "DROP", "TRUNCATE"):
			at = i + 1
		case t.is("TABLE") && next.is("(") && i > 0 &&
			(tokens[i-1].kind == tokenVariable || tokens[i-1].is("AS") && definesType(tokens, i)):
			at = notInTableType(tokens, i+1)
		case t.is("OFFSET"), t.is("FETCH"):
			err, bad := badRange(tokens, i)
			if err != nil {
				return err
			}
			at = bad
		case t.is("TOP") && next.kind == tokenInteger && i > 0 && tokens[i-1].isOneOf("DELETE", "UPDATE", "INSERT", "MERGE"):
			at = i + 1
		case t.is("IDENTITY") && next.is("(") && i+3 < len(tokens) && tokens[i+2].kind == tokenInteger && tokens[i+3].is(")"):
			at = i + 3
		case t.is("INTO") && view > 0 && i > view:
			at = i
		case t.is("COALESCE") && next.is("("):
			at = loneArgument(tokens, i+1)
		case t.is("INSERT"):
			at = emptyColumns(tokens, i)
		}
		if at > 0 {
			return near(tokens, at)
		}
	}
	return nil
}

// definesType tells whether the TABLE at a token is that of CREATE TYPE name AS TABLE.
func definesType(tokens []token, at int) bool {
	for i := at - 2; i >= 0 && (isName(tokens[i]) || tokens[i].is(".")); i-- {
		if i > 1 && tokens[i-1].is("TYPE") && tokens[i-2].is("CREATE") {
			return true
		}
	}
	return false
}

// notInTableType finds a foreign key or the name of a constraint in the definition whose parenthesis opens at a token.
func notInTableType(tokens []token, opening int) int {
	depth := 0
	for i := opening; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				return 0
			}
		case t.is("REFERENCES"), t.is("FOREIGN"), t.is("CONSTRAINT"):
			return i
		}
	}
	return 0
}

// badRange judges OFFSET and FETCH with a number of rows: ROW or ROWS has to follow it, and ONLY that of FETCH, which
// needs an OFFSET before it (153).
func badRange(tokens []token, at int) (*sqlerr.Error, int) {
	count := at + 1
	fetch := tokens[at].is("FETCH")
	if fetch {
		if !tokens[count].isOneOf("NEXT", "FIRST") {
			return nil, 0
		}
		count++
	}
	if count+1 >= len(tokens) || tokens[count].kind != tokenInteger && tokens[count].kind != tokenVariable ||
		tokens[count+1].is(",") {
		return nil, 0
	}
	after := tokens[count+1]
	switch {
	case after.kind == tokenEnd, after.isOneOf(";", ")", "FETCH", "ONLY", "OPTION"):
		return nil, count + 1
	case !after.isOneOf("ROW", "ROWS"):
		return nil, 0 // an expression goes on
	case fetch && at > 0 && !tokens[at-1].isOneOf("ROW", "ROWS"):
		return sqlerr.New(153, 2, tokens[at+1].fold, "FETCH").At(tokens[at].line), 0
	case fetch && !tokens[count+2].is("ONLY"):
		return nil, count + 2
	}
	return nil, 0
}

// loneArgument is the parenthesis that closes after the only argument of a function that needs two.
func loneArgument(tokens []token, opening int) int {
	depth := 0
	for i := opening; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.is("("):
			depth++
		case t.is(",") && depth == 1:
			return 0
		case t.is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// emptyColumns is the parenthesis that closes an empty list of columns after the table of an INSERT.
func emptyColumns(tokens []token, at int) int {
	i := at + 1
	if tokens[i].is("INTO") {
		i++
	}
	for i+2 < len(tokens) && isName(tokens[i]) {
		if i++; !tokens[i].is(".") {
			break
		}
		i++
	}
	if i+1 < len(tokens) && tokens[i].is("(") && tokens[i+1].is(")") {
		return i + 1
	}
	return 0
}

// nestedDefinition refuses within other statements what has to be the first one of its batch, 156 at the word that says
// what is defined.
func (f *finisher) nestedDefinition(node ast.Statement) {
	switch node.(type) {
	case *ast.CreateViewStatement, *ast.AlterViewStatement, *ast.CreateOrAlterViewStatement, *ast.CreateProcedureStatement,
		*ast.AlterProcedureStatement,
		*ast.CreateOrAlterProcedureStatement, *ast.CreateFunctionStatement, *ast.AlterFunctionStatement,
		*ast.CreateOrAlterFunctionStatement,
		*ast.CreateTriggerStatement, *ast.AlterTriggerStatement, *ast.CreateOrAlterTriggerStatement,
		*ast.CreateSchemaStatement:
	default:
		return
	}
	at := f.tokenOf(node)
	if !f.tokens[at].isOneOf("CREATE", "ALTER") {
		return
	}
	at++
	if f.tokens[at].is("OR") {
		at += 2
	}
	if at < len(f.tokens) && f.tokens[at].isOneOf("VIEW", "PROCEDURE", "PROC", "FUNCTION", "TRIGGER", "SCHEMA") &&
		f.err == nil {
		f.err = near(f.tokens, at)
	}
}

// useInModule is 154: a module stays in its database.
func (f *finisher) useInModule(node ast.Statement) {
	if _, kind := moduleName(f.tokens); kind != "" && f.err == nil {
		f.err = sqlerr.New(154, 1, "a USE database statement", "a procedure, function or trigger").At(Line(node))
	}
}

// intoVariable refuses SELECT INTO a variable.
func (f *finisher) intoVariable(n *ast.SelectStatement) {
	if n.Into == nil || n.Into.BaseIdentifier == nil || len(n.Into.BaseIdentifier.Value) == 0 ||
		n.Into.BaseIdentifier.Value[0] != '@' ||
		f.err != nil {
		return
	}
	end := f.lastOf(n)
	for at := f.tokenOf(n); at < end; at++ {
		if f.tokens[at].is("INTO") && f.tokens[at+1].kind == tokenVariable {
			f.err = near(f.tokens, at+1)
			return
		}
	}
}
