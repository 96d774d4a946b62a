// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// dbccOptions are those behind WITH of DBCC commands (docs/t-sql/database-console-commands/dbcc-transact-sql.md and the
// commands' pages).
var dbccOptions = token.Words(
	`ALL_CONSTRAINTS ALL_ERRORMSGS ALL_INDEXES ALL_LEVELS BACKUP_CLONEDB COUNT_ROWS DATA_PURITY DENSITY_VECTOR ESTIMATEONLY
	EXTENDED_LOGICAL_CHECKS FAST HISTOGRAM MARK_IN_USE_FOR_REMOVAL MAXDOP NO_INFOMSGS NO_QUERYSTORE NO_STATISTICS PHYSICAL_ONLY SERVICEBROKER STAT_HEADER
	STATS_STREAM TABLERESULTS TABLOCK VERIFY_CLONEDB`,
)

// badDBCC judges a DBCC command from its name on: DBCC name [(value {, value})] [WITH option [= number] {, option}].
func badDBCC(tokens []token.Token, at int) *sqlerr.Error {
	if !token.IsName(tokens[at]) && !tokens[at].Is("CHECKPOINT") {
		return token.Near(tokens, at)
	}
	if at++; tokens[at].Is("(") {
		end := token.ClosingParenthesis(tokens, at)
		if end < 0 {
			return token.Near(tokens, len(tokens)-1)
		}
		if err := badDBCCArguments(tokens, at, end); err != nil {
			return err
		}
		at = end + 1
	}
	if !tokens[at].Is("WITH") {
		return nil
	}
	for {
		if at++; tokens[at].Kind != token.Word || tokens[at].Reserved {
			return token.Near(tokens, at)
		}
		if !dbccOptions[tokens[at].Fold] {
			return sqlerr.New(155, 1, tokens[at].Text, "DBCC").At(tokens[at].Line)
		}
		degree := tokens[at].Is("MAXDOP")
		if at++; degree {
			if !tokens[at].Is("=") {
				return token.Near(tokens, at)
			}
			if at++; tokens[at].Kind != token.Integer {
				return token.Near(tokens, at)
			}
			at++
		}
		if !tokens[at].Is(",") {
			return nil
		}
	}
}

// dbccChecks are the words that may stand behind what a check is of (the pages of the commands, Syntax).
var dbccChecks = map[string]map[string]bool{
	"CHECKALLOC":     token.Words("NOINDEX REPAIR_ALLOW_DATA_LOSS REPAIR_FAST REPAIR_REBUILD"),
	"CHECKCATALOG":   {},
	"CHECKDB":        token.Words("NOINDEX REPAIR_ALLOW_DATA_LOSS REPAIR_FAST REPAIR_REBUILD"),
	"CHECKFILEGROUP": token.Words("NOINDEX"),
	"CHECKTABLE":     token.Words("NOINDEX REPAIR_ALLOW_DATA_LOSS REPAIR_FAST REPAIR_REBUILD"),
}

// badDBCCArguments judges what is between the parentheses of a DBCC command: nothing at all, or values with a comma
// between each two; a check takes one of its words behind the first, CHECKTABLE also the number of an index.
func badDBCCArguments(tokens []token.Token, open, end int) *sqlerr.Error {
	command := tokens[open-1].Fold
	words, check := dbccChecks[command]
	commas := 0
	for i := open + 1; i <= end; i++ {
		t, comma := tokens[i], tokens[i-1].Is(",")
		if t.Is(",") && (comma || tokens[i-1].Is("(")) || t.Is(")") && comma {
			return token.Near(tokens, i)
		}
		if t.Is(",") {
			commas++
		}
		switch {
		case !check || !comma:
		case commas > 1, t.Kind != token.Word && command != "CHECKTABLE":
			return token.Near(tokens, i)
		case t.Kind == token.Word && !words[t.Fold]:
			return sqlerr.New(155, 1, t.Text, "DBCC").At(t.Line)
		}
	}
	return nil
}
