// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

func installDDL(r *Registry) {
	on(r, (*Session).createTable)
	on(r, (*Session).alterTableAdd)
	on(r, (*Session).alterColumn)
	on(r, (*Session).alterTableDrop)
	on(r, (*Session).alterConstraints)
	on(r, (*Session).rebuild)
	on(r, (*Session).setTableOptions)
	on(r, (*Session).createIndexStatement)
	on(r, (*Session).dropIndexStatement)
	on(r, (*Session).alterIndex)
	on(r, func(s *Session, ctx context.Context, n *ast.DropTableStatement, w tds.Writer) error {
		return s.drop(ctx, n.Objects, n.IsIfExists, "table", metadata.KindTable)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.DropViewStatement, w tds.Writer) error {
		return s.drop(ctx, n.Objects, n.IsIfExists, "view", metadata.KindView)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.DropProcedureStatement, w tds.Writer) error {
		return s.drop(ctx, n.Objects, n.IsIfExists, "procedure", metadata.KindProcedure)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.DropFunctionStatement, w tds.Writer) error {
		return s.drop(
			ctx,
			n.Objects,
			n.IsIfExists,
			"function",
			metadata.KindScalar+metadata.KindInline+metadata.KindTableFunction,
		)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.DropSynonymStatement, w tds.Writer) error {
		return s.drop(ctx, n.Objects, n.IsIfExists, "synonym", metadata.KindSynonym)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.DropSequenceStatement, w tds.Writer) error {
		return s.drop(ctx, n.Objects, n.IsIfExists, "sequence object", metadata.KindSequence)
	})
	on(r, (*Session).createSchema)
	on(r, (*Session).dropSchema)
	on(r, (*Session).createSynonym)
	on(r, (*Session).declareTable)
	installModules(r)
	installTriggers(r)
	installStatisticsFunctions()
}

// drop is DROP TABLE, DROP VIEW and their kin.
func (s *Session) drop(ctx context.Context, names []*ast.SchemaObjectName, ifExists bool, word, kinds string) error {
	for _, n := range names {
		name := bind.NameOf(n)
		drop := func(d *SchemaChange) error { return d.drop(name, ifExists, word, kinds) }
		if err := s.ChangeSchema(ctx, name, drop); err != nil {
			return err
		}
	}
	return nil
}

func (d *SchemaChange) drop(name bind.ObjectName, ifExists bool, word, kinds string) error {
	o := d.LookUp(name)
	if o == nil {
		if ifExists {
			return nil
		}
		return sqlerr.New(3701, 5, "drop", word, name.String())
	}
	if !strings.Contains(kinds, o.Kind) {
		verb := strings.TrimSuffix(strings.TrimPrefix(strings.ToUpper(word), "DROP "), " OBJECT")
		return sqlerr.New(
			3705,
			1,
			verb,
			name.String(),
			name.String(),
			kindWords[o.Kind],
			"DROP "+strings.ToUpper(kindWords[o.Kind]),
		)
	}
	if d.db != nil {
		p := Permission{Name: "ALTER", Database: d.db, Schema: d.sch.SchemaName(o), Object: o.Name, ObjectID: o.ID}
		if err := d.s.require(d.ctx, p); err != nil {
			return sqlerr.New(3701, 5, "drop", word, name.String())
		}
	}
	if by := d.BoundTo(o, nil); by != "" {
		return sqlerr.New(3729, 1, "DROP "+strings.ToUpper(kindWords[o.Kind]), name.String(), by)
	}
	if err := d.s.ObjectEvent(d.ctx, d, "DROP", o); err != nil {
		return err
	}
	if o.Kind == metadata.KindTable {
		if err := d.dropTable(o); err != nil {
			return err
		}
	}
	if o.Kind == metadata.KindView {
		for _, trigger := range append([]*metadata.Object(nil), d.sch.Children(o.ID)...) {
			if err := d.Remove(trigger); err != nil {
				return err
			}
		}
	}
	if o.Kind == metadata.KindSequence {
		if err := d.Exec("DELETE FROM __identity WHERE id = ?", int64(o.ID)); err != nil {
			return err
		}
	}
	return d.Remove(o)
}

var kindWords = map[string]string{
	metadata.KindTable:         "table",
	metadata.KindView:          "view",
	metadata.KindProcedure:     "procedure",
	metadata.KindScalar:        "function",
	metadata.KindInline:        "function",
	metadata.KindTableFunction: "function",
	metadata.KindSynonym:       "synonym",
	metadata.KindSequence:      "sequence",
	metadata.KindPrimaryKey:    "constraint",
	metadata.KindUnique:        "constraint",
	metadata.KindForeignKey:    "constraint",
	metadata.KindCheck:         "constraint",
	metadata.KindDefault:       "constraint",
	metadata.KindTrigger:       "trigger",
}

