// SPDX-License-Identifier: Apache-2.0

package token

import "geosql.dev/standin/sqlerr"

// Near is error 102, or 156 when the token is a reserved word. Where the text ends too early it is 102 near the last
// token, whatever that is.
func Near(tokens []Token, at int) *sqlerr.Error {
	t := tokens[at]
	ended := t.Kind == End && at > 0
	if ended {
		t = tokens[at-1]
	}
	text := t.Text
	if t.Kind == String || t.Kind == Quoted {
		text = t.Value
	}
	err := sqlerr.New(102, 1, text).At(t.Line)
	if t.Kind == Word && t.Reserved && !ended {
		err = sqlerr.New(156, 1, t.Text).At(t.Line)
	}
	err.Offset = tokens[at].Pos + 1
	return err
}
