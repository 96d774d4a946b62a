// SPDX-License-Identifier: Apache-2.0

package fault

import "geosql.dev/standin/syntax/token"

// wantedOfTable judges what follows a word of the definition of a table, an index, a type or a trigger: the first token
// that may not, 0 when there is none. depth is that of the parentheses around the word.
func wantedOfTable(tokens []token.Token, i, depth int) int {
	before, next := tokens[max(i-1, 0)], tokens[i+1]
	switch tokens[i].Fold {
	case "INDEX":
		return afterIndex(tokens, i)
	case "INCLUDE":
		if before.Is(")") && (next.Kind == token.End || next.Is("(")) {
			return badNames(tokens, i+1, false)
		}
	case "CONSTRAINT":
		return badUnless(token.IsName(next) || next.IsOneOf("ALL", "IF"), i+1)
	case "COLLATE":
		return badUnless(token.IsName(next), i+1)
	case "REFERENCES":
		return afterReferences(tokens, i+1)
	case "CHECK":
		return badUnless(depth == 0 || next.IsOneOf("(", "NOT"), i+1)
	case "IDENTITY":
		// With three arguments it is the function of SELECT INTO.
		if next.Is("(") && token.IsName(tokens[i+2]) && tokens[i+3].Is(",") && tokens[min(i+5, len(tokens)-1)].Is(")") {
			return i + 2
		}
		if next.Is("(") && tokens[i+2].Kind == token.Integer && tokens[i+3].Is(",") {
			return badUnless(beginsNumber(tokens[i+4]), i+4)
		}
	case "KEY":
		if before.IsOneOf("FOREIGN", "PRIMARY") {
			return afterKey(tokens, i+1)
		}
	case "UNIQUE":
		return afterKey(tokens, i+1)
	case "SCHEMA":
		return badUnless(!before.Is("ALTER") || token.IsName(next), i+1)
	case "TYPE":
		if before.Is("CREATE") {
			return baseOfType(tokens, i+1)
		}
	case "STATISTICS":
		if before.Is("UPDATE") && token.IsName(next) {
			if at := token.AfterName(tokens, i+1); tokens[at].Is("(") {
				return badNames(tokens, at, false)
			}
		}
	case "TRIGGER":
		if before.IsOneOf("DROP", "ENABLE", "DISABLE") {
			return afterTrigger(tokens, i)
		}
	case "AUTHORIZATION":
		return badUnless(!before.Is("ALTER") || next.Is("ON"), i+1)
	case "INTO":
		if next.Kind == token.Variable && tokens[i+2].Is("(") {
			return badNames(tokens, i+2, false)
		}
	case "INSERT":
		if before.Is("THEN") && next.Is("(") {
			return badNames(tokens, i+1, false)
		}
	}
	return 0
}

// baseOfType judges the name of CREATE TYPE, and the type that it is made of.
func baseOfType(tokens []token.Token, at int) int {
	if !token.IsName(tokens[at]) {
		return at
	}
	if at = token.AfterName(tokens, at); !tokens[at].Is("FROM") {
		return 0
	}
	return badUnless(token.IsName(tokens[at+1]) || tokens[at+1].IsOneOf("DOUBLE", "NATIONAL"), at+1)
}

// afterKey judges the columns of a key, if they follow.
func afterKey(tokens []token.Token, at int) int {
	if tokens[at].IsOneOf("CLUSTERED", "NONCLUSTERED") {
		at++
	}
	if !tokens[at].Is("(") {
		return 0
	}
	return badNames(tokens, at, true)
}

// badNames judges names in parentheses that open at a token, with ASC or DESC behind each where they are those of a
// key.
func badNames(tokens []token.Token, opening int, ofKey bool) int {
	if !tokens[opening].Is("(") {
		return opening
	}
	for at := opening + 1; ; at++ {
		if !token.IsName(tokens[at]) {
			return at
		}
		if at = token.AfterName(tokens, at); ofKey && tokens[at].IsOneOf("ASC", "DESC") {
			at++
		}
		if !tokens[at].Is(",") {
			return badUnless(tokens[at].Is(")"), at)
		}
	}
}

