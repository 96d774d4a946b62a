// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
)

// splitView takes a query that begins with common table expressions, which teesql does not read there, out of a
// definition of a view. It returns the text with a query of the same length in its place, and the query at its place in
// a text that is blank before it; empty for other batches.
func (o *offsets) splitView(source string, tokens []token) (string, string) {
	at := 0
	switch {
	case tokens[0].is("CREATE") && tokens[1].is("OR"):
		at = 3
	case tokens[0].is("CREATE"), tokens[0].is("ALTER"):
		at = 1
	}
	if at == 0 || at >= len(tokens) || !tokens[at].is("VIEW") {
		return source, ""
	}
	for at++; at+1 < len(tokens); at++ {
		if tokens[at].is("AS") {
			break
		}
	}
	if at+1 >= len(tokens) || !tokens[at+1].is("WITH") {
		return source, ""
	}
	from := o.sourceAt(source, tokens[at+1].pos)
	rest := source[from:]
	stub := "SELECT 1 AS c"
	if len(rest) < len(stub) {
		return source, ""
	}
	return source[:from] + stub, blank(source[:from]) + rest
}

// blank is a text of the same code units and lines without anything in it.
func blank(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			out.WriteByte('\n')
		case r > 0xFFFF:
			out.WriteString("  ")
		default:
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// joinView puts the query that splitView took out into its view.
func joinView(script *ast.Script, body string, o *offsets, tokens []token) *sqlerr.Error {
	if body == "" || len(script.Batches) != 1 || len(script.Batches[0].Statements) != 1 {
		return nil
	}
	inner, err := parseOrdinary(body, o, tokens)
	if err != nil {
		return err
	}
	if len(inner.Batches) != 1 || len(inner.Batches[0].Statements) == 0 {
		return near(tokens, len(tokens)-1)
	}
	query, ok := inner.Batches[0].Statements[0].(*ast.SelectStatement)
	if !ok || len(inner.Batches[0].Statements) > 1 {
		return near(tokens, len(tokens)-1)
	}
	node := script.Batches[0].Statements[0]
	switch n := node.(type) {
	case *ast.CreateViewStatement:
		n.SelectStatement = query
	case *ast.CreateOrAlterViewStatement:
		n.SelectStatement = query
	case *ast.AlterViewStatement:
		n.SelectStatement = query
	}
	f := fragment(node)
	f.SetSpan(f.StartOffset, units(strings.TrimRight(body, "; \t\r\n"))-f.StartOffset, f.StartLine, f.StartColumn)
	return nil
}

// sourceAt is the byte of teesql's text that a byte of the batch became.
func (o *offsets) sourceAt(source string, pos int) int {
	unit := units(o.text[:pos])
	for _, in := range o.inserted {
		if in.byte <= pos {
			unit += in.length
		}
	}
	return byteOfUnit(source, unit)
}
