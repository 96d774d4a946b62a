// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/syntax/token"

// degreeOfDBCC leaves out the number of WITH MAXDOP = n of DBCC commands, which teesql does not read.
func degreeOfDBCC(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := range tokens {
		if inside[i] || !tokens[i].Is("DBCC") {
			continue
		}
		at := i + 2
		if at < len(tokens) && tokens[at].Is("(") {
			at = token.ClosingParenthesis(tokens, at) + 1
		}
		if at < 1 || at >= len(tokens) || !tokens[at].Is("WITH") {
			continue
		}
		for ; at+2 < len(tokens) && !tokens[at].Is(";") && !tokens[at].Is("DBCC"); at++ {
			if tokens[at].Is("MAXDOP") && tokens[at+1].Is("=") {
				instead[at+1], instead[at+2] = "", ""
				break
			}
		}
	}
}

// poolOfDBCC writes the resource pool of DBCC FREESYSTEMCACHE ('ALL', default) as a name
// (docs/t-sql/database-console-commands/dbcc-freesystemcache-transact-sql.md), which teesql does not take a keyword
// for.
func poolOfDBCC(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := 0; i+5 < len(tokens); i++ {
		if !inside[i] && tokens[i].Is("DBCC") && tokens[i+1].Is("FREESYSTEMCACHE") && tokens[i+2].Is("(") &&
			tokens[i+4].Is(",") &&
			tokens[i+5].Is("DEFAULT") {
			instead[i+5] = "[default]"
		}
	}
}
