// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// freeVariable is a variable that a batch uses and does not declare. What runs the batch may declare it, as
// sp_executesql does.
type freeVariable struct {
	key string
	err *sqlerr.Error
}

// freeVariables are those of a batch in their order. A batch that uses one before it declares it is left to its
// execution, and so are variables that the parsers of this project's syntax package read as text.
func freeVariables(batch *syntax.Batch) []freeVariable {
	if !strings.Contains(batch.Text, "@") {
		return nil
	}
	type use struct {
		variable *ast.VariableReference
		line     int32
	}
	var uses []use
	declared, other := map[string]bool{}, map[*ast.VariableReference]int32{}
	declare := func(id *ast.Identifier) {
		if id != nil {
			declared["@"+strings.TrimPrefix(lower(id.Value), "@")] = true
		}
	}
	var line int32
	bind.EachNode(reflect.ValueOf(nodesOf(batch)), func(node any) {
		if st, ok := node.(ast.Statement); ok && syntax.Line(st) > 0 {
			line = syntax.Line(st)
		}
		switch n := node.(type) {
		case *ast.DeclareVariableElement:
			declare(n.VariableName)
		case *ast.DeclareTableVariableBody:
			declare(n.VariableName)
		case *ast.ProcedureParameter:
			declare(n.VariableName)
		case *ast.ExecuteParameter:
			other[n.Variable] = 0 // the name of a parameter
		case *ast.VariableTableReference:
			other[n.Variable] = 1087
		case *ast.SetVariableStatement:
			other[n.Variable] = -1
		case *ast.SelectSetVariable:
			other[n.Variable] = -1
		case *ast.VariableReference:
			uses = append(uses, use{n, line})
		}
	})
	var free []freeVariable
	for _, u := range uses {
		if key := lower(u.variable.Name); !declared[key] {
			if e := notDeclared(u.variable, other); e != nil {
				free = append(free, freeVariable{key, batch.InModule(e.At(u.line))})
			}
		}
	}
	return free
}

// notDeclared is the error of a variable that nobody declares; nil of what is no variable of a client. places has the
// numbers of those that stand elsewhere than in an expression: 0 is the name of a parameter, -1 what a value is
// assigned to.
func notDeclared(n *ast.VariableReference, places map[*ast.VariableReference]int32) *sqlerr.Error {
	number, ok := places[n]
	switch {
	case n.Name == syntax.UnwantedStatus, ok && number == 0:
		return nil
	case number < 0:
		return sqlerr.New(137, 1, n.Name)
	case number > 0:
		return sqlerr.New(number, 1, n.Name)
	}
	return sqlerr.New(137, 2, n.Name)
}

func nodesOf(batch *syntax.Batch) []ast.Statement {
	nodes := make([]ast.Statement, len(batch.Statements))
	for i, st := range batch.Statements {
		nodes[i] = st.Node
	}
	return nodes
}

// undeclared is the error of a batch's first variable that nobody declares and that is no function either (@@SPID, an
// argument of EXECUTE): none of its statements is executed then.
func (c *batchCache) undeclared(
	batch *syntax.Batch,
	variables map[string]*variable,
	globals map[string]*Global,
) *sqlerr.Error {
	free, ok := c.free[batch]
	if !ok {
		free = freeVariables(batch)
	}
	for _, v := range free {
		if variables[v.key] == nil && globals[v.key] == nil {
			told := *v.err
			return &told
		}
	}
	return nil
}

// duplicateVariable is 134 for a batch that declares a variable twice.
func duplicateVariable(b *syntax.Batch) (twice *sqlerr.Error) {
	seen := map[string]bool{}
	_ = eachDeclaration(nodesOf(b), func(st ast.Statement, name string, _ *ast.DeclareVariableElement) error {
		if twice == nil && seen[lower(name)] {
			twice = sqlerr.New(134, 1, name).At(syntax.Line(st))
		}
		seen[lower(name)] = true
		return nil
	})
	return twice
}

// knownDefaults is 137 for a parameter whose default is a function with @@ that there is not.
func knownDefaults(m bind.Module, globals map[string]*Global) error {
	for _, p := range m.Parameters {
		if g, ok := p.Value.(*ast.GlobalVariableExpression); ok && globals[lower(g.Name)] == nil {
			return sqlerr.New(137, 2, g.Name)
		}
	}
	return nil
}

// duplicateWithin is 134 for a module that declares a variable twice; its parameters, and the table that a function
// returns, are variables as well.
func duplicateWithin(m bind.Module) error {
	seen := map[string]bool{}
	twice := func(st ast.Statement, name string, _ *ast.DeclareVariableElement) error {
		if seen[lower(name)] {
			return sqlerr.New(134, 1, name).At(syntax.Line(st))
		}
		seen[lower(name)] = true
		return nil
	}
	for _, p := range m.Parameters {
		if seen[lower(p.VariableName.Value)] {
			return sqlerr.New(134, 1, p.VariableName.Value)
		}
		seen[lower(p.VariableName.Value)] = true
	}
	if returned, ok := m.Returns.(*ast.TableValuedFunctionReturnType); ok &&
		returned.DeclareTableVariableBody.VariableName != nil {
		name := "@" + strings.TrimPrefix(returned.DeclareTableVariableBody.VariableName.Value, "@")
		if seen[lower(name)] {
			return sqlerr.New(134, 1, name)
		}
		seen[lower(name)] = true
	}
	return eachDeclaration(listOf(m.Body), twice)
}

// declareSkipped declares the variables of a branch that is not executed, or not to its end, without their values: a
// variable is there from its declaration to the end of the batch
// (docs/t-sql/language-elements/variables-transact-sql.md, Variable scope).
func (s *Session) declareSkipped(ctx context.Context, w tds.Writer, list ...ast.Statement) error {
	return eachDeclaration(list, func(st ast.Statement, name string, d *ast.DeclareVariableElement) error {
		if s.variable(name) != nil {
			return nil
		}
		if table, ok := st.(*ast.DeclareTableVariableStatement); ok {
			if s.doomed {
				return nil // nothing is made then
			}
			return s.declareTable(ctx, table, w)
		}
		bare := *d
		bare.Value = nil
		return s.declareVariables(ctx, &ast.DeclareVariableStatement{Declarations: []*ast.DeclareVariableElement{&bare}}, w)
	})
}

// eachDeclaration gives f the variables that statements and those within them declare, of a table variable without an
// element.
func eachDeclaration(
	list []ast.Statement,
	f func(st ast.Statement, name string, d *ast.DeclareVariableElement) error,
) (err error) {
	for i := 0; i < len(list) && err == nil; i++ {
		switch n := list[i].(type) {
		case *ast.DeclareVariableStatement:
			for _, d := range n.Declarations {
				if err == nil {
					err = f(n, "@"+strings.TrimPrefix(d.VariableName.Value, "@"), d)
				}
			}
		case *ast.DeclareTableVariableStatement:
			err = f(n, "@"+strings.TrimPrefix(n.Body.VariableName.Value, "@"), nil)
		case *ast.BeginEndBlockStatement:
			err = eachDeclaration(listOf(n.StatementList), f)
		case *ast.IfStatement:
			err = eachDeclaration([]ast.Statement{n.ThenStatement, n.ElseStatement}, f)
		case *ast.WhileStatement:
			err = eachDeclaration([]ast.Statement{n.Statement}, f)
		case *ast.TryCatchStatement:
			if err = eachDeclaration(listOf(n.TryStatements), f); err == nil {
				err = eachDeclaration(listOf(n.CatchStatements), f)
			}
		}
	}
	return err
}
