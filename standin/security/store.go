// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
)

// The internal tables; each row is a document.
const (
	tableLogins            = "__logins"
	tableServerPermissions = "__server_permissions"
	tableEndpoints         = "__endpoints"
	tableServers           = "__servers"
	tableUsers             = "__users"
	tablePermissions       = "__permissions"
	tableCertificates      = "__certificates"
	tableMasterKey         = "__master_key"
)

var internalTables = []engine.InternalTable{
	documentTable(engine.MasterOnly, tableLogins, fixedLogins()),
	documentTable(engine.MasterOnly, tableServerPermissions, nil),
	documentTable(engine.MasterOnly, tableEndpoints, nil),
	documentTable(engine.MasterOnly, tableServers, nil),
	documentTable(engine.EveryDatabase, tableUsers, fixedUsers()),
	documentTable(engine.EveryDatabase, tablePermissions, nil),
	documentTable(engine.EveryDatabase, tableCertificates, nil),
	documentTable(engine.EveryDatabase, tableMasterKey, nil),
}

// document is a row of one of the internal tables.
type document interface{ key() int32 }

func documentTable(scope engine.Scope, name string, rows []document) engine.InternalTable {
	t := engine.InternalTable{Scope: scope, Name: name,
		DDL: []string{fmt.Sprintf("CREATE TABLE %s (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)", name)}}
	for _, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			panic(fmt.Sprintf("security: a fixed row of %s: %v", name, err))
		}
		t.DDL = append(t.DDL, fmt.Sprintf("INSERT INTO %s VALUES (%d, '%s')", name, row.key(),
			strings.ReplaceAll(string(text), "'", "''")))
	}
	return t
}

func readAll[T any](conn *sqlite.Conn, table string) ([]*T, error) {
	var all []*T
	err := sqlitex.Execute(conn, "SELECT doc FROM "+table+" ORDER BY id", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			row := new(T)
			if err := json.Unmarshal([]byte(stmt.ColumnText(0)), row); err != nil {
				return err
			}
			all = append(all, row)
			return nil
		}})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	return all, nil
}

// put writes a row, new or changed, unless another one has what it is to have alone.
func put(tx *storage.Tx, table string, row document) error {
	if one, ok := row.(unique); ok {
		if err := one.taken(tx, table); err != nil {
			return err
		}
	}
	text, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("write %s: %w", table, err)
	}
	err = sqlitex.Execute(
		tx.Conn(),
		"INSERT INTO "+table+" (id, doc) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET doc = ?2",
		&sqlitex.ExecOptions{Args: []any{row.key(), string(text)}},
	)
	if err != nil {
		return fmt.Errorf("write %s: %w", table, err)
	}
	return nil
}

func remove(tx *storage.Tx, table string, id int32) error {
	err := sqlitex.Execute(tx.Conn(), "DELETE FROM "+table+" WHERE id = ?", &sqlitex.ExecOptions{Args: []any{id}})
	if err != nil {
		return fmt.Errorf("delete from %s: %w", table, err)
	}
	return nil
}

// nextID is one more than the highest id of a table, floor at least.
func nextID(tx *storage.Tx, table string, floor int32) (int32, error) {
	id := floor
	err := sqlitex.Execute(tx.Conn(), "SELECT COALESCE(MAX(id), 0) FROM "+table, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			id = max(id, stmt.ColumnInt32(0)+1)
			return nil
		}})
	if err != nil {
		return 0, fmt.Errorf("number a row of %s: %w", table, err)
	}
	return id, nil
}

// serverCatalog is everything that master says about security at one time. It is not changed once read.
type serverCatalog struct {
	logins      []*login
	permissions []*permission
	endpoints   []*endpoint
	servers     []*server
}

// databaseCatalog is everything that a database says about security at one time. It is not changed once read.
type databaseCatalog struct {
	users        []*user
	permissions  []*permission
	certificates []*certificate
	masterKeys   []*masterKey
}

func readServer(conn *sqlite.Conn) (c *serverCatalog, err error) {
	c = &serverCatalog{}
	if c.logins, err = readAll[login](conn, tableLogins); err != nil {
		return nil, err
	}
	if c.permissions, err = readAll[permission](conn, tableServerPermissions); err != nil {
		return nil, err
	}
	if c.endpoints, err = readAll[endpoint](conn, tableEndpoints); err != nil {
		return nil, err
	}
	c.servers, err = readAll[server](conn, tableServers)
	return c, err
}

func readDatabase(conn *sqlite.Conn) (c *databaseCatalog, err error) {
	c = &databaseCatalog{}
	if c.users, err = readAll[user](conn, tableUsers); err != nil {
		return nil, err
	}
	if c.permissions, err = readAll[permission](conn, tablePermissions); err != nil {
		return nil, err
	}
	if c.certificates, err = readAll[certificate](conn, tableCertificates); err != nil {
		return nil, err
	}
	c.masterKeys, err = readAll[masterKey](conn, tableMasterKey)
	return c, err
}

