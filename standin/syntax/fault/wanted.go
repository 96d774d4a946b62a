// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// notInParentheses are words that begin statements or are parts of their flow, and stand within no parentheses: there
// one is missing before them.
var notInParentheses = token.Words(
	"DECLARE PRINT RAISERROR BREAK CONTINUE GOTO RETURN WAITFOR DBCC COMMIT ROLLBACK BEGIN TRUNCATE DEALLOCATE OPEN " +
		"CLOSE WHILE CREATE ALTER DROP KILL REVERT SAVE " +
		"SHUTDOWN RESTORE BACKUP IF",
)

// notAfterComma are words that no element of a list begins with.
var notAfterComma = token.Words(
	"SELECT GROUP HAVING UNION EXCEPT INTERSECT THEN WHEN AND OR ON IN IS LIKE BETWEEN FOR END ELSE",
)

// wanted refuses what stands in the place of a name, of a list of names or of one of a few words, each as the syntax of
// the statement's page has it.
func wanted(tokens []token.Token, inside []bool) *sqlerr.Error {
	depth := 0
	for i := 0; i+1 < len(tokens); i++ {
		t, at := tokens[i], 0
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth = max(depth-1, 0)
		}
		switch {
		case inside[i]:
			continue
		case t.Kind == token.Word && depth > 0 && notInParentheses[t.Fold] && !tokens[i-1].Is("."):
			at = i
		case t.Kind == token.Word:
			if at = wantedByWord(tokens, i); at == 0 {
				at = wantedOfTable(tokens, i, depth)
			}
		case t.Is(","):
			at = badUnless(mayFollowComma(tokens[i+1], tokens[min(i+2, len(tokens)-1)]), i+1)
		}
		if at > 0 {
			return token.Near(tokens, min(at, len(tokens)-1))
		}
	}
	return nil
}

// mayFollowComma tells whether an element of a list may begin with a word: the hint ORDER GROUP does, and AS TYPE of
// WITH RESULT SETS.
func mayFollowComma(word, next token.Token) bool {
	switch {
	case word.Kind != token.Word:
		return true
	case word.Is("ORDER"):
		return next.Is("GROUP")
	case word.Is("AS"):
		return next.IsOneOf("TYPE", "OBJECT", "FOR")
	}
	return !notAfterComma[word.Fold]
}

// wantedByWord judges what follows a word of a statement: the first token that may not, 0 when there is none.
func wantedByWord(tokens []token.Token, i int) int {
	before, next := tokens[max(i-1, 0)], tokens[i+1]
	switch tokens[i].Fold {
	case "AS":
		return badUnless(!next.Is(",") && !(before.Is(")") && next.Kind == token.Variable), i+1)
	case "BEGIN":
		return badUnless(mayBegin(tokens, i+1), i+1)
	case "CREATE", "ALTER":
		return badUnless(!token.IsName(next) || !tokens[min(i+2, len(tokens)-1)].Is("."), i+1)
	case "WITH":
		return badUnless(!next.Is("WITH"), i+1)
	case "EXEC", "EXECUTE":
		return afterExecute(tokens, i)
	case "RESULT":
		if before.Is("WITH") {
			return afterResult(tokens, i+1)
		}
	case "BREAK", "CONTINUE":
		return badUnless(next.Kind == token.End || mayBegin(tokens, i+1), i+1)
	case "READ":
		return badUnless(!before.Is("FOR") || next.Is("ONLY"), i+1)
	case "LEVEL":
		if before.Is("ISOLATION") && next.Is("READ") {
			return badUnless(tokens[i+2].IsOneOf("COMMITTED", "UNCOMMITTED"), i+2)
		}
	case "OPEN", "CLOSE", "DEALLOCATE":
		return badUnless(token.IsName(next) || next.Kind == token.Variable || next.IsOneOf("ALL"), i+1)
	case "CURSOR":
		if before.Is("=") {
			return afterCursor(tokens, i+1)
		}
	case "FETCH":
		if i == 0 || !before.IsOneOf("ROW", "ROWS") {
			return afterFetch(tokens, i+1)
		}
	case "CASE":
		return badUnless(!next.IsOneOf("ELSE", "END", "THEN"), i+1)
	case "GOTO":
		return badUnless(token.IsName(next), i+1)
	case "ELSE":
		return badUnless(next.Kind != token.Variable || !tokens[i+2].Is("="), i+1)
	case "SAVE":
		return badUnless(next.IsOneOf("TRAN", "TRANSACTION"), i+1)
	case "COMMIT", "ROLLBACK":
		return badUnless(next.Kind != token.Variable && next.Kind != token.String, i+1)
	case "TRAN", "TRANSACTION":
		return afterTransaction(tokens, i)
	case "UPDATE":
		if next.Is("(") {
			return badUnless(token.IsName(tokens[i+2]), i+2)
		}
	case "JSON", "XML":
		return afterFor(tokens, i)
	case "DECLARE":
		if next.Kind == token.Variable {
			return badDeclaration(tokens, i+1)
		}
	}
	return 0
}

