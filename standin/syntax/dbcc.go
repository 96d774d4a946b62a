// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// dbccOptions are those behind WITH of DBCC commands (docs/t-sql/database-console-commands/dbcc-transact-sql.md and the
// commands' pages).
var dbccOptions = wordSet(
	`ALL_CONSTRAINTS ALL_ERRORMSGS ALL_INDEXES ALL_LEVELS BACKUP_CLONEDB COUNT_ROWS DATA_PURITY DENSITY_VECTOR ESTIMATEONLY
	EXTENDED_LOGICAL_CHECKS FAST HISTOGRAM MARK_IN_USE_FOR_REMOVAL MAXDOP NO_INFOMSGS NO_QUERYSTORE NO_STATISTICS PHYSICAL_ONLY SERVICEBROKER STAT_HEADER
	STATS_STREAM TABLERESULTS TABLOCK VERIFY_CLONEDB`,
)

// badDBCC judges a DBCC command from its name on: DBCC name [(value {, value})] [WITH option [= number] {, option}].
func badDBCC(tokens []token, at int) *sqlerr.Error {
	if !isName(tokens[at]) && !tokens[at].is("CHECKPOINT") {
		return near(tokens, at)
	}
	if at++; tokens[at].is("(") {
		end := closingParenthesis(tokens, at)
		if end < 0 {
			return near(tokens, len(tokens)-1)
		}
		if err := badDBCCArguments(tokens, at, end); err != nil {
			return err
		}
		at = end + 1
	}
	if !tokens[at].is("WITH") {
		return nil
	}
	for {
		if at++; tokens[at].kind != tokenWord || tokens[at].reserved {
			return near(tokens, at)
		}
		if !dbccOptions[tokens[at].fold] {
			return sqlerr.New(155, 1, tokens[at].text, "DBCC").At(tokens[at].line)
		}
		degree := tokens[at].is("MAXDOP")
		if at++; degree {
			if !tokens[at].is("=") {
				return near(tokens, at)
			}
			if at++; tokens[at].kind != tokenInteger {
				return near(tokens, at)
			}
			at++
		}
		if !tokens[at].is(",") {
			return nil
		}
	}
}

// dbccChecks are the words that may stand behind what a check is of (the pages of the commands, Syntax).
var dbccChecks = map[string]map[string]bool{
	"CHECKALLOC":     wordSet("NOINDEX REPAIR_ALLOW_DATA_LOSS REPAIR_FAST REPAIR_REBUILD"),
	"CHECKCATALOG":   {},
	"CHECKDB":        wordSet("NOINDEX REPAIR_ALLOW_DATA_LOSS REPAIR_FAST REPAIR_REBUILD"),
	"CHECKFILEGROUP": wordSet("NOINDEX"),
	"CHECKTABLE":     wordSet("NOINDEX REPAIR_ALLOW_DATA_LOSS REPAIR_FAST REPAIR_REBUILD"),
}

// badDBCCArguments judges what is between the parentheses of a DBCC command: nothing at all, or values with a comma
// between each two; a check takes one of its words behind the first, CHECKTABLE also the number of an index.
func badDBCCArguments(tokens []token, open, end int) *sqlerr.Error {
	command := tokens[open-1].fold
	words, check := dbccChecks[command]
	commas := 0
	for i := open + 1; i <= end; i++ {
		t, comma := tokens[i], tokens[i-1].is(",")
		if t.is(",") && (comma || tokens[i-1].is("(")) || t.is(")") && comma {
			return near(tokens, i)
		}
		if t.is(",") {
			commas++
		}
		switch {
		case !check || !comma:
		case commas > 1, t.kind != tokenWord && command != "CHECKTABLE":
			return near(tokens, i)
		case t.kind == tokenWord && !words[t.fold]:
			return sqlerr.New(155, 1, t.text, "DBCC").At(t.line)
		}
	}
	return nil
}

// degreeOfDBCC leaves out the number of WITH MAXDOP = n of DBCC commands, which teesql does not read.
func degreeOfDBCC(tokens []token, inside []bool, instead map[int]string) {
	for i := range tokens {
		if inside[i] || !tokens[i].is("DBCC") {
			continue
		}
		at := i + 2
		if at < len(tokens) && tokens[at].is("(") {
			at = closingParenthesis(tokens, at) + 1
		}
		if at < 1 || at >= len(tokens) || !tokens[at].is("WITH") {
			continue
		}
		for ; at+2 < len(tokens) && !tokens[at].is(";") && !tokens[at].is("DBCC"); at++ {
			if tokens[at].is("MAXDOP") && tokens[at+1].is("=") {
				instead[at+1], instead[at+2] = "", ""
				break
			}
		}
	}
}

// poolOfDBCC writes the resource pool of DBCC FREESYSTEMCACHE ('ALL', default) as a name
// (docs/t-sql/database-console-commands/dbcc-freesystemcache-transact-sql.md), which teesql does not take a keyword
// for.
func poolOfDBCC(tokens []token, inside []bool, instead map[int]string) {
	for i := 0; i+5 < len(tokens); i++ {
		if !inside[i] && tokens[i].is("DBCC") && tokens[i+1].is("FREESYSTEMCACHE") && tokens[i+2].is("(") &&
			tokens[i+4].is(",") &&
			tokens[i+5].is("DEFAULT") {
			instead[i+5] = "[default]"
		}
	}
}
