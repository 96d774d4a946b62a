// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// predicate binds a condition. Its SQL is 1, 0 or NULL.
func (b *binder) predicate(sc *scope, node ast.BooleanExpression) expr {
	switch n := node.(type) {
	case *ast.BooleanBinaryExpression:
		return b.chain(sc, n)
	case *ast.BooleanNotExpression:
		e := b.predicate(sc, n.Expression)
		return merge(expr{sql: "(NOT " + e.sql + ")"}, e)
	case *ast.BooleanParenthesisExpression:
		return b.predicate(sc, n.Expression)
	case *ast.BooleanComparisonExpression:
		if f, ok := n.SecondExpression.(*ast.FunctionCall); ok && f.FunctionName != nil &&
			syntax.Quantifiers[strings.ToUpper(f.FunctionName.Value)] != "" && len(f.Parameters) == 1 {
			if sub, ok := f.Parameters[0].(*ast.ScalarSubquery); ok {
				return b.quantified(sc, &ast.SubqueryComparisonPredicate{Expression: n.FirstExpression,
					ComparisonType: n.ComparisonType, Subquery: sub,
					SubqueryComparisonPredicateType: syntax.Quantifiers[strings.ToUpper(f.FunctionName.Value)]})
			}
		}
		return b.comparison(n.ComparisonType, b.scalar(sc, n.FirstExpression), b.scalar(sc, n.SecondExpression))
	case *ast.BooleanIsNullExpression:
		e := b.mayBeNode(sc, n.Expression)
		word := " IS NULL)"
		if n.IsNot {
			word = " IS NOT NULL)"
		}
		return merge(expr{sql: "(" + e.sql + word}, e)
	case *ast.BooleanTernaryExpression:
		return b.between(sc, n)
	case *ast.BooleanInExpression:
		return b.in(sc, n)
	case *ast.BooleanLikeExpression:
		return b.likePredicate(sc, n)
	case *ast.ExistsPredicate:
		inner := &scope{parent: sc}
		q := b.query(inner, n.Subquery, queryOptions{subquery: true, exists: true})
		return merge(expr{sql: "EXISTS (" + q.sql + ")"}, inner.used())
	case *ast.SubqueryComparisonPredicate:
		return b.quantified(sc, n)
	case *ast.UpdateCall:
		return b.updateCall(n)
	case *ast.DistinctPredicate:
		return b.distinct(sc, n)
	case *ast.BooleanScalarPlaceholder:
		b.fail(4145, "")
	}
	b.refuse(fmt.Sprintf("The condition %s", named(node)))
	return expr{}
}

// chain binds conditions between which the same word stands, AND or OR. SQLite takes expressions that are 1,000 deep;
// grouped by halves a chain of thousands, as programs write them, is no deeper than its logarithm.
func (b *binder) chain(sc *scope, last *ast.BooleanBinaryExpression) expr {
	nodes := []ast.BooleanExpression{last.SecondExpression}
	first := last.FirstExpression
	for {
		n, ok := first.(*ast.BooleanBinaryExpression)
		if !ok || n.BinaryExpressionType != last.BinaryExpressionType {
			break
		}
		nodes, first = append(nodes, n.SecondExpression), n.FirstExpression
	}
	nodes = append(nodes, first)
	slices.Reverse(nodes)
	parts, texts := make([]expr, len(nodes)), make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = b.predicate(sc, n)
		texts[i] = parts[i].sql
	}
	return merge(expr{sql: byHalves(texts, " "+strings.ToUpper(last.BinaryExpressionType)+" ")}, parts...)
}

// byHalves joins texts by an operator that is associative.
func byHalves(texts []string, operator string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	half := (len(texts) + 1) / 2
	return "(" + byHalves(texts[:half], operator) + operator + byHalves(texts[half:], operator) + ")"
}

var comparisonNames = map[string]string{"=": "equal to", "<>": "not equal to", ">": "greater than", "<": "less than",
	">=": "greater than or equal to", "<=": "less than or equal to"}

func (b *binder) comparison(kind string, l, r expr) expr {
	op, ok := syntax.Comparisons[kind]
	if !ok {
		b.refuse("The comparison " + kind)
	}
	b.comparable(op, l, r)
	pair, t := b.unify(l, r)
	sql := "(" + pair[0].sql
	if t.Kind.IsCharacter() {
		sql += " COLLATE " + b.collate(comparisonNames[op], l, r)
	}
	sql += " " + op + " " + pair[1].sql + ")"
	if (op == "=" || op == "<>") && b.s.nullsEqual() {
		sql = nullsCompared(op, sql, l, r)
	}
	return merge(expr{sql: sql}, l, r)
}

