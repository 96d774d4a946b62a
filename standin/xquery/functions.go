// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/xmldata"
)

// function is a function of XQuery that SQL Server has (docs/xquery/xquery-functions-against-the-xml-data-type.md).
type function struct {
	name string
	min  int
	// takes has a letter for each argument, the last one for all further ones: s a string, n a number, i an item, g a
	// number or what has no type, c a condition, * any sequence, N a node or none. Those but * and c are one value or
	// none.
	takes string
	// variadic allows any number of arguments.
	variadic bool
	result   func(args []Type) Type
	run      func(r *run, f focus, args []sequence) sequence
}

func always(t Type) func([]Type) Type { return func([]Type) Type { return t } }

// functions are all functions, by name in the namespace fn.
var functions = map[string]*function{}

func init() {
	for _, f := range []*function{
		{name: "true", result: always(One(Boolean)),
			run: func(*run, focus, []sequence) sequence { return oneAtom(boolAtom(true)) }},
		{name: "false", result: always(One(Boolean)),
			run: func(*run, focus, []sequence) sequence { return oneAtom(boolAtom(false)) }},
		{name: "not", min: 1, takes: "c", result: always(One(Boolean)),
			run: func(_ *run, _ focus, a []sequence) sequence { return oneAtom(boolAtom(!truth(a[0]))) }},
		{name: "empty", min: 1, takes: "*", result: always(One(Boolean)),
			run: func(_ *run, _ focus, a []sequence) sequence { return oneAtom(boolAtom(len(a[0]) == 0)) }},
		{name: "count", min: 1, takes: "*", result: always(One(Integer)),
			run: func(_ *run, _ focus, a []sequence) sequence { return oneAtom(wholeAtom(len(a[0]))) }},
		{name: "position", result: always(One(Integer)),
			run: func(_ *run, f focus, _ []sequence) sequence { return oneAtom(wholeAtom(f.position)) }},
		{name: "last", result: always(One(Integer)),
			run: func(_ *run, f focus, _ []sequence) sequence { return oneAtom(wholeAtom(f.size)) }},
		{name: "data", min: 1, takes: "*", result: func(t []Type) Type { return t[0].atomized() },
			run: func(r *run, _ focus, a []sequence) sequence { return atoms(r.atomize(a[0])) }},
		{name: "distinct-values", min: 1, takes: "*", result: func(t []Type) Type { return t[0].atomized() },
			run: distinctValues},
		{name: "string", takes: "i", result: always(One(String)),
			run: textFunction(func(s string) *Atom { return textAtom(String, s) })},
		{name: "string-length", takes: "s", result: always(One(Integer)),
			run: textFunction(func(s string) *Atom { return wholeAtom(utf8.RuneCountInString(s)) })},
		{name: "upper-case", min: 1, takes: "s", result: always(One(String)),
			run: textFunction(func(s string) *Atom { return textAtom(String, strings.ToUpper(s)) })},
		{name: "lower-case", min: 1, takes: "s", result: always(One(String)),
			run: textFunction(func(s string) *Atom { return textAtom(String, strings.ToLower(s)) })},
		{name: "concat", min: 2, takes: "s", variadic: true, result: always(One(String)), run: concat},
		{name: "contains", min: 2, takes: "ss", result: always(One(Boolean)), run: contains},
		{name: "substring", min: 2, takes: "snn", result: always(One(String)), run: substring},
		{name: "local-name", takes: "N", result: always(One(String)),
			run: nameFunction(func(n *xmldata.Node) string { return n.Name.Local })},
		{name: "namespace-uri", takes: "N", result: always(One(String)),
			run: nameFunction(func(n *xmldata.Node) string { return n.Name.Space })},
		{name: "number", takes: "N", result: always(One(Double)), run: number},
		{name: "sum", min: 1, takes: "*", result: func(t []Type) Type { return One(summed(t[0])) }, run: aggregate},
		{name: "avg", min: 1, takes: "*", result: func(t []Type) Type { return Optional(averaged(t[0])) }, run: average},
		{name: "min", min: 1, takes: "*", result: extreme, run: extremes(-1)},
		{name: "max", min: 1, takes: "*", result: extreme, run: extremes(1)},
		{name: "floor", min: 1, takes: "g", result: rounded, run: rounding(math.Floor, decimal.Decimal.Floor)},
		{name: "ceiling", min: 1, takes: "g", result: rounded, run: rounding(math.Ceil, decimal.Decimal.Ceil)},
		{name: "round", min: 1, takes: "g", result: rounded,
			run: rounding(func(f float64) float64 { return math.Floor(f + 0.5) },
				func(d decimal.Decimal) decimal.Decimal { return d.Add(half).Floor() })},
	} {
		functions[f.name] = f
	}
}

