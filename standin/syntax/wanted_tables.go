// SPDX-License-Identifier: Apache-2.0

package syntax

// wantedOfTable judges what follows a word of the definition of a table, an index, a type or a trigger: the first token
// that may not, 0 when there is none. depth is that of the parentheses around the word.
func wantedOfTable(tokens []token, i, depth int) int {
	before, next := tokens[max(i-1, 0)], tokens[i+1]
	switch tokens[i].fold {
	case "INDEX":
		return afterIndex(tokens, i)
	case "INCLUDE":
		if before.is(")") && (next.kind == tokenEnd || next.is("(")) {
			return badNames(tokens, i+1, false)
		}
	case "CONSTRAINT":
		return badUnless(isName(next) || next.isOneOf("ALL", "IF"), i+1)
	case "COLLATE":
		return badUnless(isName(next), i+1)
	case "REFERENCES":
		return afterReferences(tokens, i+1)
	case "CHECK":
		return badUnless(depth == 0 || next.isOneOf("(", "NOT"), i+1)
	case "IDENTITY":
		// With three arguments it is the function of SELECT INTO.
		if next.is("(") && isName(tokens[i+2]) && tokens[i+3].is(",") && tokens[min(i+5, len(tokens)-1)].is(")") {
			return i + 2
		}
		if next.is("(") && tokens[i+2].kind == tokenInteger && tokens[i+3].is(",") {
			return badUnless(beginsNumber(tokens[i+4]), i+4)
		}
	case "KEY":
		if before.isOneOf("FOREIGN", "PRIMARY") {
			return afterKey(tokens, i+1)
		}
	case "UNIQUE":
		return afterKey(tokens, i+1)
	case "SCHEMA":
		return badUnless(!before.is("ALTER") || isName(next), i+1)
	case "TYPE":
		if before.is("CREATE") {
			return baseOfType(tokens, i+1)
		}
	case "STATISTICS":
		if before.is("UPDATE") && isName(next) {
			if at := afterName(tokens, i+1); tokens[at].is("(") {
				return badNames(tokens, at, false)
			}
		}
	case "TRIGGER":
		if before.isOneOf("DROP", "ENABLE", "DISABLE") {
			return afterTrigger(tokens, i)
		}
	case "AUTHORIZATION":
		return badUnless(!before.is("ALTER") || next.is("ON"), i+1)
	case "INTO":
		if next.kind == tokenVariable && tokens[i+2].is("(") {
			return badNames(tokens, i+2, false)
		}
	case "INSERT":
		if before.is("THEN") && next.is("(") {
			return badNames(tokens, i+1, false)
		}
	}
	return 0
}

// baseOfType judges the name of CREATE TYPE, and the type that it is made of.
func baseOfType(tokens []token, at int) int {
	if !isName(tokens[at]) {
		return at
	}
	if at = afterName(tokens, at); !tokens[at].is("FROM") {
		return 0
	}
	return badUnless(isName(tokens[at+1]) || tokens[at+1].isOneOf("DOUBLE", "NATIONAL"), at+1)
}

// afterKey judges the columns of a key, if they follow.
func afterKey(tokens []token, at int) int {
	if tokens[at].isOneOf("CLUSTERED", "NONCLUSTERED") {
		at++
	}
	if !tokens[at].is("(") {
		return 0
	}
	return badNames(tokens, at, true)
}

// badNames judges names in parentheses that open at a token, with ASC or DESC behind each where they are those of a
// key.
func badNames(tokens []token, opening int, ofKey bool) int {
	if !tokens[opening].is("(") {
		return opening
	}
	for at := opening + 1; ; at++ {
		if !isName(tokens[at]) {
			return at
		}
		if at = afterName(tokens, at); ofKey && tokens[at].isOneOf("ASC", "DESC") {
			at++
		}
		if !tokens[at].is(",") {
			return badUnless(tokens[at].is(")"), at)
		}
	}
}