func (d *SchemaChange) dropTable(o *metadata.Object) error {
	for _, fk := range d.sch.Objects {
		if fk.ForeignKey != nil && fk.ForeignKey.Referenced == o.ID && fk.Parent != o.ID {
			return sqlerr.New(3726, 1, o.Name)
		}
	}
	for _, child := range append([]*metadata.Object(nil), d.sch.Children(o.ID)...) {
		if child.Kind == metadata.KindForeignKey || child.Kind == metadata.KindCheck {
			if err := d.release(child); err != nil {
				return err
			}
		}
		if err := d.Remove(child); err != nil {
			return err
		}
	}
	if d.tx != nil {
		if err := d.Exec("DELETE FROM __identity WHERE id = ?", int64(o.ID)); err != nil {
			return err
		}
	}
	return d.run("DROP TABLE " + o.StorageName())
}

// truncate is TRUNCATE TABLE.
func (s *Session) truncate(ctx context.Context, n *ast.TruncateTableStatement, w tds.Writer) error {
	name := bind.NameOf(n.TableName)
	b := newBinder(ctx, s, s.db.ID())
	var space int32
	var sch *metadata.Catalog
	var o *metadata.Object
	var d *bind.Modification
	leave := s.within(nil)
	e := bind.Safely(func() {
		if _, _, other := b.ResolveWrite(name); other != nil && other.Kind != metadata.KindTable {
			b.Fail(4708, name.String())
		}
		space, sch, o = b.TableToWrite(name, 4701)
		b.Require("ALTER", space, sch, o)
		for _, fk := range sch.Objects {
			if fk.ForeignKey != nil && fk.ForeignKey.Referenced == o.ID && fk.Parent != o.ID && !fk.Disabled {
				b.Fail(4712, name.String())
			}
		}
		d = b.Modification("DELETE", space, sch, o)
	})
	if leave(); e != nil {
		if e.Number == 229 {
			e = sqlerr.New(1088, 7, name.String()) // it does not tell of the table who may not truncate it
		}
		return e
	}
	if db := databaseOf(&d.Target); db != nil {
		for _, f := range s.inst.registry.objectHooks {
			if err := f(ctx, s, db, "TRUNCATE", o.ID); err != nil {
				return err
			}
		}
	}
	var numbers []int
	if len(n.PartitionRanges) > 0 {
		var err error
		if numbers, err = s.partitionsChosen(ctx, sch, o, n.PartitionRanges); err != nil {
			return err
		}
	}
	return s.writing(ctx, d, func(conn *sqlite.Conn) error {
		if len(numbers) > 0 {
			return sqlitex.ExecuteTransient(
				conn,
				"DELETE FROM main."+o.StorageName()+" WHERE "+sch.InPartitions(o, numbers),
				nil,
			)
		}
		if err := sqlitex.Execute(conn, "DELETE FROM main."+o.StorageName(), nil); err != nil {
			return err
		}
		if c := o.Table.IdentityColumn(); c != nil {
			return s.setIdentity(&d.Target, conn, c.Identity.Seed-c.Identity.Increment)
		}
		return nil
	})
}

// principalID is the principal_id of a user or role that the session may make an owner (15151); 1 where no extension
// keeps users.
func (s *Session) principalID(ctx context.Context, name string) (int64, error) {
	lookup := s.inst.registry.principals
	if lookup == nil {
		return 1, nil
	}
	id, ok := lookup(ctx, s, s.db, name)
	if !ok {
		return 0, sqlerr.New(15151, 1, "find", "user", name)
	}
	return int64(id), nil
}

// SetSchemaOwner gives a schema of the current database another owner, who is a principal_id; the caller has asked
// whether it may. dropped is told the schema's objects within the same transaction, unless the owner stays the same.
// Errors: 15151 for no such schema, 15150 for sys, dbo and INFORMATION_SCHEMA
// (docs/t-sql/statements/alter-authorization-transact-sql.md, Special Cases and Conditions).
func (s *Session) SetSchemaOwner(
	ctx context.Context,
	name string,
	owner int32,
	dropped func(tx *storage.Tx, objects []int32) error,
) error {
	return s.ChangeSchema(ctx, bind.ObjectName{}, func(d *SchemaChange) error {
		sc := d.sch.SchemaByName(name)
		if sc == nil {
			return sqlerr.New(15151, 1, "find", "schema", name)
		}
		if sc.ID == 1 || sc.ID == 3 || sc.ID == 4 {
			return sqlerr.New(15150, 1, "alter", "schema", name)
		}
		if sc.Principal == owner {
			return nil
		}
		var objects []int32
		for _, o := range d.sch.Objects {
			if o.Schema == sc.ID {
				objects = append(objects, o.ID)
			}
		}
		changed := *sc
		changed.Principal = owner
		d.sch.Schemas[sc.ID] = &changed
		if err := dropped(d.tx, objects); err != nil {
			return err
		}
		return d.Exec("UPDATE __schemas SET principal = ? WHERE id = ?", int64(owner), int64(sc.ID))
	})
}

