// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqltype"
)

// boundQuery is a SELECT in SQLite's SQL; its columns are named c1, c2, ...
type boundQuery struct {
	sql     string
	outputs []output
	// oneRow is true when it gives at most one row, limited when it has a LIMIT of its own.
	oneRow, limited bool
	// variables are the targets of SELECT @x = ..., one per output.
	variables []assignment
	// base is the only source of a simple query over one table.
	hasOrder bool
}

// assignment is SELECT @x = expression; UPDATE ... SET @x += expression has an operator, too.
type assignment struct {
	variable string
	operator string
}

type queryOptions struct {
	// subquery forbids ORDER BY without TOP and asks for named columns.
	subquery bool
	// exists takes any select list.
	exists bool
	// assign allows SELECT @x = ....
	assign bool
	// types are what the outputs are converted to, for the recursive part of a common table expression.
	types []sqltype.Type
	// hidden, when set, gives further columns of the query, which its outputs do not name. A query that groups rows has
	// none: it is refused when it has a name.
	hidden func(sc *scope, outputs []output) []output
	// name is what the query is known as, for messages.
	name string
}

// query binds a query expression. sc is the new, empty scope whose parent is what the query is in.
func (b *binder) query(sc *scope, node ast.QueryExpression, o queryOptions) boundQuery {
	switch q := node.(type) {
	case *ast.QuerySpecification:
		return b.specification(sc, q, o)
	case *ast.QueryParenthesisExpression:
		return b.query(sc, q.QueryExpression, o)
	case *ast.BinaryQueryExpression:
		return b.setOperation(sc, q, o)
	}
	b.refuse(fmt.Sprintf("The query %T", node))
	return boundQuery{}
}

// selectParts are the clauses of a bound query specification.
type selectParts struct {
	distinct                          bool
	from, where, group, having, order string
	limit, offset                     string
	grouped                           bool
	groups                            map[string]bool
	groupColumns                      map[*sourceColumn]bool
}

func (b *binder) specification(sc *scope, q *ast.QuerySpecification, o queryOptions) boundQuery {
	p := selectParts{distinct: q.UniqueRowFilter == "Distinct", groups: map[string]bool{}, groupColumns: map[*sourceColumn]bool{}}
	if q.ForClause != nil {
		return b.forQuery(sc, q, o)
	}
	if g := q.GroupByClause; expandsGroups(g) {
		return b.groupingQuery(sc, q, o)
	}
	outside := b.windows
	defer func() { b.windows = outside }()
	b.windows = nil
	if q.WindowClause != nil {
		b.windows = q.WindowClause.WindowDefinition
	}
	if q.FromClause != nil {
		p.from = b.from(sc, q.FromClause.TableReferences)
	}
	if q.WhereClause != nil && q.WhereClause.Cursor != nil {
		b.refuse("WHERE CURRENT OF")
	}
	if q.WhereClause != nil && q.WhereClause.SearchCondition != nil {
		w := b.predicate(sc, q.WhereClause.SearchCondition)
		if w.aggregate {
			b.fail(147)
		}
		if w.window {
			b.fail(4108)
		}
		p.where = w.sql
	}
	b.groupBy(sc, q.GroupByClause, &p)
	row := b.sequenceRow
	if q.FromClause != nil {
		b.sequenceRow = everyRow
	}
	out := b.selectList(sc, q, o)
	b.sequenceRow = row
	for i, t := range o.types {
		if i < len(out.outputs) {
			e := out.outputs[i].expr
			out.outputs[i].expr = merge(b.convert(e, t, sqltype.Implicit, 0, false), e)
		}
	}
	sc.outputs = out.outputs
	aggregate := false
	for _, c := range out.outputs {
		aggregate = aggregate || c.expr.aggregate
	}
	if q.HavingClause != nil {
		h := b.predicate(sc, q.HavingClause.SearchCondition)
		if h.window {
			b.fail(4108)
		}
		b.checkGrouped(sc, h, &p, 8121)
		if p.having != "" {
			h.sql = p.having + " AND " + h.sql
		}
		p.having = h.sql
		aggregate = true
	}
	if aggregate || p.grouped {
		for _, c := range out.outputs {
			b.checkGrouped(sc, c.expr, &p, 8120)
		}
	}
	b.topAndOffset(sc, q, &p, &out)
	if q.OrderByClause != nil {
		if o.subquery && p.limit == "" && q.OffsetClause == nil {
			b.fail(1033)
		}
		p.order = b.orderBy(sc, q.OrderByClause, &p, out.outputs, aggregate)
		out.hasOrder = true
	}
	out.oneRow = aggregate && !p.grouped || p.limit == "1" || p.from == ""
	out.limited = p.limit != ""
	all := out.outputs
	if o.hidden != nil {
		switch grouped := aggregate || p.grouped || p.distinct; {
		case grouped && o.name != "":
			b.fail(4403, o.name)
		case !grouped:
			all = append(append([]output(nil), all...), o.hidden(sc, out.outputs)...)
		}
	}
	if q.TopRowFilter != nil && q.TopRowFilter.WithTies {
		out.oneRow = false
		out.sql = p.withTies(all)
		return out
	}
	if b.accumulates && len(out.variables) > 0 && p.order != "" && !aggregate && !p.grouped {
		out.sql = p.inTurn(all)
		return out
	}
	out.sql = p.text(all, aggregate && !p.grouped)
	return out
}

