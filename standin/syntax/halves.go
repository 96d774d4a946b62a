// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"slices"

	"geosql.dev/standin/sqlerr"
)

// halves refuses clauses of which a word is missing that tells what they are; teesql reads on without it, or takes what
// follows for a name.
func halves(tokens []token, inside []bool) *sqlerr.Error {
	windows := slices.ContainsFunc(tokens, func(t token) bool { return t.is("WINDOW") })
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		at := 0
		switch t := tokens[i]; {
		case i > 0 && t.isOneOf("CAST", "TRY_CAST") && castWithoutAs(tokens, i):
			err := sqlerr.New(1035, 10, t.text, "AS").At(t.line)
			err.Offset = t.pos + 1
			return err
		case i > 0 && t.kind == tokenString && t.value == "" && tokens[i-1].is("AS"):
			return sqlerr.New(1038, 4).At(t.line)
		case t.is("$") && tokens[i+1].kind == tokenWord && tokens[i+1].pos == t.end && !pseudoColumns[tokens[i+1].fold]:
			err := sqlerr.New(126, 1, "$"+tokens[i+1].text).At(t.line)
			err.Offset = t.pos + 1
			return err
		case t.kind == tokenWord && halfWords[t.fold]:
			at = halfClause(tokens, i)
			if t.is("OVER") && !windows {
				at = badWindow(tokens, i+1)
			}
		case i > 0 && t.is("("):
			at = halfParenthesis(tokens, i)
		}
		if at > 0 {
			return near(tokens, min(at, len(tokens)-1))
		}
	}
	return nil
}

// pseudoColumns are the words behind a dollar sign (docs/t-sql/queries/select-clause-transact-sql.md,
// merge-transact-sql.md, docs/t-sql/functions/partition-transact-sql.md,
// docs/relational-databases/graphs/sql-graph-architecture.md).
var pseudoColumns = wordSet("IDENTITY ROWGUID ACTION PARTITION NODE_ID EDGE_ID FROM_ID TO_ID")

// castWithoutAs tells whether the parentheses of CAST have expressions alone, and no AS
// (docs/t-sql/functions/cast-and-convert-transact-sql.md).
func castWithoutAs(tokens []token, i int) bool {
	end := closingParenthesis(tokens, i+1)
	if !tokens[i+1].is("(") || end < 0 || tokens[i-1].kind == tokenQuoted ||
		tokens[i-1].kind == tokenWord && !tokens[i-1].reserved ||
		tokens[i-1].isOneOf(
			".",
			"FUNCTION",
			"TABLE",
			"INTO",
			"INSERT",
			"FROM",
			"JOIN",
			"REFERENCES",
			"ON",
			"EXEC",
			"EXECUTE",
			"AS",
			"WITH",
		) {
		return false
	}
	depth := 0
	for at := i + 1; at < end; at++ {
		switch t, before := tokens[at], tokens[at-1]; {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 1 && (t.is("AS") || isName(t) && (isName(before) || before.is(")") || isConstant(before))):
			return false
		}
	}
	return true
}

func isConstant(t token) bool {
	switch t.kind {
	case tokenInteger, tokenNumber, tokenString, tokenBinary, tokenMoney, tokenVariable:
		return true
	}
	return false
}

// halfWords are those that halfClause and badWindow judge.
var halfWords = wordSet(
	"ELSE NOT COLUMN OFFSET FETCH UPDATE UNIQUE CLUSTERED NONCLUSTERED DELETE DISTINCT CREATE THROW KEY MINVALUE " +
		"MAXVALUE OVER",
)

