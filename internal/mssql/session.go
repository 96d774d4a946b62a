// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"geosql.dev/operator/internal/tsql"
)

// Querier executes statements: a DB on any connection of its pool, a Session on one connection.
type Querier interface {
	// Exec executes the statement and drops its rows. Errors are *Error.
	Exec(ctx context.Context, s tsql.Statement) error
	// Query executes the statement and calls scan once per row of its first result set. Errors are *Error, or scan's.
	Query(ctx context.Context, s tsql.Statement, scan func(Row) error) error
	// QueryEach executes a batch and calls scans[i] once per row of its i-th result set; one that is missing is an error.
	// Errors are *Error, or a scan's.
	QueryEach(ctx context.Context, s tsql.Statement, scans ...func(Row) error) error
	// Server is the instance's name, for messages.
	Server() string
}

// Row is the current row of a result set.
type Row interface {
	Scan(dest ...any) error
}

// DB is a pool of connections to one database of one server under one login.
type DB struct {
	handle        *sql.DB
	server, login string
	executing     func(tsql.Statement) func(error)
}

var _ Querier = (*DB)(nil)

// Server is the instance's name.
func (d *DB) Server() string { return d.server }

// Login is the name of the login.
func (d *DB) Login() string { return d.login }

// Handle is the database/sql pool, for callers that need what Querier lacks.
func (d *DB) Handle() *sql.DB { return d.handle }

// Exec executes the statement on any connection.
func (d *DB) Exec(ctx context.Context, s tsql.Statement) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	executed := d.execute(s)
	err := d.borrow(ctx, func(conn *sql.Conn) error { return exec(ctx, conn, s) })
	executed(err)
	d.broken(ctx, err)
	return d.explain(doing(s), err)
}

// execute tells of a statement, and returns what is to be told its outcome.
func (d *DB) execute(s tsql.Statement) func(error) {
	if d.executing == nil {
		return func(error) {}
	}
	return d.executing(s)
}

// Query executes the statement on any connection.
func (d *DB) Query(ctx context.Context, s tsql.Statement, scan func(Row) error) error {
	return d.QueryEach(ctx, s, scan)
}

// QueryEach executes the batch on any connection.
func (d *DB) QueryEach(ctx context.Context, s tsql.Statement, scans ...func(Row) error) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	rows := 0
	counted := make([]func(Row) error, len(scans))
	for i, scan := range scans {
		counted[i] = func(r Row) error { rows++; return scan(r) }
	}
	ask := func(conn *sql.Conn) error { return query(ctx, conn, s, counted) }
	err := d.borrow(ctx, ask)
	if rows == 0 && s.Repeatable() && d.broken(ctx, err) {
		err = d.borrow(ctx, ask)
	}
	return d.explain(doing(s), err)
}

// Session calls f with one connection, for statements that depend on each other's session state. The connection goes
// back to the pool afterwards and is reset before its next use.
func (d *DB) Session(ctx context.Context, f func(*Session) error) error {
	connecting, cancel := bounded(ctx)
	defer cancel()
	conn, err := d.handle.Conn(connecting)
	if err != nil {
		return d.explain("log in as "+d.login, err)
	}
	defer conn.Close()
	return f(&Session{conn: conn, server: d.server, execute: d.execute})
}

// Ping connects if no connection is open and asks for an answer.
func (d *DB) Ping(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ask := func(conn *sql.Conn) error {
		return within(ctx, conn, func() error { return conn.PingContext(ctx) })
	}
	err := d.borrow(ctx, ask)
	if d.broken(ctx, err) {
		err = d.borrow(ctx, ask)
	}
	return d.explain("log in as "+d.login, err)
}

// broken tells that a connection was lost while time remains. Its neighbours in the pool were made to the same process
// and are closed: an engine that restarted would otherwise fail one statement for each of them.
func (d *DB) broken(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || classify(err) != Unknown {
		return false
	}
	d.handle.SetMaxIdleConns(0)
	d.handle.SetMaxIdleConns(idleConnections)
	return true
}

func (d *DB) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	return newError(d.server, doing, err)
}

func (d *DB) close() {
	// Close waits for statements under way; those have deadlines.
	go func() { _ = d.handle.Close() }()
}

// Session is one connection.
type Session struct {
	conn    *sql.Conn
	server  string
	execute func(tsql.Statement) func(error)
}

var _ Querier = (*Session)(nil)

// Server is the instance's name.
func (s *Session) Server() string { return s.server }

