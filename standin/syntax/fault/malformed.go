// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"slices"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// cursorOptions are the words between CURSOR and FOR (docs/t-sql/language-elements/declare-cursor-transact-sql.md).
var cursorOptions = token.Words(
	"LOCAL GLOBAL FORWARD_ONLY SCROLL STATIC KEYSET DYNAMIC FAST_FORWARD READ_ONLY SCROLL_LOCKS OPTIMISTIC TYPE_WARNING",
)

// setOptions are those that SET turns ON and OFF (docs/t-sql/statements/set-statements-transact-sql.md).
var setOptions = token.Words(
	`ANSI_DEFAULTS ANSI_NULL_DFLT_OFF ANSI_NULL_DFLT_ON ANSI_NULLS ANSI_PADDING ANSI_WARNINGS ARITHABORT ARITHIGNORE
	CONCAT_NULL_YIELDS_NULL CURSOR_CLOSE_ON_COMMIT DISABLE_DEF_CNST_CHK FIPS_FLAGGER FMTONLY FORCEPLAN IDENTITY_INSERT IMPLICIT_TRANSACTIONS
	NO_BROWSETABLE NOCOUNT NOEXEC NUMERIC_ROUNDABORT OFFSETS PARSEONLY QUOTED_IDENTIFIER REMOTE_PROC_TRANSACTIONS RESULT_SET_CACHING
	SHOWPLAN_ALL SHOWPLAN_TEXT SHOWPLAN_XML STATISTICS TEXTSIZE XACT_ABORT`,
)

// setValues are those that SET gives a number.
var setValues = token.Words(
	"DATEFIRST LOCK_TIMEOUT DEADLOCK_PRIORITY QUERY_GOVERNOR_COST_LIMIT CONTEXT_INFO LANGUAGE DATEFORMAT",
)

