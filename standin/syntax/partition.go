// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/fault"
	"geosql.dev/standin/syntax/token"
)

// endPartitions closes statements about partition functions and schemes with a semicolon where they have none.
func endPartitions(tokens []token.Token, inside []bool, closing map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] || !tokens[i].Is("PARTITION") || !tokens[i-1].IsOneOf("CREATE", "ALTER") {
			continue
		}
		if end, bad := fault.PartitionEnd(tokens, i); bad == 0 && !tokens[end+1].Is(";") && tokens[end+1].Kind != token.End {
			closing[end] += ";"
		}
	}
}

// boundaries refuses a list of boundary values that teesql has not read to its end, which is that of the statement.
func (f *finisher) boundaries(node any, values []ast.ScalarExpression) {
	end := f.lastOf(node)
	if !f.tokens[end].Is(")") {
		return
	}
	at, depth := end, 0
	for ; at > 0; at-- {
		if f.tokens[at].Is(")") {
			depth++
		} else if f.tokens[at].Is("(") {
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
		f.err = token.Near(f.tokens, at)
	}
}

// partitions refuses a list of partitions without one, of which teesql would make a TRUNCATE of the whole table, and
// one without its commas.
func (f *finisher) partitions(n *ast.TruncateTableStatement) {
	at, end := f.tokenOf(n), f.lastOf(n)
	for at < end && !f.tokens[at].Is("WITH") {
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
		if i+1 < len(n.PartitionRanges) && !f.tokens[at].Is(",") {
			f.err = token.Near(f.tokens, at)
			return
		}
	}
	if len(n.PartitionRanges) == 0 || !f.tokens[at].Is(")") {
		f.err = token.Near(f.tokens, at)
	}
}

// placesOfKeys makes one name, with marks, of the scheme and its columns in ON scheme (column) behind a key of ALTER
// TABLE ADD and an index within a table's definition: teesql reads nothing but a name there.
func placesOfKeys(tokens []token.Token, inside []bool, instead map[int]string) {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		at := 0
		switch t := tokens[i]; {
		case t.Is("UNIQUE") && !tokens[i-1].Is("CREATE") && altersTable(tokens, i),
			t.Is("KEY") && tokens[i-1].Is("PRIMARY") && altersTable(tokens, i):
			at = i + 1
		case t.Is("INDEX") && tokens[i-1].IsOneOf(",", "ADD") && token.IsName(tokens[i+1]):
			at = i + 2
		default:
			continue
		}
		on := placeOfKey(tokens, at)
		if on == 0 {
			continue
		}
		name, end := tokens[on+1].Value, token.ClosingParenthesis(tokens, on+2)
		for j := on + 2; j <= end; j++ {
			if token.IsName(tokens[j]) {
				name += columnMark + tokens[j].Value
			}
			instead[j] = ""
		}
		instead[on+1] = "[" + strings.ReplaceAll(name, "]", "]]") + "]"
	}
}

// altersTable tells whether a token is behind an ALTER TABLE, not a CREATE TABLE.
func altersTable(tokens []token.Token, at int) bool {
	for ; at > 0; at-- {
		if tokens[at].Is("TABLE") {
			return tokens[at-1].Is("ALTER")
		}
	}
	return false
}

// placeOfKey is the ON of ON scheme (columns) behind the columns and options of a key or an index, 0 when it has none.
func placeOfKey(tokens []token.Token, at int) int {
	w := &token.Walk{Tokens: tokens, At: at}
	w.Maybe("UNIQUE")
	w.Maybe("CLUSTERED", "NONCLUSTERED")
	if w.Next().Is("(") {
		w.Parenthesized()
	}
	if w.Maybe("INCLUDE") {
		w.Parenthesized()
	}
	if w.Maybe("WITH") {
		if w.Next().Is("FILLFACTOR") {
			w.At += 3
		} else {
			w.Parenthesized()
		}
	}
	on := w.At
	w.Words("ON")
	w.Name()
	open := w.At
	w.Parenthesized()
	if w.Bad > 0 {
		return 0
	}
	for i := open + 1; i < w.At-1; i++ {
		if column := (i-open)%2 == 1; column != token.IsName(tokens[i]) || !column && !tokens[i].Is(",") {
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
