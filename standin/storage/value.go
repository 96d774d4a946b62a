// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"math"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
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
		stmt.BindBytes(i, v)
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

// statementFields are where a statement has SQLite's statement, and where it has its connection and that the state of
// its thread: the package that makes statements does not say.
var statementFields = func() (f struct {
	known                    bool
	statement, conn, threads uintptr
}) {
	statement, a := reflect.TypeFor[sqlite.Stmt]().FieldByName("stmt")
	conn, b := reflect.TypeFor[sqlite.Stmt]().FieldByName("conn")
	threads, c := reflect.TypeFor[sqlite.Conn]().FieldByName("tls")
	f.known = a && b && c && statement.Type == reflect.TypeFor[uintptr]() && conn.Type == reflect.TypeFor[*sqlite.Conn]() && threads.Type == reflect.TypeFor[*libc.TLS]()
	f.statement, f.conn, f.threads = statement.Offset, conn.Offset, threads.Offset
	return f
}()

// longText is the length from which a text is worth its own way to SQLite, in bytes.
const longText = 64

// bindText is stmt.BindText, which copies a text byte by byte.
func bindText(stmt *sqlite.Stmt, i int, text string) {
	f := statementFields
	if !f.known || len(text) < longText || len(text) > math.MaxInt32 {
		stmt.BindText(i, text)
		return
	}
	handle := *(*uintptr)(unsafe.Add(unsafe.Pointer(stmt), f.statement))
	conn := *(**sqlite.Conn)(unsafe.Add(unsafe.Pointer(stmt), f.conn))
	tls := *(**libc.TLS)(unsafe.Add(unsafe.Pointer(conn), f.threads))
	if handle == 0 || tls == nil {
		return
	}
	mem := libc.Xmalloc(tls, libc.Tsize_t(len(text)))
	if mem == 0 {
		stmt.BindText(i, text)
		return
	}
	copy(unsafe.Slice(pointer[byte](mem), len(text)), text)
	if sqlite3.Xsqlite3_bind_text(tls, handle, int32(i), mem, int32(len(text)), freeAddress()) != sqlite3.SQLITE_OK {
		// SQLite has freed the memory. The statement keeps the error that it finds itself.
		stmt.BindText(i, text)
	}
}

// freeAddress makes the function that frees memory callable by SQLite; see hookAddress.
func freeAddress() uintptr {
	f := libc.Xfree
	return *(*uintptr)(unsafe.Pointer(&f))
}
