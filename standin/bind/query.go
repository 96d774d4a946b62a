// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// SELECT @v = @v + column sets the variable once for every row, and each row sees what the one before it has left
// (docs/t-sql/language-elements/select-local-variable-transact-sql.md). These two functions, which no client can name,
// read and set a variable while SQLite goes from row to row.
const (
	VariableNow    = "variable now"
	AssignVariable = "assign variable"
)

// assignInTurn makes each output set its variable, from left to right.
func (b *Binder) assignInTurn(out *BoundQuery) {
	for i, a := range out.variables {
		e := out.Outputs[i].expr
		if e.Null {
			e = literal(b.session.Variable(a.Variable).Type, nil)
		}
		out.Outputs[i].expr = b.goCall(AssignVariable, []Expr{literal(sqltype.VarCharMax, a.Variable), e}, e.Type, false)
	}
}

// inTurn is the query with its rows put in order before the first of them is assigned: a sorter would be fed with
// values computed in the order of the table.
func (p *selectParts) inTurn(outputs []Output) string {
	inner, seen := *p, map[string]bool{}
	var columns []string
	for _, o := range outputs {
		for _, c := range o.expr.Free {
			if !seen[c.SQL] {
				seen[c.SQL] = true
				columns = append(columns, c.SQL)
			}
		}
	}
	// The longest first: a computed column's text may have another column's in it.
	sort.SliceStable(columns, func(i, j int) bool { return len(columns[i]) > len(columns[j]) })
	ordered := make([]Output, len(columns))
	for i, c := range columns {
		ordered[i].expr.SQL = c
	}
	if len(ordered) == 0 {
		ordered = []Output{{expr: Expr{SQL: "1"}}}
	}
	if inner.limit == "" {
		inner.limit = "-1" // keeps SQLite from making one query of the two
	}
	parts := make([]string, len(outputs))
	for i, o := range outputs {
		text := o.expr.SQL
		for j, c := range columns {
			text = replaceWhole(text, c, "ordered."+metadata.ColumnName(int32(j+1)))
		}
		parts[i] = fmt.Sprintf("%s AS c%d", text, i+1)
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM (" + inner.text(ordered, false) + ") AS ordered"
}

// replaceWhole replaces old where no longer name goes on behind it.
func replaceWhole(text, old, with string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, old)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after != "" && (after[0] >= '0' && after[0] <= '9' || after[0] == '_' || after[0] >= 'a' && after[0] <= 'z') {
			b.WriteString(old)
		} else {
			b.WriteString(with)
		}
		text = after
	}
}

// BoundQuery is a SELECT in SQLite's SQL; its columns are named c1, c2, ...
type BoundQuery struct {
	sql     string
	Outputs []Output
	// oneRow is true when it gives at most one row, limited when it has a LIMIT of its own.
	oneRow, limited bool
	// variables are the targets of SELECT @x = ..., one per output.
	variables []Assignment
	// hasOrder says that its rows come in an order.
	hasOrder bool
}

// Assignment is SELECT @x = expression; UPDATE ... SET @x += expression has an operator, too.
type Assignment struct {
	// Variable is its name in lower case.
	Variable string
	// Operator is the column whose new value it is, for UPDATE.
	Operator string
}

// QueryOptions say where a query stands.
type QueryOptions struct {
	// Subquery forbids ORDER BY without TOP and asks for named columns.
	Subquery bool
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
	hidden func(sc *Scope, outputs []Output) []Output
	// name is what the query is known as, for messages.
	name string
}

// Query binds a query expression. sc is the new, empty scope whose parent is what the query is in.
func (b *Binder) Query(sc *Scope, node ast.QueryExpression, o QueryOptions) BoundQuery {
	switch q := node.(type) {
	case *ast.QuerySpecification:
		return b.specification(sc, q, o)
	case *ast.QueryParenthesisExpression:
		return b.Query(sc, q.QueryExpression, o)
	case *ast.BinaryQueryExpression:
		return b.setOperation(sc, q, o)
	case *syntax.Arranged:
		return b.arranged(sc, q, o)
	}
	b.Refuse(fmt.Sprintf("The query %s", NodeName(node)))
	return BoundQuery{}
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
	groupColumns map[*SourceColumn]bool
	// grouping tells that the rows are grouped by what groups and groupColumns have by now.
	grouping bool
}

