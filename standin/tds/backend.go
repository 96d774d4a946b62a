// SPDX-License-Identifier: Apache-2.0

// Package tds serves the Tabular Data Stream protocol ([MS-TDS]) in front of an engine: TDS 7.0 to 7.4 and 8.0, with
// TLS inside PRELOGIN (1.2 at most, since clients break on 1.3 there) or before it (TDS 8.0).
//
// Refused, each with an error that says so: integrated and directory logins, updates through server cursors,
// user-defined types, encrypted columns, distributed transactions, query notifications. Not offered: session recovery,
// data classification. With MARS the requests of a connection take turns.
package tds

import (
	"context"
	"fmt"
	"io"
	"net"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Backend is the engine that the protocol serves.
type Backend interface {
	// Login authenticates a client and opens its session. A *sqlerr.Error (18456, 4060, ...) is sent to the client,
	// several of them when they are joined (errors.Join).
	Login(ctx context.Context, req LoginRequest) (Session, error)
	// ServerName is @@SERVERNAME, Version the engine version that PRELOGIN and LOGINACK carry.
	ServerName() string
	Version() [4]byte
}

// LoginRequest is what LOGIN7 says ([MS-TDS] 2.2.6.4).
type LoginRequest struct {
	// NewPassword is to replace Password, nil when it is not to change ([MS-TDS] 2.2.6.4, fChangePassword).
	NewPassword                                                    *string
	User, Password, HostName, AppName, Library, Database, Language string
	ReadOnlyIntent                                                 bool
	PacketSize                                                     int
	Remote, Local                                                  net.Addr
	Encrypted                                                      bool
	// Redirectable tells whether the client understands a Redirect.
	Redirectable bool
	// Prepared are the connection's prepared statements, nil for none.
	Prepared *PreparedStatements
	// Cursors are its server cursors, nil for none.
	Cursors *Cursors
}

// Redirect is the error of a login that another server is to serve: the client goes there.
type Redirect struct {
	Server string
	Port   uint16
}

// Error makes it an error.
func (r *Redirect) Error() string {
	return fmt.Sprintf("the login belongs at %s, port %d", r.Server, r.Port)
}

// Session is one logged-in client. Its methods are called one at a time. Errors of statements go to the Writer;
// a returned error ends the connection.
type Session interface {
	// Database, Language and SPID are told to the client at login; PacketHeader carries the SPID. So is the Collation of
	// the database, again whenever that has changed.
	Database() string
	Collation() string
	Language() string
	SPID() int
	// Batch executes one batch of T-SQL.
	Batch(ctx context.Context, text string, w Writer) error
	// Call executes a procedure by name. The protocol itself serves the prepare family (sp_executesql, sp_prepare,
	// sp_execute, sp_prepexec, sp_unprepare) by calling Execute; all other names come here.
	Call(ctx context.Context, call Call, w Writer) error
	// Execute runs parameterised text. decl is the parameter declaration ("@p1 int,@p2 nvarchar(20) OUTPUT"), may be
	// empty.
	Execute(ctx context.Context, text, decl string, params []Param, w Writer) error
	// Prepare judges a statement that is to be executed later, and with describe tells the columns of its first result
	// set. Its errors go to the Writer; the one that is returned (8180) means that there is nothing to execute.
	Prepare(ctx context.Context, p Prepared, describe bool, w Writer) error
	// Begin, Commit, Rollback and Save serve transaction manager requests ([MS-TDS] 2.2.6.9). Begin returns the
	// transaction descriptor. isolation is the request's level, 0 when unchanged; the names of Begin and Rollback may be
	// empty.
	Begin(ctx context.Context, isolation byte, name string) (uint64, error)
	Commit(ctx context.Context) error
	Rollback(ctx context.Context, name string) error
	Save(ctx context.Context, savepoint string) error
	// InTransaction is the current transaction descriptor, 0 outside a transaction: the protocol sends ENVCHANGE
	// tokens 8, 9 and 10 when it changed during a batch, too.
	InTransaction() uint64
	// IsQuery tells whether text is one query, or one procedure's execution, on which a cursor can be opened.
	IsQuery(text string) bool
	// BulkInsert takes the rows that follow an INSERT BULK batch; text is that batch. next ends with io.EOF.
	BulkInsert(ctx context.Context, text string, cols []Column, next func() ([]any, error)) (rows int64, err error)
	// Reset is sp_reset_connection (RESETCONNECTION; keepTransaction for RESETCONNECTIONSKIPTRAN).
	Reset(ctx context.Context, keepTransaction bool) error
	io.Closer
}

// Column is a column of a result set or of a bulk load.
type Column struct {
	Name string
	Type sqltype.Type
	// Collation is what a character column is told to have; empty for the server's.
	Collation string
	Nullable  bool
	Identity  bool
	// Numeric is a column of numeric, which is decimal under another name and has a token of its own.
	Numeric bool
	// Hidden columns are for the client's library, not for its user: the row status of cursors.
	Hidden bool
}

// Param is a parameter of a procedure call. Name has its @, or is empty for one given by position.
type Param struct {
	Name    string
	Type    sqltype.Type
	Value   any
	Output  bool
	Default bool
	// Table is set for a table-valued parameter.
	Table *Table
}

// Table is a table-valued parameter ([MS-TDS] 2.2.5.5.5): the name of its type and its rows. Default tells which
// columns have their default in every row, and so no value among Rows.
type Table struct {
	Schema, Name string
	Columns      []Column
	Default      []bool
	Rows         [][]any
}

// Call is a procedure call (an RPC request, or EXEC in a batch).
type Call struct {
	Name   string
	Params []Param
	// noMetadata is a client that knows the columns already; cursors heed it.
	noMetadata bool
	// skipped is a call that its client does not want executed.
	skipped bool
}

// Writer receives what statements produce, in order. Errors of the connection are remembered and returned by all
// later calls; an engine that ignores them only wastes work.
type Writer interface {
	// Columns begins a result set.
	Columns(cols []Column) error
	// Row sends a row of it; values as sqltype.Type says.
	Row(values []any) error
	// Done ends a statement.
	Done(end Completion) error
	// Message sends an error (Class > 10) or an informational message (PRINT, RAISERROR 0..10, BACKUP's progress).
	Message(e *sqlerr.Error) error
	// ReturnStatus and ReturnValue end a procedure.
	ReturnStatus(status int32) error
	ReturnValue(name string, t sqltype.Type, value any) error
	// Database tells of a changed database context.
	Database(name, old string) error
	// Language tells of a changed language.
	Language(name, old string) error
}
