// SPDX-License-Identifier: Apache-2.0

package article

import (
	"bytes"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// What an update brings to the procedure of a subscriber is what the call syntax of the article says
// (docs/relational-databases/replication/transactional/transactional-articles-specify-how-changes-are-propagated.md,
// "Call syntax for stored procedures"): CALL all values and the key as it was, MCALL the same and which columns
// changed, SCALL only what changed, XCALL the row as it was and as it is.

// updateCommand is the command of an update; nil for one that changed no column of the article.
func (a *Article) updateCommand(at map[string]int, old, row []any) ([]byte, error) {
	word, procedure := verb(a.Update)
	changed := a.changed(at, old, row)
	if word == "NONE" || len(changed) == 0 {
		return nil, nil
	}
	switch word {
	case "SQL":
		return a.updateStatement(at, old, row)
	case "XCALL":
		values, err := appendColumns(nil, a.Columns, at, a.beforeImage(at, old))
		if err == nil {
			values, err = appendColumns(values, a.Columns, at, row)
		}
		return stored.EncodeCommand("{CALL "+procedure+" ("+marks(2*len(a.Columns))+")}", values), err
	}
	sent := a.Columns
	if word == "SCALL" {
		sent = nil
		for _, i := range changed {
			sent = append(sent, a.Columns[i])
		}
	}
	values, err := appendColumns(nil, sent, at, row)
	if err == nil {
		values, err = appendColumns(values, a.Keys, at, old)
	}
	if err != nil {
		return nil, err
	}
	list := strings.Split(marks(len(a.Columns)+len(a.Keys)), ",")
	if word == "SCALL" {
		clear(list[:len(a.Columns)])
		for _, i := range changed {
			list[i] = "?"
		}
	}
	if word != "CALL" {
		list = append(list, "?")
		if values, err = stored.AppendDecoded(values, sqltype.Type{Kind: sqltype.Binary, Length: a.bitmapLength()},
			a.bitmap(changed)); err != nil {
			return nil, err
		}
	}
	return stored.EncodeCommand("{CALL "+procedure+" ("+strings.Join(list, ",")+")}", values), nil
}

// updateStatement is the command of an article whose updates are statements.
func (a *Article) updateStatement(at map[string]int, old, row []any) ([]byte, error) {
	var columns []*metadata.Column
	var sets []string
	for _, c := range a.Columns {
		// An identity column never changes, and may be one at the subscriber too.
		if c.Identity == nil {
			columns, sets = append(columns, c), append(sets, syntax.QuoteName(c.Name)+" = ?")
		}
	}
	values, err := appendColumns(nil, columns, at, row)
	if err == nil {
		values, err = appendColumns(values, a.Keys, at, old)
	}
	text := "UPDATE " + a.Destination() + " SET " + strings.Join(sets, ", ") + " WHERE " + a.where()
	return stored.EncodeCommand(text, values), err
}

// changed are the places of the article's columns whose values an update changed.
func (a *Article) changed(at map[string]int, old, row []any) []int {
	var out []int
	for n, c := range a.Columns {
		i, ok := at[c.StorageName()]
		if ok && i < len(row) && i < len(old) && !sameStored(old[i], row[i]) {
			out = append(out, n)
		}
	}
	return out
}

// sameStored tells whether two stored values (nil, int64, float64, string, []byte) are the same.
func sameStored(x, y any) bool {
	a, isBytes := x.([]byte)
	b, alsoBytes := y.([]byte)
	if isBytes || alsoBytes {
		return isBytes && alsoBytes && bytes.Equal(a, b)
	}
	return x == y
}

// bitmapLength is how long the mask of changed columns is: 2 bytes for a table of eight columns, as the page's example
// has it.
func (a *Article) bitmapLength() int { return len(a.Columns)/8 + 1 }

// bitmap is the mask of changed columns: the first column is the lowest bit of the first byte.
func (a *Article) bitmap(changed []int) []byte {
	out := make([]byte, a.bitmapLength())
	for _, i := range changed {
		out[i/8] |= 1 << (i % 8)
	}
	return out
}

// beforeImage is a row as it was, as XCALL sends it: values of text and image columns are not in it.
func (a *Article) beforeImage(at map[string]int, row []any) []any {
	out := row
	for _, c := range a.Columns {
		i, ok := at[c.StorageName()]
		if ok && i < len(row) &&
			(c.Type.Kind == sqltype.Text || c.Type.Kind == sqltype.NText || c.Type.Kind == sqltype.Image) {
			if &out[0] == &row[0] {
				out = append([]any(nil), row...)
			}
			out[i] = nil
		}
	}
	return out
}
