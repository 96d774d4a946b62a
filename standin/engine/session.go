// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

// Session is one client, or one piece of Go code that runs T-SQL. Only one goroutine uses it at a time.
type Session struct {
	inst     *Instance
	spid     int
	request  tds.LoginRequest
	original Login
	started  time.Time
	internal bool
	// viewReads are the views that the query which runs has read; nil outside of one.
	viewReads map[string]viewRead
	// replicates says that the session is that of a replication agent (Replicate).
	replicates bool
	// origin is what the log has with its transactions.
	origin *storage.Mark

	login Login
	user  *User
	// caller is who called the system procedure that runs as the system (AsSystem); nil outside of one.
	caller *identity
	db     *Database

	sessionState
	transactions
	local  localSpace
	status sessionStatus
}

// Ensure that a Session can be served.
var _ tds.Session = (*Session)(nil)

// Instance is the instance that the session belongs to.
func (s *Session) Instance() *Instance { return s.inst }

// SPID is @@SPID.
func (s *Session) SPID() int { return s.spid }

// Request is what the client said at login.
func (s *Session) Request() tds.LoginRequest { return s.request }

// Login is who the session is now (EXECUTE AS LOGIN changes it).
func (s *Session) Login() Login { return s.login }

// OriginalLogin is who logged in.
func (s *Session) OriginalLogin() Login { return s.original }

// CurrentDatabase is the session's database.
func (s *Session) CurrentDatabase() *Database { return s.db }

// Database is the name of the session's database.
func (s *Session) Database() string { return s.db.Name() }

// Exec runs a batch of T-SQL with parameters @p1, @p2, ... (Go values as sqltype.Type says, and int, int32, []byte,
// time.Time ...). The first error ends it and is returned. Result sets are dropped.
func (s *Session) Exec(ctx context.Context, text string, params ...any) error {
	return s.run(ctx, text, params, &discardWriter{})
}

// Query runs a batch of T-SQL and returns its first result set (nil when there is none).
func (s *Session) Query(ctx context.Context, text string, params ...any) (*Result, error) {
	w := &collectWriter{}
	if err := s.run(ctx, text, params, w); err != nil {
		return nil, err
	}
	return w.first(), nil
}

// Conn is a connection for reading db with SQLite's SQL (internal tables of extensions): that of the session's open
// transaction in db when there is one, so that it sees its own writes, else a snapshot. Call release soon.
func (s *Session) Conn(ctx context.Context, db *Database) (conn *sqlite.Conn, release func(), err error) {
	return s.readConn(ctx, db)
}

// Write runs f in the session's transaction in db; outside a transaction it commits when f returns nil. When f fails,
// what it wrote is undone.
func (s *Session) Write(ctx context.Context, db *Database, f func(tx *storage.Tx) error) error {
	return s.write(ctx, db, f)
}

// InUserTransaction tells whether @@TRANCOUNT is above 0.
func (s *Session) InUserTransaction() bool { return s.InTransaction() != 0 }

// User is the session's user in db.
func (s *Session) User(ctx context.Context, db *Database) (User, error) { return s.userIn(ctx, db) }

// Require is nil when the session has the permission.
func (s *Session) Require(ctx context.Context, p Permission) error { return s.require(ctx, p) }
