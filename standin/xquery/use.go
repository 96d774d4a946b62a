// SPDX-License-Identifier: Apache-2.0

package xquery

// Use is the method that an expression is for, which asks something of its type.
type Use uint8

// The methods. AnyUse asks nothing: it is for an expression that was judged before.
const (
	AnyUse Use = iota
	ForValue
	ForQuery
	ForExist
	ForNodes
	// ForPattern is a pattern of OPENXML.
	ForPattern
)

// Uses are the methods by their names.
var Uses = map[string]Use{"value": ForValue, "query": ForQuery, "exist": ForExist, "nodes": ForNodes}

// used judges the type of a whole expression: value() takes one value (2389), nodes() nodes (2374), query() no
// attributes (2396).
func (p *parser) used(e expression) {
	t := e.typ()
	switch p.static.Use {
	case ForValue:
		a := p.data(e, "")
		p.needsOne("value()", a)
	case ForNodes:
		p.fromNodes(e, "'nodes()'")
	case ForQuery:
		if t.Kind == nodeAttribute {
			p.fail(2396)
		}
	case ForPattern:
		p.pattern(e)
	case AnyUse, ForExist:
	}
}

// RowContext is what the rows are that the nodes of the expression make.
func (q *Query) RowContext() Context {
	switch q.body.typ().Kind {
	case nodeDocument:
		return AtDocument
	case nodeElement:
		return AtElement
	case nodeAttribute:
		return AtAttribute
	default:
		return AtNode
	}
}

// Read is a value of sql:variable() or sql:column() from its text; nil when it is none of the type.
func Read(k Kind, s string) *Atom { return textAtom(String, s).cast(k) }
