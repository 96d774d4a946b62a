// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// finisher puts this package's nodes where their placeholders are, and refuses what teesql let pass.
type finisher struct {
	batch    *Batch
	tokens   []token.Token
	nodes    map[int]ast.Statement // by offset; emptied as they find their places
	implicit bool                  // the batch began with a procedure's name
	// mayBeMisplaced tells whether placeFaults is to look at the statements.
	mayBeMisplaced bool
	err            *sqlerr.Error
}

// list finishes a list of statements in place.
func (f *finisher) list(statements []ast.Statement, outermost bool) {
	for i := range statements {
		if f.err != nil {
			return
		}
		if f.leading(statements[i]); outermost && f.err == nil {
			f.mustBeFirst(statements, i)
		}
		if !outermost && f.err == nil {
			f.nestedDefinition(statements[i])
		}
		if i > 0 && f.err == nil {
			f.withoutSemicolon(statements[i])
		}
		f.statement(&statements[i])
		if outermost && f.err == nil {
			f.whole(statements[i])
		}
		if outermost && f.err == nil && !IsOwn(statements[i]) {
			f.err = dataTypes(statements[i])
		}
		if outermost && f.err == nil && f.mayBeMisplaced {
			f.err = f.placeFaults(statements[i])
		}
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
	if f.shape(*s); f.err != nil {
		return
	}
	if f.prefixes(*s); f.err != nil {
		return
	}
	switch n := (*s).(type) {
	case *ast.RevertStatement:
		f.replace(s, n)
	case *ast.BeginEndBlockStatement:
		f.endsWith(n, "END")
		f.block(n.StatementList)
	case *ast.IfStatement:
		f.branch(&n.ThenStatement)
		f.branch(&n.ElseStatement)
	case *ast.WhileStatement:
		f.branch(&n.Statement)
	case *ast.TryCatchStatement:
		f.endsWith(n, "CATCH")
		f.block(n.TryStatements)
		f.block(n.CatchStatements)
	case *ast.CreateSchemaStatement:
		for i := range n.StatementList.Statements {
			f.statement(&n.StatementList.Statements[i])
		}
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
	case *ast.CreateOrAlterTriggerStatement:
		f.block(n.StatementList)
	case *ast.AlterTriggerStatement:
		f.block(n.StatementList)
	case *ast.MergeStatement:
		f.merge(n)
		if into := f.mergeInto(n); into != nil && f.err == nil {
			*s = &Merge{MergeStatement: n, Into: into}
		}
	case *ast.LabelStatement:
		if !strings.HasSuffix(n.Value, ":") {
			f.refuseAt(n)
		}
	case *ast.ExecuteStatement:
		f.execute(n)
	case *ast.UseStatement:
		f.useInModule(n)
	case *ast.CreateTableStatement:
		places(n.Definition)
	case *ast.AlterTableAddTableElementStatement:
		f.notForReplication(n)
		places(n.Definition)
	case *ast.SelectStatement:
		f.intoVariable(n)
	case *ast.DeclareCursorStatement:
		f.cursorQuery(n.CursorDefinition)
	case *ast.SetVariableStatement:
		f.cursorQuery(n.CursorDefinition)
	case *ast.CreateSequenceStatement, *ast.AlterSequenceStatement:
		f.sequence(*s)
	case *ast.DropProcedureStatement, *ast.DropFunctionStatement, *ast.DropViewStatement, *ast.DropTriggerStatement:
		f.dropped(*s)
	}
}

// branch finishes a statement that another one has.
func (f *finisher) branch(s *ast.Statement) {
	if *s != nil {
		f.nestedDefinition(*s)
	}
	f.statement(s)
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
	if t := f.tokens[at]; !t.Is("EXEC") && !t.Is("EXECUTE") {
		f.err = token.Near(f.tokens, at)
	}
}

// endsWith refuses a block that was never closed: teesql takes the end of the batch for its end.
func (f *finisher) endsWith(node ast.Statement, word string) {
	frag := fragment(node)
	end := f.batch.offsets.byteAt(frag.EndOffset())
	last := -1
	for i, t := range f.tokens {
		if t.Kind == token.End || t.End > end {
			break
		}
		if !t.Is(";") {
			last = i
		}
	}
	if f.err != nil || last < 0 || f.tokens[last].Is(word) {
		return
	}
	for at := last + 1; at < len(f.tokens); at++ {
		if f.tokens[at].Kind == token.End {
			last = at
		} else if !f.tokens[at].Is(";") {
			break
		}
	}
	f.err = token.Near(f.tokens, last)
}

// merge refuses a MERGE without its keywords, all of which teesql takes as given, and one without a semicolon (10713).
func (f *finisher) merge(n *ast.MergeStatement) {
	at := f.tokenOf(n)
	for !f.tokens[at].Is("MERGE") && at < len(f.tokens)-1 {
		at++ // common table expressions
	}
	end := f.batch.offsets.byteAt(n.EndOffset())
	want := []string{"USING", "ON", "WHEN", "THEN"}
	if using := f.afterMergeTarget(at); !f.tokens[using].Is("USING") {
		f.err = token.Near(f.tokens, using)
		return
	}
	depth, last := 0, at
	for ; at < len(f.tokens) && f.tokens[at].Pos < end; at++ {
		t := f.tokens[at]
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && len(want) > 0 && t.Is(want[0]):
			want = want[1:]
			if len(want) == 0 {
				want = nil
			}
		case depth == 0 && want == nil && t.Is("WHEN"):
			want = []string{"THEN"}
		case depth == 0 && len(want) > 1 && (t.Is("WHEN") || t.Is("THEN")),
			depth == 0 && len(want) == 1 && (t.Is("DELETE") || t.Is("UPDATE") || t.Is("INSERT")):
			f.err = token.Near(f.tokens, at)
			return
		}
		last = at
	}
	switch {
	case len(want) > 0:
		f.err = token.Near(f.tokens, min(last+1, len(f.tokens)-1))
	case !f.tokens[last].Is(";") && !f.tokens[min(last+1, len(f.tokens)-1)].Is(";"):
		f.err = sqlerr.New(10713, 1).At(f.tokens[last].Line)
	}
}