var half = decimal.New(5, -1)

// refusedFunctions are those that SQL Server has and the stand-in has not.
var refusedFunctions = map[string]bool{
	"id":                       true,
	"expanded-QName":           true,
	"local-name-from-QName":    true,
	"namespace-uri-from-QName": true,
}

func atoms(list []*Atom) sequence {
	out := make(sequence, len(list))
	for i, a := range list {
		out[i].atom = a
	}
	return out
}

// argumentText is the text of an argument that is one item or none.
func (r *run) argumentText(s sequence) string {
	if list := r.atomize(s); len(list) > 0 {
		return list[0].String()
	}
	return ""
}

// argumentOrItem is the only argument of a function, or the context item when it is called without.
func argumentOrItem(f focus, a []sequence) sequence {
	if len(a) > 0 {
		return a[0]
	}
	return sequence{f.item}
}

func textFunction(make func(string) *Atom) func(*run, focus, []sequence) sequence {
	return func(r *run, f focus, a []sequence) sequence {
		t := r.argumentText(argumentOrItem(f, a))
		r.spend(len(t) / 16)
		return oneAtom(make(t))
	}
}

func nameFunction(name func(*xmldata.Node) string) func(*run, focus, []sequence) sequence {
	return func(_ *run, f focus, a []sequence) sequence {
		s := argumentOrItem(f, a)
		if !isNode(s) {
			return oneAtom(textAtom(String, ""))
		}
		return oneAtom(textAtom(String, name(s[0].node)))
	}
}

func number(r *run, f focus, a []sequence) sequence {
	if list := r.atomize(argumentOrItem(f, a)); len(list) > 0 {
		if n := list[0].cast(Double); n != nil {
			return oneAtom(n)
		}
	}
	return oneAtom(realAtom(Double, math.NaN()))
}

func concat(r *run, _ focus, a []sequence) sequence {
	var b strings.Builder
	for _, s := range a {
		t := r.argumentText(s)
		if !r.spend(len(t) / 16) {
			return nil
		}
		b.WriteString(t)
	}
	return oneAtom(textAtom(String, b.String()))
}

func contains(r *run, _ focus, a []sequence) sequence {
	s := r.argumentText(a[0])
	r.spend(len(s) / 16)
	return oneAtom(boolAtom(strings.Contains(s, r.argumentText(a[1]))))
}

func substring(r *run, _ focus, a []sequence) sequence {
	s := []rune(r.argumentText(a[0]))
	if !r.spend(len(s) / 16) {
		return nil
	}
	place := func(i int) (float64, bool) {
		list := r.atomize(a[i])
		if len(list) == 0 {
			return 0, false
		}
		n := list[0].cast(Double)
		if n == nil || math.IsNaN(n.Real) {
			return 0, false
		}
		return math.Floor(n.Real + 0.5), true
	}
	from, ok := place(1)
	to := math.Inf(1)
	if ok && len(a) > 2 {
		length, given := place(2)
		to, ok = from+length, given
	}
	if !ok || math.IsNaN(to) {
		return oneAtom(textAtom(String, ""))
	}
	first, end := math.Max(from-1, 0), math.Min(to-1, float64(len(s)))
	if first >= end {
		return oneAtom(textAtom(String, ""))
	}
	return oneAtom(textAtom(String, string(s[int(first):int(end)])))
}

