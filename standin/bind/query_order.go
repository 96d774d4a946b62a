// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

func (b *Binder) topAndOffset(sc *Scope, q *ast.QuerySpecification, p *selectParts, out *BoundQuery) {
	if t := q.TopRowFilter; t != nil {
		if t.WithTies && (q.OrderByClause == nil || p.distinct || p.grouped) {
			if q.OrderByClause == nil {
				b.Fail(1062)
			}
			b.Refuse("WITH TIES together with DISTINCT or GROUP BY")
		}
		lateral := b.lateral
		e, correlated := b.topCount(sc, t.Expression, t.Percent)
		p.limit = e.SQL
		switch {
		case t.WithTies && !t.Percent:
		case t.Percent && !t.WithTies && (correlated || len(sc.outer) > 0 || lateral > p.lateral):
			p.limit, p.numbered = "", rowNumber+" <= CAST(ceil("+rowTotal+"*("+e.SQL+")/100.0) AS INTEGER)"
		case correlated && !t.Percent:
			p.limit, p.numbered = "", rowNumber+" <= "+e.SQL
		case t.Percent:
			inner := *p
			inner.order = ""
			p.limit = "(SELECT CAST(ceil(count(*)*(" + e.SQL + ")/100.0) AS INTEGER) FROM (" + inner.without(out.Outputs) + "))"
		}
	}
	if q.OffsetClause == nil {
		return
	}
	if q.OrderByClause == nil {
		b.Fail(102, "OFFSET")
	}
	if q.TopRowFilter != nil {
		b.Fail(10741)
	}
	count := func(node ast.ScalarExpression, number int32, least int64) (string, bool) {
		e, correlated := b.countExpression(sc, node)
		return b.rowCount(b.Convert(e, sqltype.BigIntType, sqltype.Implicit, 0, false), number, least).SQL, correlated
	}
	offset, correlated := count(q.OffsetClause.OffsetExpression, 10742, 0)
	limit, too := "-1", false
	if q.OffsetClause.FetchExpression != nil {
		limit, too = count(q.OffsetClause.FetchExpression, 10744, 1)
	}
	if !correlated && !too {
		p.offset, p.limit = offset, limit
		return
	}
	p.numbered = rowNumber + " > " + offset
	if limit != "-1" {
		p.numbered += " AND " + rowNumber + " <= " + offset + " + " + limit
	}
}

// rowNumber and rowTotal are the number of a row of a query and how many there are, in selectParts.numbered.
const rowNumber, rowTotal = "numbered", "total"

// numberedRows are those rows of an ordered query that a condition on their numbers takes.
func numberedRows(query, condition string, columns int) string {
	names := make([]string, columns)
	for i := range names {
		names[i] = metadata.ColumnName(int32(i + 1))
	}
	list := strings.Join(names, ", ")
	return "SELECT " + list + " FROM (SELECT " + list + ", row_number() OVER () AS " + rowNumber +
		", count(*) OVER () AS " + rowTotal +
		" FROM (" + query + ")) WHERE " + condition
}

// countExpression binds an argument of TOP, OFFSET or FETCH, which may name columns from around the query but none of
// its own (4115), and tells whether it does: SQLite's LIMIT cannot.
func (b *Binder) countExpression(sc *Scope, node ast.ScalarExpression) (e Expr, correlated bool) {
	if !HasSubquery(node) {
		own := &Scope{Sources: sc.Sources}
		EachNode(reflect.ValueOf(node), func(n any) {
			if c, ok := n.(*ast.ColumnReferenceExpression); ok {
				if parts := Identifiers(c.MultiPartIdentifier); len(parts) > 0 && own.findColumn(parts) != nil {
					b.Fail(4115, parts[len(parts)-1])
				}
			}
		})
	}
	around, lateral := &Scope{parent: sc.parent}, b.lateral
	e = b.Scalar(around, node)
	return e, len(around.outer) > 0 || b.lateral > lateral
}

// without is the query's text without its LIMIT.
func (p *selectParts) without(outputs []Output) string {
	q := *p
	q.limit, q.offset = "", ""
	return q.text(outputs, false)
}

// topOfChange is the number of rows or the part of them that a statement changes at most.
func (b *Binder) topOfChange(top *ast.TopRowFilter) string {
	e, _ := b.topCount(&Scope{}, top.Expression, top.Percent)
	return e.SQL
}

func (b *Binder) topCount(sc *Scope, node ast.ScalarExpression, percent bool) (e Expr, correlated bool) {
	e, correlated = b.countExpression(sc, unparenthesised(node))
	if percent {
		if n, ok := e.Literal.(int64); e.HasLiteral && ok && (n < 0 || n > 100) {
			b.Fail(1031)
		}
		return b.Convert(e, sqltype.FloatType, sqltype.Implicit, 0, false), correlated
	}
	if !e.Type.Kind.IsInteger() && !e.Type.Kind.IsExact() || e.Type.Kind.IsExact() && e.Type.Scale > 0 {
		b.Fail(1060)
	}
	return b.rowCount(b.Convert(e, sqltype.BigIntType, sqltype.Implicit, 0, false), 127, 0), correlated
}

