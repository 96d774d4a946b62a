// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
)

// localSpace is a session's own SQLite database in memory: its temporary tables and table variables live there, and
// expressions without tables are evaluated there. It is no part of tempdb's files.
type localSpace struct {
	conn    *sqlite.Conn
	schema  *metadata.Catalog
	next    int32
	inTx    bool
	version int64
	// marks are the metadata when the transaction began, and at each of its savepoints.
	marks []*metadata.Catalog
	// ended are the tables that went with their frame within the transaction, which nothing brings back.
	ended map[int32]*metadata.Object
	// restores bring back what does not lie in the database.
	restores []localRestore
	// done is what interrupts the connection.
	done <-chan struct{}
}

// localConn opens the session's own database when it is first needed.
func (s *Session) localConn() (*sqlite.Conn, error) {
	if s.local.conn != nil {
		if done := s.context().Done(); done != s.local.done {
			s.local.done = done
			s.local.conn.SetInterrupt(done)
		}
		return s.local.conn, nil
	}
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenMemory)
	if err != nil {
		return nil, fmt.Errorf("open the session's own database: %w", err)
	}
	if err := s.inst.prepareConn(conn); err != nil {
		conn.Close()
		return nil, err
	}
	s.local.conn = conn
	s.local.done = s.context().Done()
	conn.SetInterrupt(s.local.done)
	if s.local.schema == nil {
		s.local.schema = metadata.Empty()
	}
	if s.count > 0 {
		s.local.begin()
		for range s.saves {
			s.local.save()
		}
	}
	return conn, nil
}

// run executes a statement that nothing may interrupt.
func (l *localSpace) run(sql string) error {
	l.conn.SetInterrupt(nil)
	l.done = nil
	return sqlitex.ExecuteTransient(l.conn, sql, nil)
}

func (l *localSpace) forget(o *metadata.Object) {
	next := l.copySchema()
	next.Remove(o)
	for _, c := range next.Children(o.ID) {
		next.Remove(c)
	}
	l.schema = next
}

func (l *localSpace) copySchema() *metadata.Catalog {
	l.version++
	next := metadata.Empty()
	next.Version = l.version
	for _, o := range l.schema.Objects {
		next.Add(o)
	}
	return next
}

// localSpaceName is how a temporary table's name is kept: names of table variables begin with @ and carry their frame.
func variableTableName(name string, f *frame) string { return fmt.Sprintf("%s/%p", lower(name), f) }

// dropLocals drops the temporary tables and table variables of a frame that ends.
func (s *Session) dropLocals(f *frame) {
	if s.local.conn == nil || s.local.schema == nil {
		return
	}
	for _, o := range s.local.schema.Objects {
		if o.Parent != 0 {
			continue
		}
		owner := o.Properties["frame"] == fmt.Sprintf("%p", f)
		if owner &&
			(o.IsVariable() || f.ownsTables() && !strings.HasPrefix(o.Name, "##")) { // global ones end with their session
			_ = s.local.run("DROP TABLE IF EXISTS " + o.StorageName())
			s.local.forget(o)
			if s.local.inTx {
				s.local.ended[o.ID] = o
			}
		}
	}
}

// closeLocal ends the session's own database.
func (s *Session) closeLocal() {
	for _, space := range append(s.functionSpaces, s.local) {
		if space.conn != nil {
			s.inst.conns.forget(space.conn)
			_ = space.conn.Close() // in memory
		}
	}
	s.local, s.functionSpaces = localSpace{}, nil
}

// foreignUse is a connection to another database that a running statement reads through.
type foreignUse struct {
	space   int32
	conn    *sqlite.Conn
	release func()
}

// foreignConn is the connection through which the running statement reads another space.
func (s *Session) foreignConn(space int32) (*sqlite.Conn, error) {
	if space == bind.TempSpace {
		return s.localConn()
	}
	for _, f := range s.foreignConns {
		if f.space == space {
			return f.conn, nil
		}
	}
	db := s.inst.DatabaseByID(space)
	if db == nil {
		return nil, fmt.Errorf("database %d is gone", space)
	}
	conn, release, err := s.readConn(s.context(), db)
	if err != nil {
		return nil, err
	}
	s.foreignConns = append(s.foreignConns, foreignUse{space: space, conn: conn, release: release})
	return conn, nil
}

// releaseForeign gives back what foreignConn took since mark.
func (s *Session) releaseForeign(mark int) {
	for i := len(s.foreignConns) - 1; i >= mark; i-- {
		s.foreignConns[i].release()
	}
	s.foreignConns = s.foreignConns[:mark]
}

// TemporaryConn is the connection to the session's temporary tables.
func (s *Session) TemporaryConn() *sqlite.Conn { return s.local.conn }
