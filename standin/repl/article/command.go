// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// marks is n question marks for a list of parameters.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// verb splits "SCALL [proc]". Whatever the name has in it, it comes out as one.
func verb(command string) (word, procedure string) {
	word, procedure, _ = strings.Cut(command, " ")
	parts := syntax.SplitName(strings.TrimSpace(procedure))
	for i, part := range parts {
		parts[i] = syntax.QuoteName(part)
	}
	return strings.ToUpper(word), strings.Join(parts, ".")
}

// commandOf turns the change of a row into a command for an article: nil where the article says NONE, or where its
// filter leaves the row out. A row that an update moves into the article is inserted, one that it moves out is deleted.
func (a *Article) commandOf(ctx context.Context, f *RowFilter, c storage.TableChange) ([]byte, error) {
	at := map[string]int{}
	for i, name := range c.Columns {
		at[name] = i
	}
	var before, after bool
	var err error
	if c.Op != storage.OpInsert {
		if before, err = f.Passes(ctx, at, c.Old); err != nil {
			return nil, err
		}
	}
	if c.Op != storage.OpDelete {
		if after, err = f.Passes(ctx, at, c.New); err != nil {
			return nil, err
		}
	}
	switch {
	case before && after:
		return a.updateCommand(at, c.Old, c.New)
	case before:
		return a.deleteCommand(at, c.Old)
	case after:
		return a.insertCommand(at, c.New)
	}
	return nil, nil
}

func appendColumns(buf []byte, columns []*metadata.Column, at map[string]int, row []any) ([]byte, error) {
	for _, c := range columns {
		i, ok := at[c.StorageName()]
		if !ok || i >= len(row) {
			// A column that did not exist yet when the row was written.
			var err error
			if buf, err = stored.AppendValue(buf, c.Type, nil); err != nil {
				return nil, err
			}
			continue
		}
		if _, undefined := row[i].(storage.Undefined); undefined {
			return nil, fmt.Errorf("the log has no value of column %s", c.Name)
		}
		var err error
		if buf, err = stored.AppendValue(buf, c.Type, row[i]); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return buf, nil
}

// Names are columns in brackets, parted by commas.
func (a *Article) Names(columns []*metadata.Column) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = syntax.QuoteName(c.Name)
	}
	return strings.Join(parts, ",")
}

// where is the condition that finds a row by its key.
func (a *Article) where() string {
	parts := make([]string, len(a.Keys))
	for i, c := range a.Keys {
		parts[i] = syntax.QuoteName(c.Name) + " = ?"
	}
	return strings.Join(parts, " AND ")
}

// Destination is the subscriber's table, in brackets.
func (a *Article) Destination() string { return stored.TwoPart(a.DestOwner, a.DestTable) }

func (a *Article) insertCommand(at map[string]int, row []any) ([]byte, error) {
	word, procedure := verb(a.Insert)
	if word == "NONE" {
		return nil, nil
	}
	values, err := appendColumns(nil, a.Columns, at, row)
	if err != nil {
		return nil, err
	}
	if word == "SQL" {
		return stored.EncodeCommand(
			"INSERT INTO "+a.Destination()+" ("+a.Names(a.Columns)+") VALUES ("+marks(len(a.Columns))+")",
			values,
		), nil
	}
	return stored.EncodeCommand("{CALL "+procedure+" ("+marks(len(a.Columns))+")}", values), nil
}

func (a *Article) deleteCommand(at map[string]int, row []any) ([]byte, error) {
	word, procedure := verb(a.Delete)
	columns := a.Keys
	switch word {
	case "NONE":
		return nil, nil
	case "XCALL":
		columns = a.Columns
		row = a.beforeImage(at, row)
	}
	values, err := appendColumns(nil, columns, at, row)
	if err != nil {
		return nil, err
	}
	if word == "SQL" {
		return stored.EncodeCommand("DELETE FROM "+a.Destination()+" WHERE "+a.where(), values), nil
	}
	return stored.EncodeCommand("{CALL "+procedure+" ("+marks(len(columns))+")}", values), nil
}
