// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// qualifiedPosition is where in the select list of a set operation's first query a column stands that ORDER BY names
// with its table; 0 when it does not, or when a * makes the places unknown.
func qualifiedPosition(q ast.QueryExpression, node ast.ScalarExpression, width int) int {
	named := columnParts(node)
	if len(named) < 2 {
		return 0
	}
	for {
		switch n := q.(type) {
		case *ast.BinaryQueryExpression:
			q = n.FirstQueryExpression
			continue
		case *ast.QueryParenthesisExpression:
			q = n.QueryExpression
			continue
		case *ast.QuerySpecification:
			if len(n.SelectElements) != width {
				return 0
			}
			return 1 + slices.IndexFunc(n.SelectElements, func(el ast.SelectElement) bool {
				scalar, ok := el.(*ast.SelectScalarExpression)
				return ok && slices.EqualFunc(columnParts(scalar.Expression), named, strings.EqualFold)
			})
		}
		return 0
	}
}

// columnParts are the parts of a column's name; none of what is no column.
func columnParts(node ast.ScalarExpression) []string {
	ref, ok := node.(*ast.ColumnReferenceExpression)
	if !ok || ref.MultiPartIdentifier == nil {
		return nil
	}
	return Identifiers(ref.MultiPartIdentifier)
}
