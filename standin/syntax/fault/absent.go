// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// absentPhrase begins a statement or clause; what is what the refusal calls it.
type absentPhrase struct {
	words []string
	what  string
}

// absentPhrases begin statements and clauses of SQL Server that the stand-in does not have and teesql does not read
// whole, with what the refusal calls them.
var absentPhrases = byFirstWord([]absentPhrase{
	{[]string{"ADD", "SIGNATURE", "TO"}, "ADD SIGNATURE"},
	{[]string{"ADD", "COUNTER", "SIGNATURE", "TO"}, "ADD COUNTER SIGNATURE"},
	{[]string{"DROP", "SIGNATURE", "FROM"}, "DROP SIGNATURE"},
	{[]string{"DROP", "COUNTER", "SIGNATURE", "FROM"}, "DROP COUNTER SIGNATURE"},
	{[]string{"ALTER", "QUEUE"}, "ALTER QUEUE"},
	{[]string{"CREATE", "SERVER", "AUDIT"}, "CREATE SERVER AUDIT"},
	{[]string{"ALTER", "SERVER", "AUDIT"}, "ALTER SERVER AUDIT"},
	{[]string{"CREATE", "COLUMN", "MASTER", "KEY"}, "CREATE COLUMN MASTER KEY"},
	{[]string{"CREATE", "SELECTIVE", "XML", "INDEX"}, "CREATE SELECTIVE XML INDEX"},
	{[]string{"CREATE", "FULLTEXT", "INDEX"}, "CREATE FULLTEXT INDEX"},
	{[]string{"CREATE", "EXTERNAL", "LIBRARY"}, "CREATE EXTERNAL LIBRARY"},
	{[]string{"WITH", "CHANGE_TRACKING_CONTEXT", "("}, "WITH CHANGE_TRACKING_CONTEXT"},
	{[]string{"NONCLUSTERED", "HASH", "("}, "A hash index of a memory-optimized table"},
	{[]string{"AT", "DATA_SOURCE"}, "EXECUTE ... AT DATA_SOURCE"},
	{[]string{"MASKED", "WITH", "(", "FUNCTION"}, "A column that is MASKED"},
	{[]string{"CREATE", "SECURITY", "POLICY"}, "CREATE SECURITY POLICY"},
	{[]string{"ALTER", "SECURITY", "POLICY"}, "ALTER SECURITY POLICY"},
	{[]string{"ALTER", "RESOURCE", "GOVERNOR"}, "ALTER RESOURCE GOVERNOR"},
	{[]string{"ALTER", "SERVER", "CONFIGURATION"}, "ALTER SERVER CONFIGURATION"},
	{[]string{"SEND", "ON", "CONVERSATION"}, "SEND ON CONVERSATION"},
	{[]string{"BEGIN", "ATOMIC", "WITH"}, "A natively compiled module"},
	{[]string{"CREATE", "SPATIAL", "INDEX"}, "CREATE SPATIAL INDEX"},
	{[]string{"ENABLE", "CHANGE_TRACKING"}, "ALTER TABLE ... ENABLE CHANGE_TRACKING"},
	{[]string{"DISABLE", "CHANGE_TRACKING"}, "ALTER TABLE ... DISABLE CHANGE_TRACKING"},
	{[]string{"ENCRYPTED", "WITH", "(", "COLUMN_ENCRYPTION_KEY"}, "A column that is ENCRYPTED WITH a key"},
	{[]string{"ENCRYPTED", "WITH", "(", "ENCRYPTION_TYPE"}, "A column that is ENCRYPTED WITH a key"},
	{[]string{"ENCRYPTED", "WITH", "(", "ALGORITHM"}, "A column that is ENCRYPTED WITH a key"},
})

func byFirstWord(list []absentPhrase) map[string][]absentPhrase {
	m := map[string][]absentPhrase{}
	for _, p := range list {
		m[p.words[0]] = append(m[p.words[0]], p)
	}
	return m
}

// changedSources are rows of elsewhere that INSERT, UPDATE and DELETE may change in SQL Server.
var changedSources = token.Words("OPENDATASOURCE OPENQUERY OPENROWSET")

// absent refuses what is not there by its name (40517), before it could be taken for an error of syntax.
func absent(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i, t := range tokens {
		if inside[i] || t.Kind != token.Word {
			continue
		}
		for _, phrase := range absentPhrases[t.Fold] {
			if follows(tokens[i:], phrase.words) {
				return sqlerr.Unsupported(phrase.what).At(t.Line)
			}
		}
		verb := ""
		switch before := tokens[max(i-1, 0)]; {
		case !changedSources[t.Fold] || !tokens[i+1].Is("("):
		case before.IsOneOf("INSERT", "UPDATE", "DELETE"):
			verb = before.Fold
		case i > 1 && (before.Is("INTO") && tokens[i-2].Is("INSERT") || before.Is("FROM") && tokens[i-2].Is("DELETE")):
			verb = tokens[i-2].Fold
		}
		if verb != "" {
			return sqlerr.Unsupported(verb + " of " + t.Fold).At(t.Line)
		}
	}
	return nil
}

// follows tells whether tokens begin with words.
func follows(tokens []token.Token, words []string) bool {
	if len(tokens) < len(words) {
		return false
	}
	for i, word := range words {
		if !tokens[i].Is(word) {
			return false
		}
	}
	return true
}
