// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"slices"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// halves refuses clauses of which a word is missing that tells what they are; teesql reads on without it, or takes what
// follows for a name.
func halves(tokens []token.Token, inside []bool) *sqlerr.Error {
	windows := slices.ContainsFunc(tokens, func(t token.Token) bool { return t.Is("WINDOW") })
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		at := 0
		switch t := tokens[i]; {
		case i > 0 && t.IsOneOf("CAST", "TRY_CAST") && castWithoutAs(tokens, i):
			err := sqlerr.New(1035, 10, t.Text, "AS").At(t.Line)
			err.Offset = t.Pos + 1
			return err
		case i > 0 && t.Kind == token.String && t.Value == "" && tokens[i-1].Is("AS"):
			return sqlerr.New(1038, 4).At(t.Line)
		case t.Is("$") && tokens[i+1].Kind == token.Word && tokens[i+1].Pos == t.End && !pseudoColumns[tokens[i+1].Fold]:
			err := sqlerr.New(126, 1, "$"+tokens[i+1].Text).At(t.Line)
			err.Offset = t.Pos + 1
			return err
		case t.Kind == token.Word && halfWords[t.Fold]:
			at = halfClause(tokens, i)
			if t.Is("OVER") && !windows {
				at = badWindow(tokens, i+1)
			}
		case i > 0 && t.Is("("):
			at = halfParenthesis(tokens, i)
		}
		if at > 0 {
			return token.Near(tokens, min(at, len(tokens)-1))
		}
	}
	return nil
}

// pseudoColumns are the words behind a dollar sign (docs/t-sql/queries/select-clause-transact-sql.md,
// merge-transact-sql.md, docs/t-sql/functions/partition-transact-sql.md,
// docs/relational-databases/graphs/sql-graph-architecture.md).
var pseudoColumns = token.Words("IDENTITY ROWGUID ACTION PARTITION NODE_ID EDGE_ID FROM_ID TO_ID")

// castWithoutAs tells whether the parentheses of CAST have expressions alone, and no AS
// (docs/t-sql/functions/cast-and-convert-transact-sql.md).
func castWithoutAs(tokens []token.Token, i int) bool {
	end := token.ClosingParenthesis(tokens, i+1)
	if !tokens[i+1].Is("(") || end < 0 || tokens[i-1].Kind == token.Quoted ||
		tokens[i-1].Kind == token.Word && !tokens[i-1].Reserved ||
		tokens[i-1].IsOneOf(
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
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 1 && (t.Is("AS") || token.IsName(t) && (token.IsName(before) || before.Is(")") || isConstant(before))):
			return false
		}
	}
	return true
}

func isConstant(t token.Token) bool {
	switch t.Kind {
	case token.Integer, token.Number, token.String, token.Binary, token.Money, token.Variable:
		return true
	}
	return false
}

// halfWords are those that halfClause and badWindow judge.
var halfWords = token.Words(
	"ELSE NOT COLUMN OFFSET FETCH UPDATE UNIQUE CLUSTERED NONCLUSTERED DELETE DISTINCT CREATE THROW KEY MINVALUE " +
		"MAXVALUE OVER",
)

