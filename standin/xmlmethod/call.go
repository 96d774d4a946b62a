// SPDX-License-Identifier: Apache-2.0

package xmlmethod

import (
	"encoding/json"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
	"geosql.dev/standin/xquery"
)

// call is a method with its receiver, ready to be evaluated.
type call struct {
	instance *xmldata.Instance
	// number is the one that the instance is kept under.
	number int64
	node   *xmldata.Node
	query  *xquery.Query
	values []*xquery.Atom
}

// call reads the arguments of a function that evaluates an expression: see arguments.
func (c *Kept) call(a []any) (*call, *sqlerr.Error) {
	number, _ := a[3].(int64)
	instance := c.known[number]
	if instance == nil {
		d, err := c.instance(a[4].(string))
		if err != nil {
			return nil, err
		}
		instance, number = d.instance, d.number
	}
	n, _ := a[0].(int64)
	if n < 0 || n >= int64(len(instance.Nodes)) {
		return nil, sqlerr.Unsupported("A node of an instance that has changed since nodes() found it")
	}
	x, err := c.expressions.find(a[1].(string), xquery.Compile)
	if err != nil {
		return nil, err
	}
	out := &call{instance: instance, number: number, node: instance.Nodes[n], query: x.expression}
	out.values, err = accessorValues(a[2].(string), x.kinds)
	return out, err
}

// accessorValues are the values of sql:variable() and sql:column() in their types.
func accessorValues(text string, kinds []xquery.Kind) ([]*xquery.Atom, *sqlerr.Error) {
	if text == "[]" {
		return nil, nil
	}
	var texts []*string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, sqlerr.Internal(err)
	}
	out := make([]*xquery.Atom, len(kinds))
	for i := range min(len(kinds), len(texts)) {
		if texts[i] != nil {
			out[i] = xquery.Read(kinds[i], *texts[i])
		}
	}
	return out, nil
}

// Nodes are the rows of nodes(): a node's number in its instance, and that of the instance. The arguments are those of
// the functions.
func (c *Kept) Nodes(a []any) ([][]any, error) {
	if a[0] == nil || a[3] == nil || a[4] == nil {
		return nil, nil
	}
	called, err := c.call(a)
	if err != nil {
		return nil, err
	}
	nodes, err := called.query.Nodes(called.instance.Root(), called.node, called.values)
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(nodes))
	for i, n := range nodes {
		rows[i] = []any{int64(n.Order), called.number}
	}
	return rows, nil
}

// modify changes an instance: its arguments are as those of other methods, with what it is called for messages in the
// node's place.
func (c *Kept) modify(a []any) (any, *sqlerr.Error) {
	if a[4] == nil {
		return nil, sqlerr.New(5302, 1, "modify()", a[0])
	}
	change, err := c.changes.find(a[1].(string), xquery.CompileChange)
	if err != nil {
		return nil, err
	}
	values, err := accessorValues(a[2].(string), change.kinds)
	if err != nil {
		return nil, err
	}
	d, err := xmldata.Parse(a[4].(string), xmldata.Options{Preserve: true, Decoded: true})
	if err != nil {
		return nil, err
	}
	return orError(change.expression.Apply(d, values))
}
