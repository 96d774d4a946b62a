// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// connState is what the engine keeps for one SQLite connection. Its functions and virtual tables reach the session
// that uses the connection through it.
type connState struct {
	inst *Instance
	conn *sqlite.Conn
	// session is the one that executes on the connection now, nil while storage uses it (redo, recovery).
	session *Session
	// err is the SQL Server error that a function raised; SQLite itself passes on only its text.
	err *sqlerr.Error
	// statements are the prepared statements of the connection, by text.
	statements statementCache
	// quiet keeps constraints from being judged while a statement sets keys aside.
	quiet bool
	// deferred are the foreign keys that the running statement may have violated on its way.
	deferred map[int32]bool
	// search is set while the row is looked for at which an INSERT collided.
	search *search
	// rowTables are the numbers of columns that there are tables of packed rows for.
	rowTables map[int]bool
}

// connStates finds the state of a connection.
type connStates struct{ m sync.Map }

func (c *connStates) of(conn *sqlite.Conn) *connState {
	if st, ok := c.m.Load(conn); ok {
		return st.(*connState)
	}
	return nil
}

// forget is called for every connection that is closed.
func (c *connStates) forget(conn *sqlite.Conn) { c.m.Delete(conn) }

// prepareConn is called for every new connection of every database.
func (inst *Instance) prepareConn(conn *sqlite.Conn) error {
	st := &connState{inst: inst, conn: conn, rowTables: map[int]bool{}}
	for _, key := range sqltype.CollationKeys {
		if err := conn.SetCollation(key, func(a, b string) int { return sqltype.CompareByKey(key, a, b) }); err != nil {
			return fmt.Errorf("register collation %s: %w", key, err)
		}
	}
	if err := registerFunctions(conn, st); err != nil {
		return fmt.Errorf("register the functions of a connection: %w", err)
	}
	if err := registerModules(conn, st); err != nil {
		return fmt.Errorf("register the virtual tables of a connection: %w", err)
	}
	inst.conns.m.Store(conn, st)
	return nil
}

// use makes s the session of the connection until the returned func is called; uses nest.
func (st *connState) use(s *Session) func() {
	before := st.session
	st.session = s
	return func() { st.session = before }
}

// fail remembers an error for the statement that is running and gives SQLite one to stop with.
func (st *connState) fail(e *sqlerr.Error) error {
	if st.err == nil {
		st.err = e
	}
	return errors.New(e.Message)
}

// rawContext has the fields of sqlite.Context.
type rawContext struct {
	tls *libc.TLS
	ptr uintptr
}

// failIn is fail for functions that SQLite calls. zombiezen.com/go/sqlite v1.4.2 gives SQLite the code of no error when
// a function fails (Context.resultError overwrites its err), so that the error's text became the function's value. The
// code is set here; the library's own call afterwards leaves it as it is.
func (st *connState) failIn(ctx sqlite.Context, e *sqlerr.Error) error {
	_ = st.fail(e)
	raw := *(*rawContext)(unsafe.Pointer(&ctx))
	lib.Xsqlite3_result_error_code(raw.tls, raw.ptr, lib.SQLITE_ERROR)
	return nil
}

// take returns and forgets the error that a function raised.
func (st *connState) take() *sqlerr.Error {
	e := st.err
	st.err = nil
	return e
}