// nullsCompared is a comparison under ANSI_NULLS OFF: it differs where an operand is the constant NULL or a variable
// that is NULL, not between columns and compound expressions (docs/t-sql/statements/set-ansi-nulls-transact-sql.md).
func nullsCompared(op, sql string, l, r expr) string {
	is := map[string]string{"=": " IS NULL)", "<>": " IS NOT NULL)"}[op]
	for _, side := range [][2]expr{{l, r}, {r, l}} {
		x, other := side[0], side[1]
		switch {
		case x.null:
			return "(" + other.sql + is
		case x.param > 0:
			sql = fmt.Sprintf("(CASE WHEN %s IS NULL THEN (%s%s ELSE %s END)", x.sql, other.sql, is, sql)
		}
	}
	return sql
}

// comparable refuses what SQL Server doesn't compare.
func (b *binder) comparable(op string, l, r expr) {
	for _, e := range []expr{l, r} {
		if e.null {
			continue
		}
		switch e.typ.Kind {
		case sqltype.XML:
			b.fail(305)
		case sqltype.Image:
			b.fail(306)
		}
	}
	if !l.null && !r.null && (l.typ.Kind == sqltype.Text || l.typ.Kind == sqltype.NText) && op != "LIKE" {
		b.fail(402, l.typ.Kind, r.typ.Kind, comparisonNames[op])
	}
}

func (b *binder) between(sc *scope, n *ast.BooleanTernaryExpression) expr {
	x, lo, hi := b.scalar(sc, n.FirstExpression), b.scalar(sc, n.SecondExpression), b.scalar(sc, n.ThirdExpression)
	list, t := b.unify(x, lo, hi)
	word := " BETWEEN "
	if n.TernaryExpressionType == "NotBetween" {
		word = " NOT BETWEEN "
	}
	sql := list[0].sql
	if t.Kind.IsCharacter() {
		b.collate("greater than or equal to", x, lo)
		b.collate("less than or equal to", x, hi)
		sql += " COLLATE " + b.collate("between", x, lo, hi)
	}
	return merge(expr{sql: "(" + sql + word + list[1].sql + " AND " + list[2].sql + ")"}, x, lo, hi)
}

func (b *binder) in(sc *scope, n *ast.BooleanInExpression) expr {
	x := b.scalar(sc, n.Expression)
	word := " IN ("
	if n.NotDefined {
		word = " NOT IN ("
	}
	if n.Subquery != nil {
		inner := &scope{parent: sc}
		q := b.query(inner, n.Subquery, queryOptions{subquery: true})
		if len(q.outputs) != 1 {
			b.fail(116)
		}
		o := q.outputs[0].expr
		o.sql, o.hasLit, o.param, o.free = "c1", false, 0, nil
		pair, t := b.unify(x, o)
		sql := pair[0].sql
		if t.Kind.IsCharacter() {
			sql += " COLLATE " + b.collate("equal to", x, o)
		}
		return merge(expr{sql: "(" + sql + word + "SELECT " + pair[1].sql + " FROM (" + q.sql + ")))"}, x, inner.used())
	}
	values := append([]expr{x}, b.scalars(sc, n.Values)...)
	list, t := b.unify(values...)
	sql := list[0].sql
	if t.Kind.IsCharacter() {
		sql += " COLLATE " + b.collate("equal to", values...)
	}
	parts := make([]string, len(list)-1)
	for i := range parts {
		parts[i] = list[i+1].sql
	}
	if b.s.nullsEqual() {
		return merge(expr{sql: membershipWithNulls(sql, parts, values, n.NotDefined)}, values...)
	}
	return merge(expr{sql: "(" + sql + word + strings.Join(parts, ",") + "))"}, values...)
}

// membershipWithNulls is IN under ANSI_NULLS OFF: comparisons with each of the values, the first of which is what is
// looked for.
func membershipWithNulls(sql string, list []string, values []expr, not bool) string {
	op, word := "=", " OR "
	if not {
		op, word = "<>", " AND "
	}
	parts := make([]string, len(list))
	for i, value := range list {
		parts[i] = nullsCompared(op, "("+sql+" "+op+" "+value+")", values[0], values[i+1])
	}
	return "(" + strings.Join(parts, word) + ")"
}

