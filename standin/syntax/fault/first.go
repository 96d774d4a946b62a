// SPDX-License-Identifier: Apache-2.0

// Package fault refuses what the tokens of a batch alone tell is wrong, before teesql sees its text: what teesql lets
// pass, reads as something else or never comes to an end with.
package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// judges look at the tokens of a batch for what teesql lets pass, reads as something else or never comes to an end
// with. Each stops at the first fault of its kind.
var judges = []func([]token.Token, []bool) *sqlerr.Error{
	of(badName), of(deepName), of(deepType), of(declaredTwice), absent, numbered, assignedInSet, dangling,
	impossiblePair, misshapen, stray, malformed, unfinished, badDefault, badHeader, badColumns, withoutValue, endless,
	badNeighbours, outOfPlace, blockOfTable, badLevel, unknownOptions, halves, badArguments, returnsNothing, cutShort,
	withoutCursor, wanted, badModuleParameters,
}

func of(judge func([]token.Token) *sqlerr.Error) func([]token.Token, []bool) *sqlerr.Error {
	return func(tokens []token.Token, _ []bool) *sqlerr.Error { return judge(tokens) }
}

// First is the fault that a reader from the beginning of a batch comes to first, whichever judge found it. inside
// tells which tokens have been judged as parts of other statements.
func First(tokens []token.Token, inside []bool) *sqlerr.Error {
	var first *sqlerr.Error
	for _, judge := range judges {
		first = Earlier(first, found(judge, tokens, inside))
	}
	return first
}

// found is what a judge says about a batch. A defect of a judge refuses the batch where it ends, so that what others
// have found counts.
func found(judge func([]token.Token, []bool) *sqlerr.Error, tokens []token.Token, inside []bool) (err *sqlerr.Error) {
	defer func() {
		if r := recover(); r != nil {
			err = token.Near(tokens, len(tokens)-1)
		}
	}()
	return judge(tokens, inside)
}

// Earlier is the error of two that is nearer to the beginning of the batch, the first when that can't be told. What is
// not supported is said before that something is malformed.
func Earlier(a, b *sqlerr.Error) *sqlerr.Error {
	switch {
	case a == nil:
		return b
	case b == nil, a.Number == sqlerr.UnsupportedNumber:
		return a
	case a.Offset > 0 && b.Offset > 0 && b.Offset < a.Offset, b.Line < a.Line:
		return b
	}
	return a
}
