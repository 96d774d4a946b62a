// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// shape refuses statements that teesql made of half of what is needed.
func (f *finisher) shape(node ast.Statement) {
	switch n := node.(type) {
	case *ast.CreateIndexStatement:
		last := f.lastOf(n)
		if len(n.Columns) == 0 && n.Name != nil {
			f.err = token.Near(f.tokens, last)
		}
		for i := f.tokenOf(n); i <= last && n.FilterPredicate == nil && f.err == nil; i++ {
			if f.tokens[i].Is("WHERE") {
				f.err = token.Near(f.tokens, last+1)
			}
		}
	case *ast.PredicateSetStatement:
		if last := f.lastOf(n); !f.tokens[last].Is("ON") && !f.tokens[last].Is("OFF") {
			f.err = token.Near(f.tokens, last+1)
		}
	case *ast.AlterTableAddTableElementStatement:
		if last := f.lastOf(n); f.tokens[last].Is("ADD") {
			f.err = token.Near(f.tokens, last)
		}
	case *ast.TruncateTableStatement:
		f.partitions(n)
	case *ast.CreatePartitionFunctionStatement:
		if n.ParameterType != nil {
			f.boundaries(n, n.BoundaryValues)
		}
	case *ast.AlterPartitionFunctionStatement:
		if n.Boundary == nil {
			f.boundaries(n, nil)
		} else {
			f.boundaries(n, []ast.ScalarExpression{n.Boundary})
		}
	case *ast.CreateFunctionStatement:
		f.function(n, n.ReturnType)
	case *ast.AlterFunctionStatement:
		f.function(n, n.ReturnType)
	case *ast.CreateOrAlterFunctionStatement:
		f.function(n, n.ReturnType)
	}
}

// leading refuses statements of which teesql makes something that their first words do not say: CREATE of an unknown
// kind becomes a procedure.
func (f *finisher) leading(node ast.Statement) {
	var want []string
	switch node.(type) {
	case *ast.CreateProcedureStatement, *ast.CreateOrAlterProcedureStatement, *ast.AlterProcedureStatement:
		want = []string{"PROC", "PROCEDURE"}
	case *ast.CreateFunctionStatement, *ast.CreateOrAlterFunctionStatement, *ast.AlterFunctionStatement:
		want = []string{"FUNCTION"}
	case *ast.CreateViewStatement, *ast.CreateOrAlterViewStatement, *ast.AlterViewStatement:
		want = []string{"VIEW"}
	case *ast.CreateTriggerStatement, *ast.CreateOrAlterTriggerStatement, *ast.AlterTriggerStatement:
		want = []string{"TRIGGER"}
	case *ast.CreateTableStatement:
		want = []string{"TABLE"}
	default:
		return
	}
	at := f.tokenOf(node) + 1
	if f.tokens[at].Is("OR") && f.tokens[at+1].Is("ALTER") {
		at += 2
	}
	for _, word := range want {
		if f.tokens[at].Is(word) {
			return
		}
	}
	f.err = token.Near(f.tokens, at)
}

// function refuses a function without RETURNS, and a scalar one whose body is no block.
func (f *finisher) function(node any, returns ast.FunctionReturnType) {
	depth := 0
	for i := f.tokenOf(node); i < len(f.tokens); i++ {
		t := f.tokens[i]
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth > 0:
		case t.Is("AS") && returns == nil:
			f.err = token.Near(f.tokens, i)
			return
		case t.Is("BEGIN"):
			return
		case t.Is("RETURN"):
			if _, scalar := returns.(*ast.ScalarFunctionReturnType); scalar {
				f.err = token.Near(f.tokens, i)
			}
			return
		}
	}
}

// lastOf is the index of a node's last token, semicolons not counted.
func (f *finisher) lastOf(node any) int {
	last := f.tokenOf(node)
	end := f.batch.offsets.byteAt(fragment(node).EndOffset())
	for i := last; i < len(f.tokens) && f.tokens[i].Kind != token.End && f.tokens[i].End <= end; i++ {
		if !f.tokens[i].Is(";") {
			last = i
		}
	}
	return last
}

// withoutSemicolon refuses a common table expression whose WITH follows another statement directly (319).
func (f *finisher) withoutSemicolon(node ast.Statement) {
	var with *ast.WithCtesAndXmlNamespaces
	switch n := node.(type) {
	case *ast.SelectStatement:
		with = n.WithCtesAndXmlNamespaces
	case *ast.InsertStatement:
		with = n.WithCtesAndXmlNamespaces
	case *ast.UpdateStatement:
		with = n.WithCtesAndXmlNamespaces
	case *ast.DeleteStatement:
		with = n.WithCtesAndXmlNamespaces
	case *ast.MergeStatement:
		with = n.WithCtesAndXmlNamespaces
	}
	if with == nil {
		return
	}
	if at := f.tokenOf(node); at > 0 && f.tokens[at].Is("WITH") && !f.tokens[at-1].Is(";") {
		f.err = sqlerr.New(319, 1).At(f.tokens[at].Line)
	}
}

// notACondition tells whether a message of teesql says that an expression stands where a condition has to (4145).
func notACondition(message string) bool {
	return strings.HasPrefix(message, "expected comparison operator") ||
		strings.HasPrefix(message, "scalar subquery must be followed by")
}