// halfClause is the token that shows what is missing behind the word at a token, 0 when nothing is.
func halfClause(tokens []token, i int) int {
	before, next := tokens[max(i-1, 0)], tokens[i+1]
	switch t := tokens[i]; {
	case t.is("ELSE") && next.is(";"), t.is("NOT") && next.is("IS"):
		return i + 1
	case t.is("COLUMN") && (next.kind == tokenEnd || next.is(";")):
		return i + 1
	case t.is("OFFSET") && next.isOneOf("ROW", "ROWS") && tokens[i+2].isOneOf("FETCH", ";") && before.kind != tokenPunct:
		return i + 1
	case t.is("FETCH") && before.isOneOf("ROW", "ROWS"):
		return halfFetch(tokens, i)
	case t.is("UPDATE") && before.is("THEN") && !next.is("SET"):
		return i + 1
	case t.isOneOf("UNIQUE", "CLUSTERED", "NONCLUSTERED") && before.isOneOf("CREATE", "UNIQUE") && isName(next) &&
		createsIndex(tokens, i) && !next.isOneOf("COLUMNSTORE"):
		return i + 1
	case t.isOneOf("DELETE", "UPDATE") && before.is("ON") && tokens[max(i-2, 0)].is(")"):
		return badCascade(tokens, i+1)
	case t.is("DISTINCT") && before.is("(") && next.isOneOf(")", "*"):
		return i + 1
	case t.is("CREATE") && next.isOneOf("CREATE", "ALTER", "DROP"):
		return i + 1
	case t.is("THROW") && !before.isOneOf("EXEC", "EXECUTE", "=", "."):
		return badThrow(tokens, i)
	case t.is("KEY") && before.is("FOREIGN") && !next.isOneOf("(", "REFERENCES"):
		return i + 1
	case t.is("KEY") && before.is("FOREIGN") && next.is("("):
		if end := closingParenthesis(tokens, i+1); end > 0 && !tokens[end+1].is("REFERENCES") {
			return end + 1
		}
	case t.isOneOf("MINVALUE", "MAXVALUE") && ofSequence(tokens, i) && !before.is("NO") && !beginsNumber(next):
		return i + 1
	}
	return 0
}

// halfFetch judges FETCH of a query: FETCH NEXT n ROWS ONLY.
func halfFetch(tokens []token, i int) int {
	switch {
	case !tokens[i+1].isOneOf("NEXT", "FIRST"):
		return i + 1
	case tokens[i+2].isOneOf("ROW", "ROWS", "ONLY"):
		return i + 2
	}
	return 0
}

// badThrow judges the arguments of THROW: constants and variables (docs/t-sql/language-elements/throw-transact-sql.md,
// Syntax).
func badThrow(tokens []token, i int) int {
	if first := tokens[i+1].kind; first != tokenInteger && first != tokenVariable ||
		!tokens[min(i+2, len(tokens)-1)].is(",") {
		return 0
	}
	for _, at := range []int{i + 3, i + 5} {
		if at >= len(tokens) || !isConstant(tokens[at]) {
			return at
		}
		if at == i+3 && !tokens[at+1].is(",") {
			return at + 1
		}
	}
	if i+6 < len(tokens) && (tokens[i+6].isOneOf("+", "-", "*", "/", ",") || isConstant(tokens[i+6])) {
		return i + 6
	}
	return 0
}

// createsIndex tells whether the words of an index, up to a token, follow CREATE.
func createsIndex(tokens []token, at int) bool {
	for at > 0 && tokens[at].isOneOf("UNIQUE", "CLUSTERED", "NONCLUSTERED") {
		at--
	}
	return tokens[at].is("CREATE")
}

// badCascade judges what a foreign key does ON DELETE or ON UPDATE.
func badCascade(tokens []token, at int) int {
	switch t, next := tokens[at], tokens[min(at+1, len(tokens)-1)]; {
	case t.is("CASCADE"), t.is("SET") && next.isOneOf("NULL", "DEFAULT"), t.is("NO") && next.is("ACTION"):
		return 0
	case t.isOneOf("SET", "NO"):
		return at + 1
	}
	return at
}

