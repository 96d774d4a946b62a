// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-sql/civil"
	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sni"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Time-outs of connections to linked servers when sp_serveroption sets none (the server options "remote login timeout"
// and "remote query timeout", docs/database-engine/configure-windows/).
const (
	defaultConnectTimeout = 10 * time.Second
	defaultQueryTimeout   = 600 * time.Second
)

// remotePool keeps a pool of connections for each linked server and remote login.
type remotePool struct {
	mu    sync.Mutex
	pools map[string]*sql.DB
}

func (p *remotePool) get(server, dsn string) (*sql.DB, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strings.ToLower(server) + "\n" + dsn
	if db := p.pools[key]; db != nil {
		return db, nil
	}
	db, err := sni.Open(dsn)
	if err != nil {
		return nil, err
	}
	db.SetConnMaxIdleTime(time.Minute)
	db.SetMaxIdleConns(2)
	if p.pools == nil {
		p.pools = map[string]*sql.DB{}
	}
	p.pools[key] = db
	return db, nil
}

// forget closes the pools of a server.
func (p *remotePool) forget(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, db := range p.pools {
		if strings.HasPrefix(key, strings.ToLower(server)+"\n") {
			db.Close()
			delete(p.pools, key)
		}
	}
}

func (p *remotePool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, db := range p.pools {
		db.Close()
		delete(p.pools, key)
	}
}

// remote is a connection pool to a linked server with the mapping of s's login. Errors: 7202 no such server, 7416 no
// mapping.
func (e *Extension) remote(ctx context.Context, s *engine.Session, name string) (*server, *sql.DB, error) {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	srv := catalog.linkedServer(name)
	if srv == nil {
		return nil, nil, failure(7202, 2, name)
	}
	user, password, err := e.credentials(s, srv)
	if err != nil {
		return nil, nil, err
	}
	dsn, err := connectionURL(srv, user, password)
	if err != nil {
		return nil, nil, err
	}
	pool, err := e.remotes.get(srv.Name, dsn)
	if err != nil {
		return nil, nil, failure(7399, 1, srv.Provider, srv.Name, "The connection's options are not valid.")
	}
	return srv, pool, nil
}

func (e *Extension) credentials(s *engine.Session, srv *server) (user, password string, err error) {
	m := srv.mapping(s.Login().ID)
	if m == nil {
		return "", "", failure(7416, 1)
	}
	if m.UseSelf {
		req := s.Request()
		if req.Password == "" || s.Login().ID != s.OriginalLogin().ID {
			return "", "", failure(7437, 1)
		}
		return req.User, req.Password, nil
	}
	if m.Remote == "" {
		return "", "", failure(7416, 2)
	}
	if m.Password != nil {
		plain, err := open(e.smk.key, m.Password)
		if err != nil {
			return "", "", failure(15466, 2)
		}
		password = string(plain)
	}
	return m.Remote, password, nil
}

