// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// checkRecursive refuses what the recursive part of a common table expression may not have
// (docs/t-sql/queries/with-common-table-expression-transact-sql.md, Guidelines for defining and using recursive common
// table expressions): several references to itself (253) or one in a subquery (465), DISTINCT (460), TOP (461), groups
// and aggregates (467), and outer joins (462).
func (b *Binder) checkRecursive(name string, member ast.QueryExpression) {
	q, ok := member.(*ast.QuerySpecification)
	if !ok {
		return
	}
	direct := 0
	if q.FromClause != nil {
		for _, r := range joined(q.FromClause) {
			if tableRefersTo(r, name) {
				direct++
			}
		}
	}
	switch {
	case direct > 1:
		b.Fail(253, name)
	case timesNamed(member, name) > direct:
		b.Fail(465)
	case q.UniqueRowFilter == "Distinct":
		b.Fail(460, name)
	case q.TopRowFilter != nil, q.OffsetClause != nil:
		b.Fail(461, name)
	case hasWindow(q):
		// Its rows are those of one level that one row of the level before led to
		// (docs/t-sql/queries/with-common-table-expression-transact-sql.md, example K), which SQLite does not know.
		b.Refuse("A window function in the recursive part of a common table expression")
	case q.GroupByClause != nil, q.HavingClause != nil, aggregates[aggregateOf(q.SelectElements)] != nil:
		b.Fail(467, name)
	}
	if q.FromClause != nil {
		EachNode(reflect.ValueOf(q.FromClause.TableReferences), func(n any) {
			if j, ok := n.(*ast.QualifiedJoin); ok && strings.HasSuffix(j.QualifiedJoinType, "Outer") && tableRefersTo(j, name) {
				b.Fail(462, name)
			}
		})
	}
}

// hasWindow tells whether a query calls a function with an OVER clause.
func hasWindow(q *ast.QuerySpecification) bool {
	found := false
	EachNode(reflect.ValueOf(q), func(n any) {
		call, ok := n.(*ast.FunctionCall)
		found = found || ok && call.OverClause != nil
	})
	return found
}

// refersWithin tells whether the recursive part of an expression refers to it in a subquery alone.
func refersWithin(q ast.QueryExpression, name string) bool {
	u, ok := q.(*ast.BinaryQueryExpression)
	return ok && u.All && u.BinaryQueryExpressionType == "Union" && timesNamed(u.SecondQueryExpression, name) > 0
}

// timesNamed counts how often a query names a table without a schema.
func timesNamed(query any, name string) int {
	count := 0
	EachNode(reflect.ValueOf(query), func(n any) {
		if t, ok := n.(*ast.NamedTableReference); ok {
			if o := NameOf(t.SchemaObject); o.Schema == "" && strings.EqualFold(o.Name, name) {
				count++
			}
		}
	})
	return count
}

// aggregateOf is the name of an aggregate function that the elements of a select list call, not over a window and not
// in a query of their own.
func aggregateOf(elements []ast.SelectElement) string {
	found := ""
	inner := map[any]bool{}
	EachNode(reflect.ValueOf(elements), func(n any) {
		if s, ok := n.(*ast.ScalarSubquery); ok {
			EachNode(reflect.ValueOf(s.QueryExpression), func(within any) { inner[within] = true })
		}
	})
	EachNode(reflect.ValueOf(elements), func(n any) {
		if call, ok := n.(*ast.FunctionCall); ok && !inner[n] && call.FunctionName != nil && call.CallTarget == nil &&
			call.OverClause == nil &&
			aggregates[lower(call.FunctionName.Value)] != nil {
			found = lower(call.FunctionName.Value)
		}
	})
	return found
}
