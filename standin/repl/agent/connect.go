// SPDX-License-Identifier: Apache-2.0

package agent

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

// SplitServer splits "host,port" or "tcp:host,port"; port 1433 is the default.
func SplitServer(name string) (host, port string) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "tcp:")
	host, port, found := strings.Cut(name, ",")
	if !found {
		port = "1433"
	}
	return strings.TrimSpace(host), strings.TrimSpace(port)
}

// AddressOf is host:port of a server that replication names: this server's own address for its own name, the data
// source of the linked server of that name where there is one, else the name itself, as a client would take it.
func (a *Runner) AddressOf(ctx context.Context, s *engine.Session, name string) (string, error) {
	host, port := SplitServer(name)
	if SameServer(host, a.ServerName()) {
		return a.Address(), nil
	}
	r, err := s.Query(ctx, "SELECT data_source FROM sys.servers WHERE name = @p1 OR name = @p2", name, host)
	if err != nil {
		return "", err
	}
	source := name
	if linked := r.String(0, "data_source"); linked != "" {
		source = linked
		_, port = SplitServer(source)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", sqlerr.Raise(21670, 1, name)
	}
	return AddressOfSource(source), nil
}

// AddressOfSource is host:port of a data source, "host,port".
func AddressOfSource(source string) string {
	host, port := SplitServer(source)
	return net.JoinHostPort(host, port)
}

// SourceOfAddress is the inverse.
func SourceOfAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host + "," + port
}

// Target is a server that an agent connects to.
type Target struct {
	// Role is what the server is to the agent, for messages: Publisher, Distributor, Subscriber.
	Role, Server, Database string
	Windows                bool
	Login, Password        string
	// Encryption is -EncryptionLevel: 0 none, 1 without and 2 with verification of the certificate.
	Encryption   int
	LoginTimeout time.Duration
	QueryTimeout time.Duration
	packetSize   int
	Application  string
}

// Connect opens one connection. A Windows login fails with 18452, as it does on Linux without a domain, unless it is
// that of an agent at its own distributor.
func (a *Runner) Connect(ctx context.Context, t Target) (*Conn, error) {
	if t.Windows && t.Role == "Distributor" && SameServer(t.Server, a.ServerName()) {
		t.Windows, t.Login, t.Password = false, engine.AgentAccount, a.inst.AgentPassword()
	}
	if t.Windows {
		return nil, &sqlerr.Error{
			Number: 18452,
			Class:  14,
			State:  1,
			Message: fmt.Sprintf(
				"Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication. "+
					"(The agent connects to the %s '%s' with -%sSecurityMode 1; give 0 with -%sLogin and -%sPassword.)",
				t.Role,
				t.Server,
				t.Role,
				t.Role,
				t.Role,
			),
		}
	}
	s, err := a.System(ctx, "master")
	if err != nil {
		return nil, err
	}
	address, err := a.AddressOf(ctx, s, t.Server)
	s.Close()
	if err != nil {
		return nil, err
	}
	q := url.Values{
		"app name":               {t.Application},
		"encrypt":                {"true"},
		"TrustServerCertificate": {"true"},
		"dial timeout":           {fmt.Sprint(int(t.LoginTimeout.Seconds()))},
		"connection timeout":     {"0"},
		"workstation id":         {a.ServerName()},
	}
	switch t.Encryption {
	case 0:
		q.Set("encrypt", "false")
	case 2:
		q.Set("TrustServerCertificate", "false")
	}
	if t.Database != "" {
		q.Set("database", t.Database)
	}
	if t.packetSize > 0 {
		q.Set("packet size", fmt.Sprint(t.packetSize))
	}
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(t.Login, t.Password), Host: address, RawQuery: q.Encode()}
	pool, err := sni.Open(u.String())
	if err != nil {
		return nil, fmt.Errorf("connect to the %s '%s': its address or options are not valid", t.Role, t.Server)
	}
	pool.SetMaxOpenConns(1)
	login, cancel := context.WithTimeout(ctx, max(t.LoginTimeout, time.Second))
	defer cancel()
	c, err := pool.Conn(login)
	if err == nil {
		err = c.PingContext(login)
	}
	if err != nil {
		pool.Close()
		return nil, unreachable{fmt.Errorf("the process could not connect to %s '%s': %w", t.Role, t.Server, err)}
	}
	return &Conn{pool: pool, c: c, timeout: t.QueryTimeout, target: t}, nil
}

// unreachable is the error of a connection that could not be made.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// passing tells whether an error may not come back when the same is tried again.
func passing(err error) bool {
	switch NumberOf(err) {
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

// Conn is one connection of an agent.
type Conn struct {
	pool    *sql.DB
	c       *sql.Conn
	timeout time.Duration
	target  Target
	// asked is when the statement under way was sent, in nanoseconds since 1970; 0 when none is.
	asked atomic.Int64
}

// waitingSince is since when an answer is waited for; zero when none is. It may be called at any time.
func (c *Conn) waitingSince() time.Time {
	if at := c.asked.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// asks notes that an answer is waited for from now on, answered that none is.
func (c *Conn) asks() { c.asked.Store(time.Now().UnixNano()) }

func (c *Conn) answered() { c.asked.Store(0) }

// Close ends the connection; a nil one has none.
func (c *Conn) Close() {
	if c == nil {
		return
	}
	// A connection that is broken reports that here; the agent ends all the same.
	_ = c.c.Close()
	_ = c.pool.Close()
}

// bound limits a call by -QueryTimeOut; 0 is no limit.
func (c *Conn) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.timeout)
}

func (c *Conn) exec(ctx context.Context, text string, args ...any) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	c.asks()
	defer c.answered()
	_, err := c.c.ExecContext(ctx, text, args...)
	return c.explain(err)
}

// explain says at which server an error came up; the server's own errors stay what they are.
func (c *Conn) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("at the %s '%s': %w", c.target.Role, c.target.Server, err)
}

// Rows is a small result in memory: values of the driver.
type Rows []map[string]any

// Query sends a statement and reads its result into memory.
func (c *Conn) Query(ctx context.Context, text string, args ...any) (Rows, error) {
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
	var out Rows
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

// Str reads a value of a row, as num, raw and flag do: zero values for NULL and for a row that is not there.
func (r Rows) Str(i int, name string) string {
	if i >= len(r) {
		return ""
	}
	s, _ := r[i][name].(string)
	return s
}

func (r Rows) num(i int, name string) int64 {
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

func (r Rows) raw(i int, name string) []byte {
	if i >= len(r) {
		return nil
	}
	b, _ := r[i][name].([]byte)
	return b
}

func (r Rows) flag(i int, name string) bool { return r.num(i, name) != 0 }

// NumberOf is the server's error number in an error, 0 when there is none.
func NumberOf(err error) int32 {
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

// SameServer compares server names: without case.
func SameServer(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}
