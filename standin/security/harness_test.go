// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalogview"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/security"
	"geosql.dev/standin/tds"
)

const saPassword = "S3cret-Enough"

// instance is an engine with the security extension behind the protocol, on the loopback.
type instance struct {
	t        *testing.T
	dir      string
	port     int
	engine   *engine.Instance
	security *security.Extension
	server   *tds.Server
}

func start(t *testing.T, name string) *instance {
	t.Helper()
	i := &instance{t: t, dir: t.TempDir()}
	i.run(name)
	t.Cleanup(i.stop)
	return i
}

func (i *instance) run(name string) {
	i.t.Helper()
	g := NewWithT(i.t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	i.port = l.Addr().(*net.TCPAddr).Port
	i.security = security.New(security.Options{SAPassword: saPassword})
	i.engine, err = engine.New(
		context.Background(),
		engine.Config{ServerName: name, DataDir: i.dir, SAPassword: saPassword, Port: i.port,
			Extensions: []engine.Extension{catalogview.Extension{}, i.security}},
	)
	g.Expect(err).NotTo(HaveOccurred())
	i.server, err = tds.NewServer(tds.Config{Backend: i.engine, FailedLoginDelay: time.Millisecond})
	g.Expect(err).NotTo(HaveOccurred())
	go i.server.Serve(l)
}

func (i *instance) stop() {
	if i.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := i.server.Shutdown(ctx); err != nil {
		i.t.Errorf("stop the server: %v", err)
	}
	if err := i.engine.Close(); err != nil {
		i.t.Errorf("stop the engine: %v", err)
	}
	i.server = nil
}

// as connects as a login; one connection, so that EXECUTE AS and the like stay.
func (i *instance) as(user, password, database string) *client {
	i.t.Helper()
	q := url.Values{"encrypt": {"disable"}, "connection timeout": {"10"}}
	if database != "" {
		q.Set("database", database)
	}
	u := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword(user, password),
		Host:     fmt.Sprintf("127.0.0.1:%d", i.port),
		RawQuery: q.Encode(),
	}
	db, err := sql.Open("sqlserver", u.String())
	if err != nil {
		i.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	i.t.Cleanup(func() { db.Close() })
	return &client{t: i.t, db: db}
}

func (i *instance) sa() *client { return i.as("sa", saPassword, "") }

// client has one connection out of its pool: the driver resets one that went back, which ends EXECUTE AS.
type client struct {
	t    *testing.T
	db   *sql.DB
	conn *sql.Conn
}

// close ends the connection: a login that is connected cannot be dropped.
func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
	}
	c.db.Close()
}

func (c *client) session() *sql.Conn {
	c.t.Helper()
	if c.conn == nil {
		conn, err := c.db.Conn(context.Background())
		if err != nil {
			c.t.Fatal(err)
		}
		c.conn = conn
		c.t.Cleanup(func() { conn.Close() })
	}
	return c.conn
}

// do runs batches that must succeed.
func (c *client) do(batches ...string) {
	c.t.Helper()
	for _, b := range batches {
		if _, err := c.session().ExecContext(context.Background(), b); err != nil {
			c.t.Fatalf("%s\n%v", b, err)
		}
	}
}

// refused is the number of the error that a batch fails with, 0 when it doesn't.
func (c *client) refused(batch string) int32 {
	c.t.Helper()
	_, err := c.session().ExecContext(context.Background(), batch)
	return numberOf(err)
}

func numberOf(err error) int32 {
	var e mssql.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e) && len(e.All) > 0:
		return e.All[0].Number // what follows it says what did not happen
	case errors.As(err, &e):
		return e.Number
	}
	return -1
}

// value is the first cell of a query.
func (c *client) value(query string) any {
	c.t.Helper()
	rows := c.rows(query)
	if len(rows) == 0 {
		c.t.Fatalf("%s\nno rows", query)
	}
	return rows[0][0]
}

func (c *client) rows(query string) [][]any {
	c.t.Helper()
	rows, err := c.session().QueryContext(context.Background(), query)
	if err != nil {
		c.t.Fatalf("%s\n%v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		c.t.Fatal(err)
	}
	var all [][]any
	for rows.Next() {
		cells, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := rows.Scan(targets...); err != nil {
			c.t.Fatal(err)
		}
		all = append(all, cells)
	}
	if err := rows.Err(); err != nil {
		c.t.Fatalf("%s\n%v", query, err)
	}
	return all
}
