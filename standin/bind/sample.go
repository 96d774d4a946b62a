// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"math/rand/v2"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// InSample tells whether a row's page is in a sample; no client can name it. Its arguments are the row's number, the
// seed, how much is wanted, and of how many rows (NULL for percent).
const InSample = "in sample"

// sampled makes the SQL of a table, which has been added to the scope last, that of a sample of it.
func (b *Binder) sampled(sc *Scope, n *ast.TableSampleClause, sql string) string {
	src := sc.Sources[len(sc.Sources)-1]
	table, alias, ok := strings.Cut(sql, " AS ")
	if !ok || src.Object == nil || src.Object.Kind != metadata.KindTable ||
		src.space == TempSpace && strings.HasPrefix(src.Object.Name, "@") {
		b.Fail(494)
	}
	constant := func(node ast.ScalarExpression, t sqltype.Type) Expr {
		if hasVariable(node) {
			b.Fail(497)
		}
		return b.Convert(b.Scalar(&Scope{}, node), t, sqltype.Explicit, 0, false)
	}
	var seed Expr
	if n.RepeatSeed != nil {
		seed = constant(n.RepeatSeed, sqltype.BigIntType)
	} else {
		seed = b.computed("seed of a sample", sqltype.BigIntType, func(Session) any { return rand.Int64N(1<<62) + 1 })
	}
	total := literal(sqltype.BigIntType, nil)
	if n.TableSampleClauseOption == "Rows" {
		total = Expr{SQL: "(SELECT count(*) FROM " + table + ")", Type: sqltype.BigIntType}
	}
	row := Expr{SQL: "rowid", Type: sqltype.BigIntType}
	chosen := b.goCall(
		InSample,
		[]Expr{row, seed, constant(n.SampleNumber, sqltype.FloatType), total},
		sqltype.BitType,
		false,
	)
	src.Object = nil // a subquery's rows are not those of a table to change
	return "(SELECT * FROM " + table + " WHERE " + chosen.SQL + ") AS " + alias
}

// hasVariable tells whether a constant expression names a variable.
func hasVariable(node ast.ScalarExpression) bool {
	switch n := node.(type) {
	case *ast.VariableReference, *ast.GlobalVariableExpression:
		return true
	case *ast.ParenthesisExpression:
		return hasVariable(n.Expression)
	case *ast.UnaryExpression:
		return hasVariable(n.Expression)
	case *ast.BinaryExpression:
		return hasVariable(n.FirstExpression) || hasVariable(n.SecondExpression)
	}
	return false
}
