// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// How strongly the operators of a condition bind; what binds less than its surroundings stands in parentheses.
const (
	bindsOr = iota + 1
	bindsAnd
	bindsNot
	bindsComparison
	bindsSum
	bindsProduct
	bindsValue
)

// ConditionText is a condition as SQL Server keeps it: names in brackets, numbers in parentheses, no spaces about
// operators, IN as comparisons from its last value to its first, BETWEEN as two. Mappers read the values of an
// enumeration from it. Empty for a condition of which it is not known how it is kept.
func ConditionText(node ast.BooleanExpression) string { return conditionOf(node, 0) }

func conditionOf(node ast.BooleanExpression, within int) string {
	switch x := node.(type) {
	case *ast.BooleanParenthesisExpression:
		return conditionOf(x.Expression, within)
	case *ast.BooleanBinaryExpression:
		if x.BinaryExpressionType == "Or" {
			return allOf(" OR ", bindsOr, within, conditionOf(x.FirstExpression, bindsOr),
				conditionOf(x.SecondExpression, bindsOr))
		}
		return allOf(" AND ", bindsAnd, within, conditionOf(x.FirstExpression, bindsAnd),
			conditionOf(x.SecondExpression, bindsAnd))
	case *ast.BooleanNotExpression:
		if text := conditionOf(x.Expression, bindsNot+1); !strings.HasPrefix(text, "NOT ") {
			return prefixed("NOT ", text)
		}
	case *ast.BooleanComparisonExpression:
		if sign := Comparisons[x.ComparisonType]; sign != "" {
			return allOf(sign, bindsComparison, within, valueOf(x.FirstExpression, bindsSum),
				valueOf(x.SecondExpression, bindsSum))
		}
	case *ast.BooleanTernaryExpression:
		if x.TernaryExpressionType == "Between" {
			v := valueOf(x.FirstExpression, bindsSum)
			return allOf(" AND ", bindsAnd, within,
				allOf(">=", bindsComparison, bindsAnd, v, valueOf(x.SecondExpression, bindsSum)),
				allOf("<=", bindsComparison, bindsAnd, v, valueOf(x.ThirdExpression, bindsSum)))
		}
	case *ast.BooleanInExpression:
		return membershipText(x, within)
	case *ast.BooleanIsNullExpression:
		suffix := " IS NULL"
		if x.IsNot {
			suffix = " IS NOT NULL"
		}
		if v := valueOf(x.Expression, bindsSum); v != "" {
			return v + suffix
		}
	case *ast.BooleanLikeExpression:
		if x.EscapeExpression != nil || x.OdbcEscape {
			return ""
		}
		text := allOf(" like ", bindsComparison, within, valueOf(x.FirstExpression, bindsSum),
			valueOf(x.SecondExpression, bindsSum))
		if x.NotDefined {
			return prefixed("NOT ", text)
		}
		return text
	}
	return ""
}

// FilterText is the filter of an index or of statistics as SQL Server keeps it: a condition whose IN stays one, its
// values in parentheses. Empty as ConditionText is.
func FilterText(node ast.BooleanExpression) string { return filterOf(node, 0) }

func filterOf(node ast.BooleanExpression, within int) string {
	switch x := node.(type) {
	case *ast.BooleanParenthesisExpression:
		return filterOf(x.Expression, within)
	case *ast.BooleanBinaryExpression:
		if x.BinaryExpressionType == "And" {
			return allOf(" AND ", bindsAnd, within, filterOf(x.FirstExpression, bindsAnd),
				filterOf(x.SecondExpression, bindsAnd))
		}
	case *ast.BooleanInExpression:
		return listedText(x, within)
	}
	return conditionOf(node, within)
}

// listedText is IN with a list of values that are kept; beside others it is in parentheses.
func listedText(x *ast.BooleanInExpression, within int) string {
	v := valueOf(x.Expression, bindsSum)
	if x.NotDefined || x.Subquery != nil || v == "" {
		return ""
	}
	each := make([]string, len(x.Values))
	for i, value := range x.Values {
		if each[i] = valueOf(value, bindsSum); each[i] == "" {
			return ""
		}
	}
	text := v + " IN (" + strings.Join(each, ", ") + ")"
	if within > 0 {
		return "(" + text + ")"
	}
	return text
}

// membershipText is IN with a list of values.
func membershipText(x *ast.BooleanInExpression, within int) string {
	if x.NotDefined || x.Subquery != nil || len(x.Values) == 0 {
		return ""
	}
	v := valueOf(x.Expression, bindsSum)
	var each []string
	for i := len(x.Values) - 1; i >= 0; i-- {
		each = append(each, allOf("=", bindsComparison, bindsOr, v, valueOf(x.Values[i], bindsSum)))
	}
	if len(each) == 1 {
		return each[0]
	}
	return allOf(" OR ", bindsOr, within, each...)
}

