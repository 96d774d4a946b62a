// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// statisticsOptions are those of WITH in CREATE STATISTICS and UPDATE STATISTICS
// (docs/t-sql/statements/create-statistics-transact-sql.md, update-statistics-transact-sql.md). teesql drops others
// without a word.
var statisticsOptions = map[string]map[string]bool{
	"CREATE": token.Words("FULLSCAN SAMPLE PERSIST_SAMPLE_PERCENT STATS_STREAM NORECOMPUTE INCREMENTAL MAXDOP AUTO_DROP"),
	"UPDATE": token.Words(
		"FULLSCAN SAMPLE PERSIST_SAMPLE_PERCENT RESAMPLE STATS_STREAM ROWCOUNT PAGECOUNT ALL COLUMNS INDEX NORECOMPUTE " +
			"INCREMENTAL MAXDOP AUTO_DROP",
	),
}

// badStatistics judges CREATE STATISTICS and UPDATE STATISTICS; at is where STATISTICS stands.
func badStatistics(tokens []token.Token, at int) *sqlerr.Error {
	verb := tokens[at-1].Fold
	at++
	if !token.IsName(tokens[at]) {
		return token.Near(tokens, at)
	}
	if verb == "CREATE" {
		at++
		if !tokens[at].Is("ON") {
			return token.Near(tokens, at)
		}
		at++
		if !token.IsName(tokens[at]) {
			return token.Near(tokens, at)
		}
	}
	for at++; tokens[at].Is(".") || tokens[at-1].Is(".") && token.IsName(tokens[at]); at++ {
	}
	if verb == "CREATE" {
		if !tokens[at].Is("(") {
			return token.Near(tokens, at)
		}
		if err := badColumnNames(tokens, at); err != nil {
			return err
		}
	}
	for depth := 0; ; at++ {
		switch t := tokens[at]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case t.Kind == token.End, t.Is(";"):
			return nil
		case t.Is("WITH") && depth == 0 && !tokens[at+1].Is("("):
			return badStatisticsOption(tokens, at+1, verb)
		case t.Kind == token.Word && t.Reserved && depth == 0 && token.BeginsStatement(t):
			return nil
		}
	}
}

// badStatisticsOption judges the options from the first one on (155 for a word that is none).
func badStatisticsOption(tokens []token.Token, at int, verb string) *sqlerr.Error {
	for {
		t := tokens[at]
		if t.Kind != token.Word {
			return token.Near(tokens, at)
		}
		if !statisticsOptions[verb][t.Fold] {
			return sqlerr.New(155, 1, t.Text, verb+" STATISTICS").At(t.Line)
		}
		if t.Is("SAMPLE") && !tokens[min(at+2, len(tokens)-1)].Is("PERCENT") && !tokens[min(at+2, len(tokens)-1)].Is("ROWS") {
			return token.Near(tokens, min(at+2, len(tokens)-1))
		}
		for depth := 0; depth > 0 || !tokens[at].Is(","); at++ {
			switch t := tokens[at]; {
			case t.Is("("):
				depth++
			case t.Is(")"):
				depth--
			case t.Kind == token.End, t.Is(";"), t.Kind == token.Word && token.BeginsStatement(t):
				return nil
			}
		}
		at++
	}
}
