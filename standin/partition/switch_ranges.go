// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// outcomes is the set of what a condition can be for a value.
type outcomes uint8

const (
	canBeTrue outcomes = 1 << iota
	canBeFalse
	canBeUnknown
	canBeAnything = canBeTrue | canBeFalse | canBeUnknown
)

// valueLine has the values that conditions on one column and the ranges of partitions compare it with, in their order.
// A cell is one of these values (odd) or what is between two neighbours, below the first or above the last (even);
// nullCell is NULL. Conditions that compare with these values only are alike for all of a cell.
type valueLine struct {
	column *metadata.Column
	f      *metadata.PartitionFunction
	values []string
	ranks  map[string]int
	top    int
}

const nullCell = -1

func newValueLine(c *metadata.Column) *valueLine {
	return &valueLine{column: c, f: &metadata.PartitionFunction{Type: c.Type, Collation: c.Collation}}
}

// settle puts the values in order.
func (l *valueLine) settle(conn *sqlite.Conn) error {
	l.ranks = map[string]int{}
	if len(l.values) == 0 {
		return nil
	}
	rows := make([]string, len(l.values))
	for i, v := range l.values {
		rows[i] = fmt.Sprintf("(%d,%s)", i, v)
	}
	sql := "WITH b(n, v) AS (VALUES " + strings.Join(
		rows,
		",",
	) + ") SELECT n, dense_rank() OVER (ORDER BY " + l.f.Compared(
		"v",
	) + ") FROM b"
	return sqlitex.ExecuteTransient(conn, sql, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		rank := stmt.ColumnInt(1) - 1
		l.ranks[l.values[stmt.ColumnInt(0)]], l.top = rank, max(l.top, rank+1)
		return nil
	}})
}

// cells are all cells; NULL is one where the column may be.
func (l *valueLine) cells() []int {
	var out []int
	if l.column.Nullable {
		out = append(out, nullCell)
	}
	for i := 0; i <= 2*l.top; i++ {
		out = append(out, i)
	}
	return out
}

func (l *valueLine) cell(value string) int { return 2*l.ranks[value] + 1 }

// within tells which cells are in a side's partition; all are in a table without partitions.
func (l *valueLine) within(side switchSide) func(cell int) bool {
	if side.number == 0 {
		return func(int) bool { return true }
	}
	f, n := side.function, side.number
	null := 1
	if len(f.Values) > 0 && f.Values[0] == "NULL" && f.Right {
		null = 2
	}
	bound := func(at int) (string, bool) {
		if at < 0 || at >= len(f.Values) || f.Values[at] == "NULL" {
			return "", false
		}
		l.values = append(l.values, f.Values[at])
		return f.Values[at], true
	}
	low, hasLow := bound(n - 2)
	high, hasHigh := bound(n - 1)
	none := n <= len(f.Values) && f.Values[n-1] == "NULL"
	return func(cell int) bool {
		switch {
		case cell == nullCell:
			return n == null
		case none,
			hasLow && cell < l.cell(low),
			hasLow && !f.Right && cell == l.cell(low),
			hasHigh && cell > l.cell(high),
			hasHigh && f.Right && cell == l.cell(high):
			return false
		}
		return true
	}
}

// rangeCondition is what is known of a check constraint: what it can be for each cell of a line. opaque tells that a
// part of it is not about how the column compares with constants.
type rangeCondition struct {
	of     func(cell int) outcomes
	opaque bool
}

// condition reads a condition; what is not understood can be anything.
func (sw *switching) condition(l *valueLine, node ast.BooleanExpression) rangeCondition {
	switch x := node.(type) {
	case *ast.BooleanParenthesisExpression:
		return sw.condition(l, x.Expression)
	case *ast.BooleanNotExpression:
		return sw.condition(l, x.Expression).not()
	case *ast.BooleanBinaryExpression:
		a, b := sw.condition(l, x.FirstExpression), sw.condition(l, x.SecondExpression)
		if x.BinaryExpressionType == "Or" {
			return a.not().and(b.not()).not()
		}
		return a.and(b)
	case *ast.BooleanIsNullExpression:
		if l.is(x.Expression) {
			return rangeCondition{of: func(cell int) outcomes {
				if (cell == nullCell) != x.IsNot {
					return canBeTrue
				}
				return canBeFalse
			}}
		}
	case *ast.BooleanComparisonExpression:
		return sw.compared(l, syntax.Comparisons[x.ComparisonType], x.FirstExpression, x.SecondExpression)
	case *ast.BooleanTernaryExpression:
		in := sw.compared(l, ">=", x.FirstExpression,
			x.SecondExpression).and(sw.compared(l, "<=", x.FirstExpression, x.ThirdExpression))
		if x.TernaryExpressionType == "Between" {
			return in
		}
		return in.not()
	case *ast.BooleanInExpression:
		if x.Subquery == nil && len(x.Values) > 0 {
			none := sw.compared(l, "=", x.Expression, x.Values[0]).not()
			for _, v := range x.Values[1:] {
				none = none.and(sw.compared(l, "=", x.Expression, v).not())
			}
			if x.NotDefined {
				return none
			}
			return none.not()
		}
	}
	return rangeCondition{of: func(int) outcomes { return canBeAnything }, opaque: true}
}

