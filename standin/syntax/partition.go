// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
)

// partitionWalk reads a statement about a partition function or scheme, token by token.
type partitionWalk struct {
	tokens []token
	// at is the next token, bad the first one that is wrong, 0 when none is.
	at, bad int
}

func (w *partitionWalk) next() token { return w.tokens[min(w.at, len(w.tokens)-1)] }

// take goes on behind the next token, which is wrong unless ok.
func (w *partitionWalk) take(ok bool) {
	if !ok && w.bad == 0 {
		w.bad = min(w.at, len(w.tokens)-1)
	}
	w.at++
}

func (w *partitionWalk) words(words ...string) {
	for _, word := range words {
		w.take(w.next().is(word))
	}
}

func (w *partitionWalk) name() { w.take(isName(w.next())) }

// maybe goes on behind one of the words if it is there.
func (w *partitionWalk) maybe(words ...string) bool {
	if !w.next().isOneOf(words...) {
		return false
	}
	w.at++
	return true
}

// parenthesized goes on behind what is in parentheses.
func (w *partitionWalk) parenthesized() {
	closing := -1
	if w.next().is("(") {
		closing = closingParenthesis(w.tokens, w.at)
	}
	if w.take(closing > 0); closing > 0 {
		w.at = closing + 1
	}
}

// groups are the file groups of a scheme.
func (w *partitionWalk) groups() {
	w.words("(")
	for more := true; more; more = w.bad == 0 && w.maybe(",") {
		w.take(isName(w.next()) || w.next().kind == tokenString)
	}
	w.words(")")
}

func (w *partitionWalk) function(verb token) {
	w.name()
	switch {
	case verb.is("CREATE"):
		w.parenthesized()
		w.words("AS", "RANGE")
		w.maybe("LEFT", "RIGHT")
		w.words("FOR", "VALUES")
		w.parenthesized()
	case verb.is("ALTER"):
		w.words("(", ")")
		w.take(w.next().isOneOf("SPLIT", "MERGE"))
		if w.maybe("RANGE") {
			w.parenthesized()
		}
	}
}

func (w *partitionWalk) scheme(verb token) {
	w.name()
	switch {
	case verb.is("CREATE"):
		w.words("AS", "PARTITION")
		w.name()
		w.maybe("ALL")
		w.words("TO")
		w.groups()
	case verb.is("ALTER"):
		w.words("NEXT", "USED")
		if isName(w.next()) || w.next().kind == tokenString {
			w.at++
		}
	}
}

// partitionEnd reads CREATE, ALTER or DROP PARTITION FUNCTION or SCHEME from the word PARTITION at a token on
// (docs/t-sql/statements/create-partition-function-transact-sql.md and its neighbours, Syntax): its last token, and the
// first one that is wrong, 0 when none is. teesql passes over what it does not read in one, up to a word that it takes
// for the begin of a statement: that would make something of half of a definition, and nothing of a TRUNCATE TABLE
// behind one.
func partitionEnd(tokens []token, at int) (end, bad int) {
	w := &partitionWalk{tokens: tokens, at: at + 1}
	switch verb := tokens[at-1]; {
	case w.maybe("FUNCTION"):
		w.function(verb)
	case w.maybe("SCHEME"):
		w.scheme(verb)
	default:
		w.take(false)
	}
	return w.at - 1, w.bad
}

// badPartition judges a statement about a partition function or scheme from the word PARTITION on.
func badPartition(tokens []token, at int) *sqlerr.Error {
	if _, bad := partitionEnd(tokens, at); bad > 0 {
		return near(tokens, bad)
	}
	return nil
}

// endPartitions closes statements about partition functions and schemes with a semicolon where they have none.
func endPartitions(tokens []token, inside []bool, closing map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].is("PARTITION") || !tokens[i-1].isOneOf("CREATE", "ALTER") {
			continue
		}
		if end, bad := partitionEnd(tokens, i); bad == 0 && !tokens[end+1].is(";") && tokens[end+1].kind != tokenEnd {
			closing[end] += ";"
		}
	}
}

// boundaries refuses a list of boundary values that teesql has not read to its end, which is that of the statement.
func (f *finisher) boundaries(node any, values []ast.ScalarExpression) {
	end := f.lastOf(node)
	if !f.tokens[end].is(")") {
		return
	}
	at, depth := end, 0
	for ; at > 0; at-- {
		if f.tokens[at].is(")") {
			depth++
		} else if f.tokens[at].is("(") {
			if depth--; depth == 0 {
				break
			}
		}
	}
	at++
	if len(values) > 0 {
		last := values[len(values)-1]
		if !fragment(last).HasSpan() {
			return
		}
		at = f.lastOf(last) + 1
	}
	if at != end && f.err == nil {
		f.err = near(f.tokens, at)
	}
}

