// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// badSwitch judges ALTER TABLE ... SWITCH from the word SWITCH at a token on
// (docs/t-sql/statements/alter-table-transact-sql.md, Syntax): teesql passes over options and words of WITH that it
// does not know.
func badSwitch(tokens []token.Token, at int) *sqlerr.Error {
	w := &token.Walk{Tokens: tokens, At: at + 1}
	if w.Maybe("PARTITION") {
		if w.Next().Is("TO") {
			w.Take(false)
		}
		for depth := 0; w.Next().Kind != token.End && !w.Next().Is(";") && (depth > 0 || !w.Next().Is("TO")); w.At++ {
			if w.Next().Is("(") {
				depth++
			} else if w.Next().Is(")") {
				depth--
			}
		}
	}
	w.Words("TO")
	w.Name()
	for w.Bad == 0 && w.Maybe(".") {
		w.At-- // the name's parts may be empty
		for w.Maybe(".") {
		}
		w.Name()
	}
	if w.Bad == 0 && w.Maybe("PARTITION") {
		for w.Next().Kind != token.End && !w.Next().Is(";") && !(w.Next().Is("WITH") && tokens[w.At+1].Is("(")) &&
			!startsStatement(w.Next()) {
			w.At++
		}
	}
	if w.Bad == 0 && w.Next().Is("WITH") && tokens[w.At+1].Is("(") {
		lowPriority(w)
	}
	if w.Bad > 0 {
		return token.Near(tokens, w.Bad)
	}
	return nil
}

// startsStatement tells whether a word that is in no expression begins the statement behind this one.
func startsStatement(t token.Token) bool {
	return t.IsOneOf(
		"ALTER",
		"BEGIN",
		"COMMIT",
		"CREATE",
		"DECLARE",
		"DELETE",
		"DROP",
		"EXEC",
		"EXECUTE",
		"GO",
		"IF",
		"INSERT",
		"PRINT",
		"ROLLBACK",
		"SELECT",
		"SET",
		"TRUNCATE",
		"UPDATE",
		"WHILE",
		"END",
		"RETURN",
		"THROW",
		"RAISERROR",
	)
}

// lowPriority is WITH (WAIT_AT_LOW_PRIORITY (MAX_DURATION = n [MINUTES], ABORT_AFTER_WAIT = ...)).
func lowPriority(w *token.Walk) {
	w.Words("WITH", "(", "WAIT_AT_LOW_PRIORITY", "(", "MAX_DURATION", "=")
	w.Take(w.Next().Kind == token.Integer)
	w.Maybe("MINUTES")
	w.Words(",", "ABORT_AFTER_WAIT", "=")
	w.Take(w.Next().IsOneOf("NONE", "SELF", "BLOCKERS"))
	w.Words(")", ")")
}
