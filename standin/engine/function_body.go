// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// functionBody executes the statements of a function, in whose frame the session is.
func (s *Session) functionBody(m bind.Module) error {
	if usesTables(listOf(m.Body)) {
		return s.inFunctionSpace(func() error { return s.functionStatements(m) })
	}
	return s.functionStatements(m)
}

// functionStatements executes a function's statements in the space that the session has; what the session knows of the
// calling statement stays as it is.
func (s *Session) functionStatements(m bind.Module) error {
	rows, last, clock, identity := s.rowCount, s.lastError, s.clockAt, s.lastIdentity
	defer func() { s.rowCount, s.lastError, s.clockAt, s.lastIdentity = rows, last, clock, identity }()
	err := landed(s.statements(s.context(), listOf(m.Body), &discardWriter{}))
	if errors.Is(err, errReturn) {
		return nil
	}
	return err
}

// inFunctionSpace gives a function a space of its own for its table variables: in the caller's a statement is running.
// The space is kept for the next call at this depth.
func (s *Session) inFunctionSpace(run func() error) error {
	local, identities, depth := s.local, s.localIdentities, s.functionDepth
	if depth < len(s.functionSpaces) {
		s.local = s.functionSpaces[depth]
	} else {
		// Plans are told apart by the version of the space that they were made in.
		s.local = localSpace{version: int64(depth+1) << 32}
		s.functionSpaces = append(s.functionSpaces, s.local)
	}
	s.localIdentities = nil
	s.functionDepth++
	defer func() {
		s.dropLocals(s.frame())
		s.functionSpaces[depth] = s.local
		s.local, s.localIdentities, s.functionDepth = local, identities, depth
	}()
	return run()
}

// usesTables tells whether a function has table variables.
func usesTables(list []ast.Statement) bool {
	found := false
	eachStatement(list, func(st ast.Statement) {
		if _, table := st.(*ast.DeclareTableVariableStatement); table {
			found = true
		}
		if d, ok := st.(*ast.DeclareVariableStatement); ok {
			for _, v := range d.Declarations {
				found = found || v.DataType == nil || v.DataType.SqlDataTypeOption == ""
			}
		}
	})
	return found
}

// eachStatement visits statements and those within them.
func eachStatement(list []ast.Statement, visit func(ast.Statement)) {
	for _, st := range list {
		if st == nil {
			continue
		}
		visit(st)
		switch n := st.(type) {
		case *ast.BeginEndBlockStatement:
			eachStatement(listOf(n.StatementList), visit)
		case *ast.IfStatement:
			eachStatement([]ast.Statement{n.ThenStatement, n.ElseStatement}, visit)
		case *ast.WhileStatement:
			eachStatement([]ast.Statement{n.Statement}, visit)
		case *ast.TryCatchStatement:
			eachStatement(listOf(n.TryStatements), visit)
			eachStatement(listOf(n.CatchStatements), visit)
		}
	}
}

// checkFunction refuses what no function may do: 443, 444 and 455
// (docs/t-sql/statements/create-function-transact-sql.md, Limitations).
func checkFunction(m bind.Module) error {
	list := listOf(m.Body)
	if len(list) == 1 {
		if block, ok := list[0].(*ast.BeginEndBlockStatement); ok {
			list = listOf(block.StatementList)
		}
	}
	var err error
	_, tableValued := m.Returns.(*ast.TableValuedFunctionReturnType)
	eachStatement(list, func(st ast.Statement) {
		if e := checkFunctionStatement(st); e != nil && err == nil {
			err = e.At(syntax.Line(st))
		}
		if ret, ok := st.(*ast.ReturnStatement); ok && err == nil && ret.Expression != nil && tableValued {
			err = sqlerr.New(178, 1).At(syntax.Line(st))
		}
		if err == nil && !compound(st) {
			err = sideEffects(st)
		}
	})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return sqlerr.New(455, 2)
	}
	if _, ends := list[len(list)-1].(*ast.ReturnStatement); !ends {
		return sqlerr.New(455, 2)
	}
	return nil
}

// compound tells whether a statement has nothing but other statements.
func compound(st ast.Statement) bool {
	switch st.(type) {
	case *ast.BeginEndBlockStatement, *ast.TryCatchStatement:
		return true
	}
	return false
}

