// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

// viewTable is the virtual table of a system view or a table-valued function.
type viewTable struct {
	st            *connState
	key           string
	columns, args int
}

// BestIndex takes the arguments, and the first column that has to be equal to something, which SQLite compares again.
func (t *viewTable) BestIndex(in *sqlite.IndexInputs) (*sqlite.IndexOutputs, error) {
	out := &sqlite.IndexOutputs{ConstraintUsage: make([]sqlite.IndexConstraintUsage, len(in.Constraints)),
		EstimatedCost: 1000, EstimatedRows: 100}
	found := 0
	for i, c := range in.Constraints {
		if c.Op != sqlite.IndexConstraintEq || !c.Usable || c.Column < 0 {
			continue
		}
		if c.Column >= t.columns {
			out.ConstraintUsage[i] = sqlite.IndexConstraintUsage{ArgvIndex: c.Column - t.columns + 1, Omit: true}
			found++
		} else if out.ID.String == "" {
			out.ConstraintUsage[i] = sqlite.IndexConstraintUsage{ArgvIndex: t.args + 1}
			out.ID.String = strconv.Itoa(c.Column)
			out.EstimatedCost, out.EstimatedRows = 50, 10
		}
	}
	if found < t.args {
		// Arguments that come from a table to the right are of no use yet.
		return nil, sqlite.ResultConstraint.ToError()
	}
	return out, nil
}

func (t *viewTable) Open() (sqlite.VTableCursor, error) { return &viewCursor{table: t}, nil }
func (t *viewTable) Disconnect() error                  { return nil }
func (t *viewTable) Destroy() error                     { return nil }

// viewRead is what a view without arguments had when a query first read it. All of its mentions in the query have the
// same rows, so that a row is known by its number.
type viewRead struct {
	cols []tds.Column
	rows [][]any
}

// readView reads a view for the query that runs, once if it has no arguments.
func (s *Session) readView(key string, args []any) (viewRead, error) {
	reads := s.viewReads
	if read, ok := reads[key]; ok {
		return read, nil
	}
	cols, rows, err := s.viewRows(s.context(), key, args)
	read := viewRead{cols, rows}
	if err == nil && reads != nil && len(args) == 0 && !strings.HasPrefix(key, bind.FunctionKey) {
		reads[key] = read
	}
	return read, err
}

// viewCursor goes over the rows of a view. They are those of its first reading in the statement: joins read again and
// again.
type viewCursor struct {
	table *viewTable
	cols  []tds.Column
	rows  [][]any
	at    int

	read bool
	args []any
	// matches are the rows to show when some only are, found by places: those of each number in the column.
	some    bool
	matches []int
	column  int
	places  map[int64][]int
}

func (c *viewCursor) Filter(id sqlite.IndexID, argv []sqlite.Value) error {
	st := c.table.st
	if st.session == nil {
		return fmt.Errorf("view %s is read without a session", c.table.key)
	}
	raw := make([]any, c.table.args)
	for i := range raw {
		raw[i] = storage.ArgumentValue(argv[i])
	}
	if !c.read || strings.HasPrefix(c.table.key, bind.FunctionKey) || !slices.EqualFunc(raw, c.args, sameArgument) {
		read, err := st.session.readView(c.table.key, raw)
		if err != nil {
			return st.fail(AsError(err))
		}
		c.cols, c.rows, c.read, c.args, c.places = read.cols, read.rows, true, raw, nil
	}
	c.at, c.some = 0, false
	if id.String == "" || len(c.rows) < 8 {
		return nil
	}
	column, err := strconv.Atoi(id.String)
	if err != nil {
		return err
	}
	return c.lookUp(column, argv[c.table.args])
}

// sameArgument tells whether two raw values are one; blobs are not compared.
func sameArgument(a, b any) bool {
	_, blob := a.([]byte)
	_, other := b.([]byte)
	return !blob && !other && a == b
}

// lookUp shows the rows that have a whole number in a column. Anything but whole numbers is left to SQLite.
func (c *viewCursor) lookUp(column int, value sqlite.Value) error {
	if column >= len(c.cols) || !c.cols[column].Type.Kind.IsInteger() || value.Type() != sqlite.TypeInteger {
		return nil
	}
	if c.places == nil || c.column != column {
		places := map[int64][]int{}
		for i, row := range c.rows {
			if column >= len(row) {
				continue
			}
			raw, e := encodeResult(c.cols[column].Type, row[column])
			if e != nil {
				return c.table.st.fail(e)
			}
			if n, ok := raw.(int64); ok {
				places[n] = append(places[n], i)
			} else if raw != nil {
				return nil
			}
		}
		c.places, c.column = places, column
	}
	c.some, c.matches = true, c.places[value.Int64()]
	return nil
}

func (c *viewCursor) Next() error { c.at++; return nil }

// row is the number of the row where the cursor is.
func (c *viewCursor) row() int {
	if c.some {
		return c.matches[c.at]
	}
	return c.at
}

func (c *viewCursor) Column(i int, _ bool) (sqlite.Value, error) {
	row := c.rows[c.row()]
	if i >= len(c.cols) || i >= len(row) {
		return sqlite.Value{}, nil
	}
	raw, e := encodeResult(c.cols[i].Type, row[i])
	if e != nil {
		return sqlite.Value{}, c.table.st.fail(e)
	}
	return storage.ResultValue(raw), nil
}

func (c *viewCursor) RowID() (int64, error) { return int64(c.row()), nil }

func (c *viewCursor) EOF() bool {
	if c.some {
		return c.at >= len(c.matches)
	}
	return c.at >= len(c.rows)
}

func (c *viewCursor) Close() error { return nil }
