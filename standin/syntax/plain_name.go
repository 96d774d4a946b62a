// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"slices"
	"strings"

	"geosql.dev/standin/syntax/token"
)

// keywordPlaces are the words that T-SQL doesn't reserve and that teesql v1.1.0 takes for keywords wherever they stand,
// with the places that make them keywords: what is around the word, which _ stands for. In every other place they are
// names, which teesql is given in brackets (docs/relational-databases/databases/database-identifiers.md, "Rules for
// regular identifiers"). <constant> is one of a number or a string, <variable> is a variable.
//
// What only this package's statements have (KILL STATS JOB, RESTORE ... WITH MOVE, EXECUTE AS CALLER) is not among
// them: teesql does not get to see those. A list of options, WITH (...), OPTION (...) or SET (...), is a place of
// keywords for all of them.
var keywordPlaces = placesByWord(map[string]string{
	"ASYMMETRIC":  "_ KEY",
	"CALLER":      "EXECUTE AS _|EXEC AS _",
	"CATCH":       "BEGIN _|END _",
	"CERTIFICATE": "CREATE _|ALTER _|DROP _|_ ::|ENCRYPTION BY _|DECRYPTION BY _",
	"CONNECTION":  "_ (|_ =",
	"CONVERSATION": "BEGIN _|BEGIN DIALOG _|END _ <variable>|END _ <constant>|FOR _ SET (|MOVE _ <variable>|_ GROUP " +
		"<variable>|SEND ON _ <variable>|SEND ON _ (",
	"COOKIE":       "WITH _ INTO|WITH _ =",
	"CREDENTIAL":   "CREATE _|ALTER _|DROP _|SCOPED _|_ ::",
	"CUBE":         "WITH _|BY _ (|( _ (|, _ (",
	"DECRYPTION":   "_ BY",
	"DELAY":        "WAITFOR _",
	"DIALOG":       "BEGIN _",
	"ENCRYPTION":   "WITH _|, _ = ON|, _ = OFF|_ BY|_ KEY",
	"FAST":         "WITH _",
	"FILESTREAM":   "( MAX ) _|( MAX ) SPARSE _",
	"GET":          "_ CONVERSATION GROUP <variable>",
	"IGNORE":       "_ NULLS",
	"JOB":          "KILL STATS _",
	"LANGUAGE":     "SET _|EXTERNAL _|_ <constant>|_ <variable>|ADD <constant> _|DROP <constant> _",
	"LOGIN":        "CREATE _|ALTER _|DROP _|) AS _ =|_ ::",
	"MASTER":       "_ KEY",
	"MATCH":        "_ (",
	"MAXDOP":       "WITH _ =|CONFIGURATION SET _|SECONDARY SET _",
	"MESSAGE":      "CREATE _|ALTER _|DROP _",
	"MOVE":         "_ CONVERSATION <variable>|( _ TO|, _ TO",
	"NORESET":      "WITH _",
	"NOREVERT":     "WITH _",
	"NOTIFICATION": "CREATE EVENT _|DROP EVENT _",
	"NOWAIT":       "WITH _|LOG , _|SETERROR , _",
	"OVERRIDE":     "WITH _",
	"PASSWORD":     "BY _ =|WITH _ =",
	"PERIOD":       "_ FOR",
	"QUERY":        "",
	"RECEIVE":      "",
	"RESPECT":      "_ NULLS",
	"RETURNS":      "",
	"ROLLUP":       "WITH _|BY _ (|( _ (|, _ (",
	"SCOPED":       "_ CONFIGURATION|_ CREDENTIAL",
	"SEND":         "_ ON CONVERSATION <variable>|_ ON CONVERSATION (",
	"STATS":        "",
	"STATUSONLY":   "WITH _",
	"SUBSCRIPTION": "",
	"SYMMETRIC":    "_ KEY|ALL _ KEYS",
	"THROW":        "",
	"TIES":         "WITH _",
	"TIME":         "WAITFOR _|AT _ ZONE|SET STATISTICS _|IO , _|PROFILE , _|XML , _",
	"TRY":          "BEGIN _|END _",
	"TYPE":         "CREATE _|ALTER _|DROP _|MESSAGE _|_ ::|_ COLUMN|( AS _|, AS _",
	"WORK":         "COMMIT _|ROLLBACK _",
})

// behindBY are words that teesql takes for the frame of a window in the lists behind BY.
var behindBY = token.Words("RANGE ROWS")

// statementWords are words that teesql begins a statement with, also where they are labels.
var statementWords = token.Words("COPY DISABLE ENABLE RENAME")

func placesByWord(words map[string]string) map[string][][]string {
	places := make(map[string][][]string, len(words))
	for word, alternatives := range words {
		places[word] = nil
		for _, place := range strings.Split(alternatives, "|") {
			if place != "" {
				places[word] = append(places[word], strings.Fields(place))
			}
		}
	}
	return places
}

