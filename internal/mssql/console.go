// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/golang-sql/sqlexp"
	driver "github.com/microsoft/go-mssqldb"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// lastWords is how long what a server sent before it ended a connection may take to be read: why it did.
const lastWords = 500 * time.Millisecond

// queued is how many messages of a server wait to be told. The driver holds fifteen, and stops reading the rows that
// somebody waits for when there are more.
const queued = 4096

var (
	errConnectionEnded = errors.New("the connection has ended")
	errNotSent         = errors.New("the connection had ended before, and nothing was sent")
)

// Console is one connection on which the batches of a person are executed, as they are given. It is not for concurrent
// use, but for Abort. It is a Querier that gives no statement up by itself: the session, with whatever is open in it,
// would end with it.
type Console struct {
	handle *sql.DB
	conn   *sql.Conn
	ending *ending
	server string
}

var _ Querier = (*Console)(nil)

// Column is one of a result set.
type Column struct {
	// Name is empty of an expression that was given none.
	Name string
	// Type such as NVARCHAR, as the driver names it: upper case, without a length.
	Type string
	// Scale of types that have one.
	Scale int
}

// Message is what a server says beside rows.
type Message struct {
	Number int32
	// Level is the severity: above 10 it is an error.
	Level, State uint8
	// Server and Procedure are empty where the server names none.
	Server, Procedure string
	// Line of the batch or of the procedure.
	Line int32
	Text string
}

// Failed tells that it is an error (docs/relational-databases/errors-events/database-engine-error-severities.md).
func (m Message) Failed() bool { return m.Level > 10 }

// Sink takes what a server answers to a batch, in its order. An error of a Sink ends the batch.
type Sink interface {
	// Columns begins a result set.
	Columns(columns []Column) error
	// Row has a value for each column: nil, int64, float64, bool, string, []byte or time.Time. They are the Sink's.
	Row(values []any) error
	// End ends the result set.
	End() error
	// Affected is how many rows a statement touched, or selected.
	Affected(rows int64) error
	// Message is an error, or says something.
	Message(m Message) error
}

// Console logs in to the target for a person. The caller closes it.
func (c *Connector) Console(ctx context.Context, t Target) (*Console, error) {
	t = t.withDefaults()
	access, password, err := c.credentials(ctx, t)
	if err != nil {
		return nil, err
	}
	config, err := c.config(t, c.options.Address(t), password, access.CA)
	if err != nil {
		return nil, err
	}
	e := &ending{}
	connector := driver.NewConnectorConfig(config)
	connector.Dialer = hostDialer{dial: e.dial(c.options.Dial), host: config.Host}
	handle := sql.OpenDB(boundedConnector{connector})
	handle.SetMaxOpenConns(1)
	conn, err := handle.Conn(ctx)
	if err != nil {
		_ = handle.Close()
		return nil, newError(credentials.HostName(t.Server), "log in as "+t.login(), err)
	}
	return &Console{handle: handle, conn: conn, ending: e, server: credentials.HostName(t.Server)}, nil
}

// Server is the instance's name.
func (c *Console) Server() string { return c.server }

// Ended tells that the connection is over, with all that was open in its session.
func (c *Console) Ended() bool { return c.ending.ended() }

// Abort ends the connection at once, whatever goes on.
func (c *Console) Abort() { c.ending.abort() }

// Close logs out. What was not committed is rolled back by the server.
func (c *Console) Close() error {
	defer c.ending.end()
	return errors.Join(c.conn.Close(), c.handle.Close())
}

// Exec executes the statement.
func (c *Console) Exec(ctx context.Context, s tsql.Statement) error {
	return c.explain(doing(s), exec(ctx, c.conn, s))
}

// Query executes the statement.
func (c *Console) Query(ctx context.Context, s tsql.Statement, scan func(Row) error) error {
	return c.QueryEach(ctx, s, scan)
}

// QueryEach executes the batch.
func (c *Console) QueryEach(ctx context.Context, s tsql.Statement, scans ...func(Row) error) error {
	return c.explain(doing(s), query(ctx, c.conn, s, scans))
}

func (c *Console) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		c.ending.end()
	}
	return newError(c.server, doing, err)
}

// Execute executes a batch and tells the sink what comes of it. Failed says that the server told of an error. The error
// is an *Error: Unreachable when nothing was sent, else Unknown, also when ctx ended and the server has confirmed that
// it stopped; what the batch had done until then stands, unless a transaction was open. It is the Sink's where that had
// one.
func (c *Console) Execute(ctx context.Context, batch string, sink Sink) (failed bool, err error) {
	const doing = "execute a batch"
	if c.Ended() {
		return false, &Error{Server: c.server, Doing: doing, Class: Unreachable, Err: errNotSent}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.ending.cancels(ctx, cancel)
	messages := &sqlexp.ReturnMessage{}
	rows, err := c.conn.QueryContext(ctx, batch, messages)
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		c.ending.end()
		return false, &Error{Server: c.server, Doing: doing, Class: Unreachable, Err: errNotSent}
	}
	if err != nil {
		return false, c.outcome(ctx, doing, err)
	}
	defer rows.Close()
	failed, err = drain(ctx, rows, messages, sink)
	var sinks *sinkError
	if errors.As(err, &sinks) {
		cancel(sinks.error)
		return failed, sinks.error
	}
	if err == nil {
		err = rows.Err()
	}
	var told driver.Error
	switch {
	case ctx.Err() != nil:
		return failed, c.outcome(ctx, doing, ctx.Err())
	case errors.As(err, &told):
		// It was a message, too. The driver calls those a ServerError after which the server ends the connection.
		var fatal driver.ServerError
		if errors.As(err, &fatal) {
			c.ending.end()
		}
		return true, nil
	case err != nil:
		return failed, c.outcome(ctx, doing, err)
	}
	return failed, nil
}

