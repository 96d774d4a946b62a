// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// TABLESAMPLE takes whole pages of a table, each with the same chance (docs/t-sql/queries/from-transact-sql.md,
// tablesample_clause). Here a page is rowsInSamplePage rows that follow one another.
const rowsInSamplePage = 64

// inSample tells whether a row's page is in a sample; no client can name it. Its arguments are the row's number, the
// seed, how much is wanted, and of how many rows (NULL for percent).
const inSample = "in sample"

func init() {
	addBuiltins(
		map[string]*builtinFunction{
			inSample: {Min: 4, Max: 4, Nulls: true, Run: func(_ *evaluation, a []any) (any, *sqlerr.Error) {
				part, ok := a[2].(float64)
				seed, seeded := a[1].(int64)
				if !ok || !seeded || part < 0 || seed < 1 || a[3] == nil && part > 100 {
					return nil, sqlerr.New(498, 1)
				}
				part /= 100
				if a[3] != nil {
					part = part * 100 / float64(max(1, integer(a[3])))
				}
				h := fnv.New64a()
				_, _ = h.Write([]byte(strconv.FormatInt(seed, 10) + "/" + strconv.FormatInt(integer(a[0])/rowsInSamplePage, 10)))
				return float64(h.Sum64()>>11)/(1<<53) < part, nil
			}},
		},
	)
}

// sampled makes the SQL of a table, which has been added to the scope last, that of a sample of it.
func (b *binder) sampled(sc *scope, n *ast.TableSampleClause, sql string) string {
	src := sc.sources[len(sc.sources)-1]
	table, alias, ok := strings.Cut(sql, " AS ")
	if !ok || src.object == nil || src.object.Kind != metadata.KindTable ||
		src.space == tempSpace && strings.HasPrefix(src.object.Name, "@") {
		b.fail(494)
	}
	constant := func(node ast.ScalarExpression, t sqltype.Type) expr {
		if hasVariable(node) {
			b.fail(497)
		}
		return b.convert(b.scalar(&scope{}, node), t, sqltype.Explicit, 0, false)
	}
	var seed expr
	if n.RepeatSeed != nil {
		seed = constant(n.RepeatSeed, sqltype.BigIntType)
	} else {
		seed = b.computed("seed of a sample", sqltype.BigIntType, func(*Session) any { return rand.Int64N(1<<62) + 1 })
	}
	total := literal(sqltype.BigIntType, nil)
	if n.TableSampleClauseOption == "Rows" {
		total = expr{sql: "(SELECT count(*) FROM " + table + ")", typ: sqltype.BigIntType}
	}
	row := expr{sql: "rowid", typ: sqltype.BigIntType}
	chosen := b.goCall(
		inSample,
		[]expr{row, seed, constant(n.SampleNumber, sqltype.FloatType), total},
		sqltype.BitType,
		false,
	)
	src.object = nil // a subquery's rows are not those of a table to change
	return "(SELECT * FROM " + table + " WHERE " + chosen.sql + ") AS " + alias
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
