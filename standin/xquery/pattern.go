// SPDX-License-Identifier: Apache-2.0

package xquery

// pattern judges an expression that is a pattern of OPENXML, which is XPath 1.0: taken is what means the same there and
// in XQuery.
func (p *parser) pattern(e expression) {
	x, ok := e.(*path)
	if _, dot := e.(*contextItem); dot || ok && x.start == nil && p.plainSteps(x) || p.err != nil {
		return
	}
	if f, filtered := e.(*filter); filtered {
		if inner, ok := f.e.(*path); ok && inner.start == nil && p.plainSteps(inner) && p.plain(f.condition.e) {
			return
		}
	}
	p.refuse("Other than a path with comparisons as a pattern of OPENXML")
}

func (p *parser) plainSteps(e *path) bool {
	for _, s := range e.steps {
		for _, condition := range s.predicates {
			if !p.plain(condition.e) {
				return false
			}
		}
	}
	return true
}

// plain tells whether a condition means the same in XPath 1.0: equality, orders beside a number, places, and whether
// there is a node.
func (p *parser) plain(e expression) bool {
	switch x := e.(type) {
	case *constant:
		return true
	case *contextItem:
		return true
	case *path:
		return x.start == nil && p.plainSteps(x)
	case *logical:
		return p.plain(x.left) && p.plain(x.right)
	case *functionCall:
		switch x.f.name {
		case "not", "last", "position", "count", "true", "false":
		default:
			return false
		}
		for _, a := range x.args {
			if !p.plain(a) {
				return false
			}
		}
		return true
	case *comparison:
		if x.byValue || !p.plain(x.left) || !p.plain(x.right) {
			return false
		}
		return x.operator == "=" || x.operator == "!=" || x.left.typ().Kind.isNumber() || x.right.typ().Kind.isNumber()
	}
	return false
}
