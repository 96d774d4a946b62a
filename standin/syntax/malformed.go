// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"slices"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// cursorOptions are the words between CURSOR and FOR (docs/t-sql/language-elements/declare-cursor-transact-sql.md).
var cursorOptions = wordSet(
	"LOCAL GLOBAL FORWARD_ONLY SCROLL STATIC KEYSET DYNAMIC FAST_FORWARD READ_ONLY SCROLL_LOCKS OPTIMISTIC TYPE_WARNING",
)

// setOptions are those that SET turns ON and OFF (docs/t-sql/statements/set-statements-transact-sql.md).
var setOptions = wordSet(
	`ANSI_DEFAULTS ANSI_NULL_DFLT_OFF ANSI_NULL_DFLT_ON ANSI_NULLS ANSI_PADDING ANSI_WARNINGS ARITHABORT ARITHIGNORE
	CONCAT_NULL_YIELDS_NULL CURSOR_CLOSE_ON_COMMIT DISABLE_DEF_CNST_CHK FIPS_FLAGGER FMTONLY FORCEPLAN IDENTITY_INSERT IMPLICIT_TRANSACTIONS
	NO_BROWSETABLE NOCOUNT NOEXEC NUMERIC_ROUNDABORT OFFSETS PARSEONLY QUOTED_IDENTIFIER REMOTE_PROC_TRANSACTIONS RESULT_SET_CACHING
	SHOWPLAN_ALL SHOWPLAN_TEXT SHOWPLAN_XML STATISTICS TEXTSIZE XACT_ABORT`,
)

// setValues are those that SET gives a number.
var setValues = wordSet(
	"DATEFIRST LOCK_TIMEOUT DEADLOCK_PRIORITY QUERY_GOVERNOR_COST_LIMIT CONTEXT_INFO LANGUAGE DATEFORMAT",
)

