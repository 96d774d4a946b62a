// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// maxGroupingSets is how many grouping sets a query may have
// (docs/t-sql/queries/select-group-by-transact-sql.md, Limitations; 10703).
const maxGroupingSets = 4096

// groupingSet is one of the sets of a query with ROLLUP, CUBE or GROUPING SETS, while the query is bound for it: the
// columns and expressions outside of it are NULL, except inside of aggregates.
type groupingSet struct {
	clause *ast.GroupByClause
	in     []bool
	absent map[*SourceColumn]bool
	// texts are the other expressions of all sets, true for those outside of this one.
	texts map[string]bool
	// inside is above 0 while the argument of an aggregate is bound.
	inside int
}

// expandsGroups tells whether a GROUP BY has more than one grouping set.
func expandsGroups(g *ast.GroupByClause) bool {
	if g == nil {
		return false
	}
	if g.GroupByOption == "Rollup" || g.GroupByOption == "Cube" {
		return true
	}
	for _, spec := range g.GroupingSpecifications {
		if _, plain := spec.(*ast.ExpressionGroupingSpecification); !plain {
			return true
		}
	}
	return false
}

// groupingSets are the sets of expressions that a GROUP BY means.
func (b *Binder) groupingSets(g *ast.GroupByClause) [][]ast.ScalarExpression {
	specs := g.GroupingSpecifications
	switch g.GroupByOption {
	case "Rollup":
		specs = []ast.GroupingSpecification{&ast.RollupGroupingSpecification{Arguments: specs}}
	case "Cube":
		specs = []ast.GroupingSpecification{&ast.CubeGroupingSpecification{Arguments: specs}}
	}
	sets := [][]ast.ScalarExpression{nil}
	for _, spec := range specs {
		var next [][]ast.ScalarExpression
		for _, left := range sets {
			for _, right := range b.setsOf(spec) {
				next = append(next, append(append([]ast.ScalarExpression(nil), left...), right...))
			}
		}
		if sets = next; len(sets) > maxGroupingSets {
			b.FailWith(
				&sqlerr.Error{Number: 10703, Class: 15, State: 1, Message: "Too many grouping sets. The maximum number is 4096."},
			)
		}
	}
	return sets
}

func (b *Binder) setsOf(spec ast.GroupingSpecification) [][]ast.ScalarExpression {
	switch n := spec.(type) {
	case *ast.ExpressionGroupingSpecification:
		return [][]ast.ScalarExpression{{n.Expression}}
	case *ast.CompositeGroupingSpecification:
		var all []ast.ScalarExpression
		for _, item := range n.Items {
			for _, set := range b.setsOf(item) {
				all = append(all, set...)
			}
		}
		return [][]ast.ScalarExpression{all}
	case *ast.GrandTotalGroupingSpecification:
		return [][]ast.ScalarExpression{nil}
	case *ast.GroupingSetsGroupingSpecification:
		var all [][]ast.ScalarExpression
		for _, a := range n.Arguments {
			all = append(all, b.setsOf(a)...)
		}
		return all
	case *ast.RollupGroupingSpecification:
		var sets [][]ast.ScalarExpression
		for i := len(n.Arguments); i >= 0; i-- {
			var set []ast.ScalarExpression
			for _, a := range n.Arguments[:i] {
				set = append(set, b.setsOf(a)[0]...)
			}
			sets = append(sets, set)
		}
		return sets
	case *ast.CubeGroupingSpecification:
		if len(n.Arguments) > 12 {
			b.FailWith(&sqlerr.Error{Number: 10703, Class: 15, State: 1,
				Message: "Too many grouping sets. The maximum number is 4096."})
		}
		var sets [][]ast.ScalarExpression
		for bits := 1<<len(n.Arguments) - 1; bits >= 0; bits-- {
			var set []ast.ScalarExpression
			for i, a := range n.Arguments {
				if bits>>(len(n.Arguments)-1-i)&1 == 1 {
					set = append(set, b.setsOf(a)[0]...)
				}
			}
			sets = append(sets, set)
		}
		return sets
	}
	b.Refuse(fmt.Sprintf("GROUP BY with %s", NodeName(spec)))
	return nil
}