func (b *binder) likePredicate(sc *scope, n *ast.BooleanLikeExpression) expr {
	x, p := b.scalar(sc, n.FirstExpression), b.scalar(sc, n.SecondExpression)
	escape := "NULL"
	parts := []expr{x, p}
	if n.EscapeExpression != nil {
		e := b.convert(b.scalar(sc, n.EscapeExpression), sqltype.NVarCharMax, sqltype.Implicit, 0, false)
		escape = e.sql
		parts = append(parts, e)
	}
	key := b.collate("like", x, p)
	xs, ps := b.convert(x, sqltype.NVarCharMax, sqltype.Implicit, 0, false),
		b.convert(p, sqltype.NVarCharMax, sqltype.Implicit, 0, false)
	sql := fmt.Sprintf("tsql_like(%s,%s,%s,'%s')", xs.sql, ps.sql, escape, key)
	if n.NotDefined {
		sql = "(NOT " + sql + ")"
	}
	return merge(expr{sql: sql}, parts...)
}

// quantified is ANY, SOME and ALL.
func (b *binder) quantified(sc *scope, n *ast.SubqueryComparisonPredicate) expr {
	x := b.scalar(sc, n.Expression)
	inner := &scope{parent: sc}
	q := b.query(inner, n.Subquery.QueryExpression, queryOptions{subquery: true})
	if len(q.outputs) != 1 {
		b.fail(116)
	}
	o := q.outputs[0].expr
	o.sql, o.hasLit, o.param, o.free = "c1", false, 0, nil
	cmp := b.comparison(n.ComparisonType, x, o)
	all := n.SubqueryComparisonPredicateType == "All"
	if x.aggregate {
		return merge(b.quantifiedAggregate(n.ComparisonType, all, x, o, q), inner.used())
	}
	sql := "EXISTS (SELECT 1 FROM (" + q.sql + ") WHERE " + cmp.sql + ")"
	if all {
		sql = "NOT EXISTS (SELECT 1 FROM (" + q.sql + ") WHERE (" + cmp.sql + ") IS NOT 1)"
	}
	return merge(expr{sql: "(" + sql + ")"}, x, inner.used())
}

// quantifiedAggregate compares an aggregate, which may not stand inside of a subquery, with the subquery's least or
// greatest value; a NULL among the values leaves it unknown unless the rest decides.
func (b *binder) quantifiedAggregate(kind string, all bool, x, o expr, q boundQuery) expr {
	extreme, op := "max", syntax.Comparisons[kind]
	switch {
	case op == ">" || op == ">=":
		extreme = map[bool]string{true: "max", false: "min"}[all]
	case op == "<" || op == "<=":
		extreme = map[bool]string{true: "min", false: "max"}[all]
	default:
		b.refuse("A comparison of an aggregate with ALL, ANY or SOME for equality")
	}
	o.sql = fmt.Sprintf(
		"(SELECT %s(%s) FROM (%s))",
		extreme,
		expr{sql: "c1", typ: o.typ, collation: o.collation}.collated(),
		q.sql,
	)
	cmp := b.comparison(kind, x, o)
	cmp.sql = fmt.Sprintf(
		"(CASE WHEN NOT EXISTS (SELECT 1 FROM (%[1]s)) THEN %[2]d WHEN %[3]s = %[2]d AND EXISTS (SELECT 1 FROM (%[1]s) "+
			"WHERE c1 IS NULL) THEN NULL ELSE %[3]s END)",
		q.sql,
		yes(all),
		cmp.sql,
	)
	return cmp
}

func (b *binder) distinct(sc *scope, n *ast.DistinctPredicate) expr {
	l, r := b.scalar(sc, n.FirstExpression), b.scalar(sc, n.SecondExpression)
	pair, t := b.unify(l, r)
	sql := pair[0].sql
	if t.Kind.IsCharacter() {
		sql += " COLLATE " + b.collate("is distinct from", l, r)
	}
	word := " IS NOT "
	if n.IsNot {
		word = " IS "
	}
	return merge(expr{sql: "(" + sql + word + pair[1].sql + ")"}, l, r)
}

