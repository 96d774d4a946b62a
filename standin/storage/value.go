// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"math"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/storage/memory"
)

// BindValue binds a stored form (nil, int64, float64, string or []byte) to a parameter, from 1.
func BindValue(stmt *sqlite.Stmt, i int, v any) {
	switch v := v.(type) {
	case int64:
		stmt.BindInt64(i, v)
	case float64:
		stmt.BindFloat(i, v)
	case string:
		bindText(stmt, i, v)
	case []byte:
		if len(v) == 0 {
			stmt.BindZeroBlob(i, 0)
			return
		}
		bindBlob(stmt, i, v)
	default:
		stmt.BindNull(i)
	}
}

// ColumnValue is the stored form of a column, from 0, of the current row; a blob's bytes are the caller's.
func ColumnValue(stmt *sqlite.Stmt, i int) any {
	switch stmt.ColumnType(i) {
	case sqlite.TypeInteger:
		return stmt.ColumnInt64(i)
	case sqlite.TypeFloat:
		return stmt.ColumnFloat(i)
	case sqlite.TypeText:
		return stmt.ColumnText(i)
	case sqlite.TypeBlob:
		b := make([]byte, stmt.ColumnLen(i))
		stmt.ColumnBytes(i, b)
		return b
	default:
		return nil
	}
}

// ArgumentValue is the stored form of an argument of a function; a blob's bytes are SQLite's.
func ArgumentValue(v sqlite.Value) any {
	switch v.Type() {
	case sqlite.TypeInteger:
		return v.Int64()
	case sqlite.TypeFloat:
		return v.Float()
	case sqlite.TypeText:
		return v.Text()
	case sqlite.TypeBlob:
		return v.Blob()
	}
	return nil
}

// ResultValue is a stored form as a function's result.
func ResultValue(raw any) sqlite.Value {
	switch x := raw.(type) {
	case int64:
		return sqlite.IntegerValue(x)
	case float64:
		return sqlite.FloatValue(x)
	case string:
		return sqlite.TextValue(x)
	case []byte:
		return sqlite.BlobValue(x)
	}
	return sqlite.Value{}
}

// statementFields are where a statement has SQLite's statement, and where it has its connection and that the state of
// its thread: the package that makes statements does not say.
var statementFields = func() (f struct {
	known                    bool
	statement, conn, threads uintptr
}) {
	statement, a := reflect.TypeFor[sqlite.Stmt]().FieldByName("stmt")
	conn, b := reflect.TypeFor[sqlite.Stmt]().FieldByName("conn")
	threads, c := reflect.TypeFor[sqlite.Conn]().FieldByName("tls")
	f.known = a && b && c && statement.Type == reflect.TypeFor[uintptr]() &&
		conn.Type == reflect.TypeFor[*sqlite.Conn]() &&
		threads.Type == reflect.TypeFor[*libc.TLS]()
	f.statement, f.conn, f.threads = statement.Offset, conn.Offset, threads.Offset
	return f
}()

// bindText is stmt.BindText, which copies a text byte by byte.
func bindText(stmt *sqlite.Stmt, i int, text string) {
	if !bindCopy(stmt, i, text, sqlite3.Xsqlite3_bind_text) {
		stmt.BindText(i, text)
	}
}

func bindBlob(stmt *sqlite.Stmt, i int, blob []byte) {
	if !bindCopy(stmt, i, blob, sqlite3.Xsqlite3_bind_blob) {
		stmt.BindBytes(i, blob)
	}
}

type bindFunc = func(tls *libc.TLS, statement uintptr, i int32, value uintptr, n int32, free uintptr) int32

// bindCopy binds a copy in memory of SQLite's. The statement tells what is wrong when it is asked itself after false.
func bindCopy[T string | []byte](stmt *sqlite.Stmt, i int, value T, bind bindFunc) bool {
	f := statementFields
	if !f.known || len(value) == 0 || len(value) > math.MaxInt32 {
		return false
	}
	handle := *(*uintptr)(unsafe.Add(unsafe.Pointer(stmt), f.statement))
	conn := *(**sqlite.Conn)(unsafe.Add(unsafe.Pointer(stmt), f.conn))
	tls := *(**libc.TLS)(unsafe.Add(unsafe.Pointer(conn), f.threads))
	if handle == 0 || tls == nil {
		return false
	}
	mem := memory.Allocate(tls, int32(len(value)))
	if mem == 0 {
		return false
	}
	copy(unsafe.Slice(pointer[byte](mem), len(value)), value)
	// SQLite frees the memory also when it fails.
	return bind(tls, handle, int32(i), mem, int32(len(value)), memory.Release()) == sqlite3.SQLITE_OK
}
