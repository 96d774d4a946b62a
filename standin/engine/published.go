// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// What replication needs to know of tables: their metadata and how their rows lie in storage.

// Table finds a user table of db by schema and name; nil when there is none.
func (s *Session) Table(ctx context.Context, db *Database, schemaName, name string) (*metadata.Object, error) {
	o, err := s.ObjectNamed(ctx, db, schemaName, name)
	if err != nil || o == nil || o.Table == nil || o.Kind != metadata.KindTable {
		return nil, err
	}
	return o, nil
}

// ObjectNamed finds a user object of db by schema and name; nil when there is none.
func (s *Session) ObjectNamed(ctx context.Context, db *Database, schemaName, name string) (*metadata.Object, error) {
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return nil, err
	}
	return sch.Find(schemaName, name), nil
}

// Object finds an object of db by its object_id; nil when there is none.
func (s *Session) Object(ctx context.Context, db *Database, id int32) (*metadata.Object, error) {
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return nil, err
	}
	return sch.Objects[id], nil
}

// SchemaNameOf is the name of an object's schema in db.
func (s *Session) SchemaNameOf(ctx context.Context, db *Database, o *metadata.Object) (string, error) {
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return "", err
	}
	return sch.SchemaName(o), nil
}

// Constraints are the constraints of a table: its keys, checks, defaults and foreign keys.
func (s *Session) Constraints(ctx context.Context, db *Database, o *metadata.Object) ([]*metadata.Object, error) {
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return nil, err
	}
	return sch.Children(o.ID), nil
}

// ChangeObject changes an object's metadata in db within the session's transaction: flags that system procedures set,
// such as is_ms_shipped. 15165-like errors are the caller's; an object that is not there gives 15009.
func (s *Session) ChangeObject(ctx context.Context, db *Database, id int32, change func(*metadata.Object)) error {
	return s.ChangeSchema(ctx, bind.ObjectName{Database: db.Name()}, func(d *SchemaChange) error {
		old := d.sch.Objects[id]
		if old == nil {
			return sqlerr.New(15009, 1, fmt.Sprint(id), strings.ToLower(db.Name()))
		}
		o := *old
		if old.Table != nil {
			t := *old.Table
			o.Table = &t
		}
		change(&o)
		return d.Save(&o)
	})
}

// Catalog is the metadata of a database as the session sees it now.
func (s *Session) Catalog(ctx context.Context, db *Database) (*metadata.Catalog, error) {
	return s.schema(ctx, db.ID())
}