func distinctValues(r *run, _ focus, a []sequence) sequence {
	var out []*Atom
	seen := map[string]bool{}
	for _, v := range r.atomize(a[0]) {
		key := v.String()
		if v.Kind.isNumber() {
			key = "#" + v.cast(Double).String()
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return atoms(out)
}

// summed is the type of a sum.
func summed(t Type) Kind {
	switch k := t.atomized().Kind; {
	case k.isInteger() || k == Nothing:
		return Integer
	case k.isNumber():
		return k
	}
	return Double
}

func averaged(t Type) Kind {
	if k := summed(t); k != Integer {
		return k
	}
	return Decimal
}

func extreme(t []Type) Type {
	k := t[0].atomized()
	if k.Kind == UntypedAtomic {
		k.Kind = Double
	}
	k.occurs &= zero
	return k
}

func rounded(t []Type) Type {
	return Type{Kind: summed(t[0]), occurs: t[0].occurs & zero}
}

// total adds numbers, which have a type of their own or become xs:double; nil when one of them is none.
func (r *run) total(s sequence) (sum *Atom, n int) {
	values := r.atomize(s)
	for _, v := range values {
		if v.Kind == UntypedAtomic {
			v = v.cast(Double)
		}
		switch {
		case v == nil || !v.Kind.isNumber():
			return nil, 0
		case sum == nil:
			sum = v
		case sum.Kind.isFloating() || v.Kind.isFloating():
			k := promoted(sum.Kind, v.Kind)
			sum = realAtom(k, sum.cast(k).Real+v.cast(k).Real)
		default:
			sum = exact(promoted(sum.Kind, v.Kind), sum.Number.Add(v.Number))
		}
		if sum == nil {
			return nil, 0
		}
	}
	return sum, len(values)
}

func aggregate(r *run, _ focus, a []sequence) sequence {
	if len(a[0]) == 0 {
		return oneAtom(wholeAtom(0))
	}
	sum, _ := r.total(a[0])
	if sum == nil {
		return nil
	}
	return oneAtom(sum)
}

func average(r *run, _ focus, a []sequence) sequence {
	sum, n := r.total(a[0])
	if sum == nil {
		return nil
	}
	if sum.Kind.isFloating() {
		return oneAtom(realAtom(sum.Kind, sum.Real/float64(n)))
	}
	v := exact(Decimal, sum.Number.DivRound(decimal.NewFromInt(int64(n)), exactScale+2).Truncate(exactScale))
	if v == nil {
		return nil
	}
	return oneAtom(v)
}

func extremes(sign int) func(*run, focus, []sequence) sequence {
	return func(r *run, _ focus, a []sequence) sequence {
		var best *Atom
		for _, v := range r.atomize(a[0]) {
			if v.Kind == UntypedAtomic {
				v = v.cast(Double)
			}
			if v == nil {
				return nil
			}
			if best == nil {
				best = v
				continue
			}
			if order, ok := compare(v, best); ok && order*sign > 0 {
				best = v
			}
		}
		if best == nil {
			return nil
		}
		return oneAtom(best)
	}
}

func rounding(
	floating func(float64) float64,
	whole func(decimal.Decimal) decimal.Decimal,
) func(*run, focus, []sequence) sequence {
	return func(r *run, _ focus, a []sequence) sequence {
		list := r.atomize(a[0])
		if len(list) == 0 {
			return nil
		}
		v := list[0]
		if v.Kind == UntypedAtomic {
			v = v.cast(Double)
		}
		var out *Atom
		switch {
		case v == nil:
		case v.Kind.isFloating():
			out = realAtom(v.Kind, floating(v.Real))
		case v.Kind.isExact():
			out = exact(v.Kind, whole(v.Number))
		}
		if out == nil {
			return nil
		}
		return oneAtom(out)
	}
}
