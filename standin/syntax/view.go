// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// splitView takes a query that begins with common table expressions, which teesql does not read there, out of a
// definition of a view. It returns the text with a query of the same length in its place, and the query at its place in
// a text that is blank before it; empty for other batches.
func (o *offsets) splitView(source string, tokens []token.Token) (string, string) {
	at := token.ModuleBody(tokens, "VIEW")
	if at == 0 || !tokens[at].Is("WITH") {
		return source, ""
	}
	from := o.sourceAt(source, tokens[at].Pos)
	rest := source[from:]
	stub := "SELECT 1 AS c"
	if len(rest) < len(stub) {
		return source, ""
	}
	return source[:from] + stub, blank(source[:from]) + rest
}

// judgeView parses the query of a view by itself: teesql reads errors in it over, and what it makes of the rest says
// only that something is wrong.
func (o *offsets) judgeView(source string, tokens []token.Token) *sqlerr.Error {
	at := token.ModuleBody(tokens, "VIEW")
	if at == 0 {
		return nil
	}
	end := len(tokens) - 1
	for end > at+3 && tokens[end-1].Is(";") {
		end--
	}
	if tokens[end-1].Is("OPTION") && tokens[end-2].Is("CHECK") && tokens[end-3].Is("WITH") {
		end -= 3
	}
	from := o.sourceAt(source, tokens[at].Pos)
	_, err := parseOrdinary(
		blank(source[:from])+source[from:o.sourceAt(source, tokens[end-1].End)],
		o,
		endingAt(tokens, end),
	)
	return err
}

// endingAt are the tokens before one, and the end of the batch.
func endingAt(tokens []token.Token, end int) []token.Token {
	return append(append([]token.Token(nil), tokens[:end]...), tokens[len(tokens)-1])
}

// judgeChecks parses the condition of each CHECK, and of each index within a table, by itself: teesql leaves out,
// without a word, what it cannot read.
func (o *offsets) judgeChecks(source string, tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		from, to := 0, 0
		switch {
		case inside[i]:
		case tokens[i].Is("CHECK"):
			if from = i + 1; tokens[from].Is("NOT") { // NOT FOR REPLICATION
				from += 3
			}
			if from < len(tokens) && tokens[from].Is("(") {
				to = token.ClosingParenthesis(tokens, from) + 1
			}
		case tokens[i].Is("INDEX") && i > 0 && tokens[i-1].IsOneOf("(", ","):
			from, to = filterOfIndex(tokens, i)
		}
		if from == 0 || to <= from {
			continue
		}
		if err := o.judgeCondition(source, tokens, from, to, tokens[i].Is("INDEX")); err != nil {
			return err
		}
	}
	return nil
}

// judgeCondition parses the condition between two tokens by itself. That of an index takes comparisons alone: what is
// none is 102 there.
func (o *offsets) judgeCondition(source string, tokens []token.Token, from, to int, ofIndex bool) *sqlerr.Error {
	const condition = "IF "
	at := o.sourceAt(source, tokens[from].Pos)
	text := blank(source[:at-len(condition)]) + condition + source[at:o.sourceAt(source, tokens[to-1].End)] + " RETURN"
	_, message := teesql(text)
	switch {
	case message == "":
		return nil
	case notACondition(message) && !ofIndex:
		return sqlerr.New(4145, 1, ")").At(tokens[to-1].Line)
	}
	err := nearFailure(text, o, message, tokens)
	if !notACondition(message) {
		return err
	}
	for i := from; i < to; i++ {
		if tokens[i].Pos == err.Offset-1 {
			return token.Near(tokens, i)
		}
	}
	return token.Near(tokens, to)
}

// filterOfIndex is where the condition of an index within CREATE TABLE begins and ends, twice the same without one.
func filterOfIndex(tokens []token.Token, i int) (from, to int) {
	for at, depth := i+1, 0; at+1 < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.Is("("):
			depth++
		case t.Is(")") && depth == 0, depth == 0 && from > 0 && t.IsOneOf(",", "WITH", "ON"):
			return from, at
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is(",") && from == 0:
			return 0, 0
		case depth == 0 && t.Is("WHERE"):
			from = at + 1
		}
	}
	return 0, 0
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
func joinView(script *ast.Script, body string, o *offsets, tokens []token.Token) *sqlerr.Error {
	if body == "" || len(script.Batches) != 1 || len(script.Batches[0].Statements) != 1 {
		return nil
	}
	inner, err := parseOrdinary(body, o, tokens)
	if err != nil {
		return err
	}
	if len(inner.Batches) != 1 || len(inner.Batches[0].Statements) == 0 {
		return token.Near(tokens, len(tokens)-1)
	}
	query, ok := inner.Batches[0].Statements[0].(*ast.SelectStatement)
	if !ok || len(inner.Batches[0].Statements) > 1 {
		return token.Near(tokens, len(tokens)-1)
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
		if in.byte < pos || in.byte == pos && in.replaced == 0 {
			unit += in.length - in.replaced
		}
	}
	return byteOfUnit(source, unit)
}