// mergeInto is the INTO of a MERGE's OUTPUT clause, which teesql reads and forgets; nil when there is none.
func (f *finisher) mergeInto(n *ast.MergeStatement) *ast.OutputIntoClause {
	end := f.batch.offsets.byteAt(n.EndOffset())
	depth, output, into, last := 0, -1, false, 0
	for at := f.tokenOf(n); at < len(f.tokens) && f.tokens[at].Pos < end; at++ {
		t := f.tokens[at]
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is("OUTPUT"):
			output = at
		case depth == 0 && t.Is("INTO") && output >= 0:
			into = true
		}
		if depth == 0 && (t.Is("OPTION") || t.Is(";")) {
			break
		}
		last = at
	}
	if !into {
		return nil
	}
	script, message := teesql("DELETE x " + f.batch.Text[f.tokens[output].Pos:f.tokens[last].End])
	if message == "" && len(script.Batches) == 1 && len(script.Batches[0].Statements) == 1 {
		if d, ok := script.Batches[0].Statements[0].(*ast.DeleteStatement); ok &&
			d.DeleteSpecification.OutputIntoClause != nil {
			return d.DeleteSpecification.OutputIntoClause
		}
	}
	f.err = token.Near(f.tokens, output)
	return nil
}

// afterMergeTarget is the token after MERGE [TOP (n)] [INTO] name [WITH (hints)] [[AS] alias].
func (f *finisher) afterMergeTarget(at int) int {
	last := len(f.tokens) - 1
	peek := func(i int) token.Token { return f.tokens[min(i, last)] }
	skip := func(open int) int { return max(token.ClosingParenthesis(f.tokens, min(open, last)), open) + 1 }
	at = afterMergeName(f.tokens, at)
	if peek(at).Is("WITH") && peek(at+1).Is("(") {
		at = skip(at + 1)
	}
	if peek(at).Is("AS") {
		at += 2
	} else if t := peek(at); t.Kind == token.Quoted || t.Kind == token.Word && !t.Reserved && !t.Is("USING") {
		at++
	}
	return min(at, last)
}

// mustBeFirst refuses what may only begin a batch (111), and what follows a view or the elements of a schema in its
// batch.
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
		if _, ok := list[0].(*ast.CreateSchemaStatement); ok && f.err == nil {
			f.refuseAt(s)
		}
		return
	}
	f.err = sqlerr.New(111, 1, what).At(Line(s))
}

func (f *finisher) refuseAt(node any) {
	f.err = token.Near(f.tokens, f.tokenOf(node))
}

// tokenOf is the index of a node's first token.
func (f *finisher) tokenOf(node any) int {
	frag := fragment(node)
	if frag == nil || !frag.HasSpan() {
		return 0
	}
	pos := f.batch.offsets.byteAt(frag.StartOffset)
	for i, t := range f.tokens {
		if t.Pos >= pos {
			return i
		}
	}
	return len(f.tokens) - 1
}
