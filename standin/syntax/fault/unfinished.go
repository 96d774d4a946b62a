// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// countedHints are the query hints that a number follows (docs/t-sql/queries/hints-transact-sql-query.md, Syntax).
var countedHints = token.Words("FAST MAXDOP MAXRECURSION QUERYTRACEON")

// hintPairs are the query hints of two words: what may follow the first.
var hintPairs = map[string][]string{
	"LOOP":      {"JOIN"},
	"HASH":      {"JOIN", "GROUP", "UNION"},
	"MERGE":     {"JOIN", "UNION"},
	"CONCAT":    {"UNION"},
	"ORDER":     {"GROUP"},
	"FORCE":     {"ORDER", "EXTERNALPUSHDOWN", "SCALEOUTEXECUTION"},
	"KEEP":      {"PLAN"},
	"KEEPFIXED": {"PLAN"},
	"ROBUST":    {"PLAN"},
	"EXPAND":    {"VIEWS"},
	"OPTIMIZE":  {"FOR"},
}

// unfinished refuses clauses that lack a part, or have one too many, and whose rest teesql reads over.
func unfinished(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		t, before, next := tokens[i], tokens[i-1], tokens[i+1]
		var err *sqlerr.Error
		switch {
		case t.IsOneOf("TRIGGER", "CONSTRAINT") && before.IsOneOf("ENABLE", "DISABLE", "CHECK", "NOCHECK") &&
			(next.Kind == token.End || next.Is(";")):
			err = token.Near(tokens, i+1)
		case t.Is("(") && before.Is("OPTION"):
			err = badQueryHints(tokens, i)
		case t.Is("(") && beginsTableExpression(tokens, i):
			err = badColumnNames(tokens, i)
		case t.Is("FILLFACTOR") && before.Is("WITH") && !next.Is("="),
			t.Is("PAD_INDEX") && before.Is("WITH") && ofKey(tokens, i-1):
			at := i
			if t.Is("FILLFACTOR") {
				at++
			}
			err = token.Near(tokens, at)
		}
		if err == nil && t.Is("(") {
			err = badTableHints(tokens, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// beginsTableExpression tells whether a parenthesis opens the names of the columns of a common table expression: its
// name is behind WITH or behind the one before it.
func beginsTableExpression(tokens []token.Token, opening int) bool {
	if opening < 2 || !token.IsName(tokens[opening-1]) {
		return false
	}
	lead := tokens[opening-2]
	if !lead.Is("WITH") && (!lead.Is(",") || !tokens[max(opening-3, 0)].Is(")")) {
		return false
	}
	end := token.ClosingParenthesis(tokens, opening)
	return end > opening && end+2 < len(tokens) && tokens[end+1].Is("AS") && tokens[end+2].Is("(")
}

// badQueryHints judges the list in the parentheses of OPTION: each hint begins with a word, and those that count have
// their number only.
func badQueryHints(tokens []token.Token, opening int) *sqlerr.Error {
	end := token.ClosingParenthesis(tokens, opening)
	depth := 0
	for i := opening; i < end; i++ {
		switch {
		case tokens[i].Is("("):
			depth++
		case tokens[i].Is(")"):
			depth--
		}
		if depth != 1 || !tokens[i].IsOneOf("(", ",") {
			continue
		}
		hint := tokens[i+1]
		if hint.Kind != token.Word {
			return token.Near(tokens, i+1)
		}
		if words := hintPairs[hint.Fold]; len(words) > 0 && !tokens[i+2].IsOneOf(words...) {
			return token.Near(tokens, i+2)
		}
		if !countedHints[hint.Fold] {
			continue
		}
		if tokens[i+2].Kind != token.Integer && tokens[i+2].Kind != token.Variable {
			return token.Near(tokens, i+2)
		}
		if !hint.Is("QUERYTRACEON") && !tokens[i+3].IsOneOf(",", ")") {
			return token.Near(tokens, i+3)
		}
	}
	return nil
}

// ofKey tells whether the WITH at a token follows a key of a table.
func ofKey(tokens []token.Token, with int) bool {
	at := with - 1
	if at > 0 && tokens[at].Is(")") {
		at = token.OpeningParenthesis(tokens, at) - 1
	}
	if at > 0 && tokens[at].IsOneOf("CLUSTERED", "NONCLUSTERED") {
		at--
	}
	return at > 0 && (tokens[at].Is("UNIQUE") || tokens[at].Is("KEY") && tokens[at-1].Is("PRIMARY"))
}
