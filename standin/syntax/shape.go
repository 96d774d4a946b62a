// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
)

// misshapen refuses what teesql lets pass and no reading makes sense of: joins without ON, derived tables without a
// name, CASE without WHEN, ALTER TABLE ADD COLUMN.
func misshapen(tokens []token, inside []bool) *sqlerr.Error {
	joins := []int{0} // joins that wait for their ON, by depth of parentheses
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if inside[i] {
			continue
		}
		depth := len(joins) - 1
		switch {
		case t.is("("):
			if hint := i > 0 && tokens[i-1].is("OPTION"); hint {
				i = max(closingParenthesis(tokens, i), i)
				continue
			}
			joins = append(joins, 0)
		case t.is("JOIN") && i > 0 && !tokens[i-1].is("CROSS"):
			joins[depth]++
		case t.is("ON") && joins[depth] > 0:
			joins[depth]--
			if at := scalarOfJoin(tokens, i+1); at > 0 {
				return sqlerr.New(4145, 1, tokens[min(at, len(tokens)-2)].text).At(tokens[min(at, len(tokens)-2)].line)
			}
		case joins[depth] > 0 && endsTables(t):
			return near(tokens, i)
		case t.is(")"):
			if depth > 0 {
				joins = joins[:depth]
			}
		case t.is("CASE"):
			if at := caseWithoutWhen(tokens, i); at > 0 {
				return near(tokens, at)
			}
		case t.is("ADD") && tokens[i+1].is("COLUMN") && i >= 3 && tokens[i-2].is("TABLE"):
			return near(tokens, i+1)
		}
		if t.is("(") && (tokens[i+1].is("SELECT") || tokens[i+1].is("VALUES")) && i > 0 &&
			(tokens[i-1].is("FROM") || tokens[i-1].is("JOIN") || tokens[i-1].is("APPLY")) {
			if at := closingParenthesis(tokens, i); at > 0 && at+1 < len(tokens) && isUnnamed(tokens[at+1]) {
				return near(tokens, at)
			}
		}
	}
	return nil
}

// scalarOfJoin finds the end of what follows the ON of a join where that is a name or a constant alone, which teesql
// reads over with the whole FROM clause; 0 where it is more.
func scalarOfJoin(tokens []token, at int) int {
	switch t := tokens[at]; {
	case t.kind == tokenInteger, t.kind == tokenVariable, t.kind == tokenString:
		at++
	case isName(t):
		at = afterName(tokens, at)
	default:
		return 0
	}
	if next := tokens[at]; endsTables(next) ||
		next.isOneOf("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "AND", "OR", "ON") {
		return at
	}
	return 0
}

// endsTables are tokens after which no ON can belong to a join before them.
func endsTables(t token) bool {
	if t.kind == tokenEnd || t.is(";") || t.is(")") {
		return true
	}
	if t.kind != tokenWord {
		return false
	}
	switch t.fold {
	case "WHERE",
		"GROUP",
		"ORDER",
		"HAVING",
		"UNION",
		"EXCEPT",
		"INTERSECT",
		"SELECT",
		"INSERT",
		"DELETE",
		"END",
		"OPTION",
		"GO",
		"DECLARE":
		return true
	}
	return false
}

// isUnnamed tells that a token after a derived table is no name for it.
func isUnnamed(t token) bool {
	return t.kind == tokenEnd || t.is(";") || t.is(")") || t.is(",") ||
		t.kind == tokenWord && t.reserved && !t.is("AS") && !t.is("PIVOT") && !t.is("UNPIVOT") &&
			!t.is("UNION") && !t.is("EXCEPT") && !t.is("INTERSECT")
}

// caseWithoutWhen is the END of a CASE at token at that has no WHEN, 0 when it has one.
func caseWithoutWhen(tokens []token, at int) int {
	nested := 0
	for i := at + 1; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.is("CASE"):
			nested++
		case t.is("WHEN") && nested == 0, t.is(";"):
			return 0
		case t.is("END") && nested == 0:
			return i
		case t.is("END"):
			nested--
		}
	}
	return 0
}

// shape refuses statements that teesql made of half of what is needed.
func (f *finisher) shape(node ast.Statement) {
	switch n := node.(type) {
	case *ast.CreateIndexStatement:
		last := f.lastOf(n)
		if len(n.Columns) == 0 && n.Name != nil {
			f.err = near(f.tokens, last)
		}
		for i := f.tokenOf(n); i <= last && n.FilterPredicate == nil && f.err == nil; i++ {
			if f.tokens[i].is("WHERE") {
				f.err = near(f.tokens, last+1)
			}
		}
	case *ast.PredicateSetStatement:
		if last := f.lastOf(n); !f.tokens[last].is("ON") && !f.tokens[last].is("OFF") {
			f.err = near(f.tokens, last+1)
		}
	case *ast.AlterTableAddTableElementStatement:
		if last := f.lastOf(n); f.tokens[last].is("ADD") {
			f.err = near(f.tokens, last)
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
	if f.tokens[at].is("OR") && f.tokens[at+1].is("ALTER") {
		at += 2
	}
	for _, word := range want {
		if f.tokens[at].is(word) {
			return
		}
	}
	f.err = near(f.tokens, at)
}

// function refuses a function without RETURNS, and a scalar one whose body is no block.
func (f *finisher) function(node any, returns ast.FunctionReturnType) {
	depth := 0
	for i := f.tokenOf(node); i < len(f.tokens); i++ {
		t := f.tokens[i]
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth > 0:
		case t.is("AS") && returns == nil:
			f.err = near(f.tokens, i)
			return
		case t.is("BEGIN"):
			return
		case t.is("RETURN"):
			if _, scalar := returns.(*ast.ScalarFunctionReturnType); scalar {
				f.err = near(f.tokens, i)
			}
			return
		}
	}
}

// lastOf is the index of a node's last token, semicolons not counted.
func (f *finisher) lastOf(node any) int {
	last := f.tokenOf(node)
	end := f.batch.offsets.byteAt(fragment(node).EndOffset())
	for i := last; i < len(f.tokens) && f.tokens[i].kind != tokenEnd && f.tokens[i].end <= end; i++ {
		if !f.tokens[i].is(";") {
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
	if at := f.tokenOf(node); at > 0 && f.tokens[at].is("WITH") && !f.tokens[at-1].is(";") {
		f.err = sqlerr.New(319, 1).At(f.tokens[at].line)
	}
}

// notACondition tells whether a message of teesql says that an expression stands where a condition has to (4145).
func notACondition(message string) bool {
	return strings.HasPrefix(message, "expected comparison operator") ||
		strings.HasPrefix(message, "scalar subquery must be followed by")
}
