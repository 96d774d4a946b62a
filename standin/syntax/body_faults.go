// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"geosql.dev/standin/sqlerr"
)

// faultOfBody is what is wrong with the query of a view or the body of a function, read by itself: teesql forgets
// faults of both, and takes the END of the function for one. query is that of a view which splitView took out of the
// source.
func (o *offsets) faultOfBody(source, query string, tokens []token) *sqlerr.Error {
	at, kind := moduleName(tokens)
	if query != "" {
		_, err := parseOrdinary(query, o, tokens)
		return err
	}
	if kind == "VIEW" {
		return o.judgeView(source, tokens)
	}
	if kind != "FUNCTION" {
		return nil
	}
	from, to := bodyAfter(tokens, at, "BEGIN"), len(tokens)-1
	if from == 0 {
		from = bodyAfter(tokens, at, "RETURN")
	}
	if from == 0 || from >= to {
		return nil
	}
	begin, end := o.sourceAt(source, tokens[from].pos), o.sourceAt(source, tokens[to-1].end)
	_, err := parseOrdinary(blank(source[:begin])+source[begin:end], o, endingAt(tokens, to))
	return err
}

// bodyAfter is the first place of a word outside of parentheses behind the name of a module, 0 when it is nowhere.
func bodyAfter(tokens []token, at int, word string) int {
	depth := 0
	for ; at < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && t.is(word) && !tokens[at-1].isOneOf("EXECUTE", "EXEC", "."):
			return at
		}
	}
	return 0
}
