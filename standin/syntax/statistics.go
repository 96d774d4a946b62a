// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// statisticsOptions are those of WITH in CREATE STATISTICS and UPDATE STATISTICS
// (docs/t-sql/statements/create-statistics-transact-sql.md, update-statistics-transact-sql.md). teesql drops others
// without a word.
var statisticsOptions = map[string]map[string]bool{
	"CREATE": wordSet("FULLSCAN SAMPLE PERSIST_SAMPLE_PERCENT STATS_STREAM NORECOMPUTE INCREMENTAL MAXDOP AUTO_DROP"),
	"UPDATE": wordSet(
		"FULLSCAN SAMPLE PERSIST_SAMPLE_PERCENT RESAMPLE STATS_STREAM ROWCOUNT PAGECOUNT ALL COLUMNS INDEX NORECOMPUTE " +
			"INCREMENTAL MAXDOP AUTO_DROP",
	),
}

// badStatistics judges CREATE STATISTICS and UPDATE STATISTICS; at is where STATISTICS stands.
func badStatistics(tokens []token, at int) *sqlerr.Error {
	verb := tokens[at-1].fold
	at++
	if !isName(tokens[at]) {
		return near(tokens, at)
	}
	if verb == "CREATE" {
		at++
		if !tokens[at].is("ON") {
			return near(tokens, at)
		}
		at++
		if !isName(tokens[at]) {
			return near(tokens, at)
		}
	}
	for at++; tokens[at].is(".") || tokens[at-1].is(".") && isName(tokens[at]); at++ {
	}
	if verb == "CREATE" {
		if !tokens[at].is("(") {
			return near(tokens, at)
		}
		if err := badColumnNames(tokens, at); err != nil {
			return err
		}
	}
	for depth := 0; ; at++ {
		switch t := tokens[at]; {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case t.kind == tokenEnd, t.is(";"):
			return nil
		case t.is("WITH") && depth == 0 && !tokens[at+1].is("("):
			return badStatisticsOption(tokens, at+1, verb)
		case t.kind == tokenWord && t.reserved && depth == 0 && beginsStatement(t):
			return nil
		}
	}
}

// beginsStatement tells whether a reserved word begins the next statement.
func beginsStatement(t token) bool {
	switch t.fold {
	case "SELECT",
		"INSERT",
		"UPDATE",
		"DELETE",
		"CREATE",
		"ALTER",
		"DROP",
		"EXEC",
		"EXECUTE",
		"DECLARE",
		"SET",
		"IF",
		"WHILE",
		"BEGIN",
		"END",
		"PRINT",
		"DBCC",
		"WITH":
		return true
	}
	return false
}

// badStatisticsOption judges the options from the first one on (155 for a word that is none).
func badStatisticsOption(tokens []token, at int, verb string) *sqlerr.Error {
	for {
		t := tokens[at]
		if t.kind != tokenWord {
			return near(tokens, at)
		}
		if !statisticsOptions[verb][t.fold] {
			return sqlerr.New(155, 1, t.text, verb+" STATISTICS").At(t.line)
		}
		if t.is("SAMPLE") && !tokens[min(at+2, len(tokens)-1)].is("PERCENT") && !tokens[min(at+2, len(tokens)-1)].is("ROWS") {
			return near(tokens, min(at+2, len(tokens)-1))
		}
		for depth := 0; depth > 0 || !tokens[at].is(","); at++ {
			switch t := tokens[at]; {
			case t.is("("):
				depth++
			case t.is(")"):
				depth--
			case t.kind == tokenEnd, t.is(";"), t.kind == tokenWord && beginsStatement(t):
				return nil
			}
		}
		at++
	}
}

// statisticsValues takes the values from PERSIST_SAMPLE_PERCENT = ON and MAXDOP = n, and AUTO_DROP = ON from UPDATE
// STATISTICS: teesql reads the words alone there. Nothing here depends on them.
func statisticsValues(tokens []token, inside []bool, instead map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		update := tokens[i-1].is("UPDATE")
		if inside[i] || !tokens[i].is("STATISTICS") || !update && !tokens[i-1].is("CREATE") {
			continue
		}
		for at := i + 1; at+2 < len(tokens) && !tokens[at].is(";") &&
			(tokens[at].kind != tokenWord || !beginsStatement(tokens[at]) || tokens[at].is("WITH")); at++ {
			word := tokens[at].is("PERSIST_SAMPLE_PERCENT") || tokens[at].is("MAXDOP") || update && tokens[at].is("AUTO_DROP")
			if word && tokens[at+1].is("=") {
				instead[at+1], instead[at+2] = "", ""
			}
		}
	}
}