// Exec executes the statement.
func (s *Session) Exec(ctx context.Context, statement tsql.Statement) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	executed := s.execute(statement)
	err := exec(ctx, s.conn, statement)
	executed(err)
	if err != nil {
		return newError(s.server, doing(statement), err)
	}
	return nil
}

// Query executes the statement.
func (s *Session) Query(ctx context.Context, statement tsql.Statement, scan func(Row) error) error {
	return s.QueryEach(ctx, statement, scan)
}

// QueryEach executes the batch.
func (s *Session) QueryEach(ctx context.Context, statement tsql.Statement, scans ...func(Row) error) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := query(ctx, s.conn, statement, scans); err != nil {
		return newError(s.server, doing(statement), err)
	}
	return nil
}

func exec(ctx context.Context, conn *sql.Conn, s tsql.Statement) error {
	return within(ctx, conn, func() error {
		_, err := conn.ExecContext(ctx, s.Text, s.Arguments()...)
		return err
	})
}

func query(ctx context.Context, conn *sql.Conn, s tsql.Statement, scans []func(Row) error) error {
	return within(ctx, conn, func() error {
		rows, err := conn.QueryContext(ctx, s.Text, s.Arguments()...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for i, scan := range scans {
			if i > 0 && !rows.NextResultSet() {
				if err := rows.Err(); err != nil {
					return err
				}
				return fmt.Errorf("%d result sets instead of %d", i, len(scans))
			}
			if err := scanRows(rows, scan); err != nil {
				return cmp.Or(told(rows), err)
			}
		}
		return nil
	})
}

// told is the error that the server has told of a batch, nil for none. It comes after the rows: what a statement failed
// for that has no rows is known only then, and what was read in their place is another statement's.
func told(rows *sql.Rows) error {
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
		}
	}
	return rows.Err()
}

// columned is a row that knows the names of its columns.
type columned interface{ Columns() ([]string, error) }

// scanFirst reads the first columns of a row, and drops those that follow: a procedure of a newer version may have
// some.
func scanFirst(r Row, dest ...any) error {
	if named, ok := r.(columned); ok {
		columns, err := named.Columns()
		if err != nil {
			return fmt.Errorf("read the names of the columns: %w", err)
		}
		for len(dest) < len(columns) {
			dest = append(dest, new(any))
		}
	}
	return r.Scan(dest...)
}

// scanNamed reads columns of a row by their names, compared without case, and drops the others: for a procedure whose
// result has many, of which a version may add one anywhere. One that has no such column is an error.
func scanNamed(r Row, into map[string]any) error {
	named, ok := r.(columned)
	if !ok {
		return fmt.Errorf("a row of type %T has no names of columns", r)
	}
	columns, err := named.Columns()
	if err != nil {
		return fmt.Errorf("read the names of the columns: %w", err)
	}
	found, dest := 0, make([]any, len(columns))
	for i, column := range columns {
		dest[i] = new(any)
		for name, to := range into {
			if strings.EqualFold(name, column) {
				dest[i], found = to, found+1
			}
		}
	}
	if found != len(into) {
		return fmt.Errorf("of the columns %s %d of %d are there", strings.Join(columns, ", "), found, len(into))
	}
	return r.Scan(dest...)
}

func scanRows(rows *sql.Rows, scan func(Row) error) error {
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("read a row: %w", err)
		}
	}
	return rows.Err()
}

// read is a statement with what is done with each of its rows.
type read struct {
	statement tsql.Statement
	scan      func(Row) error
}

// by reads it by itself.
func (r read) by(ctx context.Context, q Querier) error { return q.Query(ctx, r.statement, r.scan) }

// readAll reads in one round trip: the operator is up to a fifth of a second away from the instance.
func readAll(ctx context.Context, q Querier, reason string, reads ...read) error {
	statements, scans := make([]tsql.Statement, len(reads)), make([]func(Row) error, len(reads))
	for i, r := range reads {
		statements[i], scans[i] = r.statement, r.scan
	}
	batch, err := tsql.Together(reason, statements...)
	if err != nil {
		return fmt.Errorf("%s on server %s: %w", reason, q.Server(), err)
	}
	return q.QueryEach(ctx, batch, scans...)
}

// doing names a statement in an error: its reason, else its redacted text cut to one line.
func doing(s tsql.Statement) string {
	if s.Reason != "" {
		return s.Reason
	}
	const longest = 80
	shown := []rune(s.Redacted())
	for i, r := range shown {
		if r == '\n' || i == longest {
			return string(shown[:i]) + " ..."
		}
	}
	return string(shown)
}

// bounded gives a context without a deadline the default one.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, defaultTimeout)
}
