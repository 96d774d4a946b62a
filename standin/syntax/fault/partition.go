// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// fileGroups are the file groups of a scheme.
func fileGroups(w *token.Walk) {
	w.Words("(")
	for more := true; more; more = w.Bad == 0 && w.Maybe(",") {
		w.Take(token.IsName(w.Next()) || w.Next().Kind == token.String)
	}
	w.Words(")")
}

func partitionFunction(w *token.Walk, verb token.Token) {
	w.Name()
	switch {
	case verb.Is("CREATE"):
		w.Parenthesized()
		w.Words("AS", "RANGE")
		w.Maybe("LEFT", "RIGHT")
		w.Words("FOR", "VALUES")
		w.Parenthesized()
	case verb.Is("ALTER"):
		w.Words("(", ")")
		w.Take(w.Next().IsOneOf("SPLIT", "MERGE"))
		if w.Maybe("RANGE") {
			w.Parenthesized()
		}
	}
}

func partitionScheme(w *token.Walk, verb token.Token) {
	w.Name()
	switch {
	case verb.Is("CREATE"):
		w.Words("AS", "PARTITION")
		w.Name()
		w.Maybe("ALL")
		w.Words("TO")
		fileGroups(w)
	case verb.Is("ALTER"):
		w.Words("NEXT", "USED")
		if token.IsName(w.Next()) || w.Next().Kind == token.String {
			w.At++
		}
	}
}

// PartitionEnd reads CREATE, ALTER or DROP PARTITION FUNCTION or SCHEME from the word PARTITION at a token on
// (docs/t-sql/statements/create-partition-function-transact-sql.md and its neighbours, Syntax): its last token, and the
// first one that is wrong, 0 when none is. teesql passes over what it does not read in one, up to a word that it takes
// for the begin of a statement: that would make something of half of a definition, and nothing of a TRUNCATE TABLE
// behind one.
func PartitionEnd(tokens []token.Token, at int) (end, bad int) {
	w := &token.Walk{Tokens: tokens, At: at + 1}
	switch verb := tokens[at-1]; {
	case w.Maybe("FUNCTION"):
		partitionFunction(w, verb)
	case w.Maybe("SCHEME"):
		partitionScheme(w, verb)
	default:
		w.Take(false)
	}
	return w.At - 1, w.Bad
}

// badPartition judges a statement about a partition function or scheme from the word PARTITION on.
func badPartition(tokens []token.Token, at int) *sqlerr.Error {
	if _, bad := PartitionEnd(tokens, at); bad > 0 {
		return token.Near(tokens, bad)
	}
	return nil
}
