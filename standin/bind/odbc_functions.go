// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// odbcNames are the functions of {fn ...} that Transact-SQL has under another name
// (docs/t-sql/functions/odbc-scalar-functions-transact-sql.md and ODBC's Appendix E).
var odbcNames = map[string]string{
	"octet_length":     "DATALENGTH",
	"dayofmonth":       "DAY",
	"ucase":            "UPPER",
	"lcase":            "LOWER",
	"length":           "LEN",
	"char_length":      "LEN",
	"character_length": "LEN",
	"locate":           "CHARINDEX",
	"repeat":           "REPLICATE",
	"insert":           "STUFF",
	"now":              "GETDATE",
	"ifnull":           "ISNULL",
	"database":         "DB_NAME",
	"rand":             "RAND",
	"user":             "USER_NAME",
	"atan2":            "ATN2",
	"log":              "LOG",
}

// odbcParts are those that take a part of a date.
var odbcParts = map[string][2]string{
	"dayname":   {"DATENAME", "weekday"},
	"monthname": {"DATENAME", "month"},
	"dayofweek": {"DATEPART", "weekday"},
	"dayofyear": {
		"DATEPART",
		"dayofyear",
	},
	"hour":    {"DATEPART", "hour"},
	"minute":  {"DATEPART", "minute"},
	"second":  {"DATEPART", "second"},
	"quarter": {"DATEPART", "quarter"},
	"week":    {"DATEPART", "week"},
	"extract": {"DATEPART", ""},
}

// odbcSame are those that have the same name and meaning in both.
const odbcSame = " abs acos ascii asin atan ceiling char cos cot degrees difference exp floor log10 ltrim month pi " +
	"power radians replace round rtrim sign sin soundex space sqrt substring tan year "

// odbcFunction binds {fn name(...)}: as the function of Transact-SQL that it stands for. Those of Appendix E that have
// none are refused.
func (b *Binder) odbcFunction(sc *Scope, n *ast.OdbcFunctionCall) Expr {
	name := lower(n.Name.Value)
	call := func(function string, params ...ast.ScalarExpression) ast.ScalarExpression {
		return &ast.FunctionCall{FunctionName: &ast.Identifier{Value: function}, Parameters: params}
	}
	arguments := func(count int) {
		if len(n.Parameters) != count {
			b.Fail(174, name, count)
		}
	}
	if part, ok := odbcParts[name]; ok {
		arguments(1)
		value := n.Parameters[0]
		if from, ok := value.(*ast.ExtractFromExpression); ok {
			part[1], value = from.ExtractedElement.Value, from.Expression
		}
		return b.Scalar(sc, call(part[0], columnNamed(part[1]), value))
	}
	switch name {
	case "bit_length":
		arguments(1)
		return b.Scalar(
			sc,
			&ast.BinaryExpression{
				BinaryExpressionType: "Multiply",
				FirstExpression:      call("DATALENGTH", n.Parameters...),
				SecondExpression:     IntegerNode("8"),
			},
		)
	case "truncate":
		arguments(2)
		return b.Scalar(sc, call("ROUND", n.Parameters[0], n.Parameters[1], IntegerNode("1")))
	case "mod":
		arguments(2)
		return b.Scalar(
			sc,
			&ast.BinaryExpression{
				BinaryExpressionType: "Modulo",
				FirstExpression:      n.Parameters[0],
				SecondExpression:     n.Parameters[1],
			},
		)
	case "concat":
		arguments(2)
		return b.Scalar(
			sc,
			&ast.BinaryExpression{
				BinaryExpressionType: "Add",
				FirstExpression:      n.Parameters[0],
				SecondExpression:     n.Parameters[1],
			},
		)
	case "current_date", "curdate":
		return b.Convert(b.now("getdate"), sqltype.Type{Kind: sqltype.VarChar, Length: 10}, sqltype.Explicit, 23, false)
	case "current_time", "curtime":
		return b.Convert(
			b.Convert(
				b.now("sysdatetime"),
				sqltype.Type{Kind: sqltype.Time, Scale: b.odbcPrecision(n)},
				sqltype.Explicit,
				0,
				false,
			),
			sqltype.Type{Kind: sqltype.VarChar, Length: 16},
			sqltype.Explicit,
			0,
			false,
		)
	case "left", "right":
		arguments(2)
		return b.builtin(name, b.scalars(sc, n.Parameters))
	}
	if other := odbcNames[name]; other != "" {
		return b.Scalar(sc, call(other, n.Parameters...))
	}
	if strings.Contains(odbcSame, " "+name+" ") {
		return b.Scalar(sc, call(n.Name.Value, n.Parameters...))
	}
	b.Refuse("The ODBC function " + strings.ToUpper(name))
	return Expr{}
}

// odbcPrecision is the precision that CURRENT_TIME is asked for: 0 to 7, 0 without one.
func (b *Binder) odbcPrecision(n *ast.OdbcFunctionCall) uint8 {
	if len(n.Parameters) == 0 {
		return 0
	}
	digits, ok := n.Parameters[0].(*ast.IntegerLiteral)
	if !ok || len(digits.Value) != 1 || digits.Value > "7" {
		b.Refuse("The ODBC function CURRENT_TIME with another precision than 0 to 7")
	}
	return digits.Value[0] - '0'
}

// IntegerNode is an integer constant.
func IntegerNode(value string) ast.ScalarExpression {
	return &ast.IntegerLiteral{LiteralType: "Integer", Value: value}
}

func columnNamed(name string) ast.ScalarExpression {
	return &ast.ColumnReferenceExpression{
		MultiPartIdentifier: &ast.MultiPartIdentifier{Count: 1, Identifiers: []*ast.Identifier{{Value: name}}},
	}
}
