// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/syntax/token"

// statisticsValues takes the values from PERSIST_SAMPLE_PERCENT = ON and MAXDOP = n, and AUTO_DROP = ON from UPDATE
// STATISTICS: teesql reads the words alone there. Nothing here depends on them.
func statisticsValues(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		update := tokens[i-1].Is("UPDATE")
		if inside[i] || !tokens[i].Is("STATISTICS") || !update && !tokens[i-1].Is("CREATE") {
			continue
		}
		for at := i + 1; at+2 < len(tokens) && !tokens[at].Is(";") &&
			(tokens[at].Kind != token.Word || !token.BeginsStatement(tokens[at]) || tokens[at].Is("WITH")); at++ {
			word := tokens[at].Is("PERSIST_SAMPLE_PERCENT") || tokens[at].Is("MAXDOP") || update && tokens[at].Is("AUTO_DROP")
			if word && tokens[at+1].Is("=") {
				instead[at+1], instead[at+2] = "", ""
			}
		}
	}
}
