// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/fault"
	"geosql.dev/standin/syntax/token"
)

// judged takes this package's statements out of a batch and refuses what its tokens alone tell is wrong: the fault that
// a reader from the beginning comes to first, whichever judge found it.
func judged(text string, tokens []token.Token) (string, map[int]ast.Statement, []bool, *sqlerr.Error) {
	source, nodes, inside, own := replaceOwn(withoutNested(text, tokens), tokens)
	first := fault.First(tokens, inside)
	if own != nil {
		return "", nil, nil, fault.Earlier(inStatementsBefore(text, tokens, beginOfLast(inside)), fault.Earlier(first, own))
	}
	if first == nil || first.Line == 0 {
		return source, nodes, inside, first
	}
	return "", nil, nil, fault.Earlier(inStatementsBefore(text, tokens, lastSemicolon(tokens, first)), first)
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
func lastSemicolon(tokens []token.Token, err *sqlerr.Error) int {
	last, depth := 0, 0
	for i, t := range tokens {
		if err.Offset > 0 && t.Pos >= err.Offset-1 || err.Offset == 0 && t.Line >= err.Line {
			break
		}
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case t.Is(";") && depth == 0 && i > 0:
			last = i
		}
	}
	return last
}

// inStatementsBefore is the fault of the statements before a token: they are read by themselves, because what follows
// them is malformed. Where they end with a block that is still open it is no fault of theirs.
func inStatementsBefore(text string, tokens []token.Token, end int) *sqlerr.Error {
	if end == 0 {
		return nil
	}
	at := tokens[end]
	over := append([]token.Token(nil), tokens[:end]...)
	over = append(over, token.Token{Kind: token.End, Pos: at.Pos, End: at.Pos, Line: at.Line})
	if unbalanced(over) != nil {
		return nil // within a list: teesql may wait for the rest of it without end
	}
	_, err := parseTokens(text[:at.Pos], over, mayBeMisplaced(over))
	if err == nil || err.Offset > at.Pos || err.Offset == 0 && (err.Line == 0 || err.Line >= tokens[end-1].Line) {
		return nil
	}
	return err
}
