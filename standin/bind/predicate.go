// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// Predicate binds a condition. Its SQL is 1, 0 or NULL.
func (b *Binder) Predicate(sc *Scope, node ast.BooleanExpression) Expr {
	switch n := node.(type) {
	case *ast.BooleanBinaryExpression:
		return b.chain(sc, n)
	case *ast.BooleanNotExpression:
		e := b.Predicate(sc, n.Expression)
		return merge(Expr{SQL: "(NOT " + e.SQL + ")"}, e)
	case *ast.BooleanParenthesisExpression:
		return b.Predicate(sc, n.Expression)
	case *ast.BooleanComparisonExpression:
		if f, ok := n.SecondExpression.(*ast.FunctionCall); ok && f.FunctionName != nil &&
			syntax.Quantifiers[strings.ToUpper(f.FunctionName.Value)] != "" && len(f.Parameters) == 1 {
			if sub, ok := f.Parameters[0].(*ast.ScalarSubquery); ok {
				return b.quantified(sc, &ast.SubqueryComparisonPredicate{Expression: n.FirstExpression,
					ComparisonType: n.ComparisonType, Subquery: sub,
					SubqueryComparisonPredicateType: syntax.Quantifiers[strings.ToUpper(f.FunctionName.Value)]})
			}
		}
		return b.comparison(n.ComparisonType, b.Scalar(sc, n.FirstExpression), b.Scalar(sc, n.SecondExpression))
	case *ast.BooleanIsNullExpression:
		e := b.mayBeNode(sc, n.Expression)
		word := " IS NULL)"
		if n.IsNot {
			word = " IS NOT NULL)"
		}
		return merge(Expr{SQL: "(" + e.SQL + word}, e)
	case *ast.BooleanTernaryExpression:
		return b.between(sc, n)
	case *ast.BooleanInExpression:
		return b.in(sc, n)
	case *ast.BooleanLikeExpression:
		return b.likePredicate(sc, n)
	case *ast.ExistsPredicate:
		inner := &Scope{parent: sc}
		q := b.Query(inner, n.Subquery, QueryOptions{Subquery: true, exists: true})
		return merge(Expr{SQL: "EXISTS (" + q.sql + ")"}, inner.used())
	case *ast.SubqueryComparisonPredicate:
		return b.quantified(sc, n)
	case *ast.UpdateCall:
		return b.updateCall(n)
	case *ast.DistinctPredicate:
		return b.distinct(sc, n)
	case *ast.BooleanScalarPlaceholder:
		b.Fail(4145, "")
	}
	b.Refuse(fmt.Sprintf("The condition %s", NodeName(node)))
	return Expr{}
}

// chain binds conditions between which the same word stands, AND or OR. SQLite takes expressions that are 1,000 deep;
// grouped by halves a chain of thousands, as programs write them, is no deeper than its logarithm.
func (b *Binder) chain(sc *Scope, last *ast.BooleanBinaryExpression) Expr {
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
	parts, texts := make([]Expr, len(nodes)), make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = b.Predicate(sc, n)
		texts[i] = parts[i].SQL
	}
	return merge(Expr{SQL: byHalves(texts, " "+strings.ToUpper(last.BinaryExpressionType)+" ")}, parts...)
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

func (b *Binder) comparison(kind string, l, r Expr) Expr {
	op, ok := syntax.Comparisons[kind]
	if !ok {
		b.Refuse("The comparison " + kind)
	}
	b.comparable(op, l, r)
	pair, t := b.unify(l, r)
	sql := "(" + pair[0].SQL
	if t.Kind.IsCharacter() {
		sql += " COLLATE " + b.collate(comparisonNames[op], l, r)
	}
	sql += " " + op + " " + pair[1].SQL + ")"
	if (op == "=" || op == "<>") && b.session.NullsEqual() {
		sql = nullsCompared(op, sql, l, r)
	}
	return merge(Expr{SQL: sql}, l, r)
}

