// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/operator/standin/sqlerr"
)

// What replication needs to know of tables: their metadata and how their rows lie in storage.

// Table finds a user table of db by schema and name; nil when there is none.
func (s *Session) Table(ctx context.Context, db *Database, schemaName, name string) (*Object, error) {
	o, err := s.ObjectNamed(ctx, db, schemaName, name)
	if err != nil || o == nil || o.Table == nil || o.Kind != kindTable {
		return nil, err
	}
	return o, nil
}

// ObjectNamed finds a user object of db by schema and name; nil when there is none.
func (s *Session) ObjectNamed(ctx context.Context, db *Database, schemaName, name string) (*Object, error) {
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return nil, err
	}
	return sch.find(schemaName, name), nil
}

// Object finds an object of db by its object_id; nil when there is none.
func (s *Session) Object(ctx context.Context, db *Database, id int32) (*Object, error) {
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return nil, err
	}
	return sch.objects[id], nil
}

// SchemaNameOf is the name of an object's schema in db.
func (s *Session) SchemaNameOf(ctx context.Context, db *Database, o *Object) (string, error) {
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return "", err
	}
	return sch.schemaName(o), nil
}

// Constraints are the constraints of a table: its keys, checks, defaults and foreign keys.
func (s *Session) Constraints(ctx context.Context, db *Database, o *Object) ([]*Object, error) {
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return nil, err
	}
	return sch.children(o.ID), nil
}

// StorageName is the name of a table in its storage: storage.TableChange.Table.
func (o *Object) StorageName() string { return o.storageName() }

// StorageName is the name of a column in its table's storage: storage.TableChange.Columns.
func (c *Column) StorageName() string { return columnName(c.ID) }

// PrimaryKey is the index of the primary key; nil when the table has none.
func (t *Table) PrimaryKey() *Index { return t.primaryKey() }

// Column finds a column by name; nil when there is none.
func (t *Table) Column(name string) *Column { return t.column(name) }

// ColumnByID finds a column by its column_id; nil when there is none.
func (t *Table) ColumnByID(id int32) *Column { return t.columnByID(id) }

// ChangeObject changes an object's metadata in db within the session's transaction: flags that system procedures set,
// such as is_ms_shipped. 15165-like errors are the caller's; an object that is not there gives 15009.
func (s *Session) ChangeObject(ctx context.Context, db *Database, id int32, change func(*Object)) error {
	return s.changeSchema(ctx, objectName{database: db.Name()}, func(d *ddl) error {
		old := d.sch.objects[id]
		if old == nil {
			return sqlerr.New(15009, 1, fmt.Sprint(id), strings.ToLower(db.Name()))
		}
		o := *old
		if old.Table != nil {
			t := *old.Table
			o.Table = &t
		}
		change(&o)
		return d.save(&o)
	})
}
