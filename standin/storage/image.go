// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

// A changeset's updates carry the key and the changed columns only, and no column names. For tables that are published
// an images record follows the changeset: per table the names of its columns, and for each update, in the changeset's
// order, the whole row after it.
type tableImages struct {
	table   string
	columns []string
	rows    [][]any
}

// captureImages reads the images that belong to a changeset from the transaction's own view.
func captureImages(conn *sqlite.Conn, changeset []byte, published map[string]bool) ([]byte, error) {
	var order []*tableImages
	byName := map[string]*tableImages{}
	err := readChangeset(changeset, func(c *rowChange) error {
		if !published[c.table] {
			return nil
		}
		t := byName[c.table]
		if t == nil {
			columns, err := tableColumns(conn, c.table)
			if err != nil {
				return err
			}
			t = &tableImages{table: c.table, columns: columns}
			byName[c.table] = t
			order = append(order, t)
		}
		if c.op != OpUpdate {
			return nil
		}
		row, err := readRow(conn, c.table, t.columns, c.key, c.old)
		if err != nil {
			return err
		}
		t.rows = append(t.rows, row)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the row images for the log: %w", err)
	}
	var buf []byte
	for _, t := range order {
		buf = appendString(buf, t.table)
		buf = appendSQLiteVarint(buf, uint64(len(t.columns)))
		for _, c := range t.columns {
			buf = appendValue(buf, c)
		}
		buf = appendSQLiteVarint(buf, uint64(len(t.rows)))
		for _, row := range t.rows {
			for _, v := range row {
				buf = appendValue(buf, v)
			}
		}
	}
	return buf, nil
}

func decodeImages(payload []byte) (map[string]*tableImages, error) {
	out := map[string]*tableImages{}
	for len(payload) > 0 {
		d := decoder{buf: payload}
		t := &tableImages{table: d.string()}
		if d.err != nil {
			return nil, d.err
		}
		c := changesetDecoder{buf: d.buf}
		n := int(c.varint())
		if n < 0 || n > len(c.buf) {
			return nil, fmt.Errorf("row images of table %s have %d columns in %d bytes", t.table, n, len(c.buf))
		}
		for range n {
			name, _ := c.value().(string)
			t.columns = append(t.columns, name)
			if c.err != nil {
				return nil, c.err
			}
		}
		rows := c.varint()
		if n == 0 && rows > 0 {
			// Rows without values take no bytes: any number of them would be believed.
			return nil, fmt.Errorf("row images of table %s have %d rows and no columns", t.table, rows)
		}
		for ; rows > 0 && c.err == nil; rows-- {
			t.rows = append(t.rows, c.row(n))
		}
		if c.err != nil {
			return nil, c.err
		}
		out[t.table] = t
		payload = c.buf
	}
	return out, nil
}

// tableColumns are the names of a table's columns in order; hidden (generated) ones are none of a changeset's.
func tableColumns(conn *sqlite.Conn, table string) ([]string, error) {
	stmt, err := conn.Prepare("SELECT name FROM pragma_table_info(?)")
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	defer stmt.Reset()
	stmt.BindText(1, table)
	var out []string
	for {
		more, err := stmt.Step()
		if err != nil {
			return nil, fmt.Errorf("read the columns of %s: %w", table, err)
		}
		if !more {
			return out, nil
		}
		out = append(out, stmt.ColumnText(0))
	}
}

// readRow reads the row with the given key columns.
func readRow(conn *sqlite.Conn, table string, columns []string, key []bool, keyValues []any) ([]any, error) {
	where, args := keyCondition(columns, key, keyValues)
	stmt, err := conn.Prepare("SELECT * FROM " + quote(table) + " WHERE " + where)
	if err != nil {
		return nil, fmt.Errorf("read a row of %s: %w", table, err)
	}
	defer stmt.Reset()
	for i, v := range args {
		BindValue(stmt, i+1, v)
	}
	more, err := stmt.Step()
	if err != nil {
		return nil, fmt.Errorf("read a row of %s: %w", table, err)
	}
	if !more {
		return nil, fmt.Errorf("read a row of %s: it is not there", table)
	}
	row := make([]any, stmt.ColumnCount())
	for i := range row {
		row[i] = ColumnValue(stmt, i)
	}
	return row, nil
}

func keyCondition(columns []string, key []bool, values []any) (string, []any) {
	where := ""
	var args []any
	for i, isKey := range key {
		if !isKey {
			continue
		}
		if where != "" {
			where += " AND "
		}
		where += quote(columns[i]) + " IS ?"
		args = append(args, values[i])
	}
	return where, args
}

// quote makes a SQLite identifier.
func quote(name string) string {
	out := []byte{'"'}
	for i := range len(name) {
		if name[i] == '"' {
			out = append(out, '"')
		}
		out = append(out, name[i])
	}
	return string(append(out, '"'))
}
