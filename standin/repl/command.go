// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// Types of commands (MSrepl_commands.type).
const (
	// commandOwn is none: one that the subscriber made itself.
	commandOwn = 0
	// commandCall is a call of a procedure or a statement with parameters.
	commandCall = 30
	// commandValidate is a validation at the subscriber; the text is a call of sp_table_validation.
	commandValidate = 37
	// commandSchema is a schema change: a script, batches separated by GO. The number is this program's own.
	commandSchema = 0x40000001
	// commandPosted is a script of sp_addscriptexec, with a value when its errors are passed over. The number is this
	// program's own.
	commandPosted = 0x40000002
	// commandToken is a tracer token; snapshot commands have the high bit set and name a file of a snapshot.
	commandToken   = 0x4000002F
	commandScript  = -2147483646
	commandData    = -2147483645
	commandIndexes = -2147483644
	// commandInline is a script itself, for subscribers that have the rows already.
	commandInline = -2147483643
	// commandPreScript and commandPostScript are scripts of the publication, for the whole snapshot (article 0).
	commandPreScript  = -2147483642
	commandPostScript = -2147483641
)

// A command's bytes: the length of a text, the text with ? for each parameter, and the values. The text is
// "{CALL [proc] (?,?)}" or a statement.
func encodeCommand(text string, values []byte) []byte {
	buf := binary.AppendUvarint(nil, uint64(len(text)))
	return append(append(buf, text...), values...)
}

// decodeCommand is the inverse; values are parameters for the driver.
func decodeCommand(buf []byte) (text string, values []any, err error) {
	n, w := binary.Uvarint(buf)
	if w <= 0 || uint64(len(buf)-w) < n {
		return "", nil, errShort
	}
	text, buf = string(buf[w:w+int(n)]), buf[w+int(n):]
	for len(buf) > 0 {
		var v any
		if v, buf, err = readValue(buf); err != nil {
			return "", nil, err
		}
		values = append(values, v)
	}
	return text, values, nil
}

// showCommand is a command as sp_browsereplcmds shows it.
func showCommand(kind int64, raw []byte) string {
	if kind != commandCall {
		text, _, err := decodeCommand(raw)
		if err != nil {
			return "(" + err.Error() + ")"
		}
		return text
	}
	text, values, err := decodeCommand(raw)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	parts := parameterized(text)
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i < len(parts)-1 && i < len(values) {
			b.WriteString(literalOf(values[i]))
		}
	}
	return b.String()
}

// parameterized cuts a command at its parameters: a question mark within a quoted name is none.
func parameterized(text string) []string {
	var out []string
	from, quoted := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '[' && !quoted:
			quoted = true
		case c == ']':
			// The second of two within a name begins to quote again.
			quoted = !quoted && i > 0 && text[i-1] == ']'
		case c == '?' && !quoted:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	return append(out, text[from:])
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
			if buf, err = appendValue(buf, c.Type, nil); err != nil {
				return nil, err
			}
			continue
		}
		if _, undefined := row[i].(storage.Undefined); undefined {
			return nil, fmt.Errorf("the log has no value of column %s", c.Name)
		}
		var err error
		if buf, err = appendValue(buf, c.Type, row[i]); err != nil {
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

func (a *article) destination() string { return twoPart(a.destOwner, a.destTable) }

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
		return encodeCommand(
			"INSERT INTO "+a.destination()+" ("+a.names(a.columns)+") VALUES ("+marks(len(a.columns))+")",
			values,
		), nil
	}
	return encodeCommand("{CALL "+procedure+" ("+marks(len(a.columns))+")}", values), nil
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
		return encodeCommand("DELETE FROM "+a.destination()+" WHERE "+a.where(), values), nil
	}
	return encodeCommand("{CALL "+procedure+" ("+marks(len(columns))+")}", values), nil
}