// dropSchema is DROP SCHEMA (docs/t-sql/statements/drop-schema-transact-sql.md), for who has CONTROL of the schema or
// ALTER ANY SCHEMA.
func (s *Session) dropSchema(ctx context.Context, n *ast.DropSchemaStatement, w tds.Writer) error {
	name := bind.NameOf(n.Schema).Name
	if behavior := strings.ToUpper(n.DropBehavior); behavior == "CASCADE" || behavior == "RESTRICT" {
		return unsupported("DROP SCHEMA " + behavior)
	}
	return s.ChangeSchema(ctx, bind.ObjectName{}, func(d *SchemaChange) error {
		sc := d.sch.SchemaByName(name)
		if sc == nil {
			if n.IsIfExists {
				return nil
			}
			return sqlerr.New(15151, 1, "drop", "schema", name)
		}
		if sc.ID <= 4 || sc.ID >= 16384 {
			return sqlerr.New(15150, 1, "drop", "schema", name)
		}
		if s.require(ctx, Permission{Name: "CONTROL", Database: d.db, Schema: sc.Name}) != nil &&
			s.require(ctx, Permission{Name: "ALTER ANY SCHEMA", Database: d.db}) != nil {
			return sqlerr.New(15151, 1, "drop", "schema", name)
		}
		for _, o := range d.sch.Objects {
			if o.Schema == sc.ID {
				return sqlerr.New(3729, 1, "DROP SCHEMA", name, o.TypeName())
			}
		}
		return d.Exec("DELETE FROM __schemas WHERE id = ?", int64(sc.ID))
	})
}

func (s *Session) createSynonym(ctx context.Context, n *ast.CreateSynonymStatement, w tds.Writer) error {
	name := bind.NameOf(n.Name)
	if err := s.RequireDDL(ctx, name, "CREATE SYNONYM"); err != nil {
		return err
	}
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		if err := d.Place(name); err != nil {
			return err
		}
		o := d.NewObject(name, metadata.KindSynonym)
		target := bind.NameOf(n.ForName)
		parts := []string{}
		for _, p := range []string{target.Server, target.Database, target.Schema, target.Name} {
			if p != "" || len(parts) > 0 {
				parts = append(parts, "["+strings.ReplaceAll(p, "]", "]]")+"]")
			}
		}
		o.Target = strings.Join(parts, ".")
		return d.Save(o)
	})
}

// declareTable is DECLARE @t TABLE (...).
func (s *Session) declareTable(ctx context.Context, n *ast.DeclareTableVariableStatement, w tds.Writer) error {
	name := n.Body.VariableName.Value
	if !strings.HasPrefix(name, "@") {
		name = "@" + name
	}
	if v := s.variable(name); v != nil && v.table != nil {
		return nil
	}
	full := bind.ObjectName{Name: variableTableName(name, s.frame())}
	return s.ChangeSchema(ctx, full, func(d *SchemaChange) error {
		o, err := d.makeTable(full, n.Body.Definition, nil)
		if err != nil {
			return err
		}
		v := s.declare(name, o.Table.Columns[0].Type, nil)
		v.table = o
		return nil
	})
}

// RequireDDL asks for a database-wide permission such as CREATE TABLE, and for ALTER on the schema that the object goes
// into (docs/t-sql/statements/create-table-transact-sql.md, "Permissions").
func (s *Session) RequireDDL(ctx context.Context, name bind.ObjectName, permission string) error {
	db := s.db
	if name.Database != "" {
		if db = s.inst.Database(name.Database); db == nil {
			return sqlerr.New(2702, 2, name.Database)
		}
	}
	if err := s.require(ctx, Permission{Name: permission, Database: db}); err != nil || name.Schema == "" {
		return err
	}
	return s.require(ctx, Permission{Name: "ALTER", Database: db, Schema: name.Schema})
}

// ObjectFunc is asked before a user object is changed: verb is ALTER, REBUILD, SWITCH, TRIGGER, DISABLE TRIGGER
// ALL, DROP, TRUNCATE or RENAME.
type ObjectFunc func(ctx context.Context, s *Session, db *Database, verb string, objectID int32) error

// OnObject registers a func that is asked before a table or other user object is altered, truncated or dropped; its
// *sqlerr.Error (3724, 4929 ...) refuses.
func (r *Registry) OnObject(f ObjectFunc) { r.objectHooks = append(r.objectHooks, f) }

// Principals sets who knows the principal_id of a database's user or role that the session may make an owner.
func (r *Registry) Principals(f func(ctx context.Context, s *Session, db *Database, name string) (int32, bool)) {
	r.principals = f
}
