// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
)

// finisher puts this package's nodes where their placeholders are, and refuses what teesql let pass.
type finisher struct {
	batch    *Batch
	tokens   []token
	nodes    map[int]ast.Statement // by offset; emptied as they find their places
	implicit bool                  // the batch began with a procedure's name
	err      *sqlerr.Error
}

// list finishes a list of statements in place.
func (f *finisher) list(statements []ast.Statement, outermost bool) {
	for i := range statements {
		if f.err != nil {
			return
		}
		if outermost {
			f.mustBeFirst(statements, i)
		}
		f.statement(&statements[i])
	}
}

func (f *finisher) block(list *ast.StatementList) {
	if list != nil {
		f.list(list.Statements, false)
	}
}

func (f *finisher) statement(s *ast.Statement) {
	if f.err != nil || *s == nil {
		return
	}
	switch n := (*s).(type) {
	case *ast.RevertStatement:
		f.replace(s, n)
	case *ast.BeginEndBlockStatement:
		f.endsWith(n, "END")
		f.block(n.StatementList)
	case *ast.IfStatement:
		f.statement(&n.ThenStatement)
		f.statement(&n.ElseStatement)
	case *ast.WhileStatement:
		f.statement(&n.Statement)
	case *ast.TryCatchStatement:
		f.endsWith(n, "CATCH")
		f.block(n.TryStatements)
		f.block(n.CatchStatements)
	case *ast.CreateProcedureStatement:
		f.block(n.StatementList)
	case *ast.CreateOrAlterProcedureStatement:
		f.block(n.StatementList)
	case *ast.AlterProcedureStatement:
		f.block(n.StatementList)
	case *ast.CreateFunctionStatement:
		f.block(n.StatementList)
	case *ast.CreateOrAlterFunctionStatement:
		f.block(n.StatementList)
	case *ast.AlterFunctionStatement:
		f.block(n.StatementList)
	case *ast.CreateTriggerStatement:
		f.block(n.StatementList)
	case *ast.LabelStatement:
		if !strings.HasSuffix(n.Value, ":") {
			f.refuseAt(n)
		}
	case *ast.ExecuteStatement:
		f.execute(n)
	}
}

func (f *finisher) replace(s *ast.Statement, n *ast.RevertStatement) {
	offset := f.batch.offsets.original(n.StartOffset)
	node, ok := f.nodes[offset]
	if !ok {
		f.refuseAt(n)
		return
	}
	fragment(node).StartOffset = n.StartOffset
	delete(f.nodes, offset)
	*s = node
}

// execute refuses a call without EXECUTE that isn't the batch's first statement.
func (f *finisher) execute(n *ast.ExecuteStatement) {
	if f.implicit && n.StartOffset == 0 {
		return
	}
	at := f.tokenOf(n)
	if t := f.tokens[at]; !t.is("EXEC") && !t.is("EXECUTE") {
		f.err = near(f.tokens, at)
	}
}

// endsWith refuses a block that was never closed: teesql takes the end of the batch for its end.
func (f *finisher) endsWith(node ast.Statement, word string) {
	frag := fragment(node)
	end := f.batch.offsets.byteAt(frag.EndOffset())
	last := -1
	for i, t := range f.tokens {
		if t.kind == tokenEnd || t.end > end {
			break
		}
		if !t.is(";") {
			last = i
		}
	}
	if f.err == nil && last >= 0 && !f.tokens[last].is(word) {
		f.err = near(f.tokens, last)
	}
}

// mustBeFirst refuses what may only begin a batch (111), and what follows a view in its batch.
func (f *finisher) mustBeFirst(list []ast.Statement, at int) {
	s := list[at]
	if at == 0 {
		switch s.(type) {
		case *ast.CreateViewStatement, *ast.CreateOrAlterViewStatement, *ast.AlterViewStatement:
			if len(list) > 1 {
				f.refuseAt(list[1])
			}
		}
		return
	}
	what := ""
	switch s.(type) {
	case *ast.CreateProcedureStatement, *ast.CreateOrAlterProcedureStatement, *ast.AlterProcedureStatement:
		what = "CREATE/ALTER PROCEDURE"
	case *ast.CreateFunctionStatement, *ast.CreateOrAlterFunctionStatement, *ast.AlterFunctionStatement:
		what = "CREATE FUNCTION"
	case *ast.CreateTriggerStatement, *ast.CreateOrAlterTriggerStatement, *ast.AlterTriggerStatement:
		what = "CREATE TRIGGER"
	case *ast.CreateViewStatement, *ast.CreateOrAlterViewStatement, *ast.AlterViewStatement:
		what = "CREATE VIEW"
	case *ast.CreateSchemaStatement:
		what = "CREATE SCHEMA"
	default:
		return
	}
	f.err = sqlerr.New(111, 1, what).At(Line(s))
}

func (f *finisher) refuseAt(node any) {
	f.err = near(f.tokens, f.tokenOf(node))
}

// tokenOf is the index of a node's first token.
func (f *finisher) tokenOf(node any) int {
	frag := fragment(node)
	if frag == nil || !frag.HasSpan() {
		return 0
	}
	pos := f.batch.offsets.byteAt(frag.StartOffset)
	for i, t := range f.tokens {
		if t.pos >= pos {
			return i
		}
	}
	return len(f.tokens) - 1
}