// malformed refuses statements whose first words say what is wrong with them and which teesql lets pass, reads as
// something else or never comes to an end with.
func malformed(tokens []token, inside []bool) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		if tokens[i].text == "=" && tokens[i].kind != tokenString && tokens[i].kind != tokenQuoted && endsValue(tokens[i+1]) {
			return near(tokens, i+1)
		}
		if tokens[i].kind != tokenWord {
			continue
		}
		var err *sqlerr.Error
		switch next := tokens[i+1]; tokens[i].fold {
		case "DECLARE":
			if next.kind != tokenVariable {
				err = badCursor(tokens, i+1)
			}
		case "INDEX":
			if next.kind == tokenWord && next.reserved && !next.isOneOf("ALL", "IF") && !tokens[max(i-1, 0)].is("FULLTEXT") {
				err = near(tokens, i+1)
			}
		case "SET":
			// SET NULL ON and SET DEFAULT ON are those of foreign keys.
			state := tokens[min(i+2, len(tokens)-1)]
			if next.kind == tokenWord && !next.reserved && !setOptions[next.fold] && (state.is("ON") || state.is("OFF")) {
				err = sqlerr.New(195, 5, next.text, "SET option").At(next.line)
			}
			if next.kind == tokenWord && !next.reserved && !setOptions[next.fold] && !setValues[next.fold] &&
				state.kind == tokenInteger {
				err = sqlerr.New(195, 7, next.text, "SET option").At(next.line)
			}
			if next.kind == tokenWord && (setValues[next.fold] || next.isOneOf("ROWCOUNT", "TEXTSIZE")) &&
				(state.kind == tokenEnd || state.is(";")) {
				err = near(tokens, i+2)
			}
			if next.is("IDENTITY_INSERT") && err == nil {
				err = withoutState(tokens, i+2)
			}
			if next.is("LOCK_TIMEOUT") && (state.kind == tokenWord || state.kind == tokenString || state.kind == tokenQuoted) {
				err = near(tokens, min(i+2, len(tokens)-1))
			}
		case "SAVE":
			if after := min(i+2, len(tokens)-1); next.isOneOf("TRAN", "TRANSACTION") &&
				(tokens[after].kind == tokenEnd || tokens[after].is(";")) {
				err = near(tokens, i+1)
			}
		case "TOP":
			if next.kind == tokenWord {
				err = near(tokens, i+1)
			}
		case "INTO":
			if next.is("VALUES") || next.is("FROM") || next.is("SELECT") || next.is("SET") {
				err = near(tokens, i+1)
			}
		case "INNER":
			if !next.is("JOIN") && !next.is("LOOP") && !next.is("HASH") && !next.is("MERGE") && !next.is("REMOTE") {
				err = near(tokens, i+1)
			}
		case "CREATE", "ALTER":
			if err = badDefinition(tokens, i+1); err == nil {
				err = badModuleOptions(tokens, i+1)
			}
		case "DROP":
			switch {
			case next.is("MASTER") && !tokens[min(i+2, len(tokens)-1)].is("KEY") && !ofAlterTable(tokens, i):
				err = near(tokens, min(i+2, len(tokens)-1))
			case next.is("INDEX") && ofAlterTable(tokens, i):
				err = sqlerr.Unsupported("ALTER TABLE ... DROP INDEX").At(next.line)
			case next.is("INDEX"):
				err = indexWithoutTable(tokens, i+2)
			case next.is("PARTITION"):
				err = badPartition(tokens, i+1)
			}
		case "SWITCH":
			if ofAlterTable(tokens, i) {
				err = badSwitch(tokens, i)
			}
		case "XML", "JSON":
			if tokens[max(i-1, 0)].is("FOR") && i > 0 && !tokens[max(i-2, 0)].is("AS") &&
				(next.kind == tokenWord || next.kind == tokenEnd || next.isOneOf(";", ")", ",")) &&
				!next.isOneOf("AUTO", "RAW", "PATH", "EXPLICIT", "IN") {
				err = near(tokens, i+1)
			}
		case "DBCC":
			err = badDBCC(tokens, i+1)
		case "UPDATE":
			if next.is("STATISTICS") {
				err = badStatistics(tokens, i+1)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutState judges SET IDENTITY_INSERT from the table's name on: ON or OFF has to follow it.
func withoutState(tokens []token, at int) *sqlerr.Error {
	at = afterName(tokens, at)
	if tokens[min(at, len(tokens)-1)].isOneOf("ON", "OFF") {
		return nil
	}
	return near(tokens, min(at, len(tokens)-1))
}

// endsValue tells whether a token may not be what something is equal to: the end, a semicolon, a comma, a closing
// parenthesis.
func endsValue(t token) bool {
	return t.kind == tokenEnd ||
		t.kind != tokenString && t.kind != tokenQuoted && (t.text == ";" || t.text == "," || t.text == ")")
}

// badNewType judges CREATE TYPE behind the name of the type (docs/t-sql/statements/create-type-transact-sql.md,
// Syntax).
func badNewType(tokens []token, at int) *sqlerr.Error {
	switch {
	case !tokens[at].isOneOf("FROM", "AS", "EXTERNAL"):
		return near(tokens, at)
	case tokens[at].is("AS") && !tokens[at+1].is("TABLE"):
		return near(tokens, at+1)
	case tokens[at].is("AS") && !tokens[at+2].is("("):
		return near(tokens, at+2)
	}
	return nil
}

// badSynonym judges CREATE SYNONYM behind the name of the synonym
// (docs/t-sql/statements/create-synonym-transact-sql.md, Syntax).
func badSynonym(tokens []token, at int) *sqlerr.Error {
	switch {
	case !tokens[at].is("FOR"):
		return near(tokens, at)
	case !isName(tokens[at+1]) && !tokens[at+1].is("."):
		return near(tokens, at+1)
	}
	return nil
}

// badCursor judges DECLARE of what is no variable, from its name on: 155 for a word in place of CURSOR or of an option,
// 156 where the query follows without FOR.
func badCursor(tokens []token, at int) *sqlerr.Error {
	if !isName(tokens[at]) {
		return near(tokens, at)
	}
	if mixedCursor(tokens, at+1) {
		return sqlerr.New(1049, 1).At(tokens[at].line)
	}
	declared, given := false, []string{}
	for i := at + 1; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.is("CURSOR") && !declared:
			declared = true
		case t.is("FOR") && declared:
			return nil
		case t.kind == tokenWord && !t.reserved && !cursorOptions[t.fold] && !t.is("INSENSITIVE"):
			return sqlerr.New(155, 2, t.text, "CURSOR").At(t.line)
		case declared && cursorOptions[t.fold]:
			for _, other := range given {
				if conflictingCursors(other, t.fold) {
					return sqlerr.New(1048, 1, other, t.fold).At(t.line)
				}
			}
			given = append(given, t.fold)
		case t.kind != tokenWord || t.reserved:
			return near(tokens, i)
		}
	}
	return nil
}

