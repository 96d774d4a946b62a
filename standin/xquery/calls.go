// SPDX-License-Identifier: Apache-2.0

package xquery

import "geosql.dev/standin/sqlerr"

// functionCall is a call of a function of the library.
type functionCall struct {
	f    *function
	args []expression
	t    Type
}

func (e *functionCall) typ() Type { return e.t }

func (e *functionCall) eval(r *run, f focus) sequence {
	args := make([]sequence, len(e.args))
	for i, a := range e.args {
		args[i] = a.eval(r, f)
	}
	if !r.spend(1) {
		return nil
	}
	return e.f.run(r, f, args)
}

// call reads a call of a function; nil when no name comes.
func (p *parser) call() expression {
	from := p.at
	prefix, local := p.qualified()
	if local == "" {
		return nil
	}
	written := p.text[from:p.at]
	p.skip()
	if p.has("{") || (written == "element" || written == "attribute" || written == "document") && p.constructorComes() {
		return p.computedConstructor(written)
	}
	if !p.has("(") {
		p.at = from
		p.fail(2209, written)
		return empty{}
	}
	p.at++
	space := functionsSpace
	if prefix != "" {
		space = p.resolve(prefix)
	}
	if space == sqlSpace {
		return p.accessor(local)
	}
	f := functions[local]
	to, isType := typeNamed(space, local)
	switch {
	case p.err != nil:
		return empty{}
	case space == functionsSpace && refusedFunctions[local]:
		p.refuse("The function " + local + "()")
		return empty{}
	case space == schemaTypes && !isType && schemaNames[local]:
		p.refuse("The type xs:" + local)
		return empty{}
	case isType:
	case f == nil || space != functionsSpace:
		p.fail(2395, "{"+space+"}", local)
		return empty{}
	}
	args := p.arguments()
	if isType {
		if len(args) != 1 {
			p.countArguments(local, len(args), 1, 1)
			return empty{}
		}
		return p.cast(args[0], to, written)
	}
	return p.checked(f, args)
}

// schemaNames are the built-in types of XML Schema that a query cannot cast to here.
var schemaNames = map[string]bool{
	"anyURI":             true,
	"QName":              true,
	"NOTATION":           true,
	"duration":           true,
	"gYear":              true,
	"gYearMonth":         true,
	"gMonth":             true,
	"gMonthDay":          true,
	"gDay":               true,
	"normalizedString":   true,
	"token":              true,
	"language":           true,
	"NMTOKEN":            true,
	"Name":               true,
	"NCName":             true,
	"ID":                 true,
	"IDREF":              true,
	"ENTITY":             true,
	"nonPositiveInteger": true,
	"negativeInteger":    true,
	"nonNegativeInteger": true,
	"positiveInteger":    true,
	"unsignedLong":       true,
	"unsignedInt":        true,
	"unsignedShort":      true,
}

func (p *parser) arguments() []expression {
	var args []expression
	if p.take(")") {
		return nil
	}
	for {
		args = append(args, p.single())
		if p.err != nil || !p.take(",") {
			break
		}
	}
	p.expect(")")
	return args
}

func (p *parser) countArguments(name string, n, least, most int) {
	switch {
	case n < least:
		p.fail(2236, name)
	case most >= 0 && n > most:
		p.fail(2238, name)
	}
}

// checked judges the arguments of a function.
func (p *parser) checked(f *function, args []expression) expression {
	most := len(f.takes)
	if f.variadic {
		most = -1
	}
	p.countArguments(f.name+"()", len(args), f.min, most)
	if f.name == "position" || f.name == "last" {
		p.places++
		if p.predicates == 0 {
			p.fail(2371, f.name+"()")
		}
	}
	types := make([]Type, len(args))
	for i, a := range args {
		types[i] = a.typ()
		if p.err == nil {
			p.argument(f, f.takes[min(i, len(f.takes)-1)], a)
		}
	}
	if p.err != nil {
		return empty{}
	}
	if len(args) == 0 && f.takes == "N" && p.context.Kind.isAtomic() {
		p.fail(2374, f.name+"()")
	}
	return &functionCall{f: f, args: args, t: f.result(types)}
}