// afterResult judges WITH RESULT SETS from its last word on; a common table expression may be called RESULT.
func afterResult(tokens []token.Token, at int) int {
	switch {
	case tokens[at].Is("AS"):
		return 0
	case tokens[at].Is("("):
		end := token.ClosingParenthesis(tokens, at)
		return badUnless(end < 0 || tokens[end+1].Is("AS"), at)
	case !tokens[at].Is("SETS"):
		return at
	case !tokens[at+1].Is("("):
		return badUnless(tokens[at+1].IsOneOf("NONE", "UNDEFINED"), at+1)
	}
	end := token.ClosingParenthesis(tokens, at+1)
	for i := at + 2; i < end; i++ {
		if tokens[i].Is("(") {
			if !token.IsName(tokens[i+1]) {
				return i + 1
			}
			i = max(i, token.ClosingParenthesis(tokens, i))
		}
	}
	return 0
}

// afterTransaction judges the WITH of BEGIN TRANSACTION, behind which is MARK
// (docs/t-sql/language-elements/begin-transaction-transact-sql.md).
func afterTransaction(tokens []token.Token, i int) int {
	if i == 0 || !tokens[i-1].Is("BEGIN") {
		return 0
	}
	at := i + 1
	if token.IsName(tokens[at]) || tokens[at].Kind == token.Variable {
		at++
	}
	return badUnless(!tokens[at].Is("WITH") || tokens[at+1].Is("MARK"), at+1)
}

// badUnless is a place that is wrong unless something holds.
func badUnless(ok bool, at int) int {
	if ok {
		return 0
	}
	return at
}

// beginners are words that are not reserved and begin a statement, or go on with BEGIN.
var beginners = token.Words("TRY CATCH DIALOG CONVERSATION ATOMIC THROW ENABLE DISABLE SEND RECEIVE GET MOVE")

// neverFirst are reserved words that no statement begins with.
var neverFirst = token.Words(
	"FOR ON IN FROM WHERE AND OR LIKE IS TO BY INTO VALUES AS THEN WHEN HAVING GROUP ORDER UNION EXCEPT INTERSECT NULL " +
		"NOT EXISTS BETWEEN JOIN INNER OUTER CROSS",
)

// mayBegin tells whether a token may follow BEGIN. A procedure is called by its name alone at the begin of a batch
// only.
func mayBegin(tokens []token.Token, at int) bool {
	switch t := tokens[at]; t.Kind {
	case token.Word:
		return t.Reserved && !neverFirst[t.Fold] || beginners[t.Fold] || tokens[at+1].Is(":")
	case token.Punct:
		return t.IsOneOf(";", "(")
	case token.Quoted:
		return tokens[at+1].Is(":")
	case token.End:
		return true // other judges tell
	}
	return false
}

