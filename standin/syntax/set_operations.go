// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// Arranged is a set operation or a query in parentheses with what follows it: teesql reads OFFSET and FOR behind a set
// operation, and ORDER BY too behind parentheses, and keeps none of them (docs/t-sql/queries/select-transact-sql.md,
// Syntax).
type Arranged struct {
	ast.QueryExpression
	ast.Fragment
	// OrderByClause is that of a query in parentheses; a set operation has its own.
	OrderByClause *ast.OrderByClause
	OffsetClause  *ast.OffsetClause
	ForClause     ast.ForClause
}

// arranger puts the set operations of a text that teesql read into order.
type arranger struct {
	source string
	err    *sqlerr.Error
}

// arrange gives INTERSECT its precedence over UNION and EXCEPT
// (docs/t-sql/language-elements/set-operators-except-and-intersect-transact-sql.md, Remarks), and set operations and
// queries in parentheses what follows them.
func arrange(script *ast.Script, source string, tokens []token.Token) *sqlerr.Error {
	if !mayBeArranged(tokens) {
		return nil
	}
	a := &arranger{source: source}
	a.walk(reflect.ValueOf(script))
	return a.err
}

// mayBeArranged tells whether a text has a set operation, or a parenthesis with a clause of a query behind it.
func mayBeArranged(tokens []token.Token) bool {
	for i, t := range tokens {
		if t.IsOneOf("UNION", "EXCEPT", "INTERSECT") || i > 0 && tokens[i-1].Is(")") && t.IsOneOf("ORDER", "OFFSET", "FOR") {
			return true
		}
	}
	return false
}

func (a *arranger) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() || a.err != nil {
			return
		}
		a.walk(v.Elem())
		if q, ok := v.Interface().(ast.QueryExpression); ok && v.CanSet() {
			if arranged := a.arranged(q); arranged != nil {
				v.Set(reflect.ValueOf(arranged))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			a.walk(v.Elem())
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Interface, reflect.Pointer:
			for i := range v.Len() {
				a.walk(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				a.walk(v.Field(i))
			}
		}
	}
}

// arranged is a query with what follows it, nil for one that nothing follows.
func (a *arranger) arranged(q ast.QueryExpression) *Arranged {
	var after *ast.Fragment
	closed := false
	switch n := q.(type) {
	case *ast.BinaryQueryExpression:
		after = fragment(n.SecondQueryExpression)
		if n.OrderByClause != nil {
			after = fragment(n.OrderByClause)
		}
		defer binding(n)
	case *ast.QueryParenthesisExpression:
		after, closed = fragment(n.QueryExpression), true
	default:
		return nil
	}
	whole := fragment(q)
	if after == nil || !after.HasSpan() || !whole.HasSpan() {
		return nil
	}
	at := byteOfUnit(a.source, after.EndOffset())
	tail := a.source[at:max(at, byteOfUnit(a.source, whole.EndOffset()))]
	if closed {
		end := strings.IndexByte(tail, ')') + 1
		at, tail = at+end, tail[end:]
	}
	if strings.TrimSpace(tail) == "" {
		return nil
	}
	return a.following(q, *whole, at, tail)
}

// following reads what follows a query: a text of the same places that has a short query instead.
func (a *arranger) following(q ast.QueryExpression, whole ast.Fragment, at int, tail string) *Arranged {
	const query = "SELECT 1 a"
	before := blank(a.source[:at])
	if n := len(before) - len(query); n >= 0 {
		before = before[:n]
	}
	script, message := teesql(before + query + tail)
	if message != "" || len(script.Batches) != 1 || len(script.Batches[0].Statements) != 1 {
		a.err = sqlerr.Unsupported("What follows a set operation").At(int32(whole.StartLine))
		return nil
	}
	s, ok := script.Batches[0].Statements[0].(*ast.SelectStatement)
	if !ok {
		return nil
	}
	read, ok := s.QueryExpression.(*ast.QuerySpecification)
	if !ok || read.OrderByClause == nil && read.OffsetClause == nil && read.ForClause == nil {
		return nil
	}
	return &Arranged{
		QueryExpression: q,
		Fragment:        whole,
		OrderByClause:   read.OrderByClause,
		OffsetClause:    read.OffsetClause,
		ForClause:       read.ForClause,
	}
}

// binding makes an INTERSECT, which teesql gives all that is before it, one of the operand before it alone.
func binding(n *ast.BinaryQueryExpression) {
	left, ok := n.FirstQueryExpression.(*ast.BinaryQueryExpression)
	if !ok || n.BinaryQueryExpressionType != "Intersect" || left.BinaryQueryExpressionType == "Intersect" {
		return
	}
	second := &ast.BinaryQueryExpression{
		BinaryQueryExpressionType: "Intersect",
		All:                       n.All,
		FirstQueryExpression:      left.SecondQueryExpression,
		SecondQueryExpression:     n.SecondQueryExpression,
	}
	n.BinaryQueryExpressionType, n.All = left.BinaryQueryExpressionType, left.All
	n.FirstQueryExpression, n.SecondQueryExpression = left.FirstQueryExpression, second
}