// argument judges one argument by the letter of what its function takes.
func (p *parser) argument(f *function, takes byte, e expression) {
	t, what := e.typ(), f.name+"()"
	if t.constructed && takes != 'c' {
		p.fail(2373, what)
		return
	}
	a := t.atomized()
	switch takes {
	case 'c':
		p.condition(e)
	case 'i', 'N':
		p.needsOne(what, t)
		if takes == 'N' && t.Kind.isAtomic() {
			p.fail(2374, what)
		}
	case 's':
		p.needsOne(what, a)
		if a.Kind != String && a.Kind != UntypedAtomic && a.Kind != Nothing && a.Kind != AnyAtomic {
			p.fail(2364, a, kindNames[String])
		}
	case 'n':
		p.needsOne(what, a)
		if !a.Kind.isNumber() && a.Kind != UntypedAtomic && a.Kind != Nothing {
			p.fail(2364, a, kindNames[Decimal])
		}
	case 'g':
		p.needsOne(what, a)
		p.numeric(what, a)
	case '*':
		if f.name == "sum" || f.name == "avg" {
			p.numeric(what, a)
		}
	}
}

func (p *parser) numeric(what string, t Type) {
	if !t.Kind.isNumber() && t.Kind != UntypedAtomic && t.Kind != Nothing {
		p.fail(9308, what, t)
	}
}

// conversion is xs:type(...) or cast as.
type conversion struct {
	e expression
	t Type
}

func (p *parser) cast(e expression, to Kind, name string) expression {
	t := p.data(e, name)
	if p.err != nil {
		return empty{}
	}
	if !t.single() || t.Kind == Nothing {
		p.fail(2365, t, name)
	}
	if c, ok := e.(*constant); ok {
		a := c.atom.cast(to)
		if a == nil {
			p.fail(9319, c.atom.String())
			return empty{}
		}
		return &constant{atom: a}
	}
	return &conversion{e: e, t: Optional(to)}
}

func (e *conversion) typ() Type { return e.t }

func (e *conversion) eval(r *run, f focus) sequence {
	list := r.atomize(e.e.eval(r, f))
	if len(list) == 0 {
		return nil
	}
	if a := list[0].cast(e.t.Kind); a != nil {
		return oneAtom(a)
	}
	return nil
}

// accessorUse is sql:variable() or sql:column().
type accessorUse struct {
	index int
	t     Type
}

// accessor reads sql:variable("name") or sql:column("name")
// (docs/xquery/xquery-extension-functions-sql-variable.md, -sql-column.md).
func (p *parser) accessor(local string) expression {
	if local != "variable" && local != "column" {
		p.fail(2395, "{"+sqlSpace+"}", local)
		return empty{}
	}
	name, ok := p.literal()
	if !ok {
		p.fail(2225)
	}
	p.expect(")")
	if p.err != nil {
		return empty{}
	}
	if p.static.Accessor == nil {
		p.refuse("sql:" + local + "() at this place")
		return empty{}
	}
	a := Accessor{Column: local == "column", Name: name}
	t, err := p.static.Accessor(a)
	if err != nil {
		p.raise(err)
		return empty{}
	}
	for i, other := range p.accessors {
		if other == a {
			return &accessorUse{index: i, t: t}
		}
	}
	p.accessors = append(p.accessors, a)
	return &accessorUse{index: len(p.accessors) - 1, t: t}
}

// raise is an error that is no message of XQuery itself.
func (p *parser) raise(err *sqlerr.Error) {
	if p.err == nil {
		p.err = err
	}
	p.at = len(p.text)
}

func (e *accessorUse) typ() Type { return e.t }

func (e *accessorUse) eval(r *run, _ focus) sequence {
	if e.index >= len(r.accessors) || r.accessors[e.index] == nil {
		return nil
	}
	return oneAtom(r.accessors[e.index])
}
