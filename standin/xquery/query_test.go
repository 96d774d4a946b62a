// SPDX-License-Identifier: Apache-2.0

package xquery_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
	"geosql.dev/standin/xquery"
)

// few is a budget that is spent in no time.
const few = 200_000

// evaluate gives the result of a method as text: its value, NULL, or its error.
func evaluate(t testing.TB, method, text, expression string) string {
	t.Helper()
	d, err := xmldata.Parse(text, xmldata.Options{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	q, err := xquery.Compile(
		expression,
		xquery.Static{Method: method + "()", Use: xquery.Uses[method], Accessor: known, Budget: few},
	)
	if err != nil {
		return fmt.Sprintf("%d %s", err.Number, err.Message)
	}
	values := make([]*xquery.Atom, len(q.Accessors))
	for i, a := range q.Accessors {
		values[i] = xquery.Read(xquery.Int, "2")
		if a.Name == "@s" {
			values[i] = xquery.Read(xquery.String, "two")
		}
	}
	out := ""
	switch method {
	case "value":
		value, ok, e := q.Value(d.Root(), d.Root(), values)
		if out, err = value, e; !ok {
			out = "NULL"
		}
	case "query":
		out, err = q.Query(d.Root(), d.Root(), values)
	case "exist":
		found, e := q.Exists(d.Root(), d.Root(), values)
		out, err = fmt.Sprint(found), e
	default:
		nodes, e := q.Nodes(d.Root(), d.Root(), values)
		for _, n := range nodes {
			out += fmt.Sprintf("%d ", n.Order)
		}
		err = e
	}
	if err != nil {
		return fmt.Sprintf("%d %s", err.Number, err.Message)
	}
	return out
}

func known(a xquery.Accessor) (xquery.Type, *sqlerr.Error) {
	if a.Name == "@s" {
		return xquery.Optional(xquery.String), nil
	}
	return xquery.Optional(xquery.Int), nil
}

const people = `<r><p id="1" n="a"><b>1</b><b>2</b></p><p id="2" n="b"><b>1</b><c>x<i>y</i>z</c></p><p id="03"/></r>`

func TestPaths(t *testing.T) {
	g := NewWithT(t)
	for expression, want := range map[string]string{
		"/r/p/b": "<b>1</b><b>2</b><b>1</b>", "//b": "<b>1</b><b>2</b><b>1</b>", "/r/p[2]/b": "<b>1</b>",
		"(/r/p/b)[2]": "<b>2</b>", "/r/p[@id=2]/c": "<c>x<i>y</i>z</c>",
		"/r/p[b='2']/@id/..": `<p id="1" n="a"><b>1</b><b>2</b></p>`, "data(/r/p/@id)": "1 2 03",
		"/r/p[last()]": `<p id="03"/>`, "/r/p[position()=3]": `<p id="03"/>`, "/r/p[b][c]/c/i": "<i>y</i>",
		"/r/p[@id=3]": `<p id="03"/>`, `/r/p[@id="3"]`: "", "//text()": "121xyz", "/r/p[not(b)]": `<p id="03"/>`,
		"/r/p[@id=1 or c]/b[1]": "<b>1</b><b>1</b>", "/r/*/c/text()": "xz",
		"//p[b=1][2]/@n/../c/i": "<i>y</i>", "/": people, "p": "", "r/p[3]": `<p id="03"/>`, "count(//b)": "3",
		"sum(//b)": "4", "avg(//b)": "1.33333333333333", "min(//p/@id)": "1",
		"max(//p/@id)": "3", "string((//c)[1])": "xyz", "concat('a', \"b\")": "ab", "(1, 2, 'x')": "1 2 x", "1 + 2 * 3": "7",
		"7 div 2": "3.5", "7 mod 4": "3", "-3": "-3", "(//b)[1] + 1": "2",
		"1.5 * 2": "3", "contains((/r/p/@n)[1], 'a')": "true", "substring('motor', 2, 3)": "oto", "upper-case('aé')": "AÉ",
		"string-length('abc')": "3", "local-name((/r/p)[1])": "p",
		"distinct-values(//b)": "1 2", "empty(//nope)": "true", "round(2.5), floor(-1.5), ceiling(1.2)": "3 -2 2",
		"number((//c)[1])": "NaN", "xs:int('5') + 1": "6", `"5" cast as xs:int?`: "5",
		"for $p in /r/p where $p/b return data($p/@id)":                   "1 2",
		"for $p in /r/p order by $p/@id descending return string($p/@id)": "2 1 03",
		"let $x := count(//p) return $x * 2":                              "6",
		"some $b in //b satisfies $b = 2":                                 "true",
		"every $b in //b satisfies $b = 2":                                "false", "if (//c) then 1 else 2": "1",
		"for $p in /r/p, $b in $p/b return $b": "<b>1</b><b>2</b><b>1</b>",
		"(: a (: nested :) comment :) 1":       "1", "1 eq 1": "true", "1 != 1": "false",
		"/r/p[b != 1]/b": "<b>1</b><b>2</b>",
		"self::node()":   people, "/r/child::p[1]/attribute::id/parent::p/b[2]": "<b>2</b>",
		"/descendant::i": "<i>y</i>", "/r/p/b[. = 2]": "<b>2</b>", `/r/p[@id = sql:variable("@i")]/c/i`: "<i>y</i>",
		`sql:variable("@s")`: "two", "/r/p[@*]/c/i": "<i>y</i>", "/*:r/p[3]": `<p id="03"/>`,
	} {
		g.Expect(evaluate(t, "query", people, expression)).To(Equal(want), expression)
	}
}

// docs/xquery/xml-construction-xquery.md.
func TestConstructors(t *testing.T) {
	g := NewWithT(t)
	for expression, want := range map[string]string{
		"<a/>": "<a/>", "<a>  {1}  </a>": "<a>1</a>", "<a>  x  {1}</a>": "<a>  x  1</a>", "<a>{1}  {2}</a>": "<a>12</a>",
		"<a>{1, 2}</a>": "<a>1 2</a>", "<a>{{x}}</a>": "<a>{x}</a>",
		`<a b="{/r/p/@id}" c='&lt;'>{/r/p[1]/b}</a>`: `<a b="1 2 03" c="&lt;"><b>1</b><b>2</b></a>`,
		"<a>{/r/p[1]/@n}</a>":                        `<a n="a"/>`, "<a><![CDATA[<x>]]></a>": "<a>&lt;x&gt;</a>",
		"<a><!-- c --><?t d?></a>": "<a><!-- c --><?t d?></a>", "element a {attribute b {1}, text {'x'}}": `<a b="1">x</a>`,
		"<a>{text {1, 2}}</a>": "<a>1 2</a>",
		"for $p in /r/p[b] return <i n=\"{$p/@n}\">{count($p/b)}</i>": `<i n="a">2</i><i n="b">1</i>`,
		"if (<a/>) then 1 else 2":                                     "1",
		`<p:a xmlns:p="urn:p"><p:b/></p:a>`:                           `<p:a xmlns:p="urn:p"><p:b/></p:a>`,
		`declare namespace q="urn:q"; <q:a q:b="1"/>`:                 `<q:a xmlns:q="urn:q" q:b="1"/>`,
		`declare default element namespace "urn:d"; <a><b/></a>`:      `<a xmlns="urn:d"><b/></a>`,
		"<a>{<b/>, <c/>}</a>":                                         "<a><b/><c/></a>",
	} {
		g.Expect(evaluate(t, "query", people, expression)).To(Equal(want), expression)
	}
}

func TestValues(t *testing.T) {
	g := NewWithT(t)
	for expression, want := range map[string]string{
		".": "121xyz", "(/r/p/@id)[1]": "1", "(//nope)[1]": "NULL", "count(//p)": "3", "(/r/p[2]/c/text())[1]": "x",
		"string((/r/p/c)[1])": "xyz", "data((//b)[2])": "2", "(.)[1]": "121xyz",
		"(./r/p/b/text())[1]": "1", "/r[1]/p[1]/b[1]": "1", "/r[1]/p[1]/@id": "1", "1 = 1": "true",
		"sum(//b) * 1000000": "4.0E6",
	} {
		g.Expect(evaluate(t, "value", people, expression)).To(Equal(want), expression)
	}
	g.Expect(evaluate(t, "exist", people, "/r/p[@id='2']")).To(Equal("true"))
	g.Expect(evaluate(t, "exist", people, "/r/nope")).To(Equal("false"))
	g.Expect(evaluate(t, "exist", people, "false()")).To(Equal("true"))
	g.Expect(evaluate(t, "nodes", people, "/r/p")).To(Equal("2 9 19 "))
}

func TestNamespaces(t *testing.T) {
	g := NewWithT(t)
	text := `<r xmlns:p="urn:p" xmlns="urn:d"><a><p:b p:c="1">x</p:b></a></r>`
	for expression, want := range map[string]string{
		`declare namespace q="urn:p"; (//q:b)[1]`:               `<q:b xmlns:q="urn:p" q:c="1">x</q:b>`,
		`declare default element namespace "urn:d"; /r/a`:       `<a xmlns="urn:d"><p1:b xmlns:p1="urn:p" p1:c="1">x</p1:b></a>`,
		`/*:r/*:a/*:b/@*[1]/..`:                                 `<p1:b xmlns:p1="urn:p" p1:c="1">x</p1:b>`,
		`declare namespace d="urn:d"; namespace-uri((/d:r)[1])`: "urn:d",
		`declare namespace q="urn:p"; data(//@q:c)`:             "1",
		`declare namespace q="urn:p"; //q:*/text()`:             "x",
		"/r": "", "/": text,
	} {
		g.Expect(evaluate(t, "query", text, expression)).To(Equal(want), expression)
	}
}

// docs/xquery/xquery-and-static-typing.md and docs/relational-databases/errors-events for the texts.
func TestWhatIsRefused(t *testing.T) {
	g := NewWithT(t)
	for _, e := range [][3]string{
		{"value", "/r/p/@id",
			"2389 XQuery [value()]: 'value()' requires a singleton (or empty sequence), found operand of type " +
				"'xdt:untypedAtomic *'"},
		{"value", "/r/p[1]/@id",
			"2389 XQuery [value()]: 'value()' requires a singleton (or empty sequence), found operand of type " +
				"'xdt:untypedAtomic *'"},
		{"value", "for $i in /r/p return \"x\"",
			"2389 XQuery [value()]: 'value()' requires a singleton (or empty sequence), found operand of type 'xs:string *'"},
		{"query", "string(/r/b)",
			"2389 XQuery [query()]: 'string()' requires a singleton (or empty sequence), found operand of type " +
				"'element(b,xdt:untyped) *'"},
		{"query", "/r/p[b eq 1]",
			"2389 XQuery [query()]: 'eq' requires a singleton (or empty sequence), found operand of type 'xdt:untypedAtomic *'"},
		{"query", "contains(/r/p, 'x')",
			"2389 XQuery [query()]: 'contains()' requires a singleton (or empty sequence), found operand of type " +
				"'xdt:untypedAtomic *'"},
		{"query", "/r/p[", "2209 XQuery [query()]: Syntax error near '<eof>'"},
		{"query", "/r/p]", "2370 XQuery [query()]: No more tokens expected at the end of the XQuery expression. Found ']'."},
		{"query", "", "6306 Invalid XQuery expression passed to XML data type method."},
		{"query", "/r/p[., .]", "9303 XQuery [query()]: Syntax error near ',', expected ']'."},
		{"query", "/q:r", "2229 XQuery [query()]: The name \"q\" does not denote a namespace."},
		{"query", "'a' = 1",
			"2234 XQuery [query()]: The operator \"=\" cannot be applied to \"xs:string\" and \"xs:integer\" operands."},
		{"query", "/r/p['a']",
			"2203 XQuery [query()]: Only 'http://www.w3.org/2001/XMLSchema#decimal?', " +
				"'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions allowed as predicates, found 'xs:string'"},
		{"query", "if (1) then 2 else 3",
			"2204 XQuery [query()]: Only 'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions allowed in " +
				"conditions and with logical operators, found 'xs:integer'"},
		{"query", "/r/ancestor::p", "9335 XQuery [query()]: The XQuery syntax 'ancestor' is not supported."},
		{"query", "/r/namespace::p", "2392 XQuery [query()]: 'namespace::' is not a valid axis"},
		{"query", "starts-with('a', 'b')",
			"2395 XQuery [query()]: There is no function '{http://www.w3.org/2004/07/xpath-functions}:starts-with()'"},
		{"query", "contains('a')",
			"2236 XQuery [query()]: There are not enough actual arguments in the call to function \"contains()\"."},
		{"query", "count(1, 2)", "2238 XQuery [query()]: Too many arguments in call to function 'count()'"},
		{"query", "position()", "2371 XQuery [query()]: 'position()' can only be used within a predicate or XPath selector"},
		{"query", "/r/@id", "2396 XQuery [query()]: Attribute may not appear outside of an element"},
		{"nodes", "data(/r)", "2374 XQuery [nodes()]: A node or set of nodes is required for 'nodes()'"},
		{"query", "(/r, 1)",
			"2210 XQuery [query()]: Heterogeneous sequences are not allowed: found 'xs:integer' and 'element(r,xdt:untyped) *'"},
		{"query", "$x", "2227 XQuery [query()]: The variable '$x' was not found in the scope in which it was referenced."},
		{"query", "<a>", "2267 XQuery [query()]: Expected end tag 'a'"},
		{"query", "<a></b>", "2323 XQuery [query()]: The end tag 'b' doesn't match opening tag 'a' from line 1"},
		{"query", "count(<a/>)", "2373 XQuery [query()]: count() is not supported with constructed XML"},
		{"query", "<a/>/b", "2373 XQuery [query()]: '/' is not supported with constructed XML"},
		{"value", "<a>1</a>", "2373 XQuery [value()]: data() is not supported with constructed XML"},
		{"query", `<a b="x{1}"/>`,
			"9313 XQuery [query()]: This version of the server does not support multiple expressions or expressions mixed " +
				"with strings in an attribute constructor."},
		{"query", "element {'a'} {1}",
			"9315 XQuery [query()]: Only constant expressions are supported for the name expression of computed element and " +
				"attribute constructors."},
		{"query", "<!-- a -- b -->",
			"9322 XQuery [query()]: Two consecutive '-' can only appear in a comment constructor if they are used to close " +
				"the comment ('-->')."},
		{"query", "<a>}</a>",
			"9324 XQuery [query()]: Found '}' without matching '{'. If you want to use the characters '{' or '}', you need " +
				"to escape them as '{{' or '}}' respectively."},
		{"query", `<a b="1">{attribute b {2}}</a>`,
			"6308 XML well-formedness check: Duplicate attribute 'b'. Rewrite your XQuery so it returns well-formed XML."},
		{"query", "attribute a {1}", "2396 XQuery [query()]: Attribute may not appear outside of an element"},
		{"query", "'a", "2274 XQuery [query()]: Unterminated string constant (started on line 1)"},
		{"query", "/r | /p", "9335 XQuery [query()]: The XQuery syntax 'union' is not supported."},
		{"query", "1 idiv 2", "9335 XQuery [query()]: The XQuery syntax 'idiv' is not supported."},
		{"query", "5 cast as xs:int",
			"9301 XQuery [query()]: In this version of the server, 'cast as <type>' is not available. Please use the 'cast " +
				"as <type> ?' syntax."},
		{"query", "xs:int('a')", "9319 XQuery [query()]: Static simple type validation: Invalid simple type value 'a'."},
		{"query", "/r/p/string()", "9335 XQuery [query()]: The XQuery syntax '/function()' is not supported."},
		{"query", "declare namespace p='u' /p:a",
			"9327 XQuery [query()]: All prolog entries need to end with ';', found '/'."},
		{"query", "'a' + 1",
			"9308 XQuery [query()]: The argument of '+' must be of a single numeric primitive type or " +
				"'http://www.w3.org/2004/07/xpath-datatypes#untypedAtomic'. Found argument of type 'xs:string'."},
		{"query", `sql:variable("@s") = 1`,
			"2234 XQuery [query()]: The operator \"=\" cannot be applied to \"xs:string ?\" and \"xs:integer\" operands."},
		{"query", strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100), "2363 XQuery [query()]: XQuery too complex"},
		{"query", strings.Repeat("1+", 5000) + "1", "2363 XQuery [query()]: XQuery too complex"},
		{"query", "/r/p instance of element()",
			"40517 instance of in XQuery is not supported by the stand-in engine (see its README, Limits)."},
	} {
		g.Expect(evaluate(t, e[0], people, e[1])).To(Equal(e[2]), e[1])
	}
}

// An evaluation that would go on for ever ends with an error, whatever grows: loops, texts or sequences.
func TestEvaluationsEnd(t *testing.T) {
	g := NewWithT(t)
	wide := "<r>" + strings.Repeat("<a/>", 1000) + "</r>"
	lets := func(step string) string {
		var b strings.Builder
		for range 60 {
			b.WriteString("let $x := " + step + " ")
		}
		return "let $x := 'abcdefghijklmnopqrstuvwxyz' " + b.String() + "return count($x)"
	}
	for _, expression := range []string{"count(//*[//*[//*[//*[not(//b)]]]])", lets("concat($x, $x)"), lets("($x, $x)"),
		"count(for $a in //a, $b in //a, $c in //a, $d in //a return 1)",
		"count(//a[count(//a[count(//a[. = 'x']) = 0]) = 0])"} {
		g.Expect(evaluate(t, "value", wide, expression)).To(HavePrefix("40517 "), expression)
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"/r/p[@id='2']/b[1]", "for $x in //b order by $x return <a>{$x}</a>",
		"declare namespace p='u'; //p:*[last()]", "sum(//b) div 2 + xs:int('3')", "if (//a) then 1 else ()",
		`sql:column("t.c") = sql:variable("@s")`, "(1,2)[. > 1]", "some $x in //b satisfies contains($x, 'a')",
		"insert <a x='{1}'>{//b}</a> as first into (/r)[1]", "delete //b[1]", "replace value of (/r/p/@id)[1] with ()",
		"<a xmlns:p='u'><p:b/>{{<![CDATA[x]]>&lt;</a>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		for _, method := range []string{"value", "query", "exist", "nodes"} {
			evaluate(t, method, people, expression)
		}
		c, err := xquery.CompileChange(expression, xquery.Static{Method: "modify()", Accessor: known, Budget: few})
		if err != nil {
			return
		}
		d, err := xmldata.Parse(people, xmldata.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if changed, err := c.Apply(d, make([]*xquery.Atom, len(c.Accessors))); err == nil {
			if _, err := xmldata.Parse(changed, xmldata.Options{Preserve: true}); err != nil && err.Number != 6335 {
				t.Fatalf("%q makes %q, which is not well-formed: %v", expression, changed, err)
			}
		}
	})
}
