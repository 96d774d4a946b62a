// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// countedHints are the query hints that a number follows (docs/t-sql/queries/hints-transact-sql-query.md, Syntax).
var countedHints = wordSet("FAST MAXDOP MAXRECURSION QUERYTRACEON")

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
func unfinished(tokens []token, inside []bool) *sqlerr.Error {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		t, before, next := tokens[i], tokens[i-1], tokens[i+1]
		var err *sqlerr.Error
		switch {
		case t.isOneOf("TRIGGER", "CONSTRAINT") && before.isOneOf("ENABLE", "DISABLE", "CHECK", "NOCHECK") &&
			(next.kind == tokenEnd || next.is(";")):
			err = near(tokens, i+1)
		case t.is("(") && before.is("OPTION"):
			err = badQueryHints(tokens, i)
		case t.is("(") && beginsTableExpression(tokens, i):
			err = badColumnNames(tokens, i)
		case t.is("FILLFACTOR") && before.is("WITH") && !next.is("="),
			t.is("PAD_INDEX") && before.is("WITH") && ofKey(tokens, i-1):
			at := i
			if t.is("FILLFACTOR") {
				at++
			}
			err = near(tokens, at)
		}
		if err == nil && t.is("(") {
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
func beginsTableExpression(tokens []token, opening int) bool {
	if opening < 2 || !isName(tokens[opening-1]) {
		return false
	}
	lead := tokens[opening-2]
	if !lead.is("WITH") && (!lead.is(",") || !tokens[max(opening-3, 0)].is(")")) {
		return false
	}
	end := closingParenthesis(tokens, opening)
	return end > opening && end+2 < len(tokens) && tokens[end+1].is("AS") && tokens[end+2].is("(")
}

// badQueryHints judges the list in the parentheses of OPTION: each hint begins with a word, and those that count have
// their number only.
func badQueryHints(tokens []token, opening int) *sqlerr.Error {
	end := closingParenthesis(tokens, opening)
	depth := 0
	for i := opening; i < end; i++ {
		switch {
		case tokens[i].is("("):
			depth++
		case tokens[i].is(")"):
			depth--
		}
		if depth != 1 || !tokens[i].isOneOf("(", ",") {
			continue
		}
		hint := tokens[i+1]
		if hint.kind != tokenWord {
			return near(tokens, i+1)
		}
		if words := hintPairs[hint.fold]; len(words) > 0 && !tokens[i+2].isOneOf(words...) {
			return near(tokens, i+2)
		}
		if !countedHints[hint.fold] {
			continue
		}
		if tokens[i+2].kind != tokenInteger && tokens[i+2].kind != tokenVariable {
			return near(tokens, i+2)
		}
		if !hint.is("QUERYTRACEON") && !tokens[i+3].isOneOf(",", ")") {
			return near(tokens, i+3)
		}
	}
	return nil
}

// ofKey tells whether the WITH at a token follows a key of a table.
func ofKey(tokens []token, with int) bool {
	at := with - 1
	if at > 0 && tokens[at].is(")") {
		at = openingParenthesis(tokens, at) - 1
	}
	if at > 0 && tokens[at].isOneOf("CLUSTERED", "NONCLUSTERED") {
		at--
	}
	return at > 0 && (tokens[at].is("UNIQUE") || tokens[at].is("KEY") && tokens[at-1].is("PRIMARY"))
}
