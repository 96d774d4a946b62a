// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// percentile binds PERCENTILE_CONT and PERCENTILE_DISC (fraction) WITHIN GROUP (ORDER BY x) OVER (PARTITION BY ...)
// (docs/t-sql/functions/percentile-cont-transact-sql.md, percentile-disc-transact-sql.md).
func (b *binder) percentile(sc *scope, n *ast.FunctionCall, name string) expr {
	if n.OverClause == nil {
		b.fail(10753, n.FunctionName.Value)
	}
	out, args := b.percentileOf(sc, n, name)
	if n.OverClause.OrderByClause != nil {
		b.refuse("ORDER BY in the OVER clause of " + n.FunctionName.Value)
	}
	over, parts := b.over(sc, n.OverClause)
	out.sql, out.window = out.sql+over, true
	return merge(merge(out, args...), parts...)
}

// percentileOf binds what PERCENTILE_CONT and PERCENTILE_DISC share with APPROX_PERCENTILE_CONT and
// APPROX_PERCENTILE_DISC, which are aggregates and may be exact
// (docs/t-sql/functions/approx-percentile-cont-transact-sql.md).
func (b *binder) percentileOf(sc *scope, n *ast.FunctionCall, name string) (expr, []expr) {
	if len(n.Parameters) != 1 {
		b.fail(174, name, 1)
	}
	if n.WithinGroupClause == nil || n.WithinGroupClause.OrderByClause == nil ||
		len(n.WithinGroupClause.OrderByClause.OrderByElements) != 1 {
		b.fail(10754, n.FunctionName.Value)
	}
	by := n.WithinGroupClause.OrderByClause.OrderByElements[0]
	x := b.scalar(sc, by.Expression)
	out := expr{typ: x.typ, collation: x.collation, nullable: true}
	continuous := strings.HasSuffix(name, "percentile_cont")
	if !x.typ.Kind.IsNumeric() && (continuous || strings.HasPrefix(name, "approx_")) {
		b.fail(8117, x.typ.Kind, name)
	}
	kind := 0
	if continuous {
		x = b.convert(x, sqltype.FloatType, sqltype.Implicit, 0, false)
		out.typ, out.collation, kind = sqltype.FloatType, "", 1
	}
	fraction := b.convert(b.scalar(sc, n.Parameters[0]), sqltype.FloatType, sqltype.Implicit, 0, false)
	if f, ok := fraction.lit.(float64); fraction.hasLit && (!ok || f < 0 || f > 1) {
		b.refuse("A fraction outside of 0 to 1")
	}
	descending := 0
	if by.SortOrder == "Descending" {
		descending = 1
	}
	collation := ""
	if x.typ.Kind.IsCharacter() {
		collation = x.collation
	}
	out.sql = fmt.Sprintf(
		"tsql_percentile(%s, %s, %d, %d, %s)",
		x.sql,
		fraction.sql,
		kind,
		descending,
		sqltype.StoredLiteral(collation),
	)
	return out, []expr{x, fraction}
}
