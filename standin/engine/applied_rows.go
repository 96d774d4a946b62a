// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// What stands before each value of a packed row.
const (
	packedNull = iota
	packedInteger
	packedFloat
	packedText
	packedBlob
)

// packedRows gathers rows.
type packedRows struct{ bytes []byte }

func registerPacking(conn *sqlite.Conn) error {
	return conn.CreateFunction(bind.PackFunction, &sqlite.FunctionImpl{
		NArgs: -1, Deterministic: true, AllowIndirect: true,
		MakeAggregate: func(sqlite.Context) (sqlite.AggregateFunction, error) { return &packedRows{}, nil },
	})
}

func (p *packedRows) Step(_ sqlite.Context, args []sqlite.Value) error {
	for _, a := range args {
		switch v := storage.ArgumentValue(a).(type) {
		case nil:
			p.bytes = append(p.bytes, packedNull)
		case int64:
			p.bytes = binary.AppendVarint(append(p.bytes, packedInteger), v)
		case float64:
			p.bytes = binary.LittleEndian.AppendUint64(append(p.bytes, packedFloat), math.Float64bits(v))
		case string:
			p.bytes = append(binary.AppendUvarint(append(p.bytes, packedText), uint64(len(v))), v...)
		case []byte:
			p.bytes = append(binary.AppendUvarint(append(p.bytes, packedBlob), uint64(len(v))), v...)
		}
	}
	return nil
}

func (p *packedRows) WindowInverse(sqlite.Context, []sqlite.Value) error {
	return errors.New("packed rows are no window")
}

func (p *packedRows) WindowValue(sqlite.Context) (sqlite.Value, error) {
	if len(p.bytes) == 0 {
		return sqlite.Value{}, nil
	}
	return sqlite.BlobValue(p.bytes), nil
}

func (p *packedRows) Finalize(sqlite.Context) {}

// ensureRows makes the table of so many columns known to a connection. It exists without being made, so that no
// rollback takes it away.
func (st *connState) ensureRows(columns int) error {
	if st.rowTables[columns] {
		return nil
	}
	names := make([]string, columns)
	for i := range names {
		names[i] = metadata.ColumnName(int32(i + 1))
	}
	config := &sqlite.VTableConfig{
		Declaration:   "CREATE TABLE x(" + strings.Join(names, ", ") + ", packed HIDDEN)",
		AllowIndirect: true,
	}
	err := st.conn.SetModule(fmt.Sprint(bind.RowsModule, columns), &sqlite.Module{
		Connect: func(*sqlite.Conn, *sqlite.VTableConnectOptions) (sqlite.VTable, *sqlite.VTableConfig, error) {
			return rowsTable{columns}, config, nil
		}})
	if err != nil {
		return fmt.Errorf("register the table of %d packed columns: %w", columns, err)
	}
	st.rowTables[columns] = true
	return nil
}

// rowsTable is the virtual table that unpacks rows.
type rowsTable struct{ columns int }

// BestIndex takes the packed rows. Their cost is that of the query that gives them, so that it is run for as few rows
// as can be.
func (t rowsTable) BestIndex(in *sqlite.IndexInputs) (*sqlite.IndexOutputs, error) {
	out := &sqlite.IndexOutputs{
		ConstraintUsage: make([]sqlite.IndexConstraintUsage, len(in.Constraints)),
		EstimatedCost:   1e5,
		EstimatedRows:   10,
	}
	for i, c := range in.Constraints {
		if c.Column == t.columns && c.Op == sqlite.IndexConstraintEq && c.Usable {
			out.ConstraintUsage[i] = sqlite.IndexConstraintUsage{ArgvIndex: 1, Omit: true}
			return out, nil
		}
	}
	return nil, sqlite.ResultConstraint.ToError()
}

func (t rowsTable) Open() (sqlite.VTableCursor, error) {
	return &rowsCursor{values: make([]packedValue, t.columns)}, nil
}

func (t rowsTable) Disconnect() error { return nil }
func (t rowsTable) Destroy() error    { return nil }

// packedValue is a value of the row where the cursor is; bytes are those of a text or blob.
type packedValue struct {
	kind   byte
	number int64
	bytes  []byte
}

// rowsCursor goes over packed rows.
type rowsCursor struct {
	rest   []byte
	values []packedValue
	row    int64
	ended  bool
}

func (c *rowsCursor) Filter(_ sqlite.IndexID, argv []sqlite.Value) error {
	c.rest, c.row = nil, 0
	if argv[0].Type() == sqlite.TypeBlob {
		c.rest = append([]byte(nil), argv[0].Blob()...) // SQLite uses the memory again
	}
	return c.Next()
}

// Next reads a row.
func (c *rowsCursor) Next() error {
	c.row++
	if c.ended = len(c.rest) == 0; c.ended {
		return nil
	}
	for i := range c.values {
		v := &c.values[i]
		if len(c.rest) == 0 {
			return errPacked
		}
		v.kind, c.rest = c.rest[0], c.rest[1:]
		size := 0
		switch v.kind {
		case packedInteger:
			v.number, size = binary.Varint(c.rest)
		case packedFloat:
			if size = 8; len(c.rest) < size {
				return errPacked
			}
			v.number = int64(binary.LittleEndian.Uint64(c.rest))
		case packedText, packedBlob:
			n, head := binary.Uvarint(c.rest)
			if head <= 0 || uint64(len(c.rest)-head) < n {
				return errPacked
			}
			size = head + int(n)
			v.bytes = c.rest[head:size]
		}
		if size < 0 || size == 0 && v.kind != packedNull {
			return errPacked
		}
		c.rest = c.rest[size:]
	}
	return nil
}

// errPacked is for what must not happen.
var errPacked = errors.New("packed rows end within a row")

func (c *rowsCursor) Column(i int, _ bool) (sqlite.Value, error) {
	if i >= len(c.values) {
		return sqlite.Value{}, nil
	}
	switch v := c.values[i]; v.kind {
	case packedInteger:
		return sqlite.IntegerValue(v.number), nil
	case packedFloat:
		return sqlite.FloatValue(math.Float64frombits(uint64(v.number))), nil
	case packedText:
		return sqlite.TextValue(string(v.bytes)), nil
	case packedBlob:
		return sqlite.BlobValue(v.bytes), nil
	}
	return sqlite.Value{}, nil
}

func (c *rowsCursor) RowID() (int64, error) { return c.row, nil }
func (c *rowsCursor) EOF() bool             { return c.ended }
func (c *rowsCursor) Close() error          { return nil }