// withTies is the query with all rows that rank among the first ones.
func (p *selectParts) withTies(outputs []output) string {
	inner, names := *p, make([]string, len(outputs))
	inner.limit, inner.order = "", ""
	ranked := append(append([]output(nil), outputs...), output{expr: expr{sql: "rank() OVER (ORDER BY " + p.order + ")"}})
	for i := range outputs {
		names[i] = columnName(int32(i + 1))
	}
	last := columnName(int32(len(ranked)))
	return "SELECT " + strings.Join(names, ", ") + " FROM (" + inner.text(ranked, false) + ") WHERE " + last + " <= " + p.limit + " ORDER BY " + last
}

func (p *selectParts) text(outputs []output, oneGroup bool) string {
	var s strings.Builder
	s.WriteString("SELECT ")
	if p.distinct {
		s.WriteString("DISTINCT ")
	}
	for i, c := range outputs {
		if i > 0 {
			s.WriteString(", ")
		}
		if p.distinct {
			s.WriteString(c.expr.collated())
		} else {
			s.WriteString(c.expr.sql)
		}
		s.WriteString(" AS c" + strconv.Itoa(i+1))
	}
	for _, clause := range [][2]string{{" FROM ", p.from}, {" WHERE ", p.where}, {" GROUP BY ", p.group}} {
		if clause[1] != "" {
			s.WriteString(clause[0] + clause[1])
		}
	}
	if p.having != "" {
		s.WriteString(" HAVING " + p.having)
	}
	if p.order != "" {
		s.WriteString(" ORDER BY " + p.order)
	}
	if p.limit != "" {
		s.WriteString(" LIMIT " + p.limit)
	}
	if p.offset != "" {
		s.WriteString(" OFFSET " + p.offset)
	}
	return s.String()
}

func (b *binder) groupBy(sc *scope, g *ast.GroupByClause, p *selectParts) {
	if g == nil {
		return
	}
	p.grouped = true
	if b.groupSet != nil && b.groupSet.clause == g {
		b.groupedInSet(sc, g, p)
		return
	}
	if g.GroupByOption != "" && g.GroupByOption != "None" || g.All {
		b.refuse("GROUP BY ALL")
	}
	var parts []string
	for _, spec := range g.GroupingSpecifications {
		e, ok := spec.(*ast.ExpressionGroupingSpecification)
		if !ok {
			b.refuse("GROUPING SETS, CUBE and ROLLUP")
		}
		x := b.scalar(sc, e.Expression)
		if x.hasLit || len(x.free) == 0 {
			b.fail(164)
		}
		if x.aggregate {
			b.fail(144)
		}
		if x.window {
			b.fail(4108)
		}
		p.groups[x.sql] = true
		if x.column != nil {
			p.groupColumns[x.column] = true
		}
		parts = append(parts, x.collated())
	}
	p.group = strings.Join(parts, ", ")
}

