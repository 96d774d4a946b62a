// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// rewriter puts all changes of one file into its text. Lines keep their numbers.
type rewriter struct {
	*source
	name     string
	function string
	parents  []ast.Node
	edits    []edit
	// next numbers changes of the package.
	next    *int
	mutants []*mutant
}

// edit replaces the text from one offset to another. Of inserts at one offset those that end something come first.
type edit struct {
	from, to int
	begins   bool
	text     string
}

// rewrite returns the file's text with all changes.
func (r *rewriter) rewrite() string {
	for _, d := range r.files[r.name].Decls {
		r.function = "-"
		if f, ok := d.(*ast.FuncDecl); ok {
			r.function = nameOf(f)
		}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR {
			continue
		}
		r.walk(d)
	}
	slices.SortStableFunc(r.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(order(a.begins), order(b.begins)))
	})
	var out strings.Builder
	at, text := 0, r.text[r.name]
	for _, e := range r.edits {
		out.Write(text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(text[at:])
	return out.String()
}

func order(begins bool) int {
	if begins {
		return 1
	}
	return 0
}

func (r *rewriter) offset(p token.Pos) int { return r.set.Position(p).Offset }

func (r *rewriter) textOf(n ast.Node) string {
	return string(r.text[r.name][r.offset(n.Pos()):r.offset(n.End())])
}

func (r *rewriter) before(p token.Pos, text string) {
	r.edits = append(r.edits, edit{r.offset(p), r.offset(p), true, text})
}

func (r *rewriter) after(p token.Pos, text string) {
	r.edits = append(r.edits, edit{r.offset(p), r.offset(p), false, text})
}

func (r *rewriter) replace(p token.Pos, length int, text string) {
	r.edits = append(r.edits, edit{r.offset(p), r.offset(p) + length, true, text})
}

// add makes a mutant of what stands at a place and returns its number.
func (r *rewriter) add(at token.Pos, kind, expression string) int {
	*r.next++
	p := r.set.Position(at)
	r.mutants = append(r.mutants, &mutant{id: *r.next, file: path.Join(r.folder, r.name), function: r.function,
		kind: kind, expression: shorten(expression), line: p.Line, column: p.Column})
	return *r.next
}

// walk goes through a node: the edits before one are made on the way in, those after it on the way out.
func (r *rewriter) walk(root ast.Node) {
	var out []func()
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			leave := out[len(out)-1]
			out, r.parents = out[:len(out)-1], r.parents[:len(r.parents)-1]
			leave()
			return false
		}
		leave, down := r.enter(n)
		if !down {
			return false
		}
		if leave == nil {
			leave = func() {}
		}
		out, r.parents = append(out, leave), append(r.parents, n)
		return true
	})
}

// enter changes a node; leave is what is to be done behind it, and down tells whether what is in it is changed as well.
func (r *rewriter) enter(n ast.Node) (leave func(), down bool) {
	switch n := n.(type) {
	case *ast.GenDecl:
		return nil, n.Tok == token.VAR
	case *ast.ArrayType:
		return nil, false
	case *ast.BinaryExpr:
		return r.binary(n), true
	case *ast.IncDecStmt:
		return nil, r.count(n)
	case *ast.AssignStmt:
		return r.assign(n), true
	case *ast.BranchStmt:
		r.branch(n)
	}
	return nil, true
}

// helperOf is the helper of an operator.
func helperOf(op token.Token) string {
	for _, c := range comparisons {
		if c.is == op.String() {
			return c.name
		}
	}
	for _, a := range arithmetic {
		if a.is == op.String() {
			return a.name
		}
	}
	return map[token.Token]string{token.LAND: "mutantAnd", token.LOR: "mutantOr"}[op]
}