// changesVariable tells whether the target of a statement is a table variable, or the alias of one in its FROM clause.
func changesVariable(target ast.TableReference, from *ast.FromClause) (yes bool) {
	if _, yes = target.(*ast.VariableTableReference); yes || from == nil {
		return yes
	}
	named, ok := target.(*ast.NamedTableReference)
	if !ok {
		return false
	}
	name := bind.NameOf(named.SchemaObject)
	bind.EachNode(reflect.ValueOf(from), func(n any) {
		if v, ok := n.(*ast.VariableTableReference); ok && name.Schema == "" &&
			strings.EqualFold(bind.AliasOf(v.Alias), name.Name) {
			yes = true
		}
	})
	return yes
}

// outputs tells whether OUTPUT sends rows to the client or into a table.
func outputs(out *ast.OutputClause, into *ast.OutputIntoClause) bool {
	return out != nil || into != nil && !changesVariable(into.IntoTable, nil)
}

func checkFunctionStatement(st ast.Statement) *sqlerr.Error {
	verb := ""
	switch n := st.(type) {
	case *ast.SelectStatement:
		if n.Into != nil {
			verb = "SELECT INTO"
		} else if !assigns(n) {
			return sqlerr.New(444, 3)
		}
	case *ast.FetchCursorStatement:
		if len(n.IntoVariables) == 0 {
			return sqlerr.New(444, 2)
		}
	case *ast.InsertStatement:
		if _, executes := n.InsertSpecification.InsertSource.(*ast.ExecuteInsertSource); executes {
			verb = "INSERT EXEC"
		} else if spec := n.InsertSpecification; !changesVariable(spec.Target, nil) ||
			outputs(spec.OutputClause, spec.OutputIntoClause) {
			verb = "INSERT"
		}
	case *ast.UpdateStatement:
		if spec := n.UpdateSpecification; !changesVariable(spec.Target, spec.FromClause) ||
			outputs(spec.OutputClause, spec.OutputIntoClause) {
			verb = "UPDATE"
		}
	case *ast.DeleteStatement:
		if spec := n.DeleteSpecification; !changesVariable(spec.Target, spec.FromClause) ||
			outputs(spec.OutputClause, spec.OutputIntoClause) {
			verb = "DELETE"
		}
	case *ast.MergeStatement:
		if spec := n.MergeSpecification; !changesVariable(spec.Target, nil) || outputs(spec.OutputClause, nil) {
			verb = "MERGE"
		}
	case *ast.ReturnStatement, *ast.BeginEndBlockStatement, *ast.IfStatement, *ast.WhileStatement, *ast.BreakStatement,
		*ast.ContinueStatement,
		*ast.DeclareVariableStatement, *ast.DeclareTableVariableStatement, *ast.SetVariableStatement, *ast.GoToStatement,
		*ast.LabelStatement,
		*ast.DeclareCursorStatement, *ast.OpenCursorStatement, *ast.CloseCursorStatement, *ast.DeallocateCursorStatement:
	case *ast.ExecuteStatement:
		if _, text := n.ExecuteSpecification.ExecutableEntity.(*ast.ExecutableStringList); text {
			verb = "EXECUTE STRING"
		}
	case *ast.TryCatchStatement:
		verb = "BEGIN TRY"
	case *ast.PrintStatement:
		verb = "PRINT"
	case *ast.RaiseErrorStatement:
		verb = "RAISERROR"
	default:
		verb = strings.ToUpper(describe(st))
	}
	if verb != "" {
		return sqlerr.New(443, 14, verb)
	}
	return nil
}

// sideEffecting are the functions of which each call changes something, so that no function may call them
// (docs/t-sql/functions: create-function-transact-sql.md, Limitations; newid-transact-sql.md; rand-transact-sql.md).
var sideEffecting = map[string]bool{"newid": true, "newsequentialid": true, "rand": true, "textptr": true}

// sideEffects is 443 for the first call of such a function in a statement.
func sideEffects(st ast.Statement) error {
	var found *sqlerr.Error
	line := syntax.Line(st)
	bind.EachNode(reflect.ValueOf(st), func(n any) {
		if inner, ok := n.(ast.Statement); ok && syntax.Line(inner) > 0 {
			line = syntax.Line(inner)
		}
		if ref, ok := n.(*ast.NamedTableReference); ok && found == nil && bind.NameOf(ref.SchemaObject).Temporary() {
			found = sqlerr.New(2772, 1).At(line)
		}
		call, ok := n.(*ast.FunctionCall)
		if ok && found == nil && call.CallTarget == nil && call.FunctionName != nil &&
			sideEffecting[lower(call.FunctionName.Value)] {
			found = sqlerr.New(443, 1, lower(call.FunctionName.Value)).At(line)
		}
	})
	if found == nil {
		return nil
	}
	return found
}
