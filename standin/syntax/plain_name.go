// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

// plainNames are words that T-SQL doesn't reserve and that teesql v1.1.0 doesn't take for names everywhere, with the
// words before them that make them keywords.
var plainNames = map[string][]string{
	"TYPE": {"CREATE", "ALTER", "DROP", "MESSAGE"}, "MESSAGE": {"CREATE", "ALTER", "DROP"}, "WORK": {"COMMIT", "ROLLBACK"},
	"LOGIN": {"CREATE", "ALTER", "DROP"}, "LANGUAGE": {"EXTERNAL"}, "PASSWORD": nil, "MATCH": nil, "TIME": nil,
}

// aliasNames are more such words, which teesql does not take for the name of a column in SELECT name = expression.
var aliasNames = wordSet("CALLER CATCH COOKIE DELAY DIALOG ENCRYPTION GET JOB MASTER QUERY SEND STATS SUBSCRIPTION TRY")

// isPlainName tells whether the word at i is a name that teesql has to be shown in brackets. tokens ends with tokenEnd.
func isPlainName(tokens []token, i int) bool {
	word := strings.ToUpper(tokens[i].text)
	var last token
	if i > 0 {
		last = tokens[i-1]
	}
	if aliasNames[word] {
		return tokens[i+1].is("=") && (last.is("SELECT") || last.is(","))
	}
	before, ok := plainNames[word]
	if !ok {
		return false
	}
	for _, b := range before {
		if last.is(b) {
			return false
		}
	}
	next := tokens[i+1]
	switch word {
	case "TYPE":
		return !next.is("::") // ALTER SCHEMA s TRANSFER type::t
	case "LANGUAGE":
		switch {
		case next.is("="):
			return !last.is("(") // ATOMIC WITH (LANGUAGE = 'name')
		case last.is("SET"):
			return false
		}
		return next.kind != tokenString && next.kind != tokenInteger && next.kind != tokenBinary && next.kind != tokenVariable // of full text
	case "LOGIN":
		return !last.is("AS") || !next.is("=") || i < 2 || !tokens[i-2].is(")") // EXECUTE ('text') AS LOGIN = 'name'
	case "MATCH":
		return !next.is("(") // the graph predicate
	case "TIME":
		return (last.is("(") || last.is(",")) && (next.is(",") || next.is(")")) // a column in a list, not the type
	}
	return true
}

// isQueryMethod tells whether the word at i is the method query() of the xml data type, which teesql takes for a keyword.
func isQueryMethod(tokens []token, i int) bool {
	return i > 0 && tokens[i].is("QUERY") && tokens[i-1].text == "." && tokens[i+1].text == "("
}