// partitions refuses a list of partitions without one, of which teesql would make a TRUNCATE of the whole table, and
// one without its commas.
func (f *finisher) partitions(n *ast.TruncateTableStatement) {
	at, end := f.tokenOf(n), f.lastOf(n)
	for at < end && !f.tokens[at].is("WITH") {
		at++
	}
	if at == end {
		return
	}
	at += 4 // behind WITH ( PARTITIONS (
	for i, r := range n.PartitionRanges {
		last := r.From
		if r.To != nil {
			last = r.To
		}
		at = f.lastOf(last) + 1
		if i+1 < len(n.PartitionRanges) && !f.tokens[at].is(",") {
			f.err = near(f.tokens, at)
			return
		}
	}
	if len(n.PartitionRanges) == 0 || !f.tokens[at].is(")") {
		f.err = near(f.tokens, at)
	}
}

// placesOfKeys makes one name, with marks, of the scheme and its columns in ON scheme (column) behind a key of ALTER
// TABLE ADD and an index within a table's definition: teesql reads nothing but a name there.
func placesOfKeys(tokens []token, inside []bool, instead map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		at := 0
		switch t := tokens[i]; {
		case t.is("UNIQUE") && !tokens[i-1].is("CREATE") && altersTable(tokens, i),
			t.is("KEY") && tokens[i-1].is("PRIMARY") && altersTable(tokens, i):
			at = i + 1
		case t.is("INDEX") && tokens[i-1].isOneOf(",", "ADD") && isName(tokens[i+1]):
			at = i + 2
		default:
			continue
		}
		on := placeOfKey(tokens, at)
		if on == 0 {
			continue
		}
		name, end := tokens[on+1].value, closingParenthesis(tokens, on+2)
		for j := on + 2; j <= end; j++ {
			if isName(tokens[j]) {
				name += columnMark + tokens[j].value
			}
			instead[j] = ""
		}
		instead[on+1] = "[" + strings.ReplaceAll(name, "]", "]]") + "]"
	}
}

// altersTable tells whether a token is behind an ALTER TABLE, not a CREATE TABLE.
func altersTable(tokens []token, at int) bool {
	for ; at > 0; at-- {
		if tokens[at].is("TABLE") {
			return tokens[at-1].is("ALTER")
		}
	}
	return false
}

// placeOfKey is the ON of ON scheme (columns) behind the columns and options of a key or an index, 0 when it has none.
func placeOfKey(tokens []token, at int) int {
	w := &partitionWalk{tokens: tokens, at: at}
	w.maybe("UNIQUE")
	w.maybe("CLUSTERED", "NONCLUSTERED")
	if w.next().is("(") {
		w.parenthesized()
	}
	if w.maybe("INCLUDE") {
		w.parenthesized()
	}
	if w.maybe("WITH") {
		if w.next().is("FILLFACTOR") {
			w.at += 3
		} else {
			w.parenthesized()
		}
	}
	on := w.at
	w.words("ON")
	w.name()
	open := w.at
	w.parenthesized()
	if w.bad > 0 {
		return 0
	}
	for i := open + 1; i < w.at-1; i++ {
		if column := (i-open)%2 == 1; column != isName(tokens[i]) || !column && !tokens[i].is(",") {
			return 0
		}
	}
	return on
}

// places gives the keys and indexes of a table's definition the columns that placesOfKeys has put into the names of
// their schemes.
func places(def *ast.TableDefinition) {
	if def == nil {
		return
	}
	key := func(c any) {
		if u, ok := c.(*ast.UniqueConstraintDefinition); ok {
			placeColumns(u.OnFileGroupOrPartitionScheme)
		}
	}
	for _, c := range def.TableConstraints {
		key(c)
	}
	for _, column := range def.ColumnDefinitions {
		for _, c := range column.Constraints {
			key(c)
		}
	}
	for _, i := range def.Indexes {
		placeColumns(i.OnFileGroupOrPartitionScheme)
	}
}

func placeColumns(on *ast.FileGroupOrPartitionScheme) {
	if on == nil || on.Name == nil || on.Name.Identifier == nil {
		return
	}
	parts := strings.Split(on.Name.Identifier.Value, columnMark)
	if len(parts) == 1 {
		return
	}
	on.Name.Identifier.Value, on.Name.Value = parts[0], parts[0]
	for _, column := range parts[1:] {
		on.PartitionSchemeColumns = append(on.PartitionSchemeColumns, &ast.Identifier{Value: column})
	}
}
