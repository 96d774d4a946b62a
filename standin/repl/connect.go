// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sni"
	"geosql.dev/standin/sqlerr"
)

// splitServer splits "host,port" or "tcp:host,port"; port 1433 is the default.
func splitServer(name string) (host, port string) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "tcp:")
	host, port, found := strings.Cut(name, ",")
	if !found {
		port = "1433"
	}
	return strings.TrimSpace(host), strings.TrimSpace(port)
}

// addressOf is host:port of a server that replication names: this server's own address for its own name, the data
// source of the linked server of that name where there is one, else the name itself, as a client would take it.
func (e *Extension) addressOf(ctx context.Context, s *engine.Session, name string) (string, error) {
	host, port := splitServer(name)
	if sameServer(host, e.serverName()) {
		return e.address(), nil
	}
	r, err := s.Query(ctx, "SELECT data_source FROM sys.servers WHERE name = @p1 OR name = @p2", name, host)
	if err != nil {
		return "", err
	}
	source := name
	if linked := r.String(0, "data_source"); linked != "" {
		source = linked
		_, port = splitServer(source)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", raise(21670, 1, name)
	}
	return addressOfSource(source), nil
}

// addressOfSource is host:port of a data source, "host,port".
func addressOfSource(source string) string {
	host, port := splitServer(source)
	return net.JoinHostPort(host, port)
}

// sourceOfAddress is the inverse.
func sourceOfAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host + "," + port
}

// target is a server that an agent connects to.
type target struct {
	// role is what the server is to the agent, for messages: Publisher, Distributor, Subscriber.
	role, server, database string
	windows                bool
	login, password        string
	// encryption is -EncryptionLevel: 0 none, 1 without and 2 with verification of the certificate.
	encryption   int
	loginTimeout time.Duration
	queryTimeout time.Duration
	packetSize   int
	application  string
}

// connect opens one connection. A Windows login fails with 18452, as it does on Linux without a domain, unless it is
// that of an agent at its own distributor.
func (e *Extension) connect(ctx context.Context, t target) (*conn, error) {
	if t.windows && t.role == "Distributor" && sameServer(t.server, e.serverName()) {
		t.windows, t.login, t.password = false, engine.AgentAccount, e.inst.AgentPassword()
	}
	if t.windows {
		return nil, &sqlerr.Error{
			Number: 18452,
			Class:  14,
			State:  1,
			Message: fmt.Sprintf(
				"Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication. "+
					"(The agent connects to the %s '%s' with -%sSecurityMode 1; give 0 with -%sLogin and -%sPassword.)",
				t.role,
				t.server,
				t.role,
				t.role,
				t.role,
			),
		}
	}
	s, err := e.system(ctx, "master")
	if err != nil {
		return nil, err
	}
	address, err := e.addressOf(ctx, s, t.server)
	s.Close()
	if err != nil {
		return nil, err
	}
	q := url.Values{
		"app name":               {t.application},
		"encrypt":                {"true"},
		"TrustServerCertificate": {"true"},
		"dial timeout":           {fmt.Sprint(int(t.loginTimeout.Seconds()))},
		"connection timeout":     {"0"},
		"workstation id":         {e.serverName()},
	}
	switch t.encryption {
	case 0:
		q.Set("encrypt", "false")
	case 2:
		q.Set("TrustServerCertificate", "false")
	}
	if t.database != "" {
		q.Set("database", t.database)
	}
	if t.packetSize > 0 {
		q.Set("packet size", fmt.Sprint(t.packetSize))
	}
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(t.login, t.password), Host: address, RawQuery: q.Encode()}
	pool, err := sni.Open(u.String())
	if err != nil {
		return nil, fmt.Errorf("connect to the %s '%s': its address or options are not valid", t.role, t.server)
	}
	pool.SetMaxOpenConns(1)
	login, cancel := context.WithTimeout(ctx, max(t.loginTimeout, time.Second))
	defer cancel()
	c, err := pool.Conn(login)
	if err == nil {
		err = c.PingContext(login)
	}
	if err != nil {
		pool.Close()
		return nil, unreachable{fmt.Errorf("the process could not connect to %s '%s': %w", t.role, t.server, err)}
	}
	return &conn{pool: pool, c: c, timeout: t.queryTimeout, target: t}, nil
}