func unparenthesised(n ast.ScalarExpression) ast.ScalarExpression {
	for {
		p, ok := n.(*ast.ParenthesisExpression)
		if !ok {
			return n
		}
		n = p.Expression
	}
}

func (b *Binder) orderBy(sc *Scope, o *ast.OrderByClause, p *selectParts, outputs []Output, aggregate bool) string {
	var parts []string
	seen := map[string]bool{}
	for _, el := range o.OrderByElements {
		switch constant, variable := fixedOrder(el.Expression); {
		case variable:
			b.Fail(1008, len(parts)+1)
		case constant:
			b.Fail(408, len(parts)+1)
		}
		e, position := b.orderElement(sc, el.Expression, outputs)
		if position == 0 {
			if p.distinct && !inOutputs(e, outputs) {
				b.Fail(145)
			}
			if aggregate || p.grouped {
				b.checkGrouped(sc, e, p, 8127)
			}
		}
		if e.HasLiteral && position == 0 {
			b.Fail(408, len(parts)+1)
		}
		b.sortable(e)
		key := strconv.Itoa(position)
		if position == 0 {
			key = e.SQL
		}
		key += " " + e.collation // a column may be there with several
		if seen[key] && (position > 0 || e.column != nil) {
			b.Fail(169)
		}
		seen[key] = true
		text := e.collated()
		if position > 0 && (p.distinct || e.Aggregate || e.Window) {
			text = strconv.Itoa(position)
			if e.Type.Kind.IsCharacter() && e.collation != "" {
				text += " COLLATE " + e.collation
			}
		}
		if el.SortOrder == "Descending" {
			text += " DESC"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// fixedOrder tells whether an element of ORDER BY is the same for every row, by its form alone: a variable, NULL, or
// operators on such. A number is a column's position, a string may be its name.
func fixedOrder(node ast.ScalarExpression) (constant, variable bool) {
	switch n := unparenthesised(node).(type) {
	case *ast.VariableReference:
		return true, true
	case *ast.NullLiteral:
		return true, false
	case *ast.BinaryExpression:
		first, one := fixedOperand(n.FirstExpression)
		second, other := fixedOperand(n.SecondExpression)
		return first && second, first && second && (one || other)
	}
	return false, false
}

func fixedOperand(node ast.ScalarExpression) (constant, variable bool) {
	switch unparenthesised(node).(type) {
	case *ast.IntegerLiteral, *ast.NumericLiteral, *ast.RealLiteral, *ast.StringLiteral:
		return true, false
	}
	return fixedOrder(node)
}

func inOutputs(e Expr, outputs []Output) bool {
	for _, o := range outputs {
		if o.expr.SQL == e.SQL {
			return true
		}
	}
	return false
}

// orderElement finds what an ORDER BY element means: a position, a name of the select list, or an expression.
func (b *Binder) orderElement(sc *Scope, node ast.ScalarExpression, outputs []Output) (Expr, int) {
	switch n := node.(type) {
	case *ast.IntegerLiteral:
		i, err := strconv.Atoi(n.Value)
		if err != nil || i < 1 || i > len(outputs) {
			b.Fail(108, n.Value)
		}
		return outputs[i-1].expr, i
	case *ast.StringLiteral:
		// An alias may be written as it was given, in quotes (docs/t-sql/language-elements/add-transact-sql.md, example A).
		for i, o := range outputs {
			if strings.EqualFold(o.Name, n.Value) {
				return o.expr, i + 1
			}
		}
	case *ast.ColumnReferenceExpression:
		parts := Identifiers(n.MultiPartIdentifier)
		if len(parts) == 1 {
			found := 0
			for i, o := range outputs {
				if strings.EqualFold(o.Name, parts[0]) {
					if found > 0 && outputs[found-1].expr.SQL != o.expr.SQL {
						b.Fail(209, parts[0])
					}
					found = i + 1
				}
			}
			if found > 0 {
				e := outputs[found-1].expr
				if n.Collation != nil {
					e = b.collateClause(e, n.Collation.Value)
				}
				return e, found
			}
		}
	}
	return b.Scalar(sc, node), 0
}

// rowCount is a number of rows that may not be less than least: SQLite takes a negative one for no limit.
func (b *Binder) rowCount(e Expr, number int32, least int64) Expr {
	if n, ok := e.Literal.(int64); e.HasLiteral && ok {
		if n < least {
			b.Fail(number)
		}
		return e
	}
	return b.goCall(
		RowLimit,
		[]Expr{e, literal(sqltype.BigIntType, int64(number)), literal(sqltype.BigIntType, least)},
		sqltype.BigIntType,
		true,
	)
}

// RowLimit is the function that judges a number of rows; no client can name it.
const RowLimit = "row limit"
