// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// faultOfBody is what is wrong with the query of a view or the body of a function, read by itself: teesql forgets
// faults of both, and takes the END of the function for one. query is that of a view which splitView took out of the
// source.
func (o *offsets) faultOfBody(source, query string, tokens []token.Token) *sqlerr.Error {
	at, kind := token.ModuleName(tokens)
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
	from, to := token.BodyAfter(tokens, at, "BEGIN"), len(tokens)-1
	if from == 0 {
		from = token.BodyAfter(tokens, at, "RETURN")
	}
	if from == 0 || from >= to {
		return nil
	}
	begin, end := o.sourceAt(source, tokens[from].Pos), o.sourceAt(source, tokens[to-1].End)
	_, err := parseOrdinary(blank(source[:begin])+source[begin:end], o, endingAt(tokens, to))
	return err
}