// checkGrouped refuses columns that are neither grouped nor inside an aggregate.
func (b *binder) checkGrouped(sc *scope, e expr, p *selectParts, number int32) {
	if p.groups[e.sql] || strings.HasPrefix(e.sql, "(") && p.groups[strings.TrimSuffix(e.sql[1:], ")")] {
		return
	}
	for _, c := range e.free {
		if c.source.scope != sc || p.groupColumns[c] || p.groups[c.sql] {
			continue
		}
		covered := false
		for g := range p.groups {
			covered = covered || len(g) > len(c.sql) && strings.Contains(g, c.sql) && strings.Contains(e.sql, g)
		}
		if covered {
			continue
		}
		b.fail(number, c.source.alias, c.name)
	}
}

func (b *binder) selectList(sc *scope, q *ast.QuerySpecification, o queryOptions) boundQuery {
	var out boundQuery
	plain := false
	outside := b.assigning
	defer func() { b.assigning = outside }()
	b.assigning = map[string]bool{}
	for _, el := range q.SelectElements {
		if n, ok := el.(*ast.SelectSetVariable); ok && o.assign {
			b.assigning[lower(n.Variable.Name)] = true
		}
	}
	for _, el := range q.SelectElements {
		switch n := el.(type) {
		case *ast.SelectStarExpression:
			plain = true
			out.outputs = append(out.outputs, b.star(sc, identifiers(n.Qualifier), o.exists)...)
		case *ast.SelectScalarExpression:
			plain = true
			e := b.scalar(sc, n.Expression)
			name := e.name
			if n.ColumnName != nil {
				name = n.ColumnName.Value
				if n.ColumnName.Identifier != nil {
					name = n.ColumnName.Identifier.Value
				} else if s, ok := n.ColumnName.ValueExpression.(*ast.StringLiteral); ok {
					name = s.Value
				}
			}
			out.outputs = append(out.outputs, output{name: name, expr: e})
		case *ast.SelectSetVariable:
			if !o.assign {
				b.fail(102, "=")
			}
			out.variables = append(out.variables, assignment{variable: lower(n.Variable.Name)})
			out.outputs = append(out.outputs, output{expr: b.assigned(sc, n)})
		default:
			b.refuse(fmt.Sprintf("The select list element %T", el))
		}
	}
	if plain && len(out.variables) > 0 {
		b.fail(141)
	}
	if b.accumulates && len(out.variables) > 0 {
		b.assignInTurn(&out)
	}
	return out
}

// assigned is the new value of a variable in SELECT @x = ....
func (b *binder) assigned(sc *scope, n *ast.SelectSetVariable) expr {
	v := b.s.variable(n.Variable.Name)
	if v == nil {
		b.fail(137, n.Variable.Name)
	}
	e := b.scalar(sc, n.Expression)
	if op := compoundOperator(n.AssignmentKind); op != "" {
		e = b.binary(op, b.variable(n.Variable.Name), e)
	}
	return b.convert(e, v.typ, sqltype.Implicit, 0, false)
}

// compoundOperator is the operator of +=, -= and so on; empty for =.
func compoundOperator(kind string) string {
	op := strings.TrimSuffix(kind, "Equals")
	switch op {
	case kind:
		return ""
	case "Mod":
		return "Modulo"
	}
	return op
}

func (b *binder) star(sc *scope, qualifier []string, exists bool) []output {
	var out []output
	found := false
	for _, src := range sc.sources {
		if len(qualifier) > 0 && !src.matches(qualifier) {
			continue
		}
		found = true
		for _, c := range src.columns {
			out = append(out, output{name: c.name, expr: c.expr()})
		}
	}
	switch {
	case found:
		return out
	case len(qualifier) > 0:
		b.fail(107, strings.Join(qualifier, "."))
	case exists:
		return []output{{expr: literal(sqltype.IntType, int64(1))}}
	}
	b.fail(263)
	return nil
}