// groupingQuery binds a query once for each of its grouping sets and puts the rows together.
func (b *Binder) groupingQuery(sc *Scope, q *ast.QuerySpecification, o QueryOptions) BoundQuery {
	if o.hidden != nil {
		b.Fail(4403, o.name)
	}
	sets := b.groupingSets(q.GroupByClause)
	all := &ast.GroupByClause{}
	for _, set := range sets {
		for _, e := range set {
			if !containsNode(all, e) {
				all.GroupingSpecifications = append(all.GroupingSpecifications, &ast.ExpressionGroupingSpecification{Expression: e})
			}
		}
	}
	one := *q
	one.OrderByClause, one.TopRowFilter, one.OffsetClause, one.UniqueRowFilter, one.ForClause = nil, nil, nil, "", nil
	order, appended := b.orderOutside(&one, q)
	inner := o
	inner.assign, inner.Subquery = false, false
	before := b.groupSet
	defer func() { b.groupSet = before }()
	var out BoundQuery
	texts := make([]string, len(sets))
	for i, set := range sets {
		clause := *all
		b.groupSet = &groupingSet{clause: &clause, absent: map[*SourceColumn]bool{}, texts: map[string]bool{}}
		for _, spec := range all.GroupingSpecifications {
			b.groupSet.in = append(
				b.groupSet.in,
				containsExpression(set, spec.(*ast.ExpressionGroupingSpecification).Expression),
			)
		}
		one.GroupByClause = &clause
		within := &Scope{parent: sc.parent}
		bound := b.specification(within, &one, inner)
		sc.outer = append(sc.outer, within.outer...)
		if texts[i] = bound.sql; i == 0 {
			out = bound
		}
	}
	shown := len(out.Outputs) - appended
	p := selectParts{
		distinct: q.UniqueRowFilter == "Distinct",
		lateral:  b.lateral,
		from:     "(" + strings.Join(texts, " UNION ALL ") + ")",
	}
	hidden := out.Outputs
	for i := range out.Outputs {
		out.Outputs[i].expr = asColumn(out.Outputs[i].expr, i)
		out.Outputs[i].expr.Nullable = true
	}
	out.Outputs = out.Outputs[:shown]
	b.topAndOffset(sc, q, &p, &out)
	p.order = order(hidden)
	if p.order != "" && o.Subquery && p.limit == "" && p.numbered == "" {
		b.Fail(1033)
	}
	out.oneRow, out.limited, out.hasOrder = p.limit == "1", p.limit != "", p.order != ""
	out.sql = p.text(out.Outputs, false)
	return out
}

// orderOutside prepares ORDER BY over the rows of all grouping sets: what is not in the select list is appended to it.
func (b *Binder) orderOutside(one, q *ast.QuerySpecification) (func([]Output) string, int) {
	if q.OrderByClause == nil {
		return func([]Output) string { return "" }, 0
	}
	appended := 0
	one.SelectElements = append([]ast.SelectElement(nil), q.SelectElements...)
	at := make([]int, len(q.OrderByClause.OrderByElements))
	for i, el := range q.OrderByClause.OrderByElements {
		if _, number := el.Expression.(*ast.IntegerLiteral); number || namesOutput(q, el.Expression) {
			continue
		}
		appended++
		at[i] = appended
		one.SelectElements = append(one.SelectElements, &ast.SelectScalarExpression{Expression: el.Expression})
	}
	return func(outputs []Output) string {
		parts := make([]string, len(at))
		shown := len(outputs) - appended
		for i, el := range q.OrderByClause.OrderByElements {
			position := shown + at[i]
			if at[i] == 0 {
				_, position = b.orderElement(&Scope{}, el.Expression, outputs[:shown])
			}
			e := outputs[position-1].expr
			parts[i] = metadata.ColumnName(int32(position))
			if e.Type.Kind.IsCharacter() && e.collation != "" {
				parts[i] += " COLLATE " + e.collation
			}
			if el.SortOrder == "Descending" {
				parts[i] += " DESC"
			}
		}
		return strings.Join(parts, ", ")
	}, appended
}

// namesOutput tells whether an element of ORDER BY is the name of a column of the result.
func namesOutput(q *ast.QuerySpecification, node ast.ScalarExpression) bool {
	ref, ok := node.(*ast.ColumnReferenceExpression)
	if !ok || len(Identifiers(ref.MultiPartIdentifier)) != 1 {
		return false
	}
	name := Identifiers(ref.MultiPartIdentifier)[0]
	for _, el := range q.SelectElements {
		s, ok := el.(*ast.SelectScalarExpression)
		if !ok {
			continue
		}
		if s.ColumnName != nil && strings.EqualFold(s.ColumnName.Value, name) ||
			s.ColumnName != nil && s.ColumnName.Identifier != nil && strings.EqualFold(s.ColumnName.Identifier.Value, name) {
			return true
		}
		if c, ok := s.Expression.(*ast.ColumnReferenceExpression); ok && s.ColumnName == nil {
			if parts := Identifiers(c.MultiPartIdentifier); len(parts) > 0 && strings.EqualFold(parts[len(parts)-1], name) {
				return true
			}
		}
	}
	return false
}

// sameExpression compares columns by name and other expressions by identity.
func sameExpression(a, c ast.ScalarExpression) bool {
	x, ok1 := a.(*ast.ColumnReferenceExpression)
	y, ok2 := c.(*ast.ColumnReferenceExpression)
	return a == c ||
		ok1 && ok2 &&
			strings.EqualFold(
				strings.Join(Identifiers(x.MultiPartIdentifier), "."),
				strings.Join(Identifiers(y.MultiPartIdentifier), "."),
			)
}

