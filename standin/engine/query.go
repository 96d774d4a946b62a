// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// boundQuery is a SELECT in SQLite's SQL; its columns are named c1, c2, ...
type boundQuery struct {
	sql     string
	outputs []output
	// oneRow is true when it gives at most one row, limited when it has a LIMIT of its own.
	oneRow, limited bool
	// variables are the targets of SELECT @x = ..., one per output.
	variables []assignment
	// hasOrder says that its rows come in an order.
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
	// anchor is that expression, whose columns the outputs have to match in type.
	anchor *cte
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
	case *syntax.Arranged:
		return b.arranged(sc, q, o)
	}
	b.refuse(fmt.Sprintf("The query %s", named(node)))
	return boundQuery{}
}

// selectParts are the clauses of a bound query specification.
type selectParts struct {
	distinct                          bool
	from, where, group, having, order string
	limit, offset                     string
	// numbered, when set, is the condition on the numbers of its rows that stands for limit and offset; lateral is
	// b.lateral before the query.
	numbered     string
	lateral      int
	grouped      bool
	groups       map[string]bool
	groupColumns map[*sourceColumn]bool
	// grouping tells that the rows are grouped by what groups and groupColumns have by now.
	grouping bool
}

func (b *binder) specification(sc *scope, q *ast.QuerySpecification, o queryOptions) boundQuery {
	p := selectParts{
		distinct:     q.UniqueRowFilter == "Distinct",
		lateral:      b.lateral,
		groups:       map[string]bool{},
		groupColumns: map[*sourceColumn]bool{},
	}
	if q.ForClause != nil {
		return b.forQuery(sc, q, o)
	}
	if g := q.GroupByClause; expandsGroups(g) {
		return b.groupingQuery(sc, q, o)
	}
	outside, around, nullable := b.windows, b.parts, b.nullableSide
	defer func() { b.windows, b.parts, b.nullableSide = outside, around, nullable }()
	b.windows, b.parts, b.nullableSide = nil, &p, false
	if q.WindowClause != nil {
		b.windows = q.WindowClause.WindowDefinition
	}
	if q.FromClause != nil {
		p.from = b.from(sc, q.FromClause.TableReferences)
	}
	left := sc.left
	if q.WhereClause != nil {
		p.where = b.where(sc, q.WhereClause)
	}
	left = sc.left - left
	b.groupBy(sc, q.GroupByClause, &p)
	p.grouping = p.grouped
	row := b.sequenceRow
	if q.FromClause != nil {
		b.sequenceRow = everyRow
	}
	out := b.selectList(sc, q, o)
	b.sequenceRow = row
	for i, t := range o.types {
		if i < len(out.outputs) {
			e := out.outputs[i].expr
			if o.anchor != nil && !sameType(e, t) {
				b.fail(240, o.anchor.outputs[i].name, o.anchor.name)
			}
			out.outputs[i].expr = merge(b.convert(e, t, sqltype.Implicit, 0, false), e)
		}
	}
	if p.distinct {
		b.distinctTypes(out.outputs)
	}
	sc.outputs = out.outputs
	aggregate := false
	for _, c := range out.outputs {
		aggregate = aggregate || c.expr.aggregate
	}
	if left > 0 && !aggregate && !p.grouped {
		b.refuse(
			"An aggregate of the query around in WHERE",
		) // SQLite takes it for a misuse unless the query is one of groups itself
	}
	if !aggregate && p.group == "" && (p.grouped || q.HavingClause != nil) {
		// One group of all rows, none of which is looked at: SQLite takes a query for one of groups by its columns.
		first := &out.outputs[0].expr
		first.sql, first.column, first.hasLit = "(CASE WHEN count(*) >= 0 THEN "+first.sql+" END)", nil, false
	}
	if q.HavingClause != nil {
		b.having(sc, q.HavingClause, &p)
		aggregate = true
	}
	if (aggregate || p.grouped) && !(o.exists && selectsAll(q)) {
		for _, c := range out.outputs {
			b.checkGrouped(sc, c.expr, &p, 8120)
		}
	}
	b.topAndOffset(sc, q, &p, &out)
	if q.OrderByClause != nil {
		if o.subquery && p.limit == "" && p.numbered == "" && q.OffsetClause == nil {
			b.fail(1033)
		}
		p.order = b.orderBy(sc, q.OrderByClause, &p, out.outputs, aggregate)
		out.hasOrder = true
	}
	out.oneRow = aggregate && !p.grouped || p.limit == "1" || p.from == ""
	out.limited = p.limit != ""
	all := b.withHidden(sc, o, out.outputs, aggregate || p.grouped || p.distinct)
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

// selectsAll tells whether the select list is *, which EXISTS does not look at
// (docs/t-sql/language-elements/exists-transact-sql.md): it may stand over groups.
func selectsAll(q *ast.QuerySpecification) bool {
	if len(q.SelectElements) != 1 {
		return false
	}
	_, all := q.SelectElements[0].(*ast.SelectStarExpression)
	return all
}

// where binds the condition that rows are taken by.
func (b *binder) where(sc *scope, clause *ast.WhereClause) string {
	if clause.Cursor != nil {
		b.refuse("WHERE CURRENT OF")
	}
	if clause.SearchCondition == nil {
		return ""
	}
	w := b.predicate(sc, clause.SearchCondition)
	if w.aggregate {
		b.fail(147)
	}
	if w.window {
		b.fail(4108)
	}
	return w.sql
}

// having adds the condition that groups are taken by.
func (b *binder) having(sc *scope, clause *ast.HavingClause, p *selectParts) {
	h := b.predicate(sc, clause.SearchCondition)
	if h.window {
		b.fail(4108)
	}
	b.checkGrouped(sc, h, p, 8121)
	if p.having != "" {
		h.sql = p.having + " AND " + h.sql
	}
	p.having = h.sql
}

// withHidden adds the outputs that only the statement around the query reads, which needs its rows to be those of a
// table.
func (b *binder) withHidden(sc *scope, o queryOptions, outputs []output, grouped bool) []output {
	switch {
	case o.hidden == nil:
	case grouped && o.name != "":
		b.fail(4403, o.name)
	case !grouped:
		return append(slices.Clone(outputs), o.hidden(sc, outputs)...)
	}
	return outputs
}

// withTies is the query with all rows that rank among the first ones.
func (p *selectParts) withTies(outputs []output) string {
	inner, names := *p, make([]string, len(outputs))
	inner.limit, inner.order = "", ""
	ranked := append(append([]output(nil), outputs...), output{expr: expr{sql: "rank() OVER (ORDER BY " + p.order + ")"}})
	for i := range outputs {
		names[i] = metadata.ColumnName(int32(i + 1))
	}
	last := metadata.ColumnName(int32(len(ranked)))
	return "SELECT " + strings.Join(
		names,
		", ",
	) + " FROM (" + inner.text(
		ranked,
		false,
	) + ") WHERE " + last + " <= " + p.limit + " ORDER BY " + last
}

func (p *selectParts) text(outputs []output, oneGroup bool) string {
	if p.numbered != "" {
		inner := *p
		inner.numbered, inner.limit, inner.offset = "", "-1", "" // a LIMIT keeps the order of a query in FROM
		return numberedRows(inner.text(outputs, oneGroup), p.numbered, len(outputs))
	}
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
		if x.xml {
			b.fail(4148)
		}
		if x.aggregate {
			b.fail(144)
		}
		own := func(c *sourceColumn) bool { return c.source.scope == sc }
		if x.hasLit || !slices.ContainsFunc(x.free, own) {
			b.fail(164)
		}
		b.sortable(x)
		if x.window {
			b.fail(4108)
		}
		p.groups[x.sql] = true
		if x.column != nil {
			p.groupColumns[x.column] = true
		}
		parts = append(parts, x.key())
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
		b.fail(number, c.source.calledAs(), c.name)
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
				name = plainName(n.ColumnName)
			}
			out.outputs = append(out.outputs, output{name: name, expr: e})
		case *ast.SelectSetVariable:
			if !o.assign {
				b.fail(102, "=")
			}
			out.variables = append(out.variables, assignment{variable: lower(n.Variable.Name)})
			out.outputs = append(out.outputs, output{expr: b.assigned(sc, n)})
		default:
			b.refuse(fmt.Sprintf("The select list element %s", named(el)))
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
			b.uses(c)
			out = append(out, output{name: c.name, expr: b.columnValue(c.expr())})
		}
	}
	switch {
	case found:
		return out
	case len(qualifier) > 0 && sc.parent != nil && sc.parent.knows(qualifier):
		out = b.star(sc.parent, qualifier, exists)
		for _, o := range out {
			sc.outer = append(sc.outer, o.expr.free...)
		}
		return out
	case len(qualifier) > 0:
		b.fail(107, strings.Join(qualifier, "."))
	case exists:
		return []output{{expr: literal(sqltype.IntType, int64(1))}}
	}
	b.fail(263)
	return nil
}

// knows tells whether a source of a scope or of those around it goes by a name.
func (sc *scope) knows(qualifier []string) bool {
	for at := sc; at != nil; at = at.parent {
		if slices.ContainsFunc(at.sources, func(src *source) bool { return src.matches(qualifier) }) {
			return true
		}
	}
	return false
}
