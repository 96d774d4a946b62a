// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// showCommand is a command as sp_browsereplcmds shows it.
func showCommand(kind int64, raw []byte) string {
	if kind != stored.CommandCall {
		text, _, err := stored.DecodeCommand(raw)
		if err != nil {
			return "(" + err.Error() + ")"
		}
		return text
	}
	text, values, err := stored.DecodeCommand(raw)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	parts := stored.Parameterized(text)
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i < len(parts)-1 && i < len(values) {
			b.WriteString(stored.LiteralOf(values[i]))
		}
	}
	return b.String()
}

// marks is n question marks for a list of parameters.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// verb splits "SCALL [proc]". Whatever the name has in it, it comes out as one.
func verb(command string) (word, procedure string) {
	word, procedure, _ = strings.Cut(command, " ")
	parts := syntax.SplitName(strings.TrimSpace(procedure))
	for i, part := range parts {
		parts[i] = bracket(part)
	}
	return strings.ToUpper(word), strings.Join(parts, ".")
}

// commandOf turns the change of a row into a command for an article: nil where the article says NONE, or where its
// filter leaves the row out. A row that an update moves into the article is inserted, one that it moves out is deleted.
func (a *article) commandOf(ctx context.Context, f *rowFilter, c storage.TableChange) ([]byte, error) {
	at := map[string]int{}
	for i, name := range c.Columns {
		at[name] = i
	}
	var before, after bool
	var err error
	if c.Op != storage.OpInsert {
		if before, err = f.passes(ctx, at, c.Old); err != nil {
			return nil, err
		}
	}
	if c.Op != storage.OpDelete {
		if after, err = f.passes(ctx, at, c.New); err != nil {
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

func (a *article) names(columns []*metadata.Column) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = bracket(c.Name)
	}
	return strings.Join(parts, ",")
}

// where is the condition that finds a row by its key.
func (a *article) where() string {
	parts := make([]string, len(a.keys))
	for i, c := range a.keys {
		parts[i] = bracket(c.Name) + " = ?"
	}
	return strings.Join(parts, " AND ")
}

func (a *article) destination() string { return stored.TwoPart(a.destOwner, a.destTable) }

func (a *article) insertCommand(at map[string]int, row []any) ([]byte, error) {
	word, procedure := verb(a.insert)
	if word == "NONE" {
		return nil, nil
	}
	values, err := appendColumns(nil, a.columns, at, row)
	if err != nil {
		return nil, err
	}
	if word == "SQL" {
		return stored.EncodeCommand(
			"INSERT INTO "+a.destination()+" ("+a.names(a.columns)+") VALUES ("+marks(len(a.columns))+")",
			values,
		), nil
	}
	return stored.EncodeCommand("{CALL "+procedure+" ("+marks(len(a.columns))+")}", values), nil
}

func (a *article) deleteCommand(at map[string]int, row []any) ([]byte, error) {
	word, procedure := verb(a.delete)
	columns := a.keys
	switch word {
	case "NONE":
		return nil, nil
	case "XCALL":
		columns = a.columns
		row = a.beforeImage(at, row)
	}
	values, err := appendColumns(nil, columns, at, row)
	if err != nil {
		return nil, err
	}
	if word == "SQL" {
		return stored.EncodeCommand("DELETE FROM "+a.destination()+" WHERE "+a.where(), values), nil
	}
	return stored.EncodeCommand("{CALL "+procedure+" ("+marks(len(columns))+")}", values), nil
}