// ofSequence tells whether a word is one of CREATE or ALTER SEQUENCE.
func ofSequence(tokens []token, at int) bool {
	for at--; at > 0 && !tokens[at].is(";"); at-- {
		if tokens[at].is("SEQUENCE") {
			return tokens[at-1].isOneOf("CREATE", "ALTER")
		}
	}
	return false
}

func beginsNumber(t token) bool {
	return t.kind == tokenInteger || t.kind == tokenNumber || t.isOneOf("-", "+")
}

// badWindow judges what follows OVER, where no window has a name
// (docs/t-sql/queries/select-over-clause-transact-sql.md, Syntax).
func badWindow(tokens []token, at int) int {
	if isName(tokens[at]) {
		return 0 // of no window: 5365
	}
	if !tokens[at].is("(") {
		return at
	}
	if at++; tokens[at].is("PARTITION") {
		switch {
		case !tokens[at+1].is("BY"):
			return at + 1
		case tokens[at+2].is("ORDER"):
			return at + 2
		}
		return 0
	}
	if tokens[at].isOneOf(")", "ORDER", "ROWS", "RANGE") || tokens[at].kind == tokenEnd {
		return 0
	}
	return at
}

// halfParenthesis judges a parenthesis by what is before it.
func halfParenthesis(tokens []token, i int) int {
	before, end := tokens[i-1], closingParenthesis(tokens, i)
	if end < 0 {
		return 0
	}
	switch {
	case tokens[i+1].is(")") && (referenced(tokens, i-1) || before.isOneOf("KEY", "UNIQUE", "CLUSTERED", "NONCLUSTERED")):
		return i + 1
	case before.is("USING") && tokens[i+1].isOneOf("SELECT", "VALUES") && tokens[end+1].is("ON"):
		return end + 1
	case before.isOneOf("FROM", "JOIN") && isName(tokens[i+1]) && onlyTable(tokens, i+1, end):
		return end
	case tokens[end+1].is("(") && beginsWith(tokens, i-1) && !beginsTableExpression(tokens, i):
		return end + 1
	case before.isOneOf("FROM", "JOIN", ",") && tokens[i+1].is("SELECT") && tokens[end+1].isOneOf("PIVOT", "UNPIVOT") &&
		tokens[min(end+2, len(tokens)-1)].is("("):
		return end + 1
	case before.is("PIVOT"):
		return badPivot(tokens, i, end)
	}
	return 0
}

// referenced tells whether the name that ends at a token follows REFERENCES.
func referenced(tokens []token, at int) bool {
	for at > 1 && isName(tokens[at]) && tokens[at-1].is(".") {
		at -= 2
	}
	return at > 0 && isName(tokens[at]) && tokens[at-1].is("REFERENCES")
}

// onlyTable tells whether one table, and no join, is all that stands before a token: parentheses of FROM are those of
// joins and queries.
func onlyTable(tokens []token, at, end int) bool {
	at = afterName(tokens, at)
	if tokens[at].is("AS") {
		at++
	}
	if at < end && isName(tokens[at]) {
		at++
	}
	return at == end
}

// beginsWith tells whether a token is the name of the first common table expression of a statement.
func beginsWith(tokens []token, at int) bool {
	return at > 0 && isName(tokens[at]) && tokens[at-1].is("WITH") && (at == 1 || tokens[at-2].is(";"))
}

// badPivot judges the parenthesis of PIVOT: an aggregate of a column, and names IN a list
// (docs/t-sql/queries/from-using-pivot-and-unpivot.md).
func badPivot(tokens []token, opening, end int) int {
	call := afterName(tokens, opening+1)
	if !tokens[call].is("(") {
		return call
	}
	if tokens[call+1].is(")") {
		return call + 1
	}
	closing := closingParenthesis(tokens, call)
	if !tokens[closing+1].is("FOR") {
		return closing + 1
	}
	for i := closing + 2; i+2 < end; i++ {
		if tokens[i].is("IN") && tokens[i+1].is("(") && !isName(tokens[i+2]) {
			return i + 2
		}
	}
	return 0
}