// isPlainName tells whether the word at i is a name that teesql has to be shown in brackets. tokens ends with End.
func isPlainName(tokens []token.Token, i int) bool {
	word := tokens[i].Fold
	places, ok := keywordPlaces[word]
	switch {
	case !ok:
		return behindBY[word] && i > 0 && tokens[i-1].IsOneOf("BY", ",") || tokens[i+1].Is(":") && statementWords[word]
	case i == 0 && token.StartsWithProcedureName(tokens):
		return true
	case i > 0 && (tokens[i-1].Is(".") || token.NamesObject[tokens[i-1].Fold] && tokens[i-1].Kind == token.Word):
		return true
	case isOption(tokens, i):
		return false
	}
	for _, place := range places {
		if isAt(tokens, i, place) && !isNameAfterAll(tokens, i) {
			return false
		}
	}
	switch word {
	case "FAST", "MAXDOP":
		return !isOptionOfDBCC(tokens, i)
	case "RETURNS":
		return !returnsOfFunction(tokens, i)
	case "THROW", "RECEIVE":
		return !mayBeginStatement(tokens, i)
	case "NOWAIT":
		return !token.IsTableHint(tokens, i)
	}
	return true
}

// isAt tells whether the tokens around i are those of a place.
func isAt(tokens []token.Token, i int, place []string) bool {
	first := i - slices.Index(place, "_")
	if first < 0 || first+len(place) > len(tokens) {
		return false
	}
	for n, want := range place {
		if want != "_" && !isLike(tokens[first+n], want) {
			return false
		}
	}
	return true
}

func isLike(t token.Token, want string) bool {
	switch want {
	case "<constant>":
		return t.Kind == token.Integer || t.Kind == token.String || t.Kind == token.Binary
	case "<variable>":
		return t.Kind == token.Variable
	}
	return t.Is(want)
}

// isNameAfterAll tells that the word at i, in a place of keywords, is a name by what is further away: that of a common
// table expression behind its WITH or a comma, of a column behind the END of a CASE, of a label, or of what ALTER TABLE
// drops.
func isNameAfterAll(tokens []token.Token, i int) bool {
	if i == 0 {
		return false
	}
	last, next := tokens[i-1], tokens[i+1]
	switch {
	case next.Is(":"):
		return true
	case last.Is("DROP"):
		return token.OfAlterTable(tokens, i-1) && !next.Is("FOR")
	case last.Is("WITH") && tokens[i].Is("TIES"):
		return !endsTop(tokens, i-2)
	case last.Is("WITH") && next.Is("AS"):
		return tokens[i+2].Is("(")
	case last.Is("WITH") && next.Is("("), last.Is(",") && next.Is("("):
		end := token.ClosingParenthesis(tokens, i+1)
		return end > 0 && tokens[end+1].Is("AS") && tokens[min(end+2, len(tokens)-1)].Is("(")
	case last.Is("END"):
		return endsCase(tokens, i-1)
	}
	return false
}

// endsTop tells whether the token at is the last one of TOP n, TOP (n) or TOP n PERCENT.
func endsTop(tokens []token.Token, at int) bool {
	if at > 0 && tokens[at].Is("PERCENT") {
		at--
	}
	if at > 0 && tokens[at].Is(")") {
		at = token.OpeningParenthesis(tokens, at)
	}
	return at > 0 && tokens[at-1].Is("TOP")
}

// endsCase tells whether the END at a token is that of a CASE expression.
func endsCase(tokens []token.Token, at int) bool {
	depth := 0
	for at--; at >= 0; at-- {
		switch t := tokens[at]; {
		case t.Is("END") && (!tokens[at+1].Is("CONVERSATION") || !isLike(tokens[at+2], "<variable>") &&
			!isLike(tokens[at+2], "<constant>")):
			depth++
		case t.Is("CASE"),
			t.Is("BEGIN") && !tokens[at+1].IsOneOf("TRAN", "TRANSACTION", "DISTRIBUTED", "DIALOG", "CONVERSATION"):
			if depth == 0 {
				return t.Is("CASE")
			}
			depth--
		}
	}
	return false
}

// isOption tells whether the word at i is directly in the parentheses of WITH, OPTION or SET. Those of OPENJSON's WITH
// hold columns, with their types.
func isOption(tokens []token.Token, i int) bool {
	next := tokens[i+1]
	if i == 0 || !tokens[i-1].IsOneOf("(", ",") || next.Kind == token.Quoted ||
		next.Kind == token.Word && !next.IsOneOf("ON", "OFF") {
		return false
	}
	open := token.OpensBefore(tokens, i)
	return open > 0 && tokens[open-1].IsOneOf("WITH", "OPTION", "SET")
}

