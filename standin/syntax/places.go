// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

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
	if !f.tokens[at].IsOneOf("CREATE", "ALTER") {
		return
	}
	at++
	if f.tokens[at].Is("OR") {
		at += 2
	}
	if at < len(f.tokens) && f.tokens[at].IsOneOf("VIEW", "PROCEDURE", "PROC", "FUNCTION", "TRIGGER", "SCHEMA") &&
		f.err == nil {
		f.err = token.Near(f.tokens, at)
	}
}

// useInModule is 154: a module stays in its database.
func (f *finisher) useInModule(node ast.Statement) {
	if _, kind := token.ModuleName(f.tokens); kind != "" && f.err == nil {
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
		if f.tokens[at].Is("INTO") && f.tokens[at+1].Kind == token.Variable {
			f.err = token.Near(f.tokens, at+1)
			return
		}
	}
}