// nullsCompared is a comparison under ANSI_NULLS OFF: it differs where an operand is the constant NULL or a variable
// that is NULL, not between columns and compound expressions (docs/t-sql/statements/set-ansi-nulls-transact-sql.md).
func nullsCompared(op, sql string, l, r Expr) string {
	is := map[string]string{"=": " IS NULL)", "<>": " IS NOT NULL)"}[op]
	for _, side := range [][2]Expr{{l, r}, {r, l}} {
		x, other := side[0], side[1]
		switch {
		case x.Null:
			return "(" + other.SQL + is
		case x.param > 0:
			sql = fmt.Sprintf("(CASE WHEN %s IS NULL THEN (%s%s ELSE %s END)", x.SQL, other.SQL, is, sql)
		}
	}
	return sql
}

// comparable refuses what SQL Server doesn't compare.
func (b *Binder) comparable(op string, l, r Expr) {
	for _, e := range []Expr{l, r} {
		if e.Null {
			continue
		}
		switch e.Type.Kind {
		case sqltype.XML:
			b.Fail(305)
		case sqltype.Image:
			b.Fail(306)
		}
	}
	if !l.Null && !r.Null && (l.Type.Kind == sqltype.Text || l.Type.Kind == sqltype.NText) && op != "LIKE" {
		b.Fail(402, l.Type.Kind, r.Type.Kind, comparisonNames[op])
	}
}

func (b *Binder) between(sc *Scope, n *ast.BooleanTernaryExpression) Expr {
	x, lo, hi := b.Scalar(sc, n.FirstExpression), b.Scalar(sc, n.SecondExpression), b.Scalar(sc, n.ThirdExpression)
	list, t := b.unify(x, lo, hi)
	word := " BETWEEN "
	if n.TernaryExpressionType == "NotBetween" {
		word = " NOT BETWEEN "
	}
	sql := list[0].SQL
	if t.Kind.IsCharacter() {
		b.collate("greater than or equal to", x, lo)
		b.collate("less than or equal to", x, hi)
		sql += " COLLATE " + b.collate("between", x, lo, hi)
	}
	return merge(Expr{SQL: "(" + sql + word + list[1].SQL + " AND " + list[2].SQL + ")"}, x, lo, hi)
}

func (b *Binder) in(sc *Scope, n *ast.BooleanInExpression) Expr {
	x := b.Scalar(sc, n.Expression)
	word := " IN ("
	if n.NotDefined {
		word = " NOT IN ("
	}
	if n.Subquery != nil {
		inner := &Scope{parent: sc}
		q := b.Query(inner, n.Subquery, QueryOptions{Subquery: true})
		if len(q.Outputs) != 1 {
			b.Fail(116)
		}
		o := q.Outputs[0].expr
		o.SQL, o.HasLiteral, o.param, o.Free = "c1", false, 0, nil
		pair, t := b.unify(x, o)
		sql := pair[0].SQL
		if t.Kind.IsCharacter() {
			sql += " COLLATE " + b.collate("equal to", x, o)
		}
		return merge(Expr{SQL: "(" + sql + word + "SELECT " + pair[1].SQL + " FROM (" + q.sql + ")))"}, x, inner.used())
	}
	values := append([]Expr{x}, b.scalars(sc, n.Values)...)
	list, t := b.unify(values...)
	sql := list[0].SQL
	if t.Kind.IsCharacter() {
		sql += " COLLATE " + b.collate("equal to", values...)
	}
	parts := make([]string, len(list)-1)
	for i := range parts {
		parts[i] = list[i+1].SQL
	}
	if b.session.NullsEqual() {
		return merge(Expr{SQL: membershipWithNulls(sql, parts, values, n.NotDefined)}, values...)
	}
	return merge(Expr{SQL: "(" + sql + word + strings.Join(parts, ",") + "))"}, values...)
}

