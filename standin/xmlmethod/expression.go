// SPDX-License-Identifier: Apache-2.0

package xmlmethod

import (
	"encoding/json"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
	"geosql.dev/standin/xquery"
)

// Expression is an expression of XQuery with all that it is compiled with; the functions that evaluate it get it as
// JSON.
type Expression struct {
	Text, Method string
	Namespaces   []xmldata.Binding `json:",omitempty"`
	Context      xquery.Context    `json:",omitempty"`
	// Accessors are the types of sql:variable() and sql:column(), in the order of their values.
	Accessors []xquery.Kind `json:",omitempty"`
}

// Static is what the expression is compiled with for a use of it.
func (x *Expression) Static(use xquery.Use, accessor func(xquery.Accessor) (xquery.Type, *sqlerr.Error)) xquery.Static {
	return xquery.Static{Method: x.Method, Namespaces: x.Namespaces, Context: x.Context, Use: use, Accessor: accessor}
}

// readExpression reads an expression in JSON. The types of the accessors are as they were when the statement was bound.
func readExpression(text string) (*Expression, xquery.Static, *sqlerr.Error) {
	e := &Expression{}
	if err := json.Unmarshal([]byte(text), e); err != nil {
		return nil, xquery.Static{}, sqlerr.Internal(err)
	}
	seen := map[xquery.Accessor]xquery.Type{}
	return e, e.Static(xquery.AnyUse, func(a xquery.Accessor) (xquery.Type, *sqlerr.Error) {
		if t, ok := seen[a]; ok {
			return t, nil
		}
		if len(seen) >= len(e.Accessors) {
			return xquery.Type{}, sqlerr.Unsupported("An accessor without a value")
		}
		seen[a] = xquery.Optional(e.Accessors[len(seen)])
		return seen[a], nil
	}), nil
}