// unreachable is the error of a connection that could not be made.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// passing tells whether an error may not come back when the same is tried again.
func passing(err error) bool {
	switch numberOf(err) {
	case 0:
		var gone unreachable
		var network net.Error
		return errors.As(err, &gone) || errors.As(err, &network) || errors.Is(err, io.EOF) ||
			errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, driver.ErrBadConn) ||
			errors.Is(err, context.DeadlineExceeded)
	case 1205, 1222, 21879: // a deadlock, a lock request timed out, a redirected publisher is away
		return true
	}
	return false
}

// conn is one connection of an agent.
type conn struct {
	pool    *sql.DB
	c       *sql.Conn
	timeout time.Duration
	target  target
	// asked is when the statement under way was sent, in nanoseconds since 1970; 0 when none is.
	asked atomic.Int64
}

// waitingSince is since when an answer is waited for; zero when none is. It may be called at any time.
func (c *conn) waitingSince() time.Time {
	if at := c.asked.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// asks notes that an answer is waited for from now on, answered that none is.
func (c *conn) asks() { c.asked.Store(time.Now().UnixNano()) }

func (c *conn) answered() { c.asked.Store(0) }

func (c *conn) close() {
	if c == nil {
		return
	}
	// A connection that is broken reports that here; the agent ends all the same.
	_ = c.c.Close()
	_ = c.pool.Close()
}

// bound limits a call by -QueryTimeOut; 0 is no limit.
func (c *conn) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.timeout)
}

func (c *conn) exec(ctx context.Context, text string, args ...any) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	c.asks()
	defer c.answered()
	_, err := c.c.ExecContext(ctx, text, args...)
	return c.explain(err)
}

// explain says at which server an error came up; the server's own errors stay what they are.
func (c *conn) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("at the %s '%s': %w", c.target.role, c.target.server, err)
}

// rows is a small result in memory: values of the driver.
type rows []map[string]any

func (c *conn) query(ctx context.Context, text string, args ...any) (rows, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	c.asks()
	defer c.answered()
	r, err := c.c.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, c.explain(err)
	}
	defer r.Close()
	names, err := r.Columns()
	if err != nil {
		return nil, c.explain(err)
	}
	var out rows
	for r.Next() {
		cells, pointers := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			pointers[i] = &cells[i]
		}
		if err := r.Scan(pointers...); err != nil {
			return nil, c.explain(err)
		}
		row := map[string]any{}
		for i, n := range names {
			row[strings.ToLower(n)] = cells[i]
		}
		out = append(out, row)
	}
	return out, c.explain(r.Err())
}

// str, num, raw and flag read a value of a row; zero values for NULL and for a row that is not there.
func (r rows) str(i int, name string) string {
	if i >= len(r) {
		return ""
	}
	s, _ := r[i][name].(string)
	return s
}

func (r rows) num(i int, name string) int64 {
	if i >= len(r) {
		return 0
	}
	switch v := r[i][name].(type) {
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

func (r rows) raw(i int, name string) []byte {
	if i >= len(r) {
		return nil
	}
	b, _ := r[i][name].([]byte)
	return b
}

func (r rows) flag(i int, name string) bool { return r.num(i, name) != 0 }

// numberOf is the server's error number in an error, 0 when there is none.
func numberOf(err error) int32 {
	var remote mssql.Error
	if errors.As(err, &remote) {
		return remote.Number
	}
	var own *sqlerr.Error
	if errors.As(err, &own) {
		return own.Number
	}
	return 0
}