func containsExpression(set []ast.ScalarExpression, e ast.ScalarExpression) bool {
	for _, x := range set {
		if sameExpression(x, e) {
			return true
		}
	}
	return false
}

func containsNode(g *ast.GroupByClause, e ast.ScalarExpression) bool {
	for _, spec := range g.GroupingSpecifications {
		if sameExpression(spec.(*ast.ExpressionGroupingSpecification).Expression, e) {
			return true
		}
	}
	return false
}

// groupedInSet binds the expressions of all sets; those of this one are grouped by, columns of the others are absent.
func (b *Binder) groupedInSet(sc *Scope, g *ast.GroupByClause, p *selectParts) {
	set := b.groupSet
	var parts []string
	for i, spec := range g.GroupingSpecifications {
		set.inside++
		x := b.Scalar(sc, spec.(*ast.ExpressionGroupingSpecification).Expression)
		set.inside--
		if x.HasLiteral || len(x.Free) == 0 {
			b.Fail(164)
		}
		if !set.in[i] && x.column != nil && !p.groupColumns[x.column] {
			set.absent[x.column] = true
		} else if !set.in[i] && x.column == nil && !p.groups[x.SQL] {
			set.texts[x.SQL] = true
		}
		if !set.in[i] {
			continue
		}
		p.groups[x.SQL] = true
		if x.column != nil {
			p.groupColumns[x.column] = true
			delete(set.absent, x.column)
		} else {
			set.texts[x.SQL] = false
		}
		parts = append(parts, x.key())
	}
	p.group = strings.Join(parts, ", ")
	if len(parts) == 0 {
		p.having = "count(*) >= 0" // one row for the whole, also of no rows
	}
}

// absentExpression is NULL in place of an expression outside of the grouping set.
func (b *Binder) absentExpression(e Expr) Expr {
	if b.groupSet == nil || b.groupSet.inside > 0 || !b.groupSet.texts[e.SQL] {
		return e
	}
	return Expr{SQL: "NULL", Type: e.Type, Nullable: true, collation: e.collation, implicit: e.implicit, name: e.name}
}

// absent tells whether a column is outside of the grouping set, so that NULL stands in its place.
func (b *Binder) absent(c *SourceColumn) bool {
	return b.groupSet != nil && b.groupSet.inside == 0 && c != nil && b.groupSet.absent[c]
}

// absentColumn is NULL in place of a column outside of the grouping set.
func (b *Binder) absentColumn(e Expr) Expr {
	if !b.absent(e.column) {
		return e
	}
	return Expr{SQL: "NULL", Type: e.Type, Nullable: true, collation: e.collation, implicit: e.implicit, name: e.name}
}

// groupingFunction is GROUPING and GROUPING_ID: which columns are absent, as bits from left to right
// (docs/t-sql/functions/grouping-transact-sql.md, grouping-id-transact-sql.md).
func (b *Binder) groupingFunction(sc *Scope, name string, params []ast.ScalarExpression) Expr {
	if name == "grouping" {
		b.countArguments(name, len(params), 1, 1)
	} else {
		b.countArguments(name, len(params), 1, 32)
	}
	if b.parts == nil || !b.parts.grouping {
		b.Fail(8160)
	}
	if b.groupSet != nil {
		b.groupSet.inside++
	}
	args := b.scalars(sc, params)
	if b.groupSet != nil {
		b.groupSet.inside--
	}
	bits := int64(0)
	for i, e := range args {
		if !b.groupedBy(e) {
			b.Fail(8161, i+1, strings.ToUpper(name))
		}
		bits *= 2
		if g := b.groupSet; g != nil && (g.texts[e.SQL] || g.absent[e.column]) {
			bits++
		}
	}
	t := sqltype.IntType
	if name == "grouping" {
		t = sqltype.Type{Kind: sqltype.TinyInt}
	}
	return Expr{SQL: strconv.FormatInt(bits, 10), Type: t, Nullable: true}
}

// groupedBy tells whether the rows of the query are grouped by an expression, in any of its grouping sets.
func (b *Binder) groupedBy(e Expr) bool {
	text := e.SQL
	if inner, ok := strings.CutPrefix(text, "("); ok && !b.parts.groups[text] {
		text = strings.TrimSuffix(inner, ")")
	}
	if b.parts.groups[e.SQL] || b.parts.groups[text] || e.column != nil && b.parts.groupColumns[e.column] {
		return true
	}
	if b.groupSet == nil {
		return false
	}
	_, known := b.groupSet.texts[e.SQL]
	return known || e.column != nil && b.groupSet.absent[e.column]
}
