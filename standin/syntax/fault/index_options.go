// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// Options of tables and indexes by what they are equal to (docs/t-sql/statements/create-index-transact-sql.md,
// alter-index-transact-sql.md, create-table-transact-sql.md).
var (
	switches = token.Words(
		`ALLOW_PAGE_LOCKS ALLOW_ROW_LOCKS COMPRESS_ALL_ROW_GROUPS DROP_EXISTING IGNORE_DUP_KEY LOB_COMPACTION ONLINE
		OPTIMIZE_FOR_SEQUENTIAL_KEY PAD_INDEX RESUMABLE SORT_IN_TEMPDB STATISTICS_INCREMENTAL STATISTICS_NORECOMPUTE XML_COMPRESSION`,
	)
	counts       = token.Words("BUCKET_COUNT COMPRESSION_DELAY FILLFACTOR MAXDOP")
	compressions = token.Words("NONE ROW PAGE COLUMNSTORE COLUMNSTORE_ARCHIVE")

	alterIndexSets = token.Words(
		"ALLOW_PAGE_LOCKS ALLOW_ROW_LOCKS COMPRESSION_DELAY IGNORE_DUP_KEY OPTIMIZE_FOR_SEQUENTIAL_KEY " +
			"STATISTICS_NORECOMPUTE",
	)
	reorganizations = token.Words("COMPRESS_ALL_ROW_GROUPS LOB_COMPACTION")
	notInRebuild    = token.Words("COMPRESS_ALL_ROW_GROUPS DROP_EXISTING LOB_COMPACTION")
	notOfKey        = token.Words("DROP_EXISTING MAXDOP SORT_IN_TEMPDB")
	lockEscalations = token.Words("AUTO DISABLE TABLE")
)

// optionsOf are what the options of an ALTER INDEX are, by the word before them: those of SET and of REORGANIZE are
// few.
func optionsOf(tokens []token.Token, at int) (known map[string]bool, what string) {
	switch {
	case tokens[at].Is("SET"):
		return alterIndexSets, "ALTER INDEX"
	case tokens[at-1].Is("REORGANIZE"):
		return reorganizations, "ALTER INDEX REORGANIZE"
	}
	return storageOptions, "CREATE/ALTER TABLE or INDEX"
}

// badStorageOptions judges the parenthesized options after WITH or SET at a token: 155 for those that are not known
// there, 1039 for one that is given twice, 102 and 156 for a value that an option does not have.
func badStorageOptions(tokens []token.Token, at int) *sqlerr.Error {
	known, what := optionsOf(tokens, at)
	rebuild, key := tokens[at-1].Is("REBUILD"), ofKey(tokens, at) && ofCreateTable(tokens, at)
	given := map[string]bool{}
	depth, first := 0, true
	for i := at + 2; i+1 < len(tokens); i++ {
		t := tokens[i]
		if bad := badWait(tokens, i); bad > 0 {
			return token.Near(tokens, bad)
		}
		if first && depth == 0 && t.Kind != token.Word {
			return token.Near(tokens, i)
		}
		if first && depth == 0 {
			name := t.Fold
			switch {
			case !known[name], rebuild && notInRebuild[name]:
				return sqlerr.New(155, 1, t.Text, what).At(t.Line)
			case key && notOfKey[name]:
				return sqlerr.New(155, 1, t.Text, "CREATE TABLE").At(t.Line)
			case given[name] && name != "DATA_COMPRESSION" && name != "XML_COMPRESSION": // these may be given for partitions
				return sqlerr.New(1039, 1, t.Text).At(t.Line)
			}
			given[name] = true
			if bad := badOptionValue(tokens, i); bad > 0 {
				return token.Near(tokens, bad)
			}
		}
		if !first && depth == 0 && t.Kind == token.Word && known[t.Fold] && tokens[i+1].Is("=") {
			return token.Near(tokens, i)
		}
		first = false
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth == 0 {
				return nil
			}
			depth--
		case t.Is(",") && depth == 0:
			first = true
		}
	}
	return nil
}

// ofCreateTable tells whether the token at is within the definition of a table that CREATE TABLE makes.
func ofCreateTable(tokens []token.Token, at int) bool {
	depth := 0
	for ; at > 0; at-- {
		switch {
		case tokens[at].Is(")"):
			depth++
		case tokens[at].Is("("):
			if depth == 0 {
				return namesTable(tokens, at-1)
			}
			depth--
		}
	}
	return false
}

// badOptionValue is the token of a value that the option at a token cannot have, 0 when it can.
func badOptionValue(tokens []token.Token, at int) int {
	name := tokens[at].Fold
	if value := min(at+2, len(tokens)-1); name == "DATA_COMPRESSION" && !compressions[tokens[value].Fold] {
		return value
	}
	if !switches[name] && !counts[name] {
		return 0
	}
	value := min(at+2, len(tokens)-1)
	switch after := min(at+3, len(tokens)-1); {
	case !tokens[at+1].Is("="):
		return at + 1
	case switches[name] && !tokens[value].Is("ON") && !tokens[value].Is("OFF"):
		return value
	case counts[name] && tokens[value].Kind != token.Integer:
		return value
	case tokens[after].IsOneOf(",", ")"),
		tokens[after].Is("(") && tokens[value].Is("ON"),
		name == "XML_COMPRESSION",
		name == "COMPRESSION_DELAY":
		return 0
	default:
		return after
	}
}

// badWait is the token of a value that an option of waiting for locks cannot have, at whatever depth the option at a
// token stands.
func badWait(tokens []token.Token, at int) int {
	if !tokens[at+1].Is("=") {
		return 0
	}
	value := min(at+2, len(tokens)-1)
	switch {
	case tokens[at].Is("MAX_DURATION") && tokens[value].Kind != token.Integer:
		return value
	case tokens[at].Is("ABORT_AFTER_WAIT") && !tokens[value].IsOneOf("NONE", "SELF", "BLOCKERS"):
		return value
	}
	return 0
}
