// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// changeHook has a connection tell recorders of every change of a row of its main database before it is made
// (https://www.sqlite.org/c3ref/preupdate_blobwrite.html). There is one for a connection.
type changeHook struct {
	conn *sqlite.Conn
	tls  *libc.TLS
	// db is SQLite's connection, value where it puts the address of a value.
	db, value uintptr
	// number is what the hook is known by to SQLite.
	number    uintptr
	recorders []*recorder
	// shapes are those of the tables as they are at a version of the schema; nil are tables without a key.
	shapes  map[string]*tableShape
	version int64
}

// tableShape is what recording a table needs to know.
type tableShape struct {
	name    string
	columns []shapedColumn
	// total counts generated columns, too.
	total int
	// rowid says that the key is a single integer, SQLite's rowid; keyAt is where it is among the columns.
	rowid bool
	keyAt int
	// query reads the row with a key; runQuery, where the key is the rowid, those with keys from one to another.
	query, runQuery string
}

// shapedColumn is a column that is stored.
type shapedColumn struct {
	name  string
	index int32
	// key is its position in the primary key, from 1; 0 when it is not in it.
	key uint8
}

// changeHooks are those that SQLite knows, by their numbers.
var (
	changeHooks   sync.Map
	hooksNumbered atomic.Uintptr
)

// pointer makes an address of SQLite's memory, which no garbage collector moves, a pointer.
func pointer[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// hookAddress makes beforeChange callable by SQLite, as the translator of its source does it (modernc.org/sqlite/lib,
// __ccgo_fp).
func hookAddress() uintptr {
	f := beforeChange
	return *(*uintptr)(unsafe.Pointer(&f))
}

// newChangeHook prepares the hook of a connection, which is closed with it.
func newChangeHook(conn *sqlite.Conn) (*changeHook, error) {
	// The package that opens the connection does not say which of SQLite's it is.
	handle := reflect.ValueOf(conn).Elem().FieldByName("conn")
	if handle.Kind() != reflect.Uintptr || handle.Uint() == 0 {
		return nil, errors.New("capture changes: the connection has no address")
	}
	h := &changeHook{
		conn:   conn,
		tls:    libc.NewTLS(),
		db:     uintptr(handle.Uint()),
		number: hooksNumbered.Add(1),
		shapes: map[string]*tableShape{},
	}
	if h.value = libc.Xmalloc(h.tls, libc.Tsize_t(unsafe.Sizeof(h.value))); h.value == 0 {
		h.tls.Close()
		return nil, errors.New("capture changes: there is no memory")
	}
	return h, nil
}

// close frees what the hook has of SQLite's memory.
func (h *changeHook) close() {
	libc.Xfree(h.tls, h.value)
	h.tls.Close()
}

// begin has SQLite call the hook until end. version is the schema's.
func (h *changeHook) begin(version int64) {
	h.schemaIs(version)
	changeHooks.Store(h.number, h)
	sqlite3.Xsqlite3_preupdate_hook(h.tls, h.db, hookAddress(), h.number)
}

func (h *changeHook) end() {
	sqlite3.Xsqlite3_preupdate_hook(h.tls, h.db, 0, 0)
	changeHooks.Delete(h.number)
	h.recorders = nil
}

// schemaIs forgets the tables when the schema is another one.
func (h *changeHook) schemaIs(version int64) {
	if h.version != version {
		h.forget()
		h.version = version
	}
}

// forget drops what is known of tables: after a rollback, another schema may have the same version.
func (h *changeHook) forget() {
	clear(h.shapes)
	h.version = -1
}

// beforeChange is called by SQLite.
func beforeChange(
	tls *libc.TLS,
	number, _ uintptr,
	op int32,
	database, table uintptr,
	rowid, newRowid sqlite3.Tsqlite3_int64,
) {
	found, _ := changeHooks.Load(number)
	h, _ := found.(*changeHook)
	if h == nil || cText(database) != "main" {
		return
	}
	for _, r := range h.recorders {
		if !r.enabled || r.err != nil {
			continue
		}
		t := r.table(cText(table))
		if t == nil {
			continue
		}
		switch op {
		case sqlite3.SQLITE_INSERT:
			r.change(tls, t, true, newRowid)
		case sqlite3.SQLITE_UPDATE:
			// A key that changes is one row less and one more.
			r.change(tls, t, false, rowid)
			r.change(tls, t, true, newRowid)
		default:
			r.change(tls, t, false, rowid)
		}
	}
}

// cText is a C string where it lies, valid until SQLite goes on.
func cText(address uintptr) string {
	start := pointer[byte](address)
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(start), n)) != 0 {
		n++
	}
	return unsafe.String(start, n)
}