// cursorChoices are options of cursors of which one may be given
// (docs/t-sql/language-elements/declare-cursor-transact-sql.md, Syntax and Arguments).
var cursorChoices = [][]string{
	{"LOCAL", "GLOBAL"},
	{"FORWARD_ONLY", "SCROLL"},
	{"FAST_FORWARD", "SCROLL"},
	{"STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD"},
	{"READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC"},
	{"FAST_FORWARD", "SCROLL_LOCKS", "OPTIMISTIC"},
}

func conflictingCursors(one, other string) bool {
	return slices.ContainsFunc(cursorChoices, func(choice []string) bool {
		return one != other && slices.Contains(choice, one) && slices.Contains(choice, other)
	})
}

// badDefinition judges CREATE and ALTER from the word after them on.
func badDefinition(tokens []token, at int) *sqlerr.Error {
	for tokens[at].is("UNIQUE") || tokens[at].is("CLUSTERED") || tokens[at].is("NONCLUSTERED") {
		at++
	}
	next := tokens[at+min(1, len(tokens)-1-at)]
	switch t := tokens[at]; {
	case t.is("TYPE"), t.is("SEQUENCE"), t.is("SYNONYM"), t.is("SCHEMA"):
		if next.kind == tokenEnd || next.is(";") {
			return near(tokens, at+1)
		}
		if after := afterName(tokens, at+1); tokens[after-1].is(".") {
			return near(tokens, after)
		}
		if t.is("TYPE") {
			return badNewType(tokens, afterName(tokens, at+1))
		}
		if t.is("SEQUENCE") {
			return badSequence(tokens, at)
		}
		if t.is("SYNONYM") {
			return badSynonym(tokens, afterName(tokens, at+1))
		}
	case t.is("VIEW"):
		return badColumnNames(tokens, afterName(tokens, at+1))
	case t.is("OR") && next.is("ALTER") && at+2 < len(tokens) && tokens[at+2].is("VIEW"):
		return badColumnNames(tokens, afterName(tokens, at+3))
	case t.is("OR") && next.is("ALTER") && at+2 < len(tokens) && isProcedure(tokens[at+2]):
		return withoutAs(tokens, at+3)
	case t.is("STATISTICS") && tokens[at-1].is("CREATE"):
		return badStatistics(tokens, at)
	case t.is("PARTITION"):
		return badPartition(tokens, at)
	case isProcedure(t):
		return withoutAs(tokens, at+1)
	case t.isOneOf("DEFAULT", "RULE") && isName(next) && tokens[at-1].is("CREATE"):
		if after := afterName(tokens, at+1); !tokens[after].is("AS") {
			return near(tokens, after)
		}
	case t.is("FUNCTION") && isName(next) && tokens[at-1].isOneOf("CREATE", "ALTER"):
		return badParameters(tokens, afterName(tokens, at+1))
	case t.is("INDEX") && tokens[at-1].is("ALTER") && ofAlterTable(tokens, at-1):
		return sqlerr.Unsupported("ALTER TABLE ... ALTER INDEX").At(t.line)
	case t.is("INDEX") && tokens[at-1].is("ALTER") && (isName(next) || next.is("ALL")) && withoutAction(tokens, at+2):
		return near(tokens, len(tokens)-1)
	case t.is("INDEX") && isName(next):
		if on := tokens[min(at+2, len(tokens)-1)]; tokens[at-1].is("ALTER") || on.is("ON") || on.kind == tokenEnd {
			return nil
		}
		return near(tokens, at+2)
	}
	return nil
}

// badParameters judges the list of a function's parameters that stands at a token, and what follows it: the first of
// them is a variable, and RETURNS comes next (docs/t-sql/statements/create-function-transact-sql.md, Syntax).
func badParameters(tokens []token, at int) *sqlerr.Error {
	if !tokens[at].is("(") {
		return near(tokens, at)
	}
	if first := tokens[at+1]; first.kind != tokenVariable && !first.is(")") {
		return near(tokens, at+1)
	}
	if end := closingParenthesis(tokens, at); end > at && end+1 < len(tokens) && !tokens[end+1].is("RETURNS") {
		return near(tokens, end+1)
	}
	return nil
}

// afterName is where the name of an object that begins at a token is over.
func afterName(tokens []token, at int) int {
	for at+1 < len(tokens) && (tokens[at].is(".") || isName(tokens[at])) {
		at++
		if isName(tokens[at-1]) && !tokens[at].is(".") {
			break
		}
	}
	return at
}