// freshness bounds how long a cached catalog is used: a secondary's redo changes it without our knowing, and so does
// the end of another session's transaction.
const freshness = time.Second

// cache keeps the catalogs between statements.
type cache struct {
	mu        sync.Mutex
	server    cached[serverCatalog]
	databases map[*engine.Database]cached[databaseCatalog]
	// dirty are the sessions that changed security in a transaction that was open then: they read afresh.
	dirty   map[*engine.Session]bool
	version uint64
}

type cached[T any] struct {
	catalog *T
	read    time.Time
}

func (c cached[T]) fresh() bool { return c.catalog != nil && time.Since(c.read) < freshness }

// drop forgets what is known of a database; nil forgets master's server-wide part.
func (c *cache) drop(db *engine.Database) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	if db == nil {
		c.server = cached[serverCatalog]{}
		return
	}
	delete(c.databases, db)
}

// inside tells whether s must see its own uncommitted changes. c.mu is held.
func (c *cache) inside(s *engine.Session) bool {
	if s == nil || !c.dirty[s] {
		return false
	}
	if s.InUserTransaction() {
		return true
	}
	delete(c.dirty, s)
	c.version++
	c.server, c.databases = cached[serverCatalog]{}, nil
	return false
}

// server is the server-wide catalog as s sees it; s may be nil.
func (e *Extension) server(ctx context.Context, s *engine.Session) (*serverCatalog, error) {
	e.cache.mu.Lock()
	inside := e.cache.inside(s)
	known, version := e.cache.server, e.cache.version
	e.cache.mu.Unlock()
	if known.fresh() && !inside {
		return known.catalog, nil
	}
	now := time.Now()
	var read *serverCatalog
	err := e.reading(ctx, s, e.master(), func(conn *sqlite.Conn) (err error) {
		read, err = readServer(conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	e.cache.mu.Lock()
	defer e.cache.mu.Unlock()
	if !inside && version == e.cache.version {
		e.cache.server = cached[serverCatalog]{read, now}
	}
	return read, nil
}

// database is a database's catalog as s sees it; s may be nil.
func (e *Extension) database(ctx context.Context, s *engine.Session, db *engine.Database) (*databaseCatalog, error) {
	e.cache.mu.Lock()
	inside := e.cache.inside(s)
	known, version := e.cache.databases[db], e.cache.version
	e.cache.mu.Unlock()
	if known.fresh() && !inside {
		return known.catalog, nil
	}
	now := time.Now()
	var read *databaseCatalog
	err := e.reading(ctx, s, db, func(conn *sqlite.Conn) (err error) {
		read, err = readDatabase(conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	e.cache.mu.Lock()
	defer e.cache.mu.Unlock()
	if !inside && version == e.cache.version {
		if e.cache.databases == nil {
			e.cache.databases = map[*engine.Database]cached[databaseCatalog]{}
		}
		e.cache.databases[db] = cached[databaseCatalog]{read, now}
	}
	return read, nil
}

// reading runs f on a connection that reads db: s's own when there is a session.
func (e *Extension) reading(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	f func(*sqlite.Conn) error,
) error {
	if db == nil {
		return fmt.Errorf("read the security catalog: the database is gone")
	}
	if s != nil {
		conn, release, err := s.Conn(ctx, db)
		if err != nil {
			return err
		}
		defer release()
		return f(conn)
	}
	store := db.Storage()
	if store == nil {
		return failure(945, 2, db.Name())
	}
	reader, err := store.Reader(ctx)
	if err != nil {
		return fmt.Errorf("read the security catalog of %q: %w", db.Name(), err)
	}
	defer reader.Release()
	leave, err := reader.Use(ctx)
	if err != nil {
		return fmt.Errorf("read the security catalog of %q: %w", db.Name(), err)
	}
	defer leave()
	return f(reader.Conn())
}

// writing runs f in s's transaction in db and forgets what was cached of it.
func (e *Extension) writing(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	f func(*storage.Tx) error,
) error {
	err := s.Write(ctx, db, f)
	e.wrote(s, db)
	return err
}

// wrote forgets what is kept in memory of a database that s wrote to.
func (e *Extension) wrote(s *engine.Session, db *engine.Database) {
	if s.InUserTransaction() {
		e.cache.mu.Lock()
		if e.cache.dirty == nil {
			e.cache.dirty = map[*engine.Session]bool{}
		}
		e.cache.dirty[s] = true
		e.cache.mu.Unlock()
	}
	e.cache.drop(db)
	if db == e.master() {
		e.cache.drop(nil)
	}
}