func (c rangeCondition) not() rangeCondition {
	return rangeCondition{opaque: c.opaque, of: func(cell int) outcomes {
		o := c.of(cell)
		return o&canBeUnknown | o&canBeTrue<<1 | o&canBeFalse>>1
	}}
}

func (c rangeCondition) and(d rangeCondition) rangeCondition {
	return rangeCondition{opaque: c.opaque || d.opaque, of: func(cell int) outcomes {
		a, b := c.of(cell), d.of(cell)
		out := (a|b)&canBeFalse | a&b&canBeTrue
		if (a|b)&canBeUnknown != 0 && a&^canBeFalse != 0 && b&^canBeFalse != 0 {
			out |= canBeUnknown
		}
		return out
	}}
}

// plainScalar is a node without the parentheses about it.
func plainScalar(node ast.ScalarExpression) ast.ScalarExpression {
	switch x := node.(type) {
	case *ast.ParenthesisExpression:
		return plainScalar(x.Expression)
	case *ast.FunctionCall:
		if x.FunctionName != nil && x.FunctionName.Value == syntax.CollateFunction && len(x.Parameters) == 1 {
			return plainScalar(x.Parameters[0])
		}
	}
	return node
}

// is tells whether a node is the line's column.
func (l *valueLine) is(node ast.ScalarExpression) bool {
	x, ok := plainScalar(node).(*ast.ColumnReferenceExpression)
	return ok && x.MultiPartIdentifier != nil && len(x.MultiPartIdentifier.Identifiers) == 1 &&
		strings.EqualFold(x.MultiPartIdentifier.Identifiers[0].Value, l.column.Name)
}

// isConstant tells whether a node has the same value always.
func isConstant(node ast.ScalarExpression) bool {
	switch x := plainScalar(node).(type) {
	case *ast.IntegerLiteral, *ast.NumericLiteral, *ast.RealLiteral, *ast.StringLiteral, *ast.BinaryLiteral,
		*ast.MoneyLiteral:
		return true
	case *ast.UnaryExpression:
		return isConstant(x.Expression)
	case *ast.CastCall:
		return x.Collation == nil && isConstant(x.Parameter)
	case *ast.ConvertCall:
		return x.Collation == nil && isConstant(x.Parameter) && (x.Style == nil || isConstant(x.Style))
	}
	return false
}

var mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

// compared is a comparison of the column with a constant.
func (sw *switching) compared(l *valueLine, op string, a, b ast.ScalarExpression) rangeCondition {
	if l.is(b) {
		a, b, op = b, a, mirrored[op]
	}
	opaque := rangeCondition{of: func(int) outcomes { return canBeAnything }, opaque: true}
	if !l.is(a) || !isConstant(b) || op == "" {
		return opaque
	}
	value, ok := sw.constant(l, b)
	if !ok {
		return opaque
	}
	l.values = append(l.values, value)
	return rangeCondition{of: func(cell int) outcomes {
		at, holds := l.cell(value), false
		switch op {
		case "=":
			holds = cell == at
		case "<>":
			holds = cell != at
		case "<":
			holds = cell < at
		case "<=":
			holds = cell <= at
		case ">":
			holds = cell > at
		case ">=":
			holds = cell >= at
		}
		switch {
		case cell == nullCell:
			return canBeUnknown
		case holds:
			return canBeTrue
		}
		return canBeFalse
	}}
}

// constant is the value of a constant as the column stores it, when it has that very value there: a column of whole
// numbers is not compared with 1.5, nor one of datetime with fractions that it has not.
func (sw *switching) constant(l *valueLine, node ast.ScalarExpression) (string, bool) {
	v, err := valueOf(sw.d.Context(), sw.d.Session(), node)
	if err != nil || v.value == nil {
		return "", false
	}
	text, err := boundaryText(l.f, v, 1, sw.d.Session().DateStyle(0))
	if err != nil {
		return "", false
	}
	if v.typ == l.column.Type || v.typ.Kind.IsCharacter() {
		return text, true
	}
	there, e := sqltype.Convert(v.value, v.typ, l.column.Type, 0, sqltype.Implicit)
	if e != nil {
		return "", false
	}
	back, e := sqltype.Convert(there, l.column.Type, v.typ, 0, sqltype.Explicit)
	if e != nil {
		return "", false
	}
	one, err := stored(back, v.typ)
	if err != nil {
		return "", false
	}
	other, err := stored(v.value, v.typ)
	return text, err == nil && one == other
}

