// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
)

// cursorQuery refuses what else the query of a cursor does not have: FOR BROWSE, and assignments of variables (154).
func (f *finisher) cursorQuery(definition *ast.CursorDefinition) {
	if definition == nil || definition.Select == nil {
		return
	}
	q, ok := definition.Select.QueryExpression.(*ast.QuerySpecification)
	if !ok {
		return
	}
	if _, browse := q.ForClause.(*ast.BrowseForClause); browse {
		f.refuse(154, definition.Select, "FOR BROWSE", "a cursor declaration")
	}
	for _, element := range q.SelectElements {
		if n, assigns := element.(*ast.SelectSetVariable); assigns && f.err == nil {
			f.err = sqlerr.New(154, 3, "variable assignment", "a cursor declaration").At(Line(n))
		}
	}
}
