// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// blockOfTable is 178 for the RETURN with a query in a block where RETURNS TABLE has the query alone
// (docs/t-sql/statements/create-function-transact-sql.md, Transact-SQL inline table-valued function syntax).
func blockOfTable(tokens []token.Token, inside []bool) *sqlerr.Error {
	if !token.DefinesModule(tokens) {
		return nil
	}
	for i := 0; i+3 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("RETURNS") || !tokens[i+1].Is("TABLE") {
			continue
		}
		at := i + 2
		for at < len(tokens) && !tokens[at].IsOneOf("AS", "BEGIN", "RETURN") {
			at++
		}
		if at < len(tokens) && tokens[at].Is("AS") {
			at++
		}
		if at >= len(tokens) || !tokens[at].Is("BEGIN") {
			return nil
		}
		for ; at+1 < len(tokens); at++ {
			if tokens[at].Is("RETURN") && (tokens[at+1].IsOneOf("SELECT", "WITH") || tokens[at+1].Is("(")) {
				return sqlerr.New(178, 1).At(tokens[at].Line)
			}
		}
		return nil
	}
	return nil
}
