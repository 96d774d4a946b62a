// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// endless refuses lists in which teesql waits without end for what an element of theirs begins with: the numbers of ON
// PARTITIONS (docs/t-sql/statements/alter-table-transact-sql.md, single_partition_rebuild__option), the namespaces of
// XMLNAMESPACES (docs/t-sql/xml/with-xmlnamespaces.md, Syntax), the columns of a view
// (docs/t-sql/statements/create-view-transact-sql.md, Syntax) and the values of OPTIMIZE FOR
// (docs/t-sql/queries/hints-transact-sql-query.md, Syntax).
func endless(tokens []token, inside []bool) *sqlerr.Error {
	view := endOfViewName(tokens)
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i+1].is("(") {
			continue
		}
		element := namespaceAndPrefix
		switch {
		case tokens[i].is("XMLNAMESPACES"):
		case tokens[i].is("FOR") && tokens[i-1].is("OPTIMIZE"):
			element = valueToOptimizeFor
		case tokens[i].is("PARTITIONS") && tokens[i-1].is("ON"):
			element = partitionNumbers
		case i == view:
			element = nameOfColumn
		default:
			continue
		}
		for at := i + 2; ; at++ {
			next, ok := element(tokens, at)
			if !ok || !tokens[next].isOneOf(",", ")") {
				return near(tokens, next)
			}
			if at = next; tokens[at].is(")") {
				break
			}
		}
	}
	return nil
}

// partitionNumbers reads a partition's number, or a range of them, to the token behind it; ok is false at the token
// that is neither.
func partitionNumbers(tokens []token, at int) (next int, ok bool) {
	if tokens[at].kind != tokenInteger {
		return at, false
	}
	if !tokens[at+1].is("TO") {
		return at + 1, true
	}
	if tokens[at+2].kind != tokenInteger {
		return at + 2, false
	}
	return at + 3, true
}

// namespaceAndPrefix reads a namespace and its prefix, or DEFAULT and a namespace.
func namespaceAndPrefix(tokens []token, at int) (next int, ok bool) {
	switch {
	case tokens[at].is("DEFAULT") && tokens[at+1].kind == tokenString:
		return at + 2, true
	case tokens[at].is("DEFAULT"):
		return at + 1, false
	case tokens[at].kind != tokenString:
		return at, false
	case !tokens[at+1].is("AS"):
		return at + 1, false
	case !isName(tokens[at+2]):
		return at + 2, false
	}
	return at + 3, true
}

// endOfViewName is the last token of the name of the view that a batch defines, 0 when it defines none.
func endOfViewName(tokens []token) int {
	at, kind := moduleName(tokens)
	if kind != "VIEW" {
		return 0
	}
	for at+2 < len(tokens) && tokens[at+1].is(".") {
		at += 2
	}
	return at
}

// nameOfColumn reads one name.
func nameOfColumn(tokens []token, at int) (next int, ok bool) {
	if !isName(tokens[at]) {
		return at, false
	}
	return at + 1, true
}

// valueToOptimizeFor reads a variable and the constant, or UNKNOWN, that a query is optimized for.
func valueToOptimizeFor(tokens []token, at int) (next int, ok bool) {
	switch {
	case tokens[at].kind != tokenVariable:
		return at, false
	case tokens[at+1].is("UNKNOWN"):
		return at + 2, true
	case !tokens[at+1].is("="):
		return at + 1, false
	}
	if at += 2; tokens[at].isOneOf("-", "+") {
		at++
	}
	switch tokens[at].kind {
	case tokenInteger, tokenNumber, tokenString, tokenBinary, tokenMoney:
		return at + 1, true
	}
	if tokens[at].is("NULL") {
		return at + 1, true
	}
	return at, false
}
