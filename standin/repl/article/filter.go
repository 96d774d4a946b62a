// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
)

// RowFilter decides by T-SQL which rows belong to an article. The clause sees the row's own columns under the names of
// the published table.
type RowFilter struct {
	Session *engine.Session
	Text    string
	Columns []*metadata.Column
}

// Passes tells whether a row, as it lies in storage, belongs to the article. A nil filter passes all.
func (f *RowFilter) Passes(ctx context.Context, at map[string]int, row []any) (bool, error) {
	if f == nil {
		return true, nil
	}
	values := make([]any, len(f.Columns))
	for i, c := range f.Columns {
		n, ok := at[c.StorageName()]
		if !ok || n >= len(row) {
			continue
		}
		v, err := sqltype.Decode(c.Type, row[n])
		if err != nil {
			return false, err
		}
		if v == nil && c.Type.Kind.IsBinary() {
			v = []byte(nil)
		}
		values[i] = v
	}
	r, err := f.Session.Query(ctx, f.Text, values...)
	return r.Len() > 0, err
}

// Selection is the query of the article's columns and rows.
func (a *Article) Selection() string {
	text := "SELECT " + a.Names(a.Columns) + " FROM " + stored.TwoPart(a.Schema, a.Table.Name)
	if a.Filter != "" {
		text += " WHERE (" + a.Filter + ")"
	}
	return text
}