func (b *binder) topAndOffset(sc *scope, q *ast.QuerySpecification, p *selectParts, out *boundQuery) {
	if t := q.TopRowFilter; t != nil {
		if t.WithTies && (q.OrderByClause == nil || t.Percent || p.distinct || p.grouped) {
			if q.OrderByClause == nil {
				b.fail(1062)
			}
			b.refuse("TOP ... PERCENT WITH TIES, and WITH TIES together with DISTINCT or GROUP BY")
		}
		e := b.topCount(sc, t.Expression, t.Percent)
		p.limit = e.sql
		if t.Percent {
			inner := *p
			inner.order = ""
			p.limit = "(SELECT CAST(ceil(count(*)*(" + e.sql + ")/100.0) AS INTEGER) FROM (" + inner.without(out.outputs) + "))"
		}
	}
	if q.OffsetClause == nil {
		return
	}
	if q.OrderByClause == nil {
		b.fail(102, "OFFSET")
	}
	if p.limit != "" {
		b.fail(10741)
	}
	p.offset = b.rowCount(b.convert(b.scalar(&scope{}, q.OffsetClause.OffsetExpression), sqltype.BigIntType, sqltype.Implicit, 0, false), 10742, 0).sql
	p.limit = "-1"
	if q.OffsetClause.FetchExpression != nil {
		p.limit = b.rowCount(b.convert(b.scalar(&scope{}, q.OffsetClause.FetchExpression), sqltype.BigIntType, sqltype.Implicit, 0, false), 10744, 1).sql
	}
}

// without is the query's text without its LIMIT.
func (p *selectParts) without(outputs []output) string {
	q := *p
	q.limit, q.offset = "", ""
	return q.text(outputs, false)
}