// malformed refuses statements whose first words say what is wrong with them and which teesql lets pass, reads as
// something else or never comes to an end with.
func malformed(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		t := tokens[i]
		if t.Text == "=" && t.Kind != token.String && t.Kind != token.Quoted && endsValue(tokens[i+1]) {
			return token.Near(tokens, i+1)
		}
		if tokens[i].Kind != token.Word {
			continue
		}
		var err *sqlerr.Error
		switch next := tokens[i+1]; tokens[i].Fold {
		case "DECLARE":
			if next.Kind != token.Variable {
				err = badCursor(tokens, i+1)
			}
		case "INDEX":
			if next.Kind == token.Word && next.Reserved && !next.IsOneOf("ALL", "IF") && !tokens[max(i-1, 0)].Is("FULLTEXT") {
				err = token.Near(tokens, i+1)
			}
		case "SET":
			// SET NULL ON and SET DEFAULT ON are those of foreign keys.
			state := tokens[min(i+2, len(tokens)-1)]
			if next.Kind == token.Word && !next.Reserved && !setOptions[next.Fold] && (state.Is("ON") || state.Is("OFF")) {
				err = sqlerr.New(195, 5, next.Text, "SET option").At(next.Line)
			}
			if next.Kind == token.Word && !next.Reserved && !setOptions[next.Fold] && !setValues[next.Fold] &&
				state.Kind == token.Integer {
				err = sqlerr.New(195, 7, next.Text, "SET option").At(next.Line)
			}
			if next.Kind == token.Word && (setValues[next.Fold] || next.IsOneOf("ROWCOUNT", "TEXTSIZE")) &&
				(state.Kind == token.End || state.Is(";")) {
				err = token.Near(tokens, i+2)
			}
			if next.Is("IDENTITY_INSERT") && err == nil {
				err = withoutState(tokens, i+2)
			}
			if next.Is("LOCK_TIMEOUT") &&
				(state.Kind == token.Word || state.Kind == token.String || state.Kind == token.Quoted) {
				err = token.Near(tokens, min(i+2, len(tokens)-1))
			}
		case "SAVE":
			if after := min(i+2, len(tokens)-1); next.IsOneOf("TRAN", "TRANSACTION") &&
				(tokens[after].Kind == token.End || tokens[after].Is(";")) {
				err = token.Near(tokens, i+1)
			}
		case "TOP":
			if next.Kind == token.Word {
				err = token.Near(tokens, i+1)
			}
		case "INTO":
			if next.Is("VALUES") || next.Is("FROM") || next.Is("SELECT") || next.Is("SET") {
				err = token.Near(tokens, i+1)
			}
		case "INNER":
			if !next.Is("JOIN") && !next.Is("LOOP") && !next.Is("HASH") && !next.Is("MERGE") && !next.Is("REMOTE") {
				err = token.Near(tokens, i+1)
			}
		case "CREATE", "ALTER":
			if err = badDefinition(tokens, i+1); err == nil {
				err = badModuleOptions(tokens, i+1)
			}
		case "DROP":
			switch {
			case next.Is("MASTER") && !tokens[min(i+2, len(tokens)-1)].Is("KEY") && !token.OfAlterTable(tokens, i):
				err = token.Near(tokens, min(i+2, len(tokens)-1))
			case next.Is("INDEX") && token.OfAlterTable(tokens, i):
				err = sqlerr.Unsupported("ALTER TABLE ... DROP INDEX").At(next.Line)
			case next.Is("INDEX"):
				err = indexWithoutTable(tokens, i+2)
			case next.Is("PARTITION"):
				err = badPartition(tokens, i+1)
			}
		case "SWITCH":
			if token.OfAlterTable(tokens, i) {
				err = badSwitch(tokens, i)
			}
		case "XML", "JSON":
			if tokens[max(i-1, 0)].Is("FOR") && i > 0 && !tokens[max(i-2, 0)].Is("AS") &&
				(next.Kind == token.Word || next.Kind == token.End || next.IsOneOf(";", ")", ",")) &&
				!next.IsOneOf("AUTO", "RAW", "PATH", "EXPLICIT", "IN") {
				err = token.Near(tokens, i+1)
			}
		case "DBCC":
			err = badDBCC(tokens, i+1)
		case "UPDATE":
			if next.Is("STATISTICS") {
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
func withoutState(tokens []token.Token, at int) *sqlerr.Error {
	at = token.AfterName(tokens, at)
	if tokens[min(at, len(tokens)-1)].IsOneOf("ON", "OFF") {
		return nil
	}
	return token.Near(tokens, min(at, len(tokens)-1))
}

// endsValue tells whether a token may not be what something is equal to: the end, a semicolon, a comma, a closing
// parenthesis.
func endsValue(t token.Token) bool {
	return t.Kind == token.End ||
		t.Kind != token.String && t.Kind != token.Quoted && (t.Text == ";" || t.Text == "," || t.Text == ")")
}

// badNewType judges CREATE TYPE behind the name of the type (docs/t-sql/statements/create-type-transact-sql.md,
// Syntax).
func badNewType(tokens []token.Token, at int) *sqlerr.Error {
	switch {
	case !tokens[at].IsOneOf("FROM", "AS", "EXTERNAL"):
		return token.Near(tokens, at)
	case tokens[at].Is("AS") && !tokens[at+1].Is("TABLE"):
		return token.Near(tokens, at+1)
	case tokens[at].Is("AS") && !tokens[at+2].Is("("):
		return token.Near(tokens, at+2)
	}
	return nil
}

// badSynonym judges CREATE SYNONYM behind the name of the synonym
// (docs/t-sql/statements/create-synonym-transact-sql.md, Syntax).
func badSynonym(tokens []token.Token, at int) *sqlerr.Error {
	switch {
	case !tokens[at].Is("FOR"):
		return token.Near(tokens, at)
	case !token.IsName(tokens[at+1]) && !tokens[at+1].Is("."):
		return token.Near(tokens, at+1)
	}
	return nil
}

// badCursor judges DECLARE of what is no variable, from its name on: 155 for a word in place of CURSOR or of an option,
// 156 where the query follows without FOR.
func badCursor(tokens []token.Token, at int) *sqlerr.Error {
	if !token.IsName(tokens[at]) {
		return token.Near(tokens, at)
	}
	if mixedCursor(tokens, at+1) {
		return sqlerr.New(1049, 1).At(tokens[at].Line)
	}
	declared, given := false, []string{}
	for i := at + 1; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("CURSOR") && !declared:
			declared = true
		case t.Is("FOR") && declared:
			return nil
		case t.Kind == token.Word && !t.Reserved && !cursorOptions[t.Fold] && !t.Is("INSENSITIVE"):
			return sqlerr.New(155, 2, t.Text, "CURSOR").At(t.Line)
		case declared && cursorOptions[t.Fold]:
			for _, other := range given {
				if conflictingCursors(other, t.Fold) {
					return sqlerr.New(1048, 1, other, t.Fold).At(t.Line)
				}
			}
			given = append(given, t.Fold)
		case t.Kind != token.Word || t.Reserved:
			return token.Near(tokens, i)
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
func badDefinition(tokens []token.Token, at int) *sqlerr.Error {
	for tokens[at].Is("UNIQUE") || tokens[at].Is("CLUSTERED") || tokens[at].Is("NONCLUSTERED") {
		at++
	}
	next := tokens[at+min(1, len(tokens)-1-at)]
	switch t := tokens[at]; {
	case t.Is("TYPE"), t.Is("SEQUENCE"), t.Is("SYNONYM"), t.Is("SCHEMA"):
		if next.Kind == token.End || next.Is(";") {
			return token.Near(tokens, at+1)
		}
		if after := token.AfterName(tokens, at+1); tokens[after-1].Is(".") {
			return token.Near(tokens, after)
		}
		if t.Is("TYPE") {
			return badNewType(tokens, token.AfterName(tokens, at+1))
		}
		if t.Is("SEQUENCE") {
			return badSequence(tokens, at)
		}
		if t.Is("SYNONYM") {
			return badSynonym(tokens, token.AfterName(tokens, at+1))
		}
	case t.Is("VIEW"):
		return badColumnNames(tokens, token.AfterName(tokens, at+1))
	case t.Is("OR") && next.Is("ALTER") && at+2 < len(tokens) && tokens[at+2].Is("VIEW"):
		return badColumnNames(tokens, token.AfterName(tokens, at+3))
	case t.Is("OR") && next.Is("ALTER") && at+2 < len(tokens) && isProcedure(tokens[at+2]):
		return withoutAs(tokens, at+3)
	case t.Is("STATISTICS") && tokens[at-1].Is("CREATE"):
		return badStatistics(tokens, at)
	case t.Is("PARTITION"):
		return badPartition(tokens, at)
	case isProcedure(t):
		return withoutAs(tokens, at+1)
	case t.IsOneOf("DEFAULT", "RULE") && token.IsName(next) && tokens[at-1].Is("CREATE"):
		if after := token.AfterName(tokens, at+1); !tokens[after].Is("AS") {
			return token.Near(tokens, after)
		}
	case t.Is("FUNCTION") && token.IsName(next) && tokens[at-1].IsOneOf("CREATE", "ALTER"):
		return badParameters(tokens, token.AfterName(tokens, at+1))
	case t.Is("INDEX") && tokens[at-1].Is("ALTER") && token.OfAlterTable(tokens, at-1):
		return sqlerr.Unsupported("ALTER TABLE ... ALTER INDEX").At(t.Line)
	case t.Is("INDEX") && tokens[at-1].Is("ALTER") && (token.IsName(next) || next.Is("ALL")) &&
		withoutAction(tokens, at+2):
		return token.Near(tokens, len(tokens)-1)
	case t.Is("INDEX") && token.IsName(next):
		if on := tokens[min(at+2, len(tokens)-1)]; tokens[at-1].Is("ALTER") || on.Is("ON") || on.Kind == token.End {
			return nil
		}
		return token.Near(tokens, at+2)
	}
	return nil
}

// badParameters judges the list of a function's parameters that stands at a token, and what follows it: the first of
// them is a variable, and RETURNS comes next (docs/t-sql/statements/create-function-transact-sql.md, Syntax).
func badParameters(tokens []token.Token, at int) *sqlerr.Error {
	if !tokens[at].Is("(") {
		return token.Near(tokens, at)
	}
	if first := tokens[at+1]; first.Kind != token.Variable && !first.Is(")") {
		return token.Near(tokens, at+1)
	}
	if end := token.ClosingParenthesis(tokens, at); end > at && end+1 < len(tokens) && !tokens[end+1].Is("RETURNS") {
		return token.Near(tokens, end+1)
	}
	return nil
}

// badColumnNames judges the names in parentheses that may stand at a token: those of the columns of a view or of
// statistics, for which teesql waits without end.
func badColumnNames(tokens []token.Token, at int) *sqlerr.Error {
	if !tokens[at].Is("(") {
		return nil
	}
	for at++; token.IsName(tokens[at]); at += 2 {
		if tokens[at+1].Is(")") {
			return nil
		}
		if !tokens[at+1].Is(",") {
			return token.Near(tokens, at+1)
		}
	}
	return token.Near(tokens, at)
}

// withoutAction tells whether a batch ends with the table of an ALTER INDEX, from the ON before it on.
func withoutAction(tokens []token.Token, at int) bool {
	if at >= len(tokens) || !tokens[at].Is("ON") {
		return false
	}
	at++
	for at+1 < len(tokens) && token.IsName(tokens[at]) && tokens[at+1].Is(".") {
		at += 2
	}
	return at+1 < len(tokens) && token.IsName(tokens[at]) && tokens[at+1].Kind == token.End
}

func isProcedure(t token.Token) bool { return t.Is("PROCEDURE") || t.Is("PROC") }

// indexWithoutTable is 159 for DROP INDEX, from the index's name on, that does not say of which table; without that
// name it is 102.
func indexWithoutTable(tokens []token.Token, at int) *sqlerr.Error {
	if tokens[at].Is("IF") {
		at = min(at+2, len(tokens)-1)
	}
	if !token.IsName(tokens[at]) {
		return token.Near(tokens, at)
	}
	if tokens[at+1].Is("ON") || tokens[at+1].Is(".") {
		return nil
	}
	return sqlerr.New(159, 1).At(tokens[at].Line)
}

// badSequence finds START without WITH and INCREMENT without BY (docs/t-sql/statements/create-sequence-transact-sql.md,
// Syntax).
func badSequence(tokens []token.Token, at int) *sqlerr.Error {
	for i := at + 2; i+1 < len(tokens) && !tokens[i].Is(";"); i++ {
		t, next := tokens[i], tokens[i+1]
		if t.Is("START") && !next.Is("WITH") || t.Is("INCREMENT") && !next.Is("BY") {
			if next.Kind == token.End {
				return token.Near(tokens, i)
			}
			return token.Near(tokens, i+1)
		}
		if t.Is("NO") && !next.IsOneOf("MINVALUE", "MAXVALUE", "CYCLE", "CACHE") {
			return token.Near(tokens, i+1)
		}
		if t.Kind == token.Word && t.Reserved && !t.Is("AS") && !t.Is("WITH") && !t.Is("BY") {
			return nil // the next statement
		}
	}
	return nil
}

// withoutAs finds the statement that begins a procedure's body where AS has to be, from the procedure's name on.
func withoutAs(tokens []token.Token, at int) *sqlerr.Error {
	for i := at; i < len(tokens); i++ {
		t := tokens[i]
		if token.BeginsBody(tokens, i) {
			return nil
		}
		if t.Kind != token.Word {
			continue
		}
		for _, word := range strings.Fields("SELECT INSERT UPDATE DELETE MERGE BEGIN IF WHILE DECLARE SET PRINT " +
			"RETURN TRUNCATE") {
			if t.Is(word) {
				return token.Near(tokens, i)
			}
		}
	}
	return nil
}
