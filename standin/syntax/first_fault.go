// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
)

// judges look at the tokens of a batch for what teesql lets pass, reads as something else or never comes to an end
// with. Each stops at the first fault of its kind.
var judges = []func([]token, []bool) *sqlerr.Error{
	of(
		badName,
	), of(deepName), of(deepType), of(declaredTwice), absent, numbered, assignedInSet, dangling, impossiblePair, misshapen,
	stray, malformed, unfinished, badDefault, badHeader, badColumns,
	withoutValue, endless, badNeighbours, outOfPlace, blockOfTable, badLevel, unknownOptions, halves, badArguments,
	returnsNothing,
	cutShort, withoutCursor, wanted, badModuleParameters,
}

func of(judge func([]token) *sqlerr.Error) func([]token, []bool) *sqlerr.Error {
	return func(tokens []token, _ []bool) *sqlerr.Error { return judge(tokens) }
}

// judged takes this package's statements out of a batch and refuses what its tokens alone tell is wrong: the fault that
// a reader from the beginning comes to first, whichever judge found it.
func judged(text string, tokens []token) (string, map[int]ast.Statement, []bool, *sqlerr.Error) {
	source, nodes, inside, own := replaceOwn(withoutNested(text, tokens), tokens)
	var first *sqlerr.Error
	for _, judge := range judges {
		first = earlier(first, found(judge, tokens, inside))
	}
	if own != nil {
		return "", nil, nil, earlier(inStatementsBefore(text, tokens, beginOfLast(inside)), earlier(first, own))
	}
	if first == nil || first.Line == 0 {
		return source, nodes, inside, first
	}
	return "", nil, nil, earlier(inStatementsBefore(text, tokens, lastSemicolon(tokens, first)), first)
}

// beginOfLast is where the statements of this package that a batch ends with begin.
func beginOfLast(inside []bool) int {
	at := len(inside) - 1
	for at > 0 && inside[at-1] {
		at--
	}
	return at
}

// lastSemicolon is the last token before the place of an error that ends a statement, 0 when there is none.
func lastSemicolon(tokens []token, err *sqlerr.Error) int {
	last, depth := 0, 0
	for i, t := range tokens {
		if err.Offset > 0 && t.pos >= err.Offset-1 || err.Offset == 0 && t.line >= err.Line {
			break
		}
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case t.is(";") && depth == 0 && i > 0:
			last = i
		}
	}
	return last
}

// found is what a judge says about a batch. A defect of a judge refuses the batch where it ends, so that what others
// have found counts.
func found(judge func([]token, []bool) *sqlerr.Error, tokens []token, inside []bool) (err *sqlerr.Error) {
	defer func() {
		if r := recover(); r != nil {
			err = near(tokens, len(tokens)-1)
		}
	}()
	return judge(tokens, inside)
}

// earlier is the error of two that is nearer to the beginning of the batch, the first when that can't be told. What is
// not supported is said before that something is malformed.
func earlier(a, b *sqlerr.Error) *sqlerr.Error {
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

// inStatementsBefore is the fault of the statements before a token: they are read by themselves, because what follows
// them is malformed. Where they end with a block that is still open it is no fault of theirs.
func inStatementsBefore(text string, tokens []token, end int) *sqlerr.Error {
	if end == 0 {
		return nil
	}
	at := tokens[end]
	over := append(append([]token(nil), tokens[:end]...), token{kind: tokenEnd, pos: at.pos, end: at.pos, line: at.line})
	if unbalanced(over) != nil {
		return nil // within a list: teesql may wait for the rest of it without end
	}
	_, err := parseTokens(text[:at.pos], over, mayBeMisplaced(over))
	if err == nil || err.Offset > at.pos || err.Offset == 0 && (err.Line == 0 || err.Line >= tokens[end-1].line) {
		return nil
	}
	return err
}
