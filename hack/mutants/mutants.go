// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// mutant is one change of the code. All changes of a package are in one build of it, and the environment says which one
// is made.
type mutant struct {
	// id is above 0 and numbers the changes of a package.
	id int
	// file, function, kind and expression together name the change.
	file, function, kind, expression string
	line, column                     int
	// name tells the mutant wherever its line moves: file, function, kind of change, the expression, and a number where
	// the function has several alike.
	name   string
	status status
}

// status is what became of a mutant.
type status int

const (
	// notTried: the time was over before it.
	notTried status = iota
	// notRun: no test comes to it.
	notRun
	survived
	noticed
)

func (m *mutant) position() string { return fmt.Sprintf("%s:%d:%d", m.file, m.line, m.column) }

// nameAll gives names, in the order of the source.
func nameAll(mutants []*mutant) {
	slices.SortStableFunc(mutants, func(a, b *mutant) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	alike := map[string]int{}
	for _, m := range mutants {
		m.name = strings.Join([]string{m.file, m.function, m.kind, m.expression}, " ")
		if alike[m.name]++; alike[m.name] > 1 {
			m.name = fmt.Sprintf("%s #%d", m.name, alike[m.name])
		}
	}
}

// last is the operand beside an operator: of a && b && c the second && has b.
func last(x *ast.BinaryExpr) ast.Expr {
	if b, ok := x.X.(*ast.BinaryExpr); ok && b.Op == x.Op {
		return b.Y
	}
	return x.X
}

// nameOf is a function's name, a method's with its receiver's type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.Ident:
			return u.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// shorten makes one line of source, without the middle of a long one.
func shorten(source string) string {
	const most = 64
	text := []rune(strings.Join(strings.Fields(source), " "))
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most/2]) + "…" + string(text[len(text)-most/2:])
}