// halfClause is the token that shows what is missing behind the word at a token, 0 when nothing is.
func halfClause(tokens []token.Token, i int) int {
	before, next := tokens[max(i-1, 0)], tokens[i+1]
	switch t := tokens[i]; {
	case t.Is("ELSE") && next.Is(";"), t.Is("NOT") && next.Is("IS"):
		return i + 1
	case t.Is("COLUMN") && (next.Kind == token.End || next.Is(";")):
		return i + 1
	case t.Is("OFFSET") && next.IsOneOf("ROW", "ROWS") && tokens[i+2].IsOneOf("FETCH", ";") && before.Kind != token.Punct:
		return i + 1
	case t.Is("FETCH") && before.IsOneOf("ROW", "ROWS"):
		return halfFetch(tokens, i)
	case t.Is("UPDATE") && before.Is("THEN") && !next.Is("SET"):
		return i + 1
	case t.IsOneOf("UNIQUE", "CLUSTERED", "NONCLUSTERED") && before.IsOneOf("CREATE", "UNIQUE") && token.IsName(next) &&
		createsIndex(tokens, i) && !next.IsOneOf("COLUMNSTORE"):
		return i + 1
	case t.IsOneOf("DELETE", "UPDATE") && before.Is("ON") && tokens[max(i-2, 0)].Is(")"):
		return badCascade(tokens, i+1)
	case t.Is("DISTINCT") && before.Is("(") && next.IsOneOf(")", "*"):
		return i + 1
	case t.Is("CREATE") && next.IsOneOf("CREATE", "ALTER", "DROP"):
		return i + 1
	case t.Is("THROW") && !before.IsOneOf("EXEC", "EXECUTE", "=", "."):
		return badThrow(tokens, i)
	case t.Is("KEY") && before.Is("FOREIGN") && !next.IsOneOf("(", "REFERENCES"):
		return i + 1
	case t.Is("KEY") && before.Is("FOREIGN") && next.Is("("):
		if end := token.ClosingParenthesis(tokens, i+1); end > 0 && !tokens[end+1].Is("REFERENCES") {
			return end + 1
		}
	case t.IsOneOf("MINVALUE", "MAXVALUE") && ofSequence(tokens, i) && !before.Is("NO") && !beginsNumber(next):
		return i + 1
	}
	return 0
}

// halfFetch judges FETCH of a query: FETCH NEXT n ROWS ONLY.
func halfFetch(tokens []token.Token, i int) int {
	switch {
	case !tokens[i+1].IsOneOf("NEXT", "FIRST"):
		return i + 1
	case tokens[i+2].IsOneOf("ROW", "ROWS", "ONLY"):
		return i + 2
	}
	return 0
}

// badThrow judges the arguments of THROW: constants and variables (docs/t-sql/language-elements/throw-transact-sql.md,
// Syntax).
func badThrow(tokens []token.Token, i int) int {
	if first := tokens[i+1].Kind; first != token.Integer && first != token.Variable ||
		!tokens[min(i+2, len(tokens)-1)].Is(",") {
		return 0
	}
	for _, at := range []int{i + 3, i + 5} {
		if at >= len(tokens) || !isConstant(tokens[at]) {
			return at
		}
		if at == i+3 && !tokens[at+1].Is(",") {
			return at + 1
		}
	}
	if i+6 < len(tokens) && (tokens[i+6].IsOneOf("+", "-", "*", "/", ",") || isConstant(tokens[i+6])) {
		return i + 6
	}
	return 0
}

// createsIndex tells whether the words of an index, up to a token, follow CREATE.
func createsIndex(tokens []token.Token, at int) bool {
	for at > 0 && tokens[at].IsOneOf("UNIQUE", "CLUSTERED", "NONCLUSTERED") {
		at--
	}
	return tokens[at].Is("CREATE")
}

// badCascade judges what a foreign key does ON DELETE or ON UPDATE.
func badCascade(tokens []token.Token, at int) int {
	switch t, next := tokens[at], tokens[min(at+1, len(tokens)-1)]; {
	case t.Is("CASCADE"), t.Is("SET") && next.IsOneOf("NULL", "DEFAULT"), t.Is("NO") && next.Is("ACTION"):
		return 0
	case t.IsOneOf("SET", "NO"):
		return at + 1
	}
	return at
}

// ofSequence tells whether a word is one of CREATE or ALTER SEQUENCE.
func ofSequence(tokens []token.Token, at int) bool {
	for at--; at > 0 && !tokens[at].Is(";"); at-- {
		if tokens[at].Is("SEQUENCE") {
			return tokens[at-1].IsOneOf("CREATE", "ALTER")
		}
	}
	return false
}