// shape reads how a table is made; nil for one without a primary key.
func (h *changeHook) shape(name string) (*tableShape, error) {
	if s, known := h.shapes[name]; known {
		return s, nil
	}
	s, err := readShape(h.conn, strings.Clone(name))
	if err != nil {
		return nil, err
	}
	h.shapes[strings.Clone(name)] = s
	return s, nil
}

func readShape(conn *sqlite.Conn, name string) (*tableShape, error) {
	// A key that is the rowid has no index.
	stmt, err := conn.Prepare(
		`SELECT cid, name, pk, hidden, NOT EXISTS (SELECT 1 FROM pragma_index_list(?1, 'main') WHERE origin = 'pk')
		FROM pragma_table_xinfo(?1, 'main') ORDER BY cid`,
	)
	if err != nil {
		return nil, err
	}
	defer stmt.Reset()
	stmt.BindText(1, name)
	s := &tableShape{name: name}
	keys := 0
	var names, conditions []string
	for {
		more, err := stmt.Step()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		s.total++
		if stmt.ColumnInt64(3) != 0 {
			continue
		}
		c := shapedColumn{name: stmt.ColumnText(1), index: int32(stmt.ColumnInt64(0)), key: uint8(stmt.ColumnInt64(2))}
		names = append(names, quote(c.name))
		if c.key > 0 {
			keys++
			conditions = append(conditions, quote(c.name)+" = ?")
			s.rowid, s.keyAt = keys == 1 && stmt.ColumnBool(4), len(s.columns)
		}
		s.columns = append(s.columns, c)
	}
	if keys == 0 {
		return nil, nil
	}
	rows := "SELECT " + strings.Join(names, ", ") + " FROM main." + quote(name) + " WHERE "
	s.query = rows + strings.Join(conditions, " AND ")
	if s.rowid {
		key := quote(s.columns[s.keyAt].name)
		s.runQuery = rows + key + " BETWEEN ? AND ? ORDER BY " + key
	}
	return s, nil
}

// appendHeader adds a table's header of a changeset.
func (s *tableShape) appendHeader(buf []byte) []byte {
	buf = appendSQLiteVarint(append(buf, 'T'), uint64(len(s.columns)))
	for _, c := range s.columns {
		buf = append(buf, c.key)
	}
	return append(append(buf, s.name...), 0)
}

// appendSQLiteValue encodes one of SQLite's values as a changeset does.
func appendSQLiteValue(tls *libc.TLS, buf []byte, value uintptr) []byte {
	switch sqlite3.Xsqlite3_value_type(tls, value) {
	case sqlite3.SQLITE_INTEGER:
		return binary.BigEndian.AppendUint64(append(buf, fieldInteger), uint64(sqlite3.Xsqlite3_value_int64(tls, value)))
	case sqlite3.SQLITE_FLOAT:
		return binary.BigEndian.AppendUint64(
			append(buf, fieldFloat),
			math.Float64bits(sqlite3.Xsqlite3_value_double(tls, value)),
		)
	case sqlite3.SQLITE_TEXT:
		return appendMemory(
			append(buf, fieldText),
			sqlite3.Xsqlite3_value_text(tls, value),
			sqlite3.Xsqlite3_value_bytes(tls, value),
		)
	case sqlite3.SQLITE_BLOB:
		return appendMemory(
			append(buf, fieldBlob),
			sqlite3.Xsqlite3_value_blob(tls, value),
			sqlite3.Xsqlite3_value_bytes(tls, value),
		)
	}
	return append(buf, fieldNull)
}

func appendMemory(buf []byte, address uintptr, n int32) []byte {
	buf = appendSQLiteVarint(buf, uint64(n))
	if n == 0 || address == 0 {
		return buf
	}
	return append(buf, unsafe.Slice(pointer[byte](address), n)...)
}

// appendColumn encodes a column of the current row as a changeset does.
func appendColumn(buf []byte, stmt *sqlite.Stmt, i int) []byte {
	switch stmt.ColumnType(i) {
	case sqlite.TypeInteger:
		return binary.BigEndian.AppendUint64(append(buf, fieldInteger), uint64(stmt.ColumnInt64(i)))
	case sqlite.TypeFloat:
		return binary.BigEndian.AppendUint64(append(buf, fieldFloat), math.Float64bits(stmt.ColumnFloat(i)))
	case sqlite.TypeText:
		return appendBytes(append(buf, fieldText), stmt, i)
	case sqlite.TypeBlob:
		return appendBytes(append(buf, fieldBlob), stmt, i)
	}
	return append(buf, fieldNull)
}

func appendBytes(buf []byte, stmt *sqlite.Stmt, i int) []byte {
	n := stmt.ColumnLen(i)
	buf = appendSQLiteVarint(buf, uint64(n))
	at := len(buf)
	buf = append(buf, make([]byte, n)...)
	stmt.ColumnBytes(i, buf[at:])
	return buf
}