// outcome of a batch that did not come to its end.
func (c *Console) outcome(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errConnectionEnded) {
		if why := c.ending.why(); why != nil {
			cause = fmt.Errorf("%w: %w", cause, why)
		}
		return &Error{Server: c.server, Doing: doing, Class: Unknown, Err: cause}
	}
	if ctx.Err() != nil {
		return &Error{Server: c.server, Doing: doing, Class: Unknown, Err: ctx.Err()}
	}
	// Whatever else the driver says of a connection, it is of no use any more.
	c.ending.end()
	return &Error{Server: c.server, Doing: doing, Class: Unknown, Number: Number(err), Err: err}
}

// sinkError is the error of a Sink.
type sinkError struct{ error }

func sunk(err error) error {
	if err == nil {
		return nil
	}
	return &sinkError{err}
}

// drain tells the sink of everything that a batch answers.
func drain(ctx context.Context, rows *sql.Rows, messages *sqlexp.ReturnMessage, sink Sink) (failed bool, err error) {
	pumped := pump(ctx, messages)
	// Where reading rows has failed the driver may have dropped what would end this loop.
	var nothingComes <-chan time.Time
	for {
		var raw sqlexp.RawMessage
		var more bool
		select {
		case raw, more = <-pumped:
		case <-nothingComes:
		}
		if !more {
			return failed, nil
		}
		var err error
		switch m := raw.(type) {
		case sqlexp.MsgNotice:
			if said, ok := m.Message.(driver.Error); ok {
				err = sunk(sink.Message(message(said)))
			}
		case sqlexp.MsgError:
			var said driver.Error
			if !errors.As(m.Error, &said) {
				return failed, m.Error
			}
			failed = true
			err = sunk(sink.Message(message(said)))
		case sqlexp.MsgRowsAffected:
			err = sunk(sink.Affected(m.Count))
		case sqlexp.MsgNext:
			if err = resultSet(rows, sink); err == nil && rows.Err() != nil {
				nothingComes = time.After(lastWords)
			}
		case sqlexp.MsgNextResultSet:
			if rows.NextResultSet() {
				continue
			}
			if rows.Err() == nil || nothingComes != nil {
				return failed, nil
			}
			// What the server said of it is still to come.
			nothingComes = time.After(lastWords)
		}
		if err != nil {
			return failed, err
		}
	}
}

// pump takes messages off the driver at once, also while somebody waits for a row. It ends with ctx.
func pump(ctx context.Context, messages *sqlexp.ReturnMessage) <-chan sqlexp.RawMessage {
	pumped := make(chan sqlexp.RawMessage, queued)
	go func() {
		defer close(pumped)
		for ctx.Err() == nil {
			raw := messages.Message(ctx)
			select {
			case pumped <- raw:
			case <-ctx.Done():
			}
		}
	}()
	return pumped
}

func message(e driver.Error) Message {
	return Message{Number: e.Number, Level: e.Class, State: e.State, Server: e.ServerName, Procedure: e.ProcName,
		Line: e.LineNo, Text: e.Message}
}

// resultSet tells the sink of one. An error of the rows is told by rows.Err later.
func resultSet(rows *sql.Rows, sink Sink) error {
	types, err := rows.ColumnTypes()
	if err != nil {
		return fmt.Errorf("read the types of the columns: %w", err)
	}
	columns := make([]Column, len(types))
	for i, t := range types {
		_, scale, _ := t.DecimalSize()
		columns[i] = Column{Name: t.Name(), Type: t.DatabaseTypeName(), Scale: int(scale)}
	}
	if err := sunk(sink.Columns(columns)); err != nil {
		return err
	}
	for rows.Next() {
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return fmt.Errorf("read a row: %w", err)
		}
		if err := sunk(sink.Row(values)); err != nil {
			return err
		}
	}
	return sunk(sink.End())
}

// SessionState is where a session is.
type SessionState struct {
	// Database that statements are for which name none.
	Database string
	// Transactions that are open, @@TRANCOUNT.
	Transactions int
	// Updateability is READ_WRITE, READ_ONLY, or empty where the server does not tell.
	Updateability string
}

// ReadSessionState asks where the session is. Settings of the session, such as NOEXEC, may keep it from answering: that
// is an error.
func ReadSessionState(ctx context.Context, q Querier) (SessionState, error) {
	var s SessionState
	rows := 0
	err := q.Query(ctx, tsql.SessionState(), func(r Row) error {
		rows++
		var updateability sql.NullString
		err := r.Scan(&s.Database, &s.Transactions, &updateability)
		s.Updateability = updateability.String
		return err
	})
	if err == nil && rows != 1 {
		err = fmt.Errorf("read where the session is on server %s: %d rows instead of one", q.Server(), rows)
	}
	return s, err
}

// ReadLocalRoles reads the role of the instance's replica in each group: PRIMARY, SECONDARY, RESOLVING, or empty when
// it has not joined. It takes VIEW SERVER STATE.
func ReadLocalRoles(ctx context.Context, q Querier) (map[string]string, error) {
	roles := map[string]string{}
	err := q.Query(ctx, tsql.LocalRoles(), func(r Row) error {
		var group, role string
		err := r.Scan(&group, &role)
		roles[group] = role
		return err
	})
	return roles, err
}