func beginsNumber(t token.Token) bool {
	return t.Kind == token.Integer || t.Kind == token.Number || t.IsOneOf("-", "+")
}

// badWindow judges what follows OVER, where no window has a name
// (docs/t-sql/queries/select-over-clause-transact-sql.md, Syntax).
func badWindow(tokens []token.Token, at int) int {
	if token.IsName(tokens[at]) {
		return 0 // of no window: 5365
	}
	if !tokens[at].Is("(") {
		return at
	}
	if at++; tokens[at].Is("PARTITION") {
		switch {
		case !tokens[at+1].Is("BY"):
			return at + 1
		case tokens[at+2].Is("ORDER"):
			return at + 2
		}
		return 0
	}
	if tokens[at].IsOneOf(")", "ORDER", "ROWS", "RANGE") || tokens[at].Kind == token.End {
		return 0
	}
	return at
}

// halfParenthesis judges a parenthesis by what is before it.
func halfParenthesis(tokens []token.Token, i int) int {
	before, end := tokens[i-1], token.ClosingParenthesis(tokens, i)
	if end < 0 {
		return 0
	}
	switch {
	case tokens[i+1].Is(")") && (referenced(tokens, i-1) || before.IsOneOf("KEY", "UNIQUE", "CLUSTERED", "NONCLUSTERED")):
		return i + 1
	case before.Is("USING") && tokens[i+1].IsOneOf("SELECT", "VALUES") && tokens[end+1].Is("ON"):
		return end + 1
	case before.IsOneOf("FROM", "JOIN") && token.IsName(tokens[i+1]) && onlyTable(tokens, i+1, end):
		return end
	case tokens[end+1].Is("(") && beginsWith(tokens, i-1) && !beginsTableExpression(tokens, i):
		return end + 1
	case before.IsOneOf("FROM", "JOIN", ",") && tokens[i+1].Is("SELECT") && tokens[end+1].IsOneOf("PIVOT", "UNPIVOT") &&
		tokens[min(end+2, len(tokens)-1)].Is("("):
		return end + 1
	case before.Is("PIVOT"):
		return badPivot(tokens, i, end)
	}
	return 0
}

// referenced tells whether the name that ends at a token follows REFERENCES.
func referenced(tokens []token.Token, at int) bool {
	for at > 1 && token.IsName(tokens[at]) && tokens[at-1].Is(".") {
		at -= 2
	}
	return at > 0 && token.IsName(tokens[at]) && tokens[at-1].Is("REFERENCES")
}

// onlyTable tells whether one table, and no join, is all that stands before a token: parentheses of FROM are those of
// joins and queries.
func onlyTable(tokens []token.Token, at, end int) bool {
	at = token.AfterName(tokens, at)
	if tokens[at].Is("AS") {
		at++
	}
	if at < end && token.IsName(tokens[at]) {
		at++
	}
	return at == end
}

// beginsWith tells whether a token is the name of the first common table expression of a statement.
func beginsWith(tokens []token.Token, at int) bool {
	return at > 0 && token.IsName(tokens[at]) && tokens[at-1].Is("WITH") && (at == 1 || tokens[at-2].Is(";"))
}

// badPivot judges the parenthesis of PIVOT: an aggregate of a column, and names IN a list
// (docs/t-sql/queries/from-using-pivot-and-unpivot.md).
func badPivot(tokens []token.Token, opening, end int) int {
	call := token.AfterName(tokens, opening+1)
	if !tokens[call].Is("(") {
		return call
	}
	if tokens[call+1].Is(")") {
		return call + 1
	}
	closing := token.ClosingParenthesis(tokens, call)
	if !tokens[closing+1].Is("FOR") {
		return closing + 1
	}
	for i := closing + 2; i+2 < end; i++ {
		if tokens[i].Is("IN") && tokens[i+1].Is("(") && !token.IsName(tokens[i+2]) {
			return i + 2
		}
	}
	return 0
}