// membershipWithNulls is IN under ANSI_NULLS OFF: comparisons with each of the values, the first of which is what is
// looked for.
func membershipWithNulls(sql string, list []string, values []Expr, not bool) string {
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

func (b *Binder) likePredicate(sc *Scope, n *ast.BooleanLikeExpression) Expr {
	x, p := b.Scalar(sc, n.FirstExpression), b.Scalar(sc, n.SecondExpression)
	escape := "NULL"
	parts := []Expr{x, p}
	if n.EscapeExpression != nil {
		e := b.Convert(b.Scalar(sc, n.EscapeExpression), sqltype.NVarCharMax, sqltype.Implicit, 0, false)
		escape = e.SQL
		parts = append(parts, e)
	}
	key := b.collate("like", x, p)
	xs, ps := b.Convert(x, sqltype.NVarCharMax, sqltype.Implicit, 0, false),
		b.Convert(p, sqltype.NVarCharMax, sqltype.Implicit, 0, false)
	sql := fmt.Sprintf("tsql_like(%s,%s,%s,'%s')", xs.SQL, ps.SQL, escape, key)
	if n.NotDefined {
		sql = "(NOT " + sql + ")"
	}
	return merge(Expr{SQL: sql}, parts...)
}

// quantified is ANY, SOME and ALL.
func (b *Binder) quantified(sc *Scope, n *ast.SubqueryComparisonPredicate) Expr {
	x := b.Scalar(sc, n.Expression)
	inner := &Scope{parent: sc}
	q := b.Query(inner, n.Subquery.QueryExpression, QueryOptions{Subquery: true})
	if len(q.Outputs) != 1 {
		b.Fail(116)
	}
	o := q.Outputs[0].expr
	o.SQL, o.HasLiteral, o.param, o.Free = "c1", false, 0, nil
	cmp := b.comparison(n.ComparisonType, x, o)
	all := n.SubqueryComparisonPredicateType == "All"
	if x.Aggregate {
		return merge(b.quantifiedAggregate(n.ComparisonType, all, x, o, q), inner.used())
	}
	sql := "EXISTS (SELECT 1 FROM (" + q.sql + ") WHERE " + cmp.SQL + ")"
	if all {
		sql = "NOT EXISTS (SELECT 1 FROM (" + q.sql + ") WHERE (" + cmp.SQL + ") IS NOT 1)"
	}
	return merge(Expr{SQL: "(" + sql + ")"}, x, inner.used())
}

// quantifiedAggregate compares an aggregate, which may not stand inside of a subquery, with the subquery's least or
// greatest value; a NULL among the values leaves it unknown unless the rest decides.
func (b *Binder) quantifiedAggregate(kind string, all bool, x, o Expr, q BoundQuery) Expr {
	extreme, op := "max", syntax.Comparisons[kind]
	switch {
	case op == ">" || op == ">=":
		extreme = map[bool]string{true: "max", false: "min"}[all]
	case op == "<" || op == "<=":
		extreme = map[bool]string{true: "min", false: "max"}[all]
	default:
		b.Refuse("A comparison of an aggregate with ALL, ANY or SOME for equality")
	}
	o.SQL = fmt.Sprintf(
		"(SELECT %s(%s) FROM (%s))",
		extreme,
		Expr{SQL: "c1", Type: o.Type, collation: o.collation}.collated(),
		q.sql,
	)
	cmp := b.comparison(kind, x, o)
	cmp.SQL = fmt.Sprintf(
		"(CASE WHEN NOT EXISTS (SELECT 1 FROM (%[1]s)) THEN %[2]d WHEN %[3]s = %[2]d AND EXISTS (SELECT 1 FROM (%[1]s) "+
			"WHERE c1 IS NULL) THEN NULL ELSE %[3]s END)",
		q.sql,
		yes(all),
		cmp.SQL,
	)
	return cmp
}

func (b *Binder) distinct(sc *Scope, n *ast.DistinctPredicate) Expr {
	l, r := b.Scalar(sc, n.FirstExpression), b.Scalar(sc, n.SecondExpression)
	pair, t := b.unify(l, r)
	sql := pair[0].SQL
	if t.Kind.IsCharacter() {
		sql += " COLLATE " + b.collate("is distinct from", l, r)
	}
	word := " IS NOT "
	if n.IsNot {
		word = " IS "
	}
	return merge(Expr{SQL: "(" + sql + word + pair[1].SQL + ")"}, l, r)
}

// conditional binds CASE, IIF, NULLIF and COALESCE.
func (b *Binder) conditional(sc *Scope, node ast.ScalarExpression) Expr {
	switch n := node.(type) {
	case *ast.SearchedCaseExpression:
		conditions := make([]Expr, len(n.WhenClauses))
		results := make([]Expr, len(n.WhenClauses))
		for i, w := range n.WhenClauses {
			conditions[i], results[i] = b.Predicate(sc, w.WhenExpression), b.Scalar(sc, w.ThenExpression)
		}
		return b.cases(conditions, results, b.optional(sc, n.ElseExpression))
	case *ast.SimpleCaseExpression:
		input := b.Scalar(sc, n.InputExpression)
		conditions := make([]Expr, len(n.WhenClauses))
		results := make([]Expr, len(n.WhenClauses))
		for i, w := range n.WhenClauses {
			conditions[i] = b.comparison("Equals", input, b.Scalar(sc, w.WhenExpression))
			results[i] = b.Scalar(sc, w.ThenExpression)
		}
		return b.cases(conditions, results, b.optional(sc, n.ElseExpression))
	case *ast.IIfCall:
		return b.cases([]Expr{b.Predicate(sc, n.Predicate)}, []Expr{b.Scalar(sc, n.ThenExpression)},
			b.Scalar(sc, n.ElseExpression))
	case *ast.NullIfExpression:
		l, r := b.Scalar(sc, n.FirstExpression), b.Scalar(sc, n.SecondExpression)
		if l.Null {
			b.Fail(4151)
		}
		out := b.cases([]Expr{b.comparison("Equals", l, r)}, []Expr{{SQL: "NULL", Null: true, Nullable: true}}, l)
		out.Type = l.Type
		return out
	case *ast.CoalesceExpression:
		list := b.scalars(sc, n.Expressions)
		if !slices.ContainsFunc(list, func(e Expr) bool { return !e.Null }) {
			b.Fail(4127)
		}
		conditions := make([]Expr, len(list)-1)
		for i, e := range list[:len(list)-1] {
			conditions[i] = merge(Expr{SQL: "(" + e.SQL + " IS NOT NULL)"}, e)
		}
		out := b.cases(conditions, list[:len(list)-1], list[len(list)-1])
		out.Nullable = true // whatever its arguments are (docs/t-sql/language-elements/coalesce-transact-sql.md)
		return out
	}
	return Expr{}
}

func (b *Binder) optional(sc *Scope, n ast.ScalarExpression) Expr {
	if n == nil {
		return Expr{SQL: "NULL", Null: true, Nullable: true, Type: sqltype.IntType}
	}
	return b.Scalar(sc, n)
}

func (b *Binder) cases(conditions, results []Expr, otherwise Expr) Expr {
	all := append(append([]Expr(nil), results...), otherwise)
	onlyNull := true
	for _, e := range all {
		onlyNull = onlyNull && e.Null
	}
	if onlyNull {
		b.Fail(8133)
	}
	list, t := b.unifyResults(all...)
	var sql strings.Builder
	sql.WriteString("(CASE")
	out := Expr{Type: t}
	for i, c := range conditions {
		sql.WriteString(" WHEN " + c.SQL + " THEN " + list[i].SQL)
		out = merge(out, c)
	}
	sql.WriteString(" ELSE " + list[len(list)-1].SQL + " END)")
	out = merge(out, list...)
	out.Nullable = anyNullable(all, list)
	for _, e := range all {
		// A result whose conversion could change it is nullable in CASE, though not in UNION.
		out.Nullable = out.Nullable || !StoredAlike(e.Type, t)
	}
	if t.Kind.IsCharacter() {
		from := b.collateResult("CASE", t, all...)
		out.collation, out.CollationName, out.implicit, out.explicit = from.collation, from.CollationName, from.implicit,
			from.explicit
	}
	out.SQL = sql.String()
	return out
}

// anyNullable tells whether one of several results can be NULL, by itself or once it is of the common type, as list has
// it.
func anyNullable(all, list []Expr) bool {
	for i, e := range all {
		if e.Null || e.Nullable || list[i].Nullable {
			return true
		}
	}
	return false
}

// unifyResults converts expressions to one type so that their stored forms are that type's.
func (b *Binder) unifyResults(list ...Expr) ([]Expr, sqltype.Type) {
	t := commonType(list)
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = b.Convert(e, t, sqltype.Implicit, 0, false)
	}
	return out, t
}
