// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// schemaCache keeps the latest metadata of a database by their version, which is a random number for each change, so
// that a version never means two things.
type schemaCache struct {
	mu     sync.Mutex
	recent []*metadata.Catalog
	// newest was read from the storage of at generation.
	newest     *metadata.Catalog
	at         *storage.Database
	generation uint64
}

// current is the metadata as the last commit left them, nil when they must be read.
func (c *schemaCache) current(at *storage.Database, generation uint64) *metadata.Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at != at || c.generation != generation {
		return nil
	}
	return c.newest
}

// note keeps what was read after the generation was asked for.
func (c *schemaCache) note(at *storage.Database, generation uint64, s *metadata.Catalog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.generation, c.newest = at, generation, s
}

func (c *schemaCache) get(version int64) *metadata.Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.recent {
		if s.Version == version {
			return s
		}
	}
	return nil
}

func (c *schemaCache) put(s *metadata.Catalog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent = append(c.recent, s)
	if len(c.recent) > 4 {
		c.recent = c.recent[1:]
	}
}

// forget drops what was cached of a database whose storage was replaced; the caller holds mu.
func (db *Database) forget() {
	db.idents = nil
	db.schemas.mu.Lock()
	db.schemas.recent, db.schemas.newest, db.schemas.at = nil, nil, nil
	db.schemas.mu.Unlock()
}

// ReadAnew drops what was cached of a database whose data are others now: it was recovered, or taken out of use.
func (db *Database) ReadAnew() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.forget()
}

// schema is the metadata of a space as the session sees them now.
func (s *Session) schema(ctx context.Context, space int32) (*metadata.Catalog, error) {
	if space == bind.TempSpace {
		if s.local.schema == nil {
			s.local.schema = metadata.Empty()
		}
		return s.local.schema, nil
	}
	db := s.inst.DatabaseByID(space)
	if db == nil {
		return nil, sqlerr.New(911, 1, fmt.Sprint(space))
	}
	if err := db.Available(); err != nil {
		return nil, err
	}
	at := db.Storage()
	if s.open[space] != nil || at == nil {
		// The transaction may have changed them itself.
		return s.readSchema(ctx, db)
	}
	generation, err := at.MetadataGeneration()
	if err != nil {
		return nil, err
	}
	if sch := db.schemas.current(at, generation); sch != nil {
		return sch, nil
	}
	sch, err := s.readSchema(ctx, db)
	if err == nil {
		db.schemas.note(at, generation, sch)
	}
	return sch, err
}

// readSchema reads the metadata that the session's transaction, or a new one, sees.
func (s *Session) readSchema(ctx context.Context, db *Database) (*metadata.Catalog, error) {
	conn, release, err := s.readConn(ctx, db)
	if err != nil {
		return nil, err
	}
	defer release()
	version, err := metadata.Version(conn)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of database %q: %w", db.Name(), err)
	}
	if sch := db.schemas.get(version); sch != nil {
		return sch, nil
	}
	sch, err := metadata.Load(conn, version)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of database %q: %w", db.Name(), err)
	}
	db.schemas.put(sch)
	return sch, nil
}

// findView finds a system view by name: sys.x, INFORMATION_SCHEMA.x, msdb.dbo.x, and the compatibility views under any
// schema.
func (s *Session) findView(name bind.ObjectName) *View {
	schema := lower(name.Schema)
	database := lower(name.Database)
	if database == "" {
		database = lower(s.db.Name())
	}
	schemas := []string{schema}
	if schema == "" {
		schemas = []string{"dbo", "sys"}
	}
	if schema == "dbo" {
		schemas = []string{"dbo", "sys"}
	}
	for _, sch := range schemas {
		for _, db := range []string{database, ""} {
			v := s.inst.registry.views[db+"."+sch+"."+lower(name.Name)]
			if v != nil &&
				(schema == "sys" || schema == "information_schema" || sch != "sys" || compatibilityViews[lower(name.Name)]) {
				return v
			}
		}
		if db := s.inst.Database(database); db != nil && db.Info().Distributor {
			if v := s.inst.registry.views["distribution."+sch+"."+lower(name.Name)]; v != nil {
				return v
			}
		}
	}
	return nil
}

// compatibilityViews are found without naming sys.
var compatibilityViews = map[string]bool{
	"sysobjects":          true,
	"sysprocesses":        true,
	"sysdatabases":        true,
	"syscolumns":          true,
	"sysindexes":          true,
	"systypes":            true,
	"sysusers":            true,
	"syslogins":           true,
	"sysservers":          true,
	"sysconfigures":       true,
	"syscurconfigs":       true,
	"sysfiles":            true,
	"sysaltfiles":         true,
	"sysfilegroups":       true,
	"sysmembers":          true,
	"syscomments":         true,
	"sysreferences":       true,
	"sysforeignkeys":      true,
	"sysindexkeys":        true,
	"syslanguages":        true,
	"sysremotelogins":     true,
	"sysfulltextcatalogs": true,
	"syscacheobjects":     true,
	"sysmessages":         true,
	"sysconstraints":      true,
	"sysdepends":          true,
	"sysdevices":          true,
	"sysperfinfo":         true,
	"sysprotects":         true,
}

// viewDatabase is the database in whose context a system view is read: that of a three-part name, or the current one.
func (s *Session) viewDatabase() *Database {
	if s.viewDB != nil {
		return s.viewDB
	}
	return s.db
}

// ViewDatabase is the database that a View's rows are to be about.
func (s *Session) ViewDatabase() *Database { return s.viewDatabase() }

func (s *Session) localObject(o *metadata.Object) *metadata.Object {
	if cur := s.local.schema.Objects[o.ID]; cur != nil {
		return cur
	}
	return o
}

// ParsePredicate parses the text of a condition; nil when it is none.
func ParsePredicate(text string) ast.BooleanExpression {
	batch, err := syntax.Parse("SELECT 1 WHERE " + text)
	if err != nil || len(batch.Statements) != 1 {
		return nil
	}
	sel, ok := batch.Statements[0].Node.(*ast.SelectStatement)
	if !ok {
		return nil
	}
	q, ok := sel.QueryExpression.(*ast.QuerySpecification)
	if !ok || q.WhereClause == nil {
		return nil
	}
	return q.WhereClause.SearchCondition
}
