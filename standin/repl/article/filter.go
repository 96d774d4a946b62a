// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
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

// NewFilter is the filter of an article's rows, nil when it has none.
func NewFilter(s *engine.Session, a *Article) *RowFilter {
	if a.Filter == "" {
		return nil
	}
	f := &RowFilter{Session: s}
	var parts []string
	for _, c := range a.Table.Table.Columns {
		if c.Computed != "" {
			continue
		}
		f.Columns = append(f.Columns, c)
		parts = append(parts, "CAST(@p"+strconv.Itoa(len(f.Columns))+" AS "+TypeName(c)+") AS "+syntax.QuoteName(c.Name))
	}
	f.Text = "SELECT 1 AS n FROM (SELECT " + strings.Join(
		parts,
		", ",
	) + ") AS " + syntax.QuoteName(
		a.Table.Name,
	) + " WHERE (" + a.Filter + ")"
	return f
}

// CheckFilter is 21745 for a clause that gives no valid query on the table.
func CheckFilter(ctx context.Context, s *engine.Session, a *Article, clause string) error {
	if clause == "" {
		return nil
	}
	text := "SELECT TOP (0) 1 AS n FROM " + stored.TwoPart(a.Schema, a.Table.Name) + " WHERE (" + clause + ")"
	if !OneStatement(text) {
		return sqlerr.Raise(21745, 1)
	}
	if _, err := s.Query(ctx, text); err != nil {
		return sqlerr.Raise(21745, 1)
	}
	return nil
}

// OneStatement tells whether a text that was made of what a caller gave is one statement: what goes on after the clause
// that it was to be would run as the system does.
func OneStatement(text string) bool {
	batch, err := syntax.Parse(text)
	return err == nil && len(batch.Statements) == 1
}