// connectionURL is the address of a linked server: its data source "host", "host,port" or "tcp:host,port", with the
// parts of its provider string that say how to encrypt.
func connectionURL(srv *server, user, password string) (string, error) {
	host, port, found := strings.Cut(strings.TrimPrefix(strings.ToLower(srv.DataSource), "tcp:"), ",")
	if !found {
		port = "1433"
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil || strings.Contains(host, `\`) {
		return "", failure(
			7399,
			2,
			srv.Provider,
			srv.Name,
			fmt.Sprintf("The data source %q is not host or host,port.", srv.DataSource),
		)
	}
	q := url.Values{}
	q.Set("app name", "linked server")
	q.Set("encrypt", "true")
	q.Set("TrustServerCertificate", "true")
	for _, part := range strings.Split(srv.ProviderString, ";") {
		key, value, _ := strings.Cut(part, "=")
		switch strings.ToLower(strings.ReplaceAll(key, " ", "")) {
		case "encrypt":
			q.Set("encrypt", value)
		case "trustservercertificate":
			q.Set("TrustServerCertificate", value)
		case "database", "initialcatalog":
			q.Set("database", value)
		}
	}
	if srv.Catalog != "" {
		q.Set("database", srv.Catalog)
	}
	timeout := defaultConnectTimeout
	if srv.Options.ConnectTimeout > 0 {
		timeout = time.Duration(srv.Options.ConnectTimeout) * time.Second
	}
	q.Set("dial timeout", strconv.Itoa(int(timeout.Seconds())))
	q.Set("connection timeout", strconv.Itoa(int(timeout.Seconds())))
	u := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword(user, password),
		Host:     host + ":" + port,
		RawQuery: q.Encode(),
	}
	return u.String(), nil
}

// Query runs text at the linked server and returns its first result set; 7411 without the option data access.
func (e *Extension) Query(ctx context.Context, s *engine.Session, name, text string) (*engine.Result, error) {
	w := &resultCollector{}
	srv, pool, err := e.remote(ctx, s, name)
	if err != nil {
		return nil, err
	}
	if !srv.Options.DataAccess {
		return nil, failure(7411, 1, srv.Name, "DATA ACCESS")
	}
	if err := remoteRun(ctx, srv, pool, text, w); err != nil {
		return nil, err
	}
	return &engine.Result{Columns: w.columns, Rows: w.rows, RowCount: int64(len(w.rows))}, nil
}

// Execute runs text at the linked server and passes its result sets on; 7411 without the option rpc out.
func (e *Extension) Execute(ctx context.Context, s *engine.Session, name, text string, w tds.Writer) error {
	srv, pool, err := e.remote(ctx, s, name)
	if err != nil {
		return err
	}
	if !srv.Options.RPCOut {
		return failure(7411, 1, srv.Name, "RPC")
	}
	return remoteRun(ctx, srv, pool, text, writerCollector{w})
}

// collector takes the result sets of a linked server.
type collector interface {
	Columns([]tds.Column) error
	Row([]any) error
	Done(tds.Completion) error
}

type writerCollector struct{ tds.Writer }

// resultCollector keeps the first result set.
type resultCollector struct {
	columns []tds.Column
	rows    [][]any
	sets    int
}

func (c *resultCollector) Columns(cols []tds.Column) error {
	c.sets++
	if c.sets == 1 {
		c.columns = cols
	}
	return nil
}

func (c *resultCollector) Row(values []any) error {
	if c.sets == 1 {
		c.rows = append(c.rows, values)
	}
	return nil
}

func (c *resultCollector) Done(tds.Completion) error { return nil }

func remoteRun(ctx context.Context, srv *server, pool *sql.DB, text string, to collector) error {
	timeout := defaultQueryTimeout
	if srv.Options.QueryTimeout > 0 {
		timeout = time.Duration(srv.Options.QueryTimeout) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	rows, err := pool.QueryContext(ctx, text)
	if err != nil {
		return remoteError(srv, err)
	}
	defer rows.Close()
	for {
		if err := copySet(rows, to); err != nil {
			return remoteError(srv, err)
		}
		if !rows.NextResultSet() {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return remoteError(srv, err)
	}
	return nil
}

func copySet(rows *sql.Rows, to collector) error {
	kinds, err := rows.ColumnTypes()
	if err != nil || len(kinds) == 0 {
		return err
	}
	cols := make([]tds.Column, len(kinds))
	for i, k := range kinds {
		cols[i] = tds.Column{Name: k.Name(), Type: remoteType(k), Nullable: true}
	}
	if err := to.Columns(cols); err != nil {
		return err
	}
	count := int64(0)
	for rows.Next() {
		cells := make([]any, len(cols))
		targets := make([]any, len(cols))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i := range cells {
			if cells[i], err = remoteValue(cols[i].Type, cells[i]); err != nil {
				return err
			}
		}
		if err := to.Row(cells); err != nil {
			return err
		}
		count++
	}
	return to.Done(tds.Rows(count))
}

// remoteType is the type of a linked server's column, from the driver's words for it.
func remoteType(k *sql.ColumnType) sqltype.Type {
	name := strings.ToLower(k.DatabaseTypeName())
	t, err := syntax.ParseType(name)
	if err != nil {
		return sqltype.Type{Kind: sqltype.NVarChar, Length: sqltype.MaxLength}
	}
	if n, ok := k.Length(); ok && t.Length != 0 {
		t.Length = int(n)
		if n <= 0 || n > 8000 {
			t.Length = sqltype.MaxLength
		}
	}
	if p, s, ok := k.DecimalSize(); ok && t.Kind == sqltype.Decimal {
		t.Precision, t.Scale = uint8(p), uint8(s)
	}
	return t
}

// remoteValue turns the driver's value into sqltype's.
func remoteValue(t sqltype.Type, v any) (any, error) {
	switch x := v.(type) {
	case []byte:
		switch t.Kind {
		case sqltype.Decimal, sqltype.Money, sqltype.SmallMoney:
			return decimal.NewFromString(string(x))
		case sqltype.UniqueIdentifier:
			var id mssql.UniqueIdentifier
			if err := id.Scan(x); err != nil {
				return nil, err
			}
			return uuid.UUID(id), nil
		}
		return append([]byte{}, x...), nil
	case string:
		if t.Kind == sqltype.UniqueIdentifier {
			return uuid.Parse(x)
		}
	case civil.Date:
		return x.In(time.UTC), nil
	}
	return v, nil
}

// remoteError passes a server's own error on with its number and text; anything else is 7399, without the connection's
// password or address.
func remoteError(srv *server, err error) error {
	var remote mssql.Error
	if errors.As(err, &remote) {
		return &sqlerr.Error{
			Number:    remote.Number,
			Class:     max(remote.Class, 11),
			State:     remote.State,
			Message:   remote.Message,
			Procedure: remote.ProcName,
		}
	}
	reason := "The server could not be reached, or the connection broke."
	if errors.Is(err, context.DeadlineExceeded) {
		reason = "The time-out expired before the server answered."
	}
	return failure(7399, 3, srv.Provider, srv.Name, reason)
}

// testLinkedServer is sp_testlinkedserver: it really connects.
func (e *Extension) testLinkedServer(ctx context.Context, call *engine.ProcCall) error {
	srv, pool, err := e.remote(ctx, call.Session, call.String("@servername"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, defaultConnectTimeout)
	defer cancel()
	if err := pool.PingContext(ctx); err != nil {
		return remoteError(srv, err)
	}
	return nil
}