func (b *binder) topCount(sc *scope, node ast.ScalarExpression, percent bool) expr {
	e := b.scalar(&scope{parent: nil}, unparenthesised(node))
	if percent {
		return b.convert(e, sqltype.FloatType, sqltype.Implicit, 0, false)
	}
	if !e.typ.Kind.IsInteger() && !e.typ.Kind.IsExact() || e.typ.Kind.IsExact() && e.typ.Scale > 0 {
		b.fail(1060)
	}
	return b.rowCount(b.convert(e, sqltype.BigIntType, sqltype.Implicit, 0, false), 127, 0)
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

func (b *binder) orderBy(sc *scope, o *ast.OrderByClause, p *selectParts, outputs []output, aggregate bool) string {
	var parts []string
	for _, el := range o.OrderByElements {
		e, position := b.orderElement(sc, el.Expression, outputs)
		if position == 0 {
			if p.distinct && !inOutputs(e, outputs) {
				b.fail(145)
			}
			if aggregate || p.grouped {
				b.checkGrouped(sc, e, p, 8127)
			}
		}
		if e.hasLit && position == 0 {
			b.fail(408, len(parts)+1)
		}
		text := e.collated()
		if position > 0 && (p.distinct || e.aggregate || e.window) {
			text = strconv.Itoa(position)
			if e.typ.Kind.IsCharacter() && e.collation != "" {
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

func inOutputs(e expr, outputs []output) bool {
	for _, o := range outputs {
		if o.expr.sql == e.sql {
			return true
		}
	}
	return false
}

// orderElement finds what an ORDER BY element means: a position, a name of the select list, or an expression.
func (b *binder) orderElement(sc *scope, node ast.ScalarExpression, outputs []output) (expr, int) {
	switch n := node.(type) {
	case *ast.IntegerLiteral:
		i, err := strconv.Atoi(n.Value)
		if err != nil || i < 1 || i > len(outputs) {
			b.fail(108, n.Value)
		}
		return outputs[i-1].expr, i
	case *ast.StringLiteral:
		// An alias may be written as it was given, in quotes (docs/t-sql/language-elements/add-transact-sql.md, example A).
		for i, o := range outputs {
			if strings.EqualFold(o.name, n.Value) {
				return o.expr, i + 1
			}
		}
	case *ast.ColumnReferenceExpression:
		parts := identifiers(n.MultiPartIdentifier)
		if len(parts) == 1 {
			found := 0
			for i, o := range outputs {
				if strings.EqualFold(o.name, parts[0]) {
					if found > 0 && outputs[found-1].expr.sql != o.expr.sql {
						b.fail(209, parts[0])
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
	return b.scalar(sc, node), 0
}

// setOperation is UNION, EXCEPT and INTERSECT.
func (b *binder) setOperation(sc *scope, q *ast.BinaryQueryExpression, o queryOptions) boundQuery {
	if o.hidden != nil {
		b.fail(4403, o.name)
	}
	o.assign = false
	left := b.query(&scope{parent: sc.parent}, q.FirstQueryExpression, o)
	right := b.query(&scope{parent: sc.parent}, q.SecondQueryExpression, o)
	return b.combine(sc, q, left, right, o)
}

func (b *binder) combine(sc *scope, q *ast.BinaryQueryExpression, left, right boundQuery, o queryOptions) boundQuery {
	if len(left.outputs) != len(right.outputs) {
		b.fail(205)
	}
	out := boundQuery{outputs: make([]output, len(left.outputs))}
	l, r := make([]string, len(left.outputs)), make([]string, len(left.outputs))
	for i := range left.outputs {
		lo, ro := left.outputs[i].expr, right.outputs[i].expr
		lo, ro = asColumn(lo, i), asColumn(ro, i)
		pair, t := b.unifyResults(lo, ro)
		e := expr{sql: columnName(int32(i + 1)), typ: t, nullable: lo.nullable || ro.nullable || lo.null || ro.null, null: lo.null && ro.null}
		if t.Kind.IsCharacter() {
			e.collation = b.collate("UNION operation", lo, ro)
			pair[0].collation, pair[1].collation = e.collation, e.collation
		}
		l[i] = fmt.Sprintf("%s AS c%d", pair[0].collated(), i+1)
		r[i] = fmt.Sprintf("%s AS c%d", pair[1].collated(), i+1)
		out.outputs[i] = output{name: left.outputs[i].name, expr: e}
	}
	word := map[string]string{"Union": " UNION ", "Except": " EXCEPT ", "Intersect": " INTERSECT "}[q.BinaryQueryExpressionType]
	if q.All {
		if word != " UNION " {
			b.refuse("EXCEPT ALL and INTERSECT ALL")
		}
		word = " UNION ALL "
	}
	out.sql = "SELECT " + strings.Join(l, ", ") + " FROM (" + left.sql + ")" + word +
		"SELECT " + strings.Join(r, ", ") + " FROM (" + right.sql + ")"
	if q.OrderByClause != nil {
		if o.subquery {
			b.fail(1033)
		}
		var parts []string
		for _, el := range q.OrderByClause.OrderByElements {
			if i := qualifiedPosition(q, el.Expression, len(out.outputs)); i > 0 {
				el.Expression = &ast.IntegerLiteral{Value: strconv.Itoa(i)}
			}
			e, position := b.orderElement(&scope{}, el.Expression, out.outputs)
			if position == 0 {
				b.fail(104)
			}
			text := strconv.Itoa(position)
			if e.typ.Kind.IsCharacter() {
				text += " COLLATE " + e.collation
			}
			if el.SortOrder == "Descending" {
				text += " DESC"
			}
			parts = append(parts, text)
		}
		out.sql += " ORDER BY " + strings.Join(parts, ", ")
	}
	return out
}

// asColumn is an output as its query's consumer sees it.
func asColumn(e expr, i int) expr {
	e.sql = columnName(int32(i + 1))
	e.hasLit, e.lit, e.param, e.free, e.aggregate, e.window = false, nil, 0, nil, false, false
	if e.null {
		e.typ = sqltype.IntType
	}
	return e
}