// conditional binds CASE, IIF, NULLIF and COALESCE.
func (b *binder) conditional(sc *scope, node ast.ScalarExpression) expr {
	switch n := node.(type) {
	case *ast.SearchedCaseExpression:
		conditions := make([]expr, len(n.WhenClauses))
		results := make([]expr, len(n.WhenClauses))
		for i, w := range n.WhenClauses {
			conditions[i], results[i] = b.predicate(sc, w.WhenExpression), b.scalar(sc, w.ThenExpression)
		}
		return b.cases(conditions, results, b.optional(sc, n.ElseExpression))
	case *ast.SimpleCaseExpression:
		input := b.scalar(sc, n.InputExpression)
		conditions := make([]expr, len(n.WhenClauses))
		results := make([]expr, len(n.WhenClauses))
		for i, w := range n.WhenClauses {
			conditions[i] = b.comparison("Equals", input, b.scalar(sc, w.WhenExpression))
			results[i] = b.scalar(sc, w.ThenExpression)
		}
		return b.cases(conditions, results, b.optional(sc, n.ElseExpression))
	case *ast.IIfCall:
		return b.cases([]expr{b.predicate(sc, n.Predicate)}, []expr{b.scalar(sc, n.ThenExpression)},
			b.scalar(sc, n.ElseExpression))
	case *ast.NullIfExpression:
		l, r := b.scalar(sc, n.FirstExpression), b.scalar(sc, n.SecondExpression)
		if l.null {
			b.fail(4151)
		}
		out := b.cases([]expr{b.comparison("Equals", l, r)}, []expr{{sql: "NULL", null: true, nullable: true}}, l)
		out.typ = l.typ
		return out
	case *ast.CoalesceExpression:
		list := b.scalars(sc, n.Expressions)
		if !slices.ContainsFunc(list, func(e expr) bool { return !e.null }) {
			b.fail(4127)
		}
		conditions := make([]expr, len(list)-1)
		for i, e := range list[:len(list)-1] {
			conditions[i] = merge(expr{sql: "(" + e.sql + " IS NOT NULL)"}, e)
		}
		out := b.cases(conditions, list[:len(list)-1], list[len(list)-1])
		out.nullable = true // whatever its arguments are (docs/t-sql/language-elements/coalesce-transact-sql.md)
		return out
	}
	return expr{}
}

func (b *binder) optional(sc *scope, n ast.ScalarExpression) expr {
	if n == nil {
		return expr{sql: "NULL", null: true, nullable: true, typ: sqltype.IntType}
	}
	return b.scalar(sc, n)
}

func (b *binder) cases(conditions, results []expr, otherwise expr) expr {
	all := append(append([]expr(nil), results...), otherwise)
	onlyNull := true
	for _, e := range all {
		onlyNull = onlyNull && e.null
	}
	if onlyNull {
		b.fail(8133)
	}
	list, t := b.unifyResults(all...)
	var sql strings.Builder
	sql.WriteString("(CASE")
	out := expr{typ: t}
	for i, c := range conditions {
		sql.WriteString(" WHEN " + c.sql + " THEN " + list[i].sql)
		out = merge(out, c)
	}
	sql.WriteString(" ELSE " + list[len(list)-1].sql + " END)")
	out = merge(out, list...)
	out.nullable = anyNullable(all, list)
	for _, e := range all {
		// A result whose conversion could change it is nullable in CASE, though not in UNION.
		out.nullable = out.nullable || !storedAlike(e.typ, t)
	}
	if t.Kind.IsCharacter() {
		from := b.collateResult("CASE", t, all...)
		out.collation, out.collationName, out.implicit, out.explicit = from.collation, from.collationName, from.implicit,
			from.explicit
	}
	out.sql = sql.String()
	return out
}

// anyNullable tells whether one of several results can be NULL, by itself or once it is of the common type, as list has
// it.
func anyNullable(all, list []expr) bool {
	for i, e := range all {
		if e.null || e.nullable || list[i].nullable {
			return true
		}
	}
	return false
}

// unifyResults converts expressions to one type so that their stored forms are that type's.
func (b *binder) unifyResults(list ...expr) ([]expr, sqltype.Type) {
	t := commonType(list)
	out := make([]expr, len(list))
	for i, e := range list {
		out[i] = b.convert(e, t, sqltype.Implicit, 0, false)
	}
	return out, t
}