// sourceChecks are the conditions on a column that all rows of the source keep.
func (sw *switching) sourceChecks(l *valueLine) []rangeCondition {
	var out []rangeCondition
	for _, check := range sw.d.Catalog().Children(sw.from.o.ID) {
		if check.Kind != metadata.KindCheck || check.Disabled || check.NotTrusted || check.NotForReplication {
			continue
		}
		if node := engine.ParsePredicate(check.Definition); node != nil {
			out = append(out, sw.condition(l, node))
		}
	}
	return out
}

// lets tells whether no condition is certain to refuse a cell.
func lets(conditions []rangeCondition, cell int) bool {
	for _, c := range conditions {
		if c.of(cell) == canBeFalse {
			return false
		}
	}
	return true
}

// ranges refuses a source whose rows may be ones that do not belong into the target's partition.
func (sw *switching) ranges() error {
	if sw.to.number == 0 {
		return nil
	}
	table := sw.from.o.Table
	l := newValueLine(table.Columns[sw.to.o.Table.Ordinal(sw.to.o.Table.Place.Column)])
	from, to := l.within(sw.from), l.within(sw.to)
	var checks []rangeCondition
	if sw.from.number == 0 {
		checks = sw.sourceChecks(l)
	}
	if err := l.settle(sw.d.Conn()); err != nil {
		return err
	}
	for _, cell := range l.cells() {
		if !from(cell) || !lets(checks, cell) || to(cell) {
			continue
		}
		if sw.from.number > 0 {
			return sqlerr.New(4973, 1, sw.from.number, sw.from.o.Name, sw.to.number, sw.to.o.Name)
		}
		return sqlerr.New(4982, 1, sw.from.o.Name, sw.to.number, sw.to.o.Name)
	}
	return nil
}

// checks refuses a target with a check constraint that the source's rows need not keep.
func (sw *switching) checks() error {
	for _, check := range sw.d.Catalog().Children(sw.to.o.ID) {
		if check.Kind != metadata.KindCheck || check.Disabled {
			continue
		}
		if err := sw.check(check); err != nil {
			return err
		}
	}
	return nil
}

func (sw *switching) check(want *metadata.Object) error {
	var same *metadata.Object
	for _, c := range sw.d.Catalog().Children(sw.from.o.ID) {
		if c.Kind == metadata.KindCheck && c.Definition == want.Definition && (same == nil || !c.Disabled && !c.NotTrusted) {
			same = c
		}
	}
	if same != nil {
		switch {
		case same.NotForReplication != want.NotForReplication:
			return sqlerr.New(4975, 1, same.Name, sw.from.o.Name, want.Name, sw.to.o.Name)
		case (same.Disabled || same.NotTrusted) && !want.NotTrusted:
			return sqlerr.New(4960, 1, same.Name, sw.from.o.Name, want.Name, sw.to.o.Name)
		}
		return nil
	}
	node := engine.ParsePredicate(want.Definition)
	understood := false
	for _, c := range sw.from.o.Table.Columns {
		l := newValueLine(c)
		condition := sw.condition(l, node)
		if condition.opaque {
			continue
		}
		understood = true
		implied, err := sw.implied(l, condition)
		if err != nil {
			return err
		}
		if implied {
			return nil
		}
	}
	switch {
	case understood:
		return sqlerr.New(4972, 1, sw.from.o.Name, sw.to.o.Name)
	case want.Column != 0:
		return sqlerr.New(4971, 1, sw.to.o.Name, want.Name, sw.from.o.Name)
	}
	return sqlerr.New(4970, 1, sw.to.o.Name, want.Name, sw.from.o.Name)
}

// implied tells whether all values of a column that the source may have keep a condition.
func (sw *switching) implied(l *valueLine, condition rangeCondition) (bool, error) {
	in := func(int) bool { return true }
	if sw.from.number > 0 && l.column.ID == sw.from.o.Table.Place.Column {
		in = l.within(sw.from)
	}
	checks := sw.sourceChecks(l)
	if err := l.settle(sw.d.Conn()); err != nil {
		return false, err
	}
	for _, cell := range l.cells() {
		if in(cell) && lets(checks, cell) && condition.of(cell)&canBeFalse != 0 {
			return false, nil
		}
	}
	return true, nil
}