// isOptionOfDBCC tells whether the word at i is a further one of DBCC's list without parentheses: DBCC CHECKDB WITH
// PHYSICAL_ONLY, MAXDOP = 2.
func isOptionOfDBCC(tokens []token.Token, i int) bool {
	if i == 0 || !tokens[i-1].Is(",") {
		return false
	}
	at := i - 1
	for at > 0 && (token.IsName(tokens[at]) || tokens[at].IsOneOf(",", "=") || tokens[at].Kind == token.Integer) {
		at--
	}
	if !tokens[at].Is("WITH") {
		return false
	}
	if at--; at > 0 && tokens[at].Is(")") {
		at = token.OpeningParenthesis(tokens, at) - 1
	}
	return at > 0 && tokens[at-1].Is("DBCC")
}

// mayBeginStatement tells whether the word at i, THROW or RECEIVE, may be the first one of its statement. Behind an
// expression or a table it may be the name of that as well: it is, where what follows does not go on with the
// statement.
func mayBeginStatement(tokens []token.Token, i int) bool {
	if i == 0 {
		return true
	}
	last, next := tokens[i-1], tokens[i+1]
	if i > 1 && tokens[i-2].IsOneOf("CREATE", "ALTER", "DROP") { // CREATE SEQUENCE throw
		return false
	}
	if tokens[i].Is("RECEIVE") {
		begins := last.IsOneOf(";", "BEGIN", "ELSE", "AS") || last.Is("(") && i > 1 && tokens[i-2].Is("WAITFOR") ||
			endsExpression(last)
		return begins && (next.IsOneOf("TOP", "*") || next.Kind == token.Variable || token.IsName(next) && !next.Is("USING"))
	}
	switch {
	case last.Is("ELSE"):
		return next.Kind != token.Punct && (!next.Is("END") || !endsCase(tokens, i+1)) || next.Is(";")
	case last.IsOneOf(";", "BEGIN"):
		return true
	case last.Is("AS"):
		return next.Kind == token.Integer || next.Kind == token.Variable
	case last.IsOneOf("TRY", "CATCH", ":"), last.Is("END") && !endsCase(tokens, i-1):
		return !next.Is(":")
	case last.Is("THROW"):
		return mayBeginStatement(tokens, i-1)
	}
	return endsExpression(last) && !goesOnWithQuery(next) && behindCondition(tokens, i)
}

// behindCondition tells whether the word at i follows the condition of an IF or a WHILE: other statements before THROW
// need a semicolon at their end (docs/t-sql/language-elements/throw-transact-sql.md, Remarks), without which the word
// is a name of theirs.
func behindCondition(tokens []token.Token, i int) bool {
	depth := 0
	for at := i - 1; at >= 0; at-- {
		switch t := tokens[at]; {
		case t.Is(")"), t.Is("END") && endsCase(tokens, at):
			depth++
		case t.IsOneOf("(", "CASE") && depth > 0:
			depth--
		case depth > 0:
		case t.IsOneOf("IF", "WHILE"):
			return true
		case t.Is("UPDATE") && tokens[at+1].Is("("): // the function of triggers
		case t.IsOneOf(";", "BEGIN", "ELSE"), t.Kind == token.Word && ordinaryStatements[t.Fold]:
			return false
		}
	}
	return false
}

// ordinaryStatements has the reserved words that a statement begins with behind the condition of an IF or a WHILE, or
// without one.
var ordinaryStatements = map[string]bool{
	"SELECT":     true,
	"INSERT":     true,
	"UPDATE":     true,
	"DELETE":     true,
	"MERGE":      true,
	"SET":        true,
	"DECLARE":    true,
	"EXEC":       true,
	"EXECUTE":    true,
	"PRINT":      true,
	"RAISERROR":  true,
	"RETURN":     true,
	"CREATE":     true,
	"ALTER":      true,
	"DROP":       true,
	"TRUNCATE":   true,
	"COMMIT":     true,
	"ROLLBACK":   true,
	"SAVE":       true,
	"OPEN":       true,
	"FETCH":      true,
	"CLOSE":      true,
	"DEALLOCATE": true,
	"GOTO":       true,
	"WAITFOR":    true,
	"USE":        true,
}

// goesOnWithQuery tells whether a token follows the name of a column or table in its query, and no THROW.
func goesOnWithQuery(t token.Token) bool {
	return t.Kind == token.Punct && !t.Is(";") ||
		t.IsOneOf("FROM", "WHERE", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "OUTER", "GROUP", "ORDER", "HAVING",
			"UNION", "EXCEPT", "INTERSECT", "ON", "USING", "OPTION", "INTO", "AS", "FOR", "WITH")
}

// returnsOfFunction tells whether the word at i is what the type follows that the function of the batch returns.
func returnsOfFunction(tokens []token.Token, i int) bool {
	at, kind := token.ModuleName(tokens)
	if len(tokens) > 1 && tokens[0].Is("CREATE") && tokens[1].Is("AGGREGATE") {
		return tokens[i-1].Is(")")
	}
	if kind != "FUNCTION" || !tokens[i-1].Is(")") {
		return false
	}
	return token.OpeningParenthesis(tokens, i-1) == token.AfterName(tokens, at)
}
