// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// storageOptions are the options of WITH ( ... ) in CREATE TABLE, CREATE INDEX, ALTER TABLE ... REBUILD and ALTER INDEX
// (docs/t-sql/statements/create-table-transact-sql.md, create-index-transact-sql.md, alter-table-transact-sql.md,
// alter-index-transact-sql.md). teesql drops others without a word.
var storageOptions = token.Words(`ALLOW_PAGE_LOCKS ALLOW_ROW_LOCKS BUCKET_COUNT COMPRESS_ALL_ROW_GROUPS COMPRESSION_DELAY
	DATA_COMPRESSION DATA_DELETION DROP_EXISTING DURABILITY FILETABLE_COLLATE_FILENAME FILETABLE_DIRECTORY FILLFACTOR
	IGNORE_DUP_KEY LEDGER LOB_COMPACTION MAX_DURATION MAXDOP MEMORY_OPTIMIZED MOVE ONLINE OPTIMIZE_FOR_SEQUENTIAL_KEY PAD_INDEX
	REMOTE_DATA_ARCHIVE RESUMABLE SORT_IN_TEMPDB STATISTICS_INCREMENTAL STATISTICS_NORECOMPUTE SYSTEM_VERSIONING
	WAIT_AT_LOW_PRIORITY XML_COMPRESSION`)

// queryHints are the first words of OPTION ( ... ) (docs/t-sql/queries/hints-transact-sql-query.md).
var queryHints = token.Words(
	`CONCAT DISABLE DISABLE_OPTIMIZED_PLAN_FORCING EXPAND FAST FORCE HASH IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX
	KEEP KEEPFIXED LABEL LOOP MAX_GRANT_PERCENT MAXDOP MAXRECURSION MERGE MIN_GRANT_PERCENT NO_PERFORMANCE_SPOOL OPTIMIZE ORDER
	PARAMETERIZATION QUERYTRACEON RECOMPILE ROBUST TABLE USE`,
)

// unknownOptions refuses options that teesql lets pass: 155 for those of tables and indexes, 102 for query hints.
func unknownOptions(tokens []token.Token, inside []bool) *sqlerr.Error {
	definition := false // within CREATE or ALTER of a TABLE or INDEX
	alteredIndex := false
	for i := 0; i+1 < len(tokens); i++ {
		t, next := tokens[i], tokens[i+1]
		if inside[i] || t.Kind != token.Word {
			definition = definition && !t.Is(";") && !inside[i]
			alteredIndex = alteredIndex && definition
			continue
		}
		switch {
		case t.Is("CREATE"), t.Is("ALTER") && !definition:
			definition = definesStorage(tokens[i+1:])
			alteredIndex = t.Is("ALTER") && next.Is("INDEX")
		case t.Is("SELECT"),
			t.Is("INSERT"),
			t.Is("UPDATE"),
			t.Is("DELETE"),
			t.Is("MERGE"),
			t.Is("TRUNCATE"),
			t.Is("EXEC"),
			t.Is("EXECUTE"):
			definition = definition && i > 0 && !tokens[i-1].Is(";") && (tokens[i-1].Is("ON") || tokens[i-1].Is("FOR"))
		case definition && t.Is("WITH") && next.Is("("), alteredIndex && t.Is("SET") && next.Is("("):
			if err := badStorageOptions(tokens, i); err != nil {
				return err
			}
		case definition && t.Is("LOCK_ESCALATION") && next.Is("="):
			if value := tokens[min(i+2, len(tokens)-1)]; !lockEscalations[value.Fold] {
				return token.Near(tokens, min(i+2, len(tokens)-1))
			}
		case t.Is("OPTION") && next.Is("("):
			if at := unknownWord(tokens, i+2, queryHints); at > 0 {
				return token.Near(tokens, at)
			}
		}
	}
	return nil
}

// definesStorage tells whether CREATE's or ALTER's next words are those of a table or an index.
func definesStorage(tokens []token.Token) bool {
	for _, t := range tokens {
		switch {
		case t.Is("TABLE"), t.Is("INDEX"):
			return true
		case t.Is("UNIQUE"), t.Is("CLUSTERED"), t.Is("NONCLUSTERED"), t.Is("COLUMNSTORE"):
		default:
			return false
		}
	}
	return false
}

// unknownWord looks at the first word of each item of a parenthesized list whose first token is at start; it returns
// the index of the first one that is not known, 0 when all are.
func unknownWord(tokens []token.Token, start int, known map[string]bool) int {
	depth, first := 0, true
	for i := start; i < len(tokens) && tokens[i].Kind != token.End; i++ {
		t := tokens[i]
		if first && depth == 0 && t.Kind == token.Word && !known[t.Fold] {
			return i
		}
		first = false
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth == 0 {
				return 0
			}
			depth--
		case t.Is(",") && depth == 0:
			first = true
		}
	}
	return 0
}