// afterIndex judges the name, the table and the key of CREATE INDEX, those of ALTER INDEX, and of an index within
// CREATE TABLE its key (docs/t-sql/statements/create-index-transact-sql.md, alter-index-transact-sql.md,
// create-table-transact-sql.md).
func afterIndex(tokens []token.Token, i int) int {
	before := tokens[max(i-1, 0)]
	at := i + 1
	switch {
	case i > 0 && before.IsOneOf("CREATE", "UNIQUE", "CLUSTERED", "NONCLUSTERED") && createsIndex(tokens, i-1):
		if !token.IsName(tokens[at]) {
			return at
		}
		if at = token.AfterName(tokens, at); !tokens[at].Is("ON") {
			return 0
		}
		if at++; !token.IsName(tokens[at]) && !tokens[at].Is(".") {
			return at
		}
		if at = token.AfterName(tokens, at); tokens[at].Is("(") {
			return badNames(tokens, at, true)
		}
	case i > 0 && before.Is("ALTER"):
		switch {
		case tokens[at].Is("ALL"):
			at++
		case token.IsName(tokens[at]):
			at = token.AfterName(tokens, at)
		case tokens[at].Kind == token.Punct:
			return at
		}
		if !tokens[at].Is("ON") {
			return 0
		}
		if !token.IsName(tokens[at+1]) && !tokens[at+1].Is(".") {
			return at + 1
		}
		at = token.AfterName(tokens, at+1)
		return badUnless(
			tokens[at].Kind == token.End ||
				tokens[at].IsOneOf("REBUILD", "DISABLE", "REORGANIZE", "SET", "RESUME", "PAUSE", "ABORT", "WITH", "FOR"),
			at,
		)
	case i > 0 && before.Is("DROP"):
		return afterDropIndex(tokens, at)
	case i > 0 && before.IsOneOf("(", ",") && tokens[at].Is("("):
		if tokens[at+1].Is(")") {
			return at + 1
		}
		return badUnless(!namesTable(tokens, token.OpensBefore(tokens, i)-1), at)
	case i > 0 && before.IsOneOf("(", ",") && token.IsName(tokens[at]):
		if at++; tokens[at].Is("UNIQUE") {
			at++
		}
		if tokens[at].IsOneOf("CLUSTERED", "NONCLUSTERED") {
			at++
		}
		if tokens[at].Is("(") && i > 2 {
			return badNames(tokens, at, true)
		}
	}
	return 0
}

// afterDropIndex judges the commas of DROP INDEX (docs/t-sql/statements/drop-index-transact-sql.md, Syntax).
func afterDropIndex(tokens []token.Token, at int) int {
	if tokens[at].Is("IF") {
		at += 2
	}
	for token.IsName(tokens[at]) {
		if at = token.AfterName(tokens, at); tokens[at].Is("ON") && token.IsName(tokens[at+1]) {
			at = token.AfterName(tokens, at+1)
		}
		if !tokens[at].Is(",") {
			return 0
		}
		if at++; !token.IsName(tokens[at]) {
			return at
		}
	}
	return 0
}

// afterReferences judges a foreign key from the name of the table on that it refers to.
func afterReferences(tokens []token.Token, at int) int {
	if !token.IsName(tokens[at]) {
		return 0
	}
	if at = token.AfterName(tokens, at); tokens[at].Is("(") {
		if at = token.ClosingParenthesis(tokens, at) + 1; at == 0 {
			return 0
		}
	}
	for tokens[at].Is("ON") {
		if !tokens[at+1].IsOneOf("DELETE", "UPDATE") {
			return at + 1
		}
		if bad := badCascade(tokens, at+2); bad > 0 {
			return bad
		}
		if at += 3; !tokens[at-1].Is("CASCADE") {
			at++
		}
	}
	return 0
}

// afterTrigger judges where the triggers are that DROP, ENABLE and DISABLE name
// (docs/t-sql/statements/drop-trigger-transact-sql.md, enable-trigger-transact-sql.md).
func afterTrigger(tokens []token.Token, i int) int {
	at := i + 1
	if tokens[at].Is("IF") {
		at += 2
	}
	for token.IsName(tokens[at]) || tokens[at].Is("ALL") {
		if tokens[at].Is("ALL") {
			at++
		} else {
			at = token.AfterName(tokens, at)
		}
		if !tokens[at].Is(",") {
			break
		}
		at++
	}
	if !tokens[at].Is("ON") {
		return 0
	}
	where := tokens[at+1]
	return badUnless(where.IsOneOf("DATABASE", "ALL") || token.IsName(where) && !tokens[i-1].Is("DROP"), at+1)
}