// badColumnNames judges the names in parentheses that may stand at a token: those of the columns of a view or of
// statistics, for which teesql waits without end.
func badColumnNames(tokens []token, at int) *sqlerr.Error {
	if !tokens[at].is("(") {
		return nil
	}
	for at++; isName(tokens[at]); at += 2 {
		if tokens[at+1].is(")") {
			return nil
		}
		if !tokens[at+1].is(",") {
			return near(tokens, at+1)
		}
	}
	return near(tokens, at)
}

// withoutAction tells whether a batch ends with the table of an ALTER INDEX, from the ON before it on.
func withoutAction(tokens []token, at int) bool {
	if at >= len(tokens) || !tokens[at].is("ON") {
		return false
	}
	at++
	for at+1 < len(tokens) && isName(tokens[at]) && tokens[at+1].is(".") {
		at += 2
	}
	return at+1 < len(tokens) && isName(tokens[at]) && tokens[at+1].kind == tokenEnd
}

func isProcedure(t token) bool { return t.is("PROCEDURE") || t.is("PROC") }

// ofAlterTable tells whether a clause is the first one of an ALTER TABLE: the table's name is before it.
func ofAlterTable(tokens []token, at int) bool {
	if at--; at > 2 && tokens[at].isOneOf("CHECK", "NOCHECK") && tokens[at-1].is("WITH") {
		at -= 2
	}
	for at > 2 && isName(tokens[at]) && tokens[at-1].is(".") {
		at -= 2
	}
	return at > 1 && isName(tokens[at]) && tokens[at-1].is("TABLE") && tokens[at-2].is("ALTER")
}

// indexWithoutTable is 159 for DROP INDEX, from the index's name on, that does not say of which table; without that
// name it is 102.
func indexWithoutTable(tokens []token, at int) *sqlerr.Error {
	if tokens[at].is("IF") {
		at = min(at+2, len(tokens)-1)
	}
	if !isName(tokens[at]) {
		return near(tokens, at)
	}
	if tokens[at+1].is("ON") || tokens[at+1].is(".") {
		return nil
	}
	return sqlerr.New(159, 1).At(tokens[at].line)
}

// badSequence finds START without WITH and INCREMENT without BY (docs/t-sql/statements/create-sequence-transact-sql.md,
// Syntax).
func badSequence(tokens []token, at int) *sqlerr.Error {
	for i := at + 2; i+1 < len(tokens) && !tokens[i].is(";"); i++ {
		t, next := tokens[i], tokens[i+1]
		if t.is("START") && !next.is("WITH") || t.is("INCREMENT") && !next.is("BY") {
			if next.kind == tokenEnd {
				return near(tokens, i)
			}
			return near(tokens, i+1)
		}
		if t.is("NO") && !next.isOneOf("MINVALUE", "MAXVALUE", "CYCLE", "CACHE") {
			return near(tokens, i+1)
		}
		if t.kind == tokenWord && t.reserved && !t.is("AS") && !t.is("WITH") && !t.is("BY") {
			return nil // the next statement
		}
	}
	return nil
}

// withoutAs finds the statement that begins a procedure's body where AS has to be, from the procedure's name on.
func withoutAs(tokens []token, at int) *sqlerr.Error {
	for i := at; i < len(tokens); i++ {
		t := tokens[i]
		if beginsBody(tokens, i) {
			return nil
		}
		if t.kind != tokenWord {
			continue
		}
		for _, word := range strings.Fields("SELECT INSERT UPDATE DELETE MERGE BEGIN IF WHILE DECLARE SET PRINT " +
			"RETURN TRUNCATE") {
			if t.is(word) {
				return near(tokens, i)
			}
		}
	}
	return nil
}

// withoutNested is a batch whose comments have none within them, of the same length: SQL Server's comments nest
// (docs/t-sql/language-elements/slash-star-comment-transact-sql.md), teesql's do not.
func withoutNested(text string, tokens []token) string {
	if strings.Count(text, "/*") < 2 {
		return text
	}
	out := []byte(text)
	from := 0
	for _, t := range tokens {
		blankNested(out[from:t.pos])
		from = t.end
	}
	return string(out)
}

// blankNested blanks the marks of comments within comments in what is between two tokens.
func blankNested(gap []byte) {
	depth := 0
	for i := 0; i+1 < len(gap); i++ {
		switch mark := string(gap[i : i+2]); {
		case mark == "--" && depth == 0:
			for i < len(gap) && gap[i] != '\n' {
				i++
			}
		case mark == "/*", mark == "*/" && depth > 0:
			if mark == "*/" {
				depth--
			}
			if depth > 0 {
				gap[i], gap[i+1] = ' ', ' '
			}
			if mark == "/*" {
				depth++
			}
			i++
		}
	}
}
