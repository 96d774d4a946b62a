// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// unbalanced refuses a batch with a parenthesis that nothing closes or opens; teesql lets some of them pass.
func unbalanced(tokens []token.Token) *sqlerr.Error {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.Kind != token.Punct:
		case t.Text == "(":
			depth++
		case t.Text == ")":
			if depth--; depth < 0 {
				return token.Near(tokens, i)
			}
		}
	}
	if depth > 0 {
		return token.Near(tokens, len(tokens)-1)
	}
	return nil
}

// InModule names the module that the batch defines, if it defines one, in an error of its text.
func (b *Batch) InModule(err *sqlerr.Error) *sqlerr.Error { return inModule(err, b.tokens) }

// inModule names the module that a batch defines in an error of the batch: messages of a module's text tell its name.
func inModule(err *sqlerr.Error, tokens []token.Token) *sqlerr.Error {
	at, kind := token.ModuleName(tokens)
	if err == nil || kind == "" || !token.IsName(tokens[at]) {
		return err
	}
	for at+2 < len(tokens) && tokens[at+1].Is(".") && token.IsName(tokens[at+2]) {
		at += 2
	}
	err.Procedure = tokens[at].Value
	return err
}

// RepeatedInColumn is what the definition of a column says twice, NULL or DEFAULT, of which teesql keeps the last;
// empty when it says each once at most.
func RepeatedInColumn(definition string) string {
	tokens, err := token.Split(definition, true)
	if err != nil {
		return ""
	}
	depth, nulls, defaults := 0, 0, 0
	for i, t := range tokens {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth > 0 || i == 0 || tokens[i-1].Is("SET"):
		case t.Is("NULL") && !tokens[i-1].Is("DEFAULT"):
			nulls++
		case t.Is("DEFAULT"):
			defaults++
		}
	}
	switch {
	case nulls > 1:
		return "NULL"
	case defaults > 1:
		return "DEFAULT"
	}
	return ""
}
