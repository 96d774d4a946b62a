// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// notInParentheses are words that begin statements or are parts of their flow, and stand within no parentheses: there
// one is missing before them.
var notInParentheses = wordSet(
	"DECLARE PRINT RAISERROR BREAK CONTINUE GOTO RETURN WAITFOR DBCC COMMIT ROLLBACK BEGIN TRUNCATE DEALLOCATE OPEN " +
		"CLOSE WHILE CREATE ALTER DROP KILL REVERT SAVE " +
		"SHUTDOWN RESTORE BACKUP IF",
)

// notAfterComma are words that no element of a list begins with.
var notAfterComma = wordSet(
	"SELECT GROUP HAVING UNION EXCEPT INTERSECT THEN WHEN AND OR ON IN IS LIKE BETWEEN FOR END ELSE",
)

// wanted refuses what stands in the place of a name, of a list of names or of one of a few words, each as the syntax of
// the statement's page has it.
func wanted(tokens []token, inside []bool) *sqlerr.Error {
	depth := 0
	for i := 0; i+1 < len(tokens); i++ {
		t, at := tokens[i], 0
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth = max(depth-1, 0)
		}
		switch {
		case inside[i]:
			continue
		case t.kind == tokenWord && depth > 0 && notInParentheses[t.fold] && !tokens[i-1].is("."):
			at = i
		case t.kind == tokenWord:
			if at = wantedByWord(tokens, i); at == 0 {
				at = wantedOfTable(tokens, i, depth)
			}
		case t.is(","):
			at = badUnless(mayFollowComma(tokens[i+1], tokens[min(i+2, len(tokens)-1)]), i+1)
		}
		if at > 0 {
			return near(tokens, min(at, len(tokens)-1))
		}
	}
	return nil
}

// mayFollowComma tells whether an element of a list may begin with a word: the hint ORDER GROUP does, and AS TYPE of
// WITH RESULT SETS.
func mayFollowComma(word, next token) bool {
	switch {
	case word.kind != tokenWord:
		return true
	case word.is("ORDER"):
		return next.is("GROUP")
	case word.is("AS"):
		return next.isOneOf("TYPE", "OBJECT", "FOR")
	}
	return !notAfterComma[word.fold]
}

// wantedByWord judges what follows a word of a statement: the first token that may not, 0 when there is none.
func wantedByWord(tokens []token, i int) int {
	before, next := tokens[max(i-1, 0)], tokens[i+1]
	switch tokens[i].fold {
	case "AS":
		return badUnless(!next.is(",") && !(before.is(")") && next.kind == tokenVariable), i+1)
	case "BEGIN":
		return badUnless(mayBegin(tokens, i+1), i+1)
	case "CREATE", "ALTER":
		return badUnless(!isName(next) || !tokens[min(i+2, len(tokens)-1)].is("."), i+1)
	case "WITH":
		return badUnless(!next.is("WITH"), i+1)
	case "EXEC", "EXECUTE":
		return afterExecute(tokens, i)
	case "RESULT":
		if before.is("WITH") {
			return afterResult(tokens, i+1)
		}
	case "BREAK", "CONTINUE":
		return badUnless(next.kind == tokenEnd || mayBegin(tokens, i+1), i+1)
	case "READ":
		return badUnless(!before.is("FOR") || next.is("ONLY"), i+1)
	case "LEVEL":
		if before.is("ISOLATION") && next.is("READ") {
			return badUnless(tokens[i+2].isOneOf("COMMITTED", "UNCOMMITTED"), i+2)
		}
	case "OPEN", "CLOSE", "DEALLOCATE":
		return badUnless(isName(next) || next.kind == tokenVariable || next.isOneOf("ALL"), i+1)
	case "CURSOR":
		if before.is("=") {
			return afterCursor(tokens, i+1)
		}
	case "FETCH":
		if i == 0 || !before.isOneOf("ROW", "ROWS") {
			return afterFetch(tokens, i+1)
		}
	case "CASE":
		return badUnless(!next.isOneOf("ELSE", "END", "THEN"), i+1)
	case "GOTO":
		return badUnless(isName(next), i+1)
	case "ELSE":
		return badUnless(next.kind != tokenVariable || !tokens[i+2].is("="), i+1)
	case "SAVE":
		return badUnless(next.isOneOf("TRAN", "TRANSACTION"), i+1)
	case "COMMIT", "ROLLBACK":
		return badUnless(next.kind != tokenVariable && next.kind != tokenString, i+1)
	case "TRAN", "TRANSACTION":
		return afterTransaction(tokens, i)
	case "UPDATE":
		if next.is("(") {
			return badUnless(isName(tokens[i+2]), i+2)
		}
	case "JSON", "XML":
		return afterFor(tokens, i)
	case "DECLARE":
		if next.kind == tokenVariable {
			return badDeclaration(tokens, i+1)
		}
	}
	return 0
}

// afterResult judges WITH RESULT SETS from its last word on; a common table expression may be called RESULT.
func afterResult(tokens []token, at int) int {
	switch {
	case tokens[at].is("AS"):
		return 0
	case tokens[at].is("("):
		end := closingParenthesis(tokens, at)
		return badUnless(end < 0 || tokens[end+1].is("AS"), at)
	case !tokens[at].is("SETS"):
		return at
	case !tokens[at+1].is("("):
		return badUnless(tokens[at+1].isOneOf("NONE", "UNDEFINED"), at+1)
	}
	end := closingParenthesis(tokens, at+1)
	for i := at + 2; i < end; i++ {
		if tokens[i].is("(") {
			if !isName(tokens[i+1]) {
				return i + 1
			}
			i = max(i, closingParenthesis(tokens, i))
		}
	}
	return 0
}