// afterIndex judges the name, the table and the key of CREATE INDEX, those of ALTER INDEX, and of an index within
// CREATE TABLE its key (docs/t-sql/statements/create-index-transact-sql.md, alter-index-transact-sql.md,
// create-table-transact-sql.md).
func afterIndex(tokens []token, i int) int {
	before := tokens[max(i-1, 0)]
	at := i + 1
	switch {
	case i > 0 && before.isOneOf("CREATE", "UNIQUE", "CLUSTERED", "NONCLUSTERED") && createsIndex(tokens, i-1):
		if !isName(tokens[at]) {
			return at
		}
		if at = afterName(tokens, at); !tokens[at].is("ON") {
			return 0
		}
		if at++; !isName(tokens[at]) && !tokens[at].is(".") {
			return at
		}
		if at = afterName(tokens, at); tokens[at].is("(") {
			return badNames(tokens, at, true)
		}
	case i > 0 && before.is("ALTER"):
		switch {
		case tokens[at].is("ALL"):
			at++
		case isName(tokens[at]):
			at = afterName(tokens, at)
		case tokens[at].kind == tokenPunct:
			return at
		}
		if !tokens[at].is("ON") {
			return 0
		}
		if !isName(tokens[at+1]) && !tokens[at+1].is(".") {
			return at + 1
		}
		at = afterName(tokens, at+1)
		return badUnless(
			tokens[at].kind == tokenEnd ||
				tokens[at].isOneOf("REBUILD", "DISABLE", "REORGANIZE", "SET", "RESUME", "PAUSE", "ABORT", "WITH", "FOR"),
			at,
		)
	case i > 0 && before.is("DROP"):
		return afterDropIndex(tokens, at)
	case i > 0 && before.isOneOf("(", ",") && tokens[at].is("("):
		if tokens[at+1].is(")") {
			return at + 1
		}
		return badUnless(!namesTable(tokens, opensBefore(tokens, i)-1), at)
	case i > 0 && before.isOneOf("(", ",") && isName(tokens[at]):
		if at++; tokens[at].is("UNIQUE") {
			at++
		}
		if tokens[at].isOneOf("CLUSTERED", "NONCLUSTERED") {
			at++
		}
		if tokens[at].is("(") && i > 2 {
			return badNames(tokens, at, true)
		}
	}
	return 0
}

// afterDropIndex judges the commas of DROP INDEX (docs/t-sql/statements/drop-index-transact-sql.md, Syntax).
func afterDropIndex(tokens []token, at int) int {
	if tokens[at].is("IF") {
		at += 2
	}
	for isName(tokens[at]) {
		if at = afterName(tokens, at); tokens[at].is("ON") && isName(tokens[at+1]) {
			at = afterName(tokens, at+1)
		}
		if !tokens[at].is(",") {
			return 0
		}
		if at++; !isName(tokens[at]) {
			return at
		}
	}
	return 0
}

// afterReferences judges a foreign key from the name of the table on that it refers to.
func afterReferences(tokens []token, at int) int {
	if !isName(tokens[at]) {
		return 0
	}
	if at = afterName(tokens, at); tokens[at].is("(") {
		if at = closingParenthesis(tokens, at) + 1; at == 0 {
			return 0
		}
	}
	for tokens[at].is("ON") {
		if !tokens[at+1].isOneOf("DELETE", "UPDATE") {
			return at + 1
		}
		if bad := badCascade(tokens, at+2); bad > 0 {
			return bad
		}
		if at += 3; !tokens[at-1].is("CASCADE") {
			at++
		}
	}
	return 0
}

// afterTrigger judges where the triggers are that DROP, ENABLE and DISABLE name
// (docs/t-sql/statements/drop-trigger-transact-sql.md, enable-trigger-transact-sql.md).
func afterTrigger(tokens []token, i int) int {
	at := i + 1
	if tokens[at].is("IF") {
		at += 2
	}
	for isName(tokens[at]) || tokens[at].is("ALL") {
		if tokens[at].is("ALL") {
			at++
		} else {
			at = afterName(tokens, at)
		}
		if !tokens[at].is(",") {
			break
		}
		at++
	}
	if !tokens[at].is("ON") {
		return 0
	}
	where := tokens[at+1]
	return badUnless(where.isOneOf("DATABASE", "ALL") || isName(where) && !tokens[i-1].is("DROP"), at+1)
}
