// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// endless refuses lists in which teesql waits without end for what an element of theirs begins with: the numbers of ON
// PARTITIONS (docs/t-sql/statements/alter-table-transact-sql.md, single_partition_rebuild__option), the namespaces of
// XMLNAMESPACES (docs/t-sql/xml/with-xmlnamespaces.md, Syntax), the columns of a view
// (docs/t-sql/statements/create-view-transact-sql.md, Syntax) and the values of OPTIMIZE FOR
// (docs/t-sql/queries/hints-transact-sql-query.md, Syntax).
func endless(tokens []token.Token, inside []bool) *sqlerr.Error {
	view := endOfViewName(tokens)
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i+1].Is("(") {
			continue
		}
		element := namespaceAndPrefix
		switch {
		case tokens[i].Is("XMLNAMESPACES"):
		case tokens[i].Is("FOR") && tokens[i-1].Is("OPTIMIZE"):
			element = valueToOptimizeFor
		case tokens[i].Is("PARTITIONS") && tokens[i-1].Is("ON"):
			element = partitionNumbers
		case i == view:
			element = nameOfColumn
		default:
			continue
		}
		for at := i + 2; ; at++ {
			next, ok := element(tokens, at)
			if !ok || !tokens[next].IsOneOf(",", ")") {
				return token.Near(tokens, next)
			}
			if at = next; tokens[at].Is(")") {
				break
			}
		}
	}
	return nil
}

// partitionNumbers reads a partition's number, or a range of them, to the token behind it; ok is false at the token
// that is neither.
func partitionNumbers(tokens []token.Token, at int) (next int, ok bool) {
	if tokens[at].Kind != token.Integer {
		return at, false
	}
	if !tokens[at+1].Is("TO") {
		return at + 1, true
	}
	if tokens[at+2].Kind != token.Integer {
		return at + 2, false
	}
	return at + 3, true
}

// namespaceAndPrefix reads a namespace and its prefix, or DEFAULT and a namespace.
func namespaceAndPrefix(tokens []token.Token, at int) (next int, ok bool) {
	switch {
	case tokens[at].Is("DEFAULT") && tokens[at+1].Kind == token.String:
		return at + 2, true
	case tokens[at].Is("DEFAULT"):
		return at + 1, false
	case tokens[at].Kind != token.String:
		return at, false
	case !tokens[at+1].Is("AS"):
		return at + 1, false
	case !token.IsName(tokens[at+2]):
		return at + 2, false
	}
	return at + 3, true
}

// endOfViewName is the last token of the name of the view that a batch defines, 0 when it defines none.
func endOfViewName(tokens []token.Token) int {
	at, kind := token.ModuleName(tokens)
	if kind != "VIEW" {
		return 0
	}
	for at+2 < len(tokens) && tokens[at+1].Is(".") {
		at += 2
	}
	return at
}

// nameOfColumn reads one name.
func nameOfColumn(tokens []token.Token, at int) (next int, ok bool) {
	if !token.IsName(tokens[at]) {
		return at, false
	}
	return at + 1, true
}

// valueToOptimizeFor reads a variable and the constant, or UNKNOWN, that a query is optimized for.
func valueToOptimizeFor(tokens []token.Token, at int) (next int, ok bool) {
	switch {
	case tokens[at].Kind != token.Variable:
		return at, false
	case tokens[at+1].Is("UNKNOWN"):
		return at + 2, true
	case !tokens[at+1].Is("="):
		return at + 1, false
	}
	if at += 2; tokens[at].IsOneOf("-", "+") {
		at++
	}
	switch tokens[at].Kind {
	case token.Integer, token.Number, token.String, token.Binary, token.Money:
		return at + 1, true
	}
	if tokens[at].Is("NULL") {
		return at + 1, true
	}
	return at, false
}