// afterTransaction judges the WITH of BEGIN TRANSACTION, behind which is MARK
// (docs/t-sql/language-elements/begin-transaction-transact-sql.md).
func afterTransaction(tokens []token, i int) int {
	if i == 0 || !tokens[i-1].is("BEGIN") {
		return 0
	}
	at := i + 1
	if isName(tokens[at]) || tokens[at].kind == tokenVariable {
		at++
	}
	return badUnless(!tokens[at].is("WITH") || tokens[at+1].is("MARK"), at+1)
}

// badUnless is a place that is wrong unless something holds.
func badUnless(ok bool, at int) int {
	if ok {
		return 0
	}
	return at
}

// beginners are words that are not reserved and begin a statement, or go on with BEGIN.
var beginners = wordSet("TRY CATCH DIALOG CONVERSATION ATOMIC THROW ENABLE DISABLE SEND RECEIVE GET MOVE")

// neverFirst are reserved words that no statement begins with.
var neverFirst = wordSet(
	"FOR ON IN FROM WHERE AND OR LIKE IS TO BY INTO VALUES AS THEN WHEN HAVING GROUP ORDER UNION EXCEPT INTERSECT NULL " +
		"NOT EXISTS BETWEEN JOIN INNER OUTER CROSS",
)

// mayBegin tells whether a token may follow BEGIN. A procedure is called by its name alone at the begin of a batch
// only.
func mayBegin(tokens []token, at int) bool {
	switch t := tokens[at]; t.kind {
	case tokenWord:
		return t.reserved && !neverFirst[t.fold] || beginners[t.fold] || tokens[at+1].is(":")
	case tokenPunct:
		return t.isOneOf(";", "(")
	case tokenQuoted:
		return tokens[at+1].is(":")
	case tokenEnd:
		return true // other judges tell
	}
	return false
}

// afterExecute judges the texts that EXECUTE runs (docs/t-sql/language-elements/execute-transact-sql.md, Syntax), and
// EXECUTE AS of a module.
func afterExecute(tokens []token, i int) int {
	before := tokens[max(i-1, 0)]
	switch {
	case i > 0 && before.isOneOf("WITH", ","):
		if !tokens[i+1].is("AS") {
			return i + 1
		}
		who := tokens[min(i+2, len(tokens)-1)]
		return badUnless(who.kind == tokenString || who.isOneOf("CALLER", "SELF", "OWNER"), i+2)
	case !tokens[i+1].is("("):
		return 0
	}
	end := closingParenthesis(tokens, i+1)
	for at := i + 2; at < end; at++ {
		if t := tokens[at]; t.kind != tokenString && t.kind != tokenVariable && t.kind != tokenQuoted {
			return at
		}
		if at++; tokens[at].is(",") {
			return 0 // the arguments of EXECUTE ... AT, constants of any kind
		}
		if !tokens[at].isOneOf("+", ")") {
			return at
		}
	}
	return 0
}

// afterCursor judges the options of SET @variable = CURSOR ... FOR.
func afterCursor(tokens []token, at int) int {
	for ; tokens[at].kind == tokenWord && cursorOptions[tokens[at].fold]; at++ {
	}
	if !tokens[at].is("FOR") {
		return at
	}
	return badUnless(tokens[at+1].isOneOf("SELECT", "WITH", "("), at+1)
}

// afterFetch judges FETCH of a cursor (docs/t-sql/language-elements/fetch-transact-sql.md, Syntax).
func afterFetch(tokens []token, at int) int {
	switch {
	case tokens[at].isOneOf("ABSOLUTE", "RELATIVE") && !tokens[at+1].isOneOf("INTO", ";") && tokens[at+1].kind != tokenEnd:
		if at++; tokens[at].is("-") {
			at++
		}
		if tokens[at].kind != tokenInteger && tokens[at].kind != tokenVariable {
			return at
		}
		if at++; !tokens[at].is("FROM") {
			return at
		}
	case tokens[at].isOneOf("NEXT", "PRIOR", "FIRST", "LAST") && tokens[at+1].is("FROM"):
		at++
	}
	if tokens[at].is("FROM") {
		if at++; !isName(tokens[at]) && tokens[at].kind != tokenVariable {
			return at
		}
	}
	if tokens[at].is("GLOBAL") && isName(tokens[at+1]) {
		at++
	}
	if at++; at+1 >= len(tokens) || !tokens[at].is("INTO") {
		return 0
	}
	for tokens[at].isOneOf("INTO", ",") {
		if at++; tokens[at].kind != tokenVariable {
			return at
		}
		at++
	}
	return badUnless(tokens[at].kind != tokenPunct || tokens[at].isOneOf(";", "("), at)
}

// forOptions are what may follow a comma of FOR XML and FOR JSON (docs/relational-databases/xml/for-xml-sql-server.md,
// docs/relational-databases/json/format-query-results-as-json-with-for-json-sql-server.md).
var forOptions = wordSet("ROOT TYPE ELEMENTS XMLSCHEMA XMLDATA BINARY INCLUDE_NULL_VALUES WITHOUT_ARRAY_WRAPPER")

func afterFor(tokens []token, i int) int {
	if i < 2 || !tokens[i-1].is("FOR") || !tokens[i+1].isOneOf("AUTO", "RAW", "PATH", "EXPLICIT") {
		return 0
	}
	for at, depth := i+2, 0; at+1 < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth < 0 {
				return 0
			}
		case depth == 0 && t.is(","):
			if next := tokens[at+1]; next.kind != tokenWord || !forOptions[next.fold] {
				return at + 1
			}
		case depth == 0 && (t.kind == tokenWord && t.reserved || t.is(";")):
			return 0
		}
	}
	return 0
}