var (
	arithmetic = map[string]struct {
		sign  string
		binds int
	}{"Add": {"+", bindsSum}, "Subtract": {"-", bindsSum}, "Multiply": {"*", bindsProduct}, "Divide": {"/", bindsProduct},
		"Modulo": {"%", bindsProduct}}
	// DateFunctions are those whose first argument is a part of a date.
	DateFunctions = map[string]bool{
		"dateadd":      true,
		"datediff":     true,
		"datepart":     true,
		"datename":     true,
		"datediff_big": true,
		"datetrunc":    true,
		"date_bucket":  true,
	}
	partNames = map[string]bool{
		"year":        true,
		"quarter":     true,
		"month":       true,
		"dayofyear":   true,
		"day":         true,
		"week":        true,
		"weekday":     true,
		"hour":        true,
		"minute":      true,
		"second":      true,
		"millisecond": true,
		"microsecond": true,
		"nanosecond":  true,
	}
)

// ValueText is a value of a default; empty as ConditionText is.
func ValueText(node ast.ScalarExpression) string { return valueOf(node, 0) }

func valueOf(node ast.ScalarExpression, within int) string {
	switch x := node.(type) {
	case *ast.ParenthesisExpression:
		return valueOf(x.Expression, within)
	case *ast.ColumnReferenceExpression:
		if x.ColumnType == "Regular" && x.Collation == nil && x.MultiPartIdentifier != nil &&
			len(x.MultiPartIdentifier.Identifiers) == 1 {
			return QuoteName(x.MultiPartIdentifier.Identifiers[0].Value)
		}
	case *ast.IntegerLiteral:
		return "(" + x.Value + ")"
	case *ast.NumericLiteral:
		return "(" + x.Value + ")"
	case *ast.StringLiteral:
		text := "'" + strings.ReplaceAll(x.Value, "'", "''") + "'"
		if x.IsNational {
			text = "N" + text
		}
		return text
	case *ast.NullLiteral:
		return "NULL"
	case *ast.UnaryExpression:
		if x.UnaryExpressionType == "Negative" {
			switch number := x.Expression.(type) {
			case *ast.IntegerLiteral:
				return "(-" + number.Value + ")"
			case *ast.NumericLiteral:
				return "(-" + number.Value + ")"
			}
		}
	case *ast.BinaryExpression:
		if op := arithmetic[x.BinaryExpressionType]; op.sign != "" {
			return allOf(op.sign, op.binds, within, valueOf(x.FirstExpression, op.binds),
				valueOf(x.SecondExpression, op.binds+1))
		}
	case *ast.FunctionCall:
		if x.FunctionName.Value == CollateFunction {
			// With one argument it stands for parentheses, with two for a COLLATE clause.
			if len(x.Parameters) == 1 {
				return valueOf(x.Parameters[0], within)
			}
			return ""
		}
		return callText(x)
	}
	return ""
}

// callText is the call of a function of the system's, in small letters.
func callText(x *ast.FunctionCall) string {
	plain := x.CallTarget == nil && x.OverClause == nil && x.WithinGroupClause == nil && x.TrimOptions == nil &&
		x.Collation == nil &&
		x.UniqueRowFilter != "Distinct" &&
		len(x.IgnoreRespectNulls)+len(x.JsonParameters)+len(x.AbsentOrNullOnNull) == 0
	if !plain {
		return ""
	}
	name, given := strings.ToLower(x.FunctionName.Value), make([]string, len(x.Parameters))
	for i, p := range x.Parameters {
		given[i] = valueOf(p, 0)
		if i == 0 && DateFunctions[name] {
			part := strings.ToLower(strings.Trim(given[i], "[]"))
			if !partNames[part] {
				return ""
			}
			given[i] = part
		}
	}
	if len(given) == 0 {
		return name + "()"
	}
	return prefixed(name+"(", allOf(",", bindsValue, 0, given...)+")", given...)
}

// allOf puts texts together, in parentheses where what is around them binds more; empty when one of them is not known.
func allOf(sign string, binds, within int, texts ...string) string {
	for _, text := range texts {
		if text == "" {
			return ""
		}
	}
	text := strings.Join(texts, sign)
	if binds < within {
		return "(" + text + ")"
	}
	return text
}

// prefixed puts a word before a text; empty when that text, or one of its parts, is not known.
func prefixed(word, text string, parts ...string) string {
	for _, part := range append(parts, text) {
		if part == "" {
			return ""
		}
	}
	return word + text
}

// Comparisons are the operators by the parser's names of comparisons.
var Comparisons = map[string]string{"Equals": "=", "NotEqualToBrackets": "<>", "NotEqualToExclamation": "<>",
	"GreaterThan": ">", "LessThan": "<", "GreaterThanOrEqualTo": ">=", "LessThanOrEqualTo": "<=",
	"NotLessThan": ">=", "NotGreaterThan": "<="}