func (r *rewriter) binary(n *ast.BinaryExpr) (leave func()) {
	of, result := r.info.TypeOf(n.X), r.info.Types[n]
	expression := r.textOf(last(n)) + " " + n.Op.String() + " " + r.textOf(n.Y)
	const boundary, negation = "conditionals-boundary", "conditionals-negation"
	switch n.Op {
	case token.EQL, token.NEQ, token.LAND, token.LOR, token.LSS, token.LEQ, token.GTR, token.GEQ:
		if _, basic := result.Type.(*types.Basic); !basic || result.Value != nil {
			return nil
		}
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		if b, ok := of.Underlying().(*types.Basic); !ok || b.Info()&types.IsNumeric == 0 ||
			result.Value != nil && r.untyped(n.X) && r.untyped(n.Y) {
			return nil
		}
	default:
		return nil
	}
	switch n.Op {
	case token.EQL, token.NEQ:
		r.before(n.Pos(), fmt.Sprintf("mutantNot(%d, ", r.add(n.OpPos, negation, expression)))
		return func() { r.after(n.End(), ")") }
	case token.LAND, token.LOR:
		id := r.add(n.OpPos, "invert-logical", expression)
		r.before(n.Pos(), fmt.Sprintf("%s(%d, ", helperOf(n.Op), id))
		r.replace(n.OpPos, len(n.Op.String()), ", func() bool { return (")
		return func() { r.after(n.End(), ") })") }
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		r.before(n.Pos(), fmt.Sprintf("%s(%d, %d, ", helperOf(n.Op), r.add(n.OpPos, boundary, expression),
			r.add(n.OpPos, negation, expression)))
	default:
		r.before(n.Pos(), fmt.Sprintf("%s(%d, ", helperOf(n.Op), r.add(n.OpPos, "arithmetic-base", expression)))
	}
	r.replace(n.OpPos, len(n.Op.String()), ", ")
	return func() { r.after(n.End(), ")") }
}

// untyped tells whether an expression is made of numbers alone: what type it gets its place decides.
func (r *rewriter) untyped(x ast.Expr) bool {
	typed := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
			typed = true
		}
		return !typed
	})
	return !typed
}

// inList tells whether the node that is entered is a statement between others.
func (r *rewriter) inList() bool {
	switch r.parents[len(r.parents)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

func (r *rewriter) count(n *ast.IncDecStmt) (down bool) {
	_, variable := n.X.(*ast.Ident)
	if !variable && !r.inList() {
		return true
	}
	id := r.add(n.TokPos, "increment-decrement", r.textOf(n))
	if variable {
		r.before(n.Pos(), fmt.Sprintf("mutantCount(%d, &", id))
		r.replace(n.TokPos, 2, fmt.Sprintf(", %t)", n.Tok == token.INC))
		return false
	}
	other := map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok]
	r.before(n.Pos(), fmt.Sprintf("if mutant(%d) { %s%s } else { ", id, r.textOf(n.X), other))
	r.replace(n.TokPos, 2, n.Tok.String()+" }")
	return false
}

func (r *rewriter) assign(n *ast.AssignStmt) (leave func()) {
	inverse := map[token.Token]struct{ to, kind string }{
		token.ADD_ASSIGN: {"-=", "invert-assignments"}, token.SUB_ASSIGN: {"+=", "invert-assignments"},
		token.MUL_ASSIGN: {"/=", "invert-assignments"}, token.QUO_ASSIGN: {"*=", "invert-assignments"},
		token.REM_ASSIGN: {"*=", "invert-assignments"}, token.AND_ASSIGN: {"|=", "invert-bwassign"},
		token.OR_ASSIGN: {"&=", "invert-bwassign"}, token.XOR_ASSIGN: {"&=", "invert-bwassign"},
		token.SHL_ASSIGN: {">>=", "invert-bwassign"}, token.SHR_ASSIGN: {"<<=", "invert-bwassign"},
	}
	to, ok := inverse[n.Tok]
	if !ok || !r.inList() || strings.Contains(r.textOf(n), "\n") {
		return nil
	}
	expression, x, y := r.textOf(n), r.textOf(n.Lhs[0]), r.textOf(n.Rhs[0])
	text := "switch { "
	if b, ok := r.info.TypeOf(n.Lhs[0]).Underlying().(*types.Basic); ok && b.Info()&types.IsNumeric != 0 {
		text += fmt.Sprintf("case mutant(%d): %s %s %s; ", r.add(n.TokPos, to.kind, expression), x, to.to, y)
	}
	text += fmt.Sprintf("case mutant(%d): %s = %s; ", r.add(n.TokPos, "remove-self-assignments", expression), x, y)
	r.before(n.Pos(), text+"default: ")
	return func() { r.after(n.End(), " }") }
}

// branch makes a break of a continue and the other way round, where both may stand.
func (r *rewriter) branch(n *ast.BranchStmt) {
	other := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[n.Tok]
	if other == "" || !r.inList() {
		return
	}
	for i := len(r.parents) - 1; i >= 0; i-- {
		switch p := r.parents[i].(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return // a switch without a loop
		case *ast.ForStmt:
			if p.Cond == nil && n.Tok == token.CONTINUE {
				return // behind a loop that never ends nothing is returned
			}
		case *ast.RangeStmt:
		default:
			continue
		}
		break
	}
	if n.Label != nil {
		other += " " + n.Label.Name
	}
	id := r.add(n.TokPos, "invert-loopctrl", r.textOf(n))
	r.before(n.Pos(), fmt.Sprintf("if mutant(%d) { %s }; ", id, other))
}
