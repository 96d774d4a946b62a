// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// percentile binds PERCENTILE_CONT and PERCENTILE_DISC (fraction) WITHIN GROUP (ORDER BY x) OVER (PARTITION BY ...)
// (docs/t-sql/functions/percentile-cont-transact-sql.md, percentile-disc-transact-sql.md).
func (b *Binder) percentile(sc *Scope, n *ast.FunctionCall, name string) Expr {
	if n.OverClause == nil {
		b.Fail(10753, n.FunctionName.Value)
	}
	out, args := b.percentileOf(sc, n, name)
	if n.OverClause.OrderByClause != nil {
		b.Refuse("ORDER BY in the OVER clause of " + n.FunctionName.Value)
	}
	over, parts := b.over(sc, n.OverClause)
	out.SQL, out.Window = out.SQL+over, true
	return merge(merge(out, args...), parts...)
}

// percentileOf binds what PERCENTILE_CONT and PERCENTILE_DISC share with APPROX_PERCENTILE_CONT and
// APPROX_PERCENTILE_DISC, which are aggregates and may be exact
// (docs/t-sql/functions/approx-percentile-cont-transact-sql.md).
func (b *Binder) percentileOf(sc *Scope, n *ast.FunctionCall, name string) (Expr, []Expr) {
	if len(n.Parameters) != 1 {
		b.Fail(174, name, 1)
	}
	if n.WithinGroupClause == nil || n.WithinGroupClause.OrderByClause == nil ||
		len(n.WithinGroupClause.OrderByClause.OrderByElements) != 1 {
		b.Fail(10754, n.FunctionName.Value)
	}
	by := n.WithinGroupClause.OrderByClause.OrderByElements[0]
	x := b.Scalar(sc, by.Expression)
	out := Expr{Type: x.Type, collation: x.collation, Nullable: true}
	continuous := strings.HasSuffix(name, "percentile_cont")
	if !x.Type.Kind.IsNumeric() && (continuous || strings.HasPrefix(name, "approx_")) {
		b.Fail(8117, x.Type.Kind, name)
	}
	kind := 0
	if continuous {
		x = b.Convert(x, sqltype.FloatType, sqltype.Implicit, 0, false)
		out.Type, out.collation, kind = sqltype.FloatType, "", 1
	}
	fraction := b.Convert(b.Scalar(sc, n.Parameters[0]), sqltype.FloatType, sqltype.Implicit, 0, false)
	if f, ok := fraction.Literal.(float64); fraction.HasLiteral && (!ok || f < 0 || f > 1) {
		b.Refuse("A fraction outside of 0 to 1")
	}
	descending := 0
	if by.SortOrder == "Descending" {
		descending = 1
	}
	collation := ""
	if x.Type.Kind.IsCharacter() {
		collation = x.collation
	}
	out.SQL = fmt.Sprintf(
		"tsql_percentile(%s, %s, %d, %d, %s)",
		x.SQL,
		fraction.SQL,
		kind,
		descending,
		sqltype.StoredLiteral(collation),
	)
	return out, []Expr{x, fraction}
}