// afterExecute judges the texts that EXECUTE runs (docs/t-sql/language-elements/execute-transact-sql.md, Syntax), and
// EXECUTE AS of a module.
func afterExecute(tokens []token.Token, i int) int {
	before := tokens[max(i-1, 0)]
	switch {
	case i > 0 && before.IsOneOf("WITH", ","):
		if !tokens[i+1].Is("AS") {
			return i + 1
		}
		who := tokens[min(i+2, len(tokens)-1)]
		return badUnless(who.Kind == token.String || who.IsOneOf("CALLER", "SELF", "OWNER"), i+2)
	case !tokens[i+1].Is("("):
		return 0
	}
	end := token.ClosingParenthesis(tokens, i+1)
	for at := i + 2; at < end; at++ {
		if t := tokens[at]; t.Kind != token.String && t.Kind != token.Variable && t.Kind != token.Quoted {
			return at
		}
		if at++; tokens[at].Is(",") {
			return 0 // the arguments of EXECUTE ... AT, constants of any kind
		}
		if !tokens[at].IsOneOf("+", ")") {
			return at
		}
	}
	return 0
}

// afterCursor judges the options of SET @variable = CURSOR ... FOR.
func afterCursor(tokens []token.Token, at int) int {
	for ; tokens[at].Kind == token.Word && cursorOptions[tokens[at].Fold]; at++ {
	}
	if !tokens[at].Is("FOR") {
		return at
	}
	return badUnless(tokens[at+1].IsOneOf("SELECT", "WITH", "("), at+1)
}

// afterFetch judges FETCH of a cursor (docs/t-sql/language-elements/fetch-transact-sql.md, Syntax).
func afterFetch(tokens []token.Token, at int) int {
	switch {
	case tokens[at].IsOneOf("ABSOLUTE", "RELATIVE") && !tokens[at+1].IsOneOf("INTO", ";") &&
		tokens[at+1].Kind != token.End:
		if at++; tokens[at].Is("-") {
			at++
		}
		if tokens[at].Kind != token.Integer && tokens[at].Kind != token.Variable {
			return at
		}
		if at++; !tokens[at].Is("FROM") {
			return at
		}
	case tokens[at].IsOneOf("NEXT", "PRIOR", "FIRST", "LAST") && tokens[at+1].Is("FROM"):
		at++
	}
	if tokens[at].Is("FROM") {
		if at++; !token.IsName(tokens[at]) && tokens[at].Kind != token.Variable {
			return at
		}
	}
	if tokens[at].Is("GLOBAL") && token.IsName(tokens[at+1]) {
		at++
	}
	if at++; at+1 >= len(tokens) || !tokens[at].Is("INTO") {
		return 0
	}
	for tokens[at].IsOneOf("INTO", ",") {
		if at++; tokens[at].Kind != token.Variable {
			return at
		}
		at++
	}
	return badUnless(tokens[at].Kind != token.Punct || tokens[at].IsOneOf(";", "("), at)
}

// forOptions are what may follow a comma of FOR XML and FOR JSON (docs/relational-databases/xml/for-xml-sql-server.md,
// docs/relational-databases/json/format-query-results-as-json-with-for-json-sql-server.md).
var forOptions = token.Words("ROOT TYPE ELEMENTS XMLSCHEMA XMLDATA BINARY INCLUDE_NULL_VALUES WITHOUT_ARRAY_WRAPPER")

func afterFor(tokens []token.Token, i int) int {
	if i < 2 || !tokens[i-1].Is("FOR") || !tokens[i+1].IsOneOf("AUTO", "RAW", "PATH", "EXPLICIT") {
		return 0
	}
	for at, depth := i+2, 0; at+1 < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth--; depth < 0 {
				return 0
			}
		case depth == 0 && t.Is(","):
			if next := tokens[at+1]; next.Kind != token.Word || !forOptions[next.Fold] {
				return at + 1
			}
		case depth == 0 && (t.Kind == token.Word && t.Reserved || t.Is(";")):
			return 0
		}
	}
	return 0
}
