// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// badSwitch judges ALTER TABLE ... SWITCH from the word SWITCH at a token on
// (docs/t-sql/statements/alter-table-transact-sql.md, Syntax): teesql passes over options and words of WITH that it
// does not know.
func badSwitch(tokens []token, at int) *sqlerr.Error {
	w := &partitionWalk{tokens: tokens, at: at + 1}
	if w.maybe("PARTITION") {
		if w.next().is("TO") {
			w.take(false)
		}
		for depth := 0; w.next().kind != tokenEnd && !w.next().is(";") && (depth > 0 || !w.next().is("TO")); w.at++ {
			if w.next().is("(") {
				depth++
			} else if w.next().is(")") {
				depth--
			}
		}
	}
	w.words("TO")
	w.name()
	for w.bad == 0 && w.maybe(".") {
		w.at-- // the name's parts may be empty
		for w.maybe(".") {
		}
		w.name()
	}
	if w.bad == 0 && w.maybe("PARTITION") {
		for w.next().kind != tokenEnd && !w.next().is(";") && !(w.next().is("WITH") && tokens[w.at+1].is("(")) &&
			!startsStatement(w.next()) {
			w.at++
		}
	}
	if w.bad == 0 && w.next().is("WITH") && tokens[w.at+1].is("(") {
		w.lowPriority()
	}
	if w.bad > 0 {
		return near(tokens, w.bad)
	}
	return nil
}

// startsStatement tells whether a word that is in no expression begins the statement behind this one.
func startsStatement(t token) bool {
	return t.isOneOf(
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
func (w *partitionWalk) lowPriority() {
	w.words("WITH", "(", "WAIT_AT_LOW_PRIORITY", "(", "MAX_DURATION", "=")
	w.take(w.next().kind == tokenInteger)
	w.maybe("MINUTES")
	w.words(",", "ABORT_AFTER_WAIT", "=")
	w.take(w.next().isOneOf("NONE", "SELF", "BLOCKERS"))
	w.words(")", ")")
}
