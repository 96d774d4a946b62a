// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"geosql.dev/standin/sqlerr"
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// storageOptions are the options of WITH ( ... ) in CREATE TABLE, CREATE INDEX, ALTER TABLE ... REBUILD and ALTER INDEX
// (docs/t-sql/statements/create-table-transact-sql.md, create-index-transact-sql.md, alter-table-transact-sql.md,
// alter-index-transact-sql.md). teesql drops others without a word.
var storageOptions = wordSet(`ALLOW_PAGE_LOCKS ALLOW_ROW_LOCKS BUCKET_COUNT COMPRESS_ALL_ROW_GROUPS COMPRESSION_DELAY
	DATA_COMPRESSION DATA_DELETION DROP_EXISTING DURABILITY FILETABLE_COLLATE_FILENAME FILETABLE_DIRECTORY FILLFACTOR
	IGNORE_DUP_KEY LEDGER LOB_COMPACTION MAX_DURATION MAXDOP MEMORY_OPTIMIZED MOVE ONLINE OPTIMIZE_FOR_SEQUENTIAL_KEY PAD_INDEX
	REMOTE_DATA_ARCHIVE RESUMABLE SORT_IN_TEMPDB STATISTICS_INCREMENTAL STATISTICS_NORECOMPUTE SYSTEM_VERSIONING
	WAIT_AT_LOW_PRIORITY XML_COMPRESSION`)

// queryHints are the first words of OPTION ( ... ) (docs/t-sql/queries/hints-transact-sql-query.md).
var queryHints = wordSet(
	`CONCAT DISABLE DISABLE_OPTIMIZED_PLAN_FORCING EXPAND FAST FORCE HASH IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX
	KEEP KEEPFIXED LABEL LOOP MAX_GRANT_PERCENT MAXDOP MAXRECURSION MERGE MIN_GRANT_PERCENT NO_PERFORMANCE_SPOOL OPTIMIZE ORDER
	PARAMETERIZATION QUERYTRACEON RECOMPILE ROBUST TABLE USE`,
)

// unknownOptions refuses options that teesql lets pass: 155 for those of tables and indexes, 102 for query hints.
func unknownOptions(tokens []token, inside []bool) *sqlerr.Error {
	definition := false // within CREATE or ALTER of a TABLE or INDEX
	alteredIndex := false
	for i := 0; i+1 < len(tokens); i++ {
		t, next := tokens[i], tokens[i+1]
		if inside[i] || t.kind != tokenWord {
			definition = definition && !t.is(";") && !inside[i]
			alteredIndex = alteredIndex && definition
			continue
		}
		switch {
		case t.is("CREATE"), t.is("ALTER") && !definition:
			definition = definesStorage(tokens[i+1:])
			alteredIndex = t.is("ALTER") && next.is("INDEX")
		case t.is("SELECT"),
			t.is("INSERT"),
			t.is("UPDATE"),
			t.is("DELETE"),
			t.is("MERGE"),
			t.is("TRUNCATE"),
			t.is("EXEC"),
			t.is("EXECUTE"):
			definition = definition && i > 0 && !tokens[i-1].is(";") && (tokens[i-1].is("ON") || tokens[i-1].is("FOR"))
		case definition && t.is("WITH") && next.is("("), alteredIndex && t.is("SET") && next.is("("):
			if err := badStorageOptions(tokens, i); err != nil {
				return err
			}
		case definition && t.is("LOCK_ESCALATION") && next.is("="):
			if value := tokens[min(i+2, len(tokens)-1)]; !lockEscalations[value.fold] {
				return near(tokens, min(i+2, len(tokens)-1))
			}
		case t.is("OPTION") && next.is("("):
			if at := unknownWord(tokens, i+2, queryHints); at > 0 {
				return near(tokens, at)
			}
		}
	}
	return nil
}

// definesStorage tells whether CREATE's or ALTER's next words are those of a table or an index.
func definesStorage(tokens []token) bool {
	for _, t := range tokens {
		switch {
		case t.is("TABLE"), t.is("INDEX"):
			return true
		case t.is("UNIQUE"), t.is("CLUSTERED"), t.is("NONCLUSTERED"), t.is("COLUMNSTORE"):
		default:
			return false
		}
	}
	return false
}

// unknownWord looks at the first word of each item of a parenthesized list whose first token is at start; it returns
// the index of the first one that is not known, 0 when all are.
func unknownWord(tokens []token, start int, known map[string]bool) int {
	depth, first := 0, true
	for i := start; i < len(tokens) && tokens[i].kind != tokenEnd; i++ {
		t := tokens[i]
		if first && depth == 0 && t.kind == tokenWord && !known[t.fold] {
			return i
		}
		first = false
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth == 0 {
				return 0
			}
			depth--
		case t.is(",") && depth == 0:
			first = true
		}
	}
	return 0
}
