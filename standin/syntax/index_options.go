// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// Options of tables and indexes by what they are equal to (docs/t-sql/statements/create-index-transact-sql.md,
// alter-index-transact-sql.md, create-table-transact-sql.md).
var (
	switches = wordSet(
		`ALLOW_PAGE_LOCKS ALLOW_ROW_LOCKS COMPRESS_ALL_ROW_GROUPS DROP_EXISTING IGNORE_DUP_KEY LOB_COMPACTION ONLINE
		OPTIMIZE_FOR_SEQUENTIAL_KEY PAD_INDEX RESUMABLE SORT_IN_TEMPDB STATISTICS_INCREMENTAL STATISTICS_NORECOMPUTE XML_COMPRESSION`,
	)
	counts       = wordSet("BUCKET_COUNT COMPRESSION_DELAY FILLFACTOR MAXDOP")
	compressions = wordSet("NONE ROW PAGE COLUMNSTORE COLUMNSTORE_ARCHIVE")

	alterIndexSets = wordSet(
		"ALLOW_PAGE_LOCKS ALLOW_ROW_LOCKS COMPRESSION_DELAY IGNORE_DUP_KEY OPTIMIZE_FOR_SEQUENTIAL_KEY " +
			"STATISTICS_NORECOMPUTE",
	)
	reorganizations = wordSet("COMPRESS_ALL_ROW_GROUPS LOB_COMPACTION")
	notInRebuild    = wordSet("COMPRESS_ALL_ROW_GROUPS DROP_EXISTING LOB_COMPACTION")
	notOfKey        = wordSet("DROP_EXISTING MAXDOP SORT_IN_TEMPDB")
	lockEscalations = wordSet("AUTO DISABLE TABLE")
)

// optionsOf are what the options of an ALTER INDEX are, by the word before them: those of SET and of REORGANIZE are
// few.
func optionsOf(tokens []token, at int) (known map[string]bool, what string) {
	switch {
	case tokens[at].is("SET"):
		return alterIndexSets, "ALTER INDEX"
	case tokens[at-1].is("REORGANIZE"):
		return reorganizations, "ALTER INDEX REORGANIZE"
	}
	return storageOptions, "CREATE/ALTER TABLE or INDEX"
}

// badStorageOptions judges the parenthesized options after WITH or SET at a token: 155 for those that are not known
// there, 1039 for one that is given twice, 102 and 156 for a value that an option does not have.
func badStorageOptions(tokens []token, at int) *sqlerr.Error {
	known, what := optionsOf(tokens, at)
	rebuild, key := tokens[at-1].is("REBUILD"), ofKey(tokens, at) && ofCreateTable(tokens, at)
	given := map[string]bool{}
	depth, first := 0, true
	for i := at + 2; i+1 < len(tokens); i++ {
		t := tokens[i]
		if bad := badWait(tokens, i); bad > 0 {
			return near(tokens, bad)
		}
		if first && depth == 0 && t.kind != tokenWord {
			return near(tokens, i)
		}
		if first && depth == 0 {
			name := t.fold
			switch {
			case !known[name], rebuild && notInRebuild[name]:
				return sqlerr.New(155, 1, t.text, what).At(t.line)
			case key && notOfKey[name]:
				return sqlerr.New(155, 1, t.text, "CREATE TABLE").At(t.line)
			case given[name] && name != "DATA_COMPRESSION" && name != "XML_COMPRESSION": // these may be given for partitions
				return sqlerr.New(1039, 1, t.text).At(t.line)
			}
			given[name] = true
			if bad := badOptionValue(tokens, i); bad > 0 {
				return near(tokens, bad)
			}
		}
		if !first && depth == 0 && t.kind == tokenWord && known[t.fold] && tokens[i+1].is("=") {
			return near(tokens, i)
		}
		first = false
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth == 0 {
				return nil
			}
			depth--
		case t.is(",") && depth == 0:
			first = true
		}
	}
	return nil
}

// ofCreateTable tells whether the token at is within the definition of a table that CREATE TABLE makes.
func ofCreateTable(tokens []token, at int) bool {
	depth := 0
	for ; at > 0; at-- {
		switch {
		case tokens[at].is(")"):
			depth++
		case tokens[at].is("("):
			if depth == 0 {
				return namesTable(tokens, at-1)
			}
			depth--
		}
	}
	return false
}

// switchesOfKeys makes strings of the ON and OFF among the options of a key that the definition of a table variable, a
// table type or a function's table has behind its columns: teesql takes expressions there.
func switchesOfKeys(tokens []token, inside []bool, instead map[int]string) {
	for i := 2; i+2 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("WITH") || !tokens[i+1].is("(") || !tokens[i-1].is(")") || !ofDeclaredTable(tokens, i) {
			continue
		}
		for at := i + 2; at+1 < len(tokens) && !tokens[at].is(")"); at++ {
			if tokens[at-1].is("=") && tokens[at].isOneOf("ON", "OFF") {
				instead[at] = "'" + tokens[at].text + "'"
			}
		}
	}
}

// ofDeclaredTable tells whether the token at is within a definition that follows TABLE at once.
func ofDeclaredTable(tokens []token, at int) bool {
	depth := 0
	for ; at > 0; at-- {
		switch {
		case tokens[at].is(")"):
			depth++
		case tokens[at].is("("):
			if depth == 0 {
				return tokens[at-1].is("TABLE")
			}
			depth--
		}
	}
	return false
}

// badOptionValue is the token of a value that the option at a token cannot have, 0 when it can.
func badOptionValue(tokens []token, at int) int {
	name := tokens[at].fold
	if value := min(at+2, len(tokens)-1); name == "DATA_COMPRESSION" && !compressions[tokens[value].fold] {
		return value
	}
	if !switches[name] && !counts[name] {
		return 0
	}
	value := min(at+2, len(tokens)-1)
	switch after := min(at+3, len(tokens)-1); {
	case !tokens[at+1].is("="):
		return at + 1
	case switches[name] && !tokens[value].is("ON") && !tokens[value].is("OFF"):
		return value
	case counts[name] && tokens[value].kind != tokenInteger:
		return value
	case tokens[after].isOneOf(",", ")"),
		tokens[after].is("(") && tokens[value].is("ON"),
		name == "XML_COMPRESSION",
		name == "COMPRESSION_DELAY":
		return 0
	default:
		return after
	}
}

// badWait is the token of a value that an option of waiting for locks cannot have, at whatever depth the option at a
// token stands.
func badWait(tokens []token, at int) int {
	if !tokens[at+1].is("=") {
		return 0
	}
	value := min(at+2, len(tokens)-1)
	switch {
	case tokens[at].is("MAX_DURATION") && tokens[value].kind != tokenInteger:
		return value
	case tokens[at].is("ABORT_AFTER_WAIT") && !tokens[value].isOneOf("NONE", "SELF", "BLOCKERS"):
		return value
	}
	return 0
}
