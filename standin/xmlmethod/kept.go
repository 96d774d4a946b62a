// SPDX-License-Identifier: Apache-2.0

// Package xmlmethod evaluates the methods of the xml data type (docs/t-sql/xml/xml-data-type-methods.md) and OPENXML,
// row by row, over instances and expressions that a session keeps.
package xmlmethod

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
	"geosql.dev/standin/xquery"
)

// Kept are the instances and expressions that a session's statements use again and again, and its documents of
// sp_xml_preparedocument.
type Kept struct {
	instances map[string]*keptInstance
	// known are the instances by number; a number never comes twice.
	known map[int64]*xmldata.Instance
	last  int64
	// size is how many characters the texts of the instances have.
	size        int
	expressions compiled[xquery.Query]
	changes     compiled[xquery.Change]
	// documents are found by their handles: odd numbers, of which none comes twice.
	documents  map[int64]*document
	lastHandle int64
}

// keptInstance is an instance with its number.
type keptInstance struct {
	instance *xmldata.Instance
	number   int64
}

// Bounds of what is kept.
const (
	maxInstances   = 64
	maxSize        = 4 << 20
	maxExpressions = 256
)

// Knows tells whether the instance of a number is kept.
func (c *Kept) Knows(number int64) bool { return c.known[number] != nil }

func (c *Kept) instance(text string) (*keptInstance, *sqlerr.Error) {
	if d := c.instances[text]; d != nil {
		return d, nil
	}
	d, err := xmldata.Parse(text, xmldata.Options{Preserve: true, Decoded: true})
	if err != nil {
		return nil, err
	}
	if c.instances == nil || len(c.instances) >= maxInstances || c.size+len(text) > maxSize {
		c.instances, c.known, c.size = map[string]*keptInstance{}, map[int64]*xmldata.Instance{}, 0
	}
	c.last++
	kept := &keptInstance{instance: d, number: c.last}
	c.instances[text], c.known[c.last] = kept, d
	c.size += len(text)
	return kept, nil
}

// compiled are expressions by their text, with the types of their accessors.
type compiled[T any] map[string]*compiledExpression[T]

type compiledExpression[T any] struct {
	expression *T
	kinds      []xquery.Kind
}

// keep adds an expression; when there are maxExpressions, all others go.
func (c *compiled[T]) keep(text string, x *compiledExpression[T]) {
	if *c == nil || len(*c) >= maxExpressions {
		*c = compiled[T]{}
	}
	(*c)[text] = x
}

// find is an expression in JSON, compiled.
func (c *compiled[T]) find(
	text string,
	compile func(string, xquery.Static) (*T, *sqlerr.Error),
) (*compiledExpression[T], *sqlerr.Error) {
	if x := (*c)[text]; x != nil {
		return x, nil
	}
	e, static, err := readExpression(text)
	if err != nil {
		return nil, err
	}
	expression, err := compile(e.Text, static)
	if err != nil {
		return nil, err
	}
	x := &compiledExpression[T]{expression: expression, kinds: e.Accessors}
	c.keep(text, x)
	return x, nil
}
