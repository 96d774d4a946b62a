// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// splitReturns takes the definition of the table that a multi-statement table-valued function returns out of the text
// for teesql, which reads it in part only. The function is read as one that returns an int, the definition as that of a
// table variable; everything keeps its place.
func (o *offsets) splitReturns(source string, batch []token.Token) (
	string, *ast.DeclareTableVariableBody, *sqlerr.Error,
) {
	if !token.DefinesModule(batch) {
		return source, nil, nil
	}
	tokens, err := token.Split(source, true)
	if err != nil {
		return source, nil, nil // teesql says what is wrong
	}
	for i := 0; i+3 < len(tokens); i++ {
		if tokens[i].Is("AS") || tokens[i].Is("BEGIN") {
			if i > 0 && tokens[i-1].Kind == token.Variable {
				continue // a parameter: @name AS type
			}
			break
		}
		if !tokens[i].Is("RETURNS") || tokens[i+1].Kind != token.Variable || !tokens[i+2].Is("TABLE") ||
			!tokens[i+3].Is("(") {
			continue
		}
		end := token.ClosingParenthesis(tokens, i+3)
		if end < 0 {
			return source, nil, nil
		}
		from, to := tokens[i+1].Pos, tokens[end].End
		text := blank(source[:tokens[i].Pos]) + "DECLARE" + source[tokens[i].End:to]
		script, message := teesql(text)
		if message != "" {
			return source, nil, nearFailure(text, o, message, batch)
		}
		if len(script.Batches) == 1 && len(script.Batches[0].Statements) == 1 {
			if d, ok := script.Batches[0].Statements[0].(*ast.DeclareTableVariableStatement); ok && d.Body != nil {
				rest := blank(source[from:to])
				return source[:from] + "int" + rest[3:] + source[to:], d.Body, nil
			}
		}
		return source, nil, token.Near(batch, 0)
	}
	return source, nil, nil
}

// returns makes the function of a script one that returns a table.
func returns(script *ast.Script, body *ast.DeclareTableVariableBody) {
	if body == nil || len(script.Batches) == 0 || len(script.Batches[0].Statements) == 0 {
		return
	}
	table := &ast.TableValuedFunctionReturnType{DeclareTableVariableBody: body}
	switch n := script.Batches[0].Statements[0].(type) {
	case *ast.CreateFunctionStatement:
		n.ReturnType = table
	case *ast.AlterFunctionStatement:
		n.ReturnType = table
	case *ast.CreateOrAlterFunctionStatement:
		n.ReturnType = table
	}
}