func (b *Binder) specification(sc *Scope, q *ast.QuerySpecification, o QueryOptions) BoundQuery {
	p := selectParts{
		distinct:     q.UniqueRowFilter == "Distinct",
		lateral:      b.lateral,
		groups:       map[string]bool{},
		groupColumns: map[*SourceColumn]bool{},
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
		if i < len(out.Outputs) {
			e := out.Outputs[i].expr
			if o.anchor != nil && !sameType(e, t) {
				b.Fail(240, o.anchor.outputs[i].Name, o.anchor.name)
			}
			out.Outputs[i].expr = merge(b.Convert(e, t, sqltype.Implicit, 0, false), e)
		}
	}
	if p.distinct {
		b.distinctTypes(out.Outputs)
	}
	sc.outputs = out.Outputs
	aggregate := false
	for _, c := range out.Outputs {
		aggregate = aggregate || c.expr.Aggregate
	}
	if left > 0 && !aggregate && !p.grouped {
		b.Refuse(
			"An aggregate of the query around in WHERE",
		) // SQLite takes it for a misuse unless the query is one of groups itself
	}
	if !aggregate && p.group == "" && (p.grouped || q.HavingClause != nil) {
		// One group of all rows, none of which is looked at: SQLite takes a query for one of groups by its columns.
		first := &out.Outputs[0].expr
		first.SQL, first.column, first.HasLiteral = "(CASE WHEN count(*) >= 0 THEN "+first.SQL+" END)", nil, false
	}
	if q.HavingClause != nil {
		b.having(sc, q.HavingClause, &p)
		aggregate = true
	}
	if (aggregate || p.grouped) && !(o.exists && selectsAll(q)) {
		for _, c := range out.Outputs {
			b.checkGrouped(sc, c.expr, &p, 8120)
		}
	}
	b.topAndOffset(sc, q, &p, &out)
	if q.OrderByClause != nil {
		if o.Subquery && p.limit == "" && p.numbered == "" && q.OffsetClause == nil {
			b.Fail(1033)
		}
		p.order = b.orderBy(sc, q.OrderByClause, &p, out.Outputs, aggregate)
		out.hasOrder = true
	}
	out.oneRow = aggregate && !p.grouped || p.limit == "1" || p.from == ""
	out.limited = p.limit != ""
	all := b.withHidden(sc, o, out.Outputs, aggregate || p.grouped || p.distinct)
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
func (b *Binder) where(sc *Scope, clause *ast.WhereClause) string {
	if clause.Cursor != nil {
		b.Refuse("WHERE CURRENT OF")
	}
	if clause.SearchCondition == nil {
		return ""
	}
	w := b.Predicate(sc, clause.SearchCondition)
	if w.Aggregate {
		b.Fail(147)
	}
	if w.Window {
		b.Fail(4108)
	}
	return w.SQL
}

// having adds the condition that groups are taken by.
func (b *Binder) having(sc *Scope, clause *ast.HavingClause, p *selectParts) {
	h := b.Predicate(sc, clause.SearchCondition)
	if h.Window {
		b.Fail(4108)
	}
	b.checkGrouped(sc, h, p, 8121)
	if p.having != "" {
		h.SQL = p.having + " AND " + h.SQL
	}
	p.having = h.SQL
}

// withHidden adds the outputs that only the statement around the query reads, which needs its rows to be those of a
// table.
func (b *Binder) withHidden(sc *Scope, o QueryOptions, outputs []Output, grouped bool) []Output {
	switch {
	case o.hidden == nil:
	case grouped && o.name != "":
		b.Fail(4403, o.name)
	case !grouped:
		return append(slices.Clone(outputs), o.hidden(sc, outputs)...)
	}
	return outputs
}

// withTies is the query with all rows that rank among the first ones.
func (p *selectParts) withTies(outputs []Output) string {
	inner, names := *p, make([]string, len(outputs))
	inner.limit, inner.order = "", ""
	ranked := append(append([]Output(nil), outputs...), Output{expr: Expr{SQL: "rank() OVER (ORDER BY " + p.order + ")"}})
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

func (p *selectParts) text(outputs []Output, oneGroup bool) string {
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
			s.WriteString(c.expr.SQL)
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

func (b *Binder) groupBy(sc *Scope, g *ast.GroupByClause, p *selectParts) {
	if g == nil {
		return
	}
	p.grouped = true
	if b.groupSet != nil && b.groupSet.clause == g {
		b.groupedInSet(sc, g, p)
		return
	}
	if g.GroupByOption != "" && g.GroupByOption != "None" || g.All {
		b.Refuse("GROUP BY ALL")
	}
	var parts []string
	for _, spec := range g.GroupingSpecifications {
		e, ok := spec.(*ast.ExpressionGroupingSpecification)
		if !ok {
			b.Refuse("GROUPING SETS, CUBE and ROLLUP")
		}
		x := b.Scalar(sc, e.Expression)
		if x.XML {
			b.Fail(4148)
		}
		if x.Aggregate {
			b.Fail(144)
		}
		own := func(c *SourceColumn) bool { return c.source.scope == sc }
		if x.HasLiteral || !slices.ContainsFunc(x.Free, own) {
			b.Fail(164)
		}
		b.sortable(x)
		if x.Window {
			b.Fail(4108)
		}
		p.groups[x.SQL] = true
		if x.column != nil {
			p.groupColumns[x.column] = true
		}
		parts = append(parts, x.key())
	}
	p.group = strings.Join(parts, ", ")
}

// checkGrouped refuses columns that are neither grouped nor inside an aggregate.
func (b *Binder) checkGrouped(sc *Scope, e Expr, p *selectParts, number int32) {
	if p.groups[e.SQL] || strings.HasPrefix(e.SQL, "(") && p.groups[strings.TrimSuffix(e.SQL[1:], ")")] {
		return
	}
	for _, c := range e.Free {
		if c.source.scope != sc || p.groupColumns[c] || p.groups[c.SQL] {
			continue
		}
		covered := false
		for g := range p.groups {
			covered = covered || len(g) > len(c.SQL) && strings.Contains(g, c.SQL) && strings.Contains(e.SQL, g)
		}
		if covered {
			continue
		}
		b.Fail(number, c.source.calledAs(), c.Name)
	}
}

func (b *Binder) selectList(sc *Scope, q *ast.QuerySpecification, o QueryOptions) BoundQuery {
	var out BoundQuery
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
			out.Outputs = append(out.Outputs, b.star(sc, Identifiers(n.Qualifier), o.exists)...)
		case *ast.SelectScalarExpression:
			plain = true
			e := b.Scalar(sc, n.Expression)
			name := e.name
			if n.ColumnName != nil {
				name = PlainName(n.ColumnName)
			}
			out.Outputs = append(out.Outputs, Output{Name: name, expr: e})
		case *ast.SelectSetVariable:
			if !o.assign {
				b.Fail(102, "=")
			}
			out.variables = append(out.variables, Assignment{Variable: lower(n.Variable.Name)})
			out.Outputs = append(out.Outputs, Output{expr: b.assigned(sc, n)})
		default:
			b.Refuse(fmt.Sprintf("The select list element %s", NodeName(el)))
		}
	}
	if plain && len(out.variables) > 0 {
		b.Fail(141)
	}
	if b.accumulates && len(out.variables) > 0 {
		b.assignInTurn(&out)
	}
	return out
}

// assigned is the new value of a variable in SELECT @x = ....
func (b *Binder) assigned(sc *Scope, n *ast.SelectSetVariable) Expr {
	v := b.session.Variable(n.Variable.Name)
	if v == nil {
		b.Fail(137, n.Variable.Name)
	}
	e := b.Scalar(sc, n.Expression)
	if op := CompoundOperator(n.AssignmentKind); op != "" {
		e = b.binary(op, b.Variable(n.Variable.Name), e)
	}
	return b.Convert(e, v.Type, sqltype.Implicit, 0, false)
}

// CompoundOperator is the operator of +=, -= and so on; empty for =.
func CompoundOperator(kind string) string {
	op := strings.TrimSuffix(kind, "Equals")
	switch op {
	case kind:
		return ""
	case "Mod":
		return "Modulo"
	}
	return op
}

func (b *Binder) star(sc *Scope, qualifier []string, exists bool) []Output {
	var out []Output
	found := false
	for _, src := range sc.Sources {
		if len(qualifier) > 0 && !src.matches(qualifier) {
			continue
		}
		found = true
		for _, c := range src.Columns {
			b.uses(c)
			out = append(out, Output{Name: c.Name, expr: b.columnValue(c.expr())})
		}
	}
	switch {
	case found:
		return out
	case len(qualifier) > 0 && sc.parent != nil && sc.parent.knows(qualifier):
		out = b.star(sc.parent, qualifier, exists)
		for _, o := range out {
			sc.outer = append(sc.outer, o.expr.Free...)
		}
		return out
	case len(qualifier) > 0:
		b.Fail(107, strings.Join(qualifier, "."))
	case exists:
		return []Output{{expr: literal(sqltype.IntType, int64(1))}}
	}
	b.Fail(263)
	return nil
}

// knows tells whether a source of a scope or of those around it goes by a name.
func (sc *Scope) knows(qualifier []string) bool {
	for at := sc; at != nil; at = at.parent {
		if slices.ContainsFunc(at.Sources, func(src *Source) bool { return src.matches(qualifier) }) {
			return true
		}
	}
	return false
}
