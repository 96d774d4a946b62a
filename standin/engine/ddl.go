// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"time"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// SchemaChange is a change of the metadata of one space, within a transaction.
type SchemaChange struct {
	s     *Session
	ctx   context.Context
	space int32
	db    *Database
	// sch is changed as the change goes on.
	sch  *metadata.Catalog
	conn *sqlite.Conn
	tx   *storage.Tx
	// on and textOn are where CREATE TABLE or SELECT INTO places the table and its large values.
	on     *ast.FileGroupOrPartitionScheme
	textOn *ast.IdentifierOrValueExpression
}

// Context is the statement's.
func (d *SchemaChange) Context() context.Context { return d.ctx }

// Session is whose statement changes the metadata.
func (d *SchemaChange) Session() *Session { return d.s }

// Database is the one that is changed; nil where temporary tables are.
func (d *SchemaChange) Database() *Database { return d.db }

// Catalog has the metadata as the change has left them so far.
func (d *SchemaChange) Catalog() *metadata.Catalog { return d.sch }

// Conn is the connection of the change's transaction.
func (d *SchemaChange) Conn() *sqlite.Conn { return d.conn }

// schemaNamed is the schema of a name in a space, the user's default one unless the name says which.
func (s *Session) schemaNamed(space int32, name bind.ObjectName) string {
	if name.Schema != "" {
		return name.Schema
	}
	return s.defaultSchema(space)
}

// SchemaNamed is the schema of a name in the space that is changed, the user's default one unless the name says which.
func (d *SchemaChange) SchemaNamed(name bind.ObjectName) string {
	return d.s.schemaNamed(d.space, name)
}

// ChangeSchema runs f in the space of a name: within the session's transaction, undone when f fails.
func (s *Session) ChangeSchema(ctx context.Context, name bind.ObjectName, f func(d *SchemaChange) error) error {
	if s.doomed {
		return sqlerr.New(3930, 1)
	}
	if name.Temporary() || strings.HasPrefix(name.Name, "@") {
		conn, err := s.localConn()
		if err != nil {
			return err
		}
		_, done, err := s.attach(conn, func() {})
		if err != nil {
			return err
		}
		defer done()
		d := &SchemaChange{s: s, ctx: ctx, space: bind.TempSpace, sch: s.local.copySchema(), conn: conn}
		if err := f(d); err != nil {
			return err
		}
		s.local.schema = d.sch
		return nil
	}
	db := s.db
	if name.Database != "" {
		if db = s.inst.Database(name.Database); db == nil {
			return sqlerr.New(911, 1, name.Database)
		}
	}
	if err := s.allow(ctx, db); err != nil {
		return err
	}
	// Names within the statement are those of the database that it changes.
	before := s.db
	s.db = db
	defer func() { s.db = before }()
	return s.write(ctx, db, func(tx *storage.Tx) error {
		version, err := metadata.Version(tx.Conn())
		if err != nil {
			return err
		}
		sch, err := metadata.Load(tx.Conn(), version)
		if err != nil {
			return err
		}
		tx.ChangesMetadata()
		d := &SchemaChange{s: s, ctx: ctx, space: db.ID(), db: db, sch: sch, conn: tx.Conn(), tx: tx}
		if err := f(d); err != nil {
			return err
		}
		return d.Exec("UPDATE __catalog SET version = ?", int64(rand.Uint64()>>1))
	})
}

// Exec changes rows with SQLite's SQL.
func (d *SchemaChange) Exec(sql string, args ...any) error {
	return sqlitex.Execute(d.conn, sql, &sqlitex.ExecOptions{Args: args})
}

// run executes SQLite DDL.
func (d *SchemaChange) run(sql string) error {
	if d.tx != nil {
		return d.stepError(d.tx.ExecDDL(sql))
	}
	return d.stepError(sqlitex.ExecuteTransient(d.conn, sql, nil))
}

// NewObject makes an object with a fresh ID; it is not saved yet.
func (d *SchemaChange) NewObject(name bind.ObjectName, kind string) *metadata.Object {
	now := time.Now().UTC()
	o := &metadata.Object{
		ID:         d.nextID(),
		Name:       name.Name,
		Kind:       kind,
		Created:    now,
		Modified:   now,
		Schema:     1,
		Properties: map[string]string{},
	}
	if d.space != bind.TempSpace {
		if n := d.sch.SchemaByName(d.SchemaNamed(name)); n != nil {
			o.Schema = n.ID
		}
	}
	return o
}

func (d *SchemaChange) nextID() int32 {
	if d.space == bind.TempSpace {
		d.s.local.next--
		return d.s.local.next - 1000
	}
	var n int64
	_ = sqlitex.Execute(
		d.conn,
		"UPDATE __catalog SET next_object = (next_object + 16000057) % 2147483647 RETURNING next_object",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil }},
	)
	for d.sch.Objects[int32(n)] != nil || n < 1000 {
		n++
	}
	return int32(n)
}

// Place checks that a name is free and its schema exists.
func (d *SchemaChange) Place(name bind.ObjectName) error {
	if d.space == bind.TempSpace {
		if o := d.sch.Named(1, name.Name); o != nil && !d.hides(o) {
			return sqlerr.New(2714, 6, name.Name)
		}
		return nil
	}
	schemaName := d.SchemaNamed(name)
	n := d.sch.SchemaByName(schemaName)
	if n == nil {
		return sqlerr.New(2760, 1, schemaName)
	}
	if n.ID == 3 || n.ID == 4 {
		return sqlerr.New(2760, 1, schemaName)
	}
	if d.sch.Named(n.ID, name.Name) != nil {
		return sqlerr.New(2714, 6, name.Name)
	}
	return nil
}

// hides tells whether the module that runs may make a temporary table with the name of o, which one of its callers
// made: its own is gone when it ends (docs/t-sql/statements/create-table-transact-sql.md, Temporary tables).
func (d *SchemaChange) hides(o *metadata.Object) bool {
	f := d.s.frame()
	return f != nil && f.ownsTables() && o.Kind == metadata.KindTable && !strings.HasPrefix(o.Name, "##") &&
		o.Properties["frame"] != fmt.Sprintf("%p", f)
}

// Save stores an object's metadata.
func (d *SchemaChange) Save(o *metadata.Object) error {
	if old := d.sch.Objects[o.ID]; old != nil {
		d.sch.Remove(old)
	}
	d.sch.Add(o)
	if d.space == bind.TempSpace {
		return nil
	}
	doc, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return d.Exec("INSERT OR REPLACE INTO __objects VALUES (?, ?)", int64(o.ID), string(doc))
}

// Modify saves an object with a new modify_date.
func (d *SchemaChange) Modify(o *metadata.Object) error {
	o.Modified = time.Now().UTC()
	return d.Save(o)
}

// Remove forgets an object.
func (d *SchemaChange) Remove(o *metadata.Object) error {
	d.sch.Remove(o)
	if d.space == bind.TempSpace {
		return nil
	}
	if err := d.Exec("DELETE FROM __objects WHERE id = ?", int64(o.ID)); err != nil {
		return err
	}
	return d.Exec("DELETE FROM __properties WHERE class = 1 AND major = ?", int64(o.ID))
}

// columnDDL is a column in SQLite's DDL.
func columnDDL(c *metadata.Column) string {
	text := metadata.ColumnName(c.ID)
	if key := c.CollationKey(); key != "" {
		text += " COLLATE " + key
	}
	return text
}

// createTable makes a table of an object whose Table is complete, and saves it.
func (d *SchemaChange) createTable(o *metadata.Object) error {
	if d.space == bind.TempSpace {
		if f := d.s.frame(); f != nil {
			o.Properties["frame"] = fmt.Sprintf("%p", f)
		}
	}
	t := o.Table
	parts := []string{}
	if t.RowidColumn == 0 {
		parts = append(parts, "__rowid INTEGER PRIMARY KEY")
	}
	for _, c := range t.Columns {
		switch {
		case c.Computed != "":
		case c.ID == t.RowidColumn:
			parts = append(parts, metadata.ColumnName(c.ID)+" INTEGER PRIMARY KEY")
		default:
			parts = append(parts, columnDDL(c))
		}
	}
	if err := d.run("CREATE TABLE " + o.StorageName() + " (" + strings.Join(parts, ", ") + ")"); err != nil {
		return err
	}
	for _, i := range t.Indexes {
		if err := d.createIndex(o, i); err != nil {
			return err
		}
	}
	return d.Save(o)
}

// createIndex makes an index in SQLite. A unique index has a twin for rows with NULLs, which SQL Server takes for
// equal.
func (d *SchemaChange) createIndex(o *metadata.Object, i *metadata.Index) error {
	if i.PrimaryKey && o.Table.RowidColumn != 0 || i.Disabled {
		return nil
	}
	var keys, nulls, wrapped []string
	for _, k := range i.Keys {
		c := o.Table.ColumnByID(k.Column)
		plain, text, err := d.keyText(o, c)
		if err != nil {
			return err
		}
		if k.Descending {
			text += " DESC"
		}
		keys = append(keys, text)
		if c.Nullable {
			nulls = append(nulls, plain+" IS NULL")
			w := "ifnull(" + plain + ",x'')"
			if key := c.CollationKey(); key != "" {
				w += " COLLATE " + key
			}
			wrapped = append(wrapped, w)
		} else {
			wrapped = append(wrapped, text)
		}
	}
	filter := ""
	if i.Filter != "" {
		sql, err := d.filter(o, i.Filter, "index", i.Name)
		if err != nil {
			return err
		}
		filter = sql
	}
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	where := ""
	if filter != "" {
		where = " WHERE " + filter
	}
	name := bind.IndexStorageName(o.ID, i.ID)
	err := d.run(
		"CREATE " + unique + "INDEX " + name + " ON " + o.StorageName() + " (" + strings.Join(keys, ", ") + ")" + where,
	)
	if err == nil && i.Unique && len(nulls) > 0 {
		cond := "(" + strings.Join(nulls, " OR ") + ")"
		if filter != "" {
			cond += " AND " + filter
		}
		err = d.run(
			"CREATE UNIQUE INDEX " + name + "n ON " + o.StorageName() + " (" + strings.Join(wrapped, ", ") + ") WHERE " + cond,
		)
	}
	if err != nil && strings.Contains(err.Error(), "UNIQUE constraint failed") {
		return sqlerr.New(1505, 1, d.sch.SchemaName(o)+"."+o.Name, i.Name, d.duplicateRow(o, i, keys, where))
	}
	return err
}

func (d *SchemaChange) dropIndex(o *metadata.Object, i *metadata.Index) error {
	name := bind.IndexStorageName(o.ID, i.ID)
	if err := d.run("DROP INDEX IF EXISTS " + name); err != nil {
		return err
	}
	return d.run("DROP INDEX IF EXISTS " + name + "n")
}

func triggerName(id int32, suffix string) string { return fmt.Sprintf("k%d%s", uint32(id), suffix) }

// enforceForeignKey makes the triggers of a foreign key, on both tables. They act only while a session executes:
// repeated log has their effects already.
func (d *SchemaChange) enforceForeignKey(child, fk *metadata.Object) error {
	k := fk.ForeignKey
	parent := d.sch.Objects[k.Referenced]
	pairs, err := d.keyPairs(child, parent, k)
	if err != nil {
		return err
	}
	eq := func(table string) string {
		parts := make([]string, len(pairs))
		for i, p := range pairs {
			if parts[i] = p.parent + " = " + p.newChild; table == "child" {
				parts[i] = p.child + " = " + p.oldParent
			}
		}
		return strings.Join(parts, " AND ")
	}
	var given, changed []string
	for _, p := range pairs {
		given = append(given, p.newChild+" IS NOT NULL")
		changed = append(changed, p.oldParent+" IS NOT "+p.newParent)
	}
	fail := fmt.Sprintf("SELECT RAISE(ABORT, '%s%d');", raised, fk.ID)
	if parent.ID == child.ID {
		// Another row of the same statement may make it right.
		fail = fmt.Sprintf("SELECT tsql_defer(%d);", fk.ID)
	}
	judges := judges(fk)
	orphan := fmt.Sprintf(
		"%s AND %s AND NOT EXISTS (SELECT 1 FROM %s WHERE %s)",
		judges,
		strings.Join(given, " AND "),
		parent.StorageName(),
		eq("parent"),
	)
	hasChild := fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE %s)", child.StorageName(), eq("child"))
	moved := "(" + strings.Join(changed, " OR ") + ")"
	onDelete, err := d.action(k, pairs, k.OnDelete, child, hasChild, fail, eq("child"), false)
	if err != nil {
		return err
	}
	onUpdate, err := d.action(k, pairs, k.OnUpdate, child, hasChild, fail, eq("child"), true)
	if err != nil {
		return err
	}
	triggers := map[string]string{
		"i": fmt.Sprintf("AFTER INSERT ON %s WHEN %s BEGIN %s END", child.StorageName(), orphan, fail),
		"u": fmt.Sprintf(
			"AFTER UPDATE%s ON %s WHEN %s BEGIN %s END",
			updateOf(child, k.Columns),
			child.StorageName(),
			orphan,
			fail,
		),
		"d": "AFTER DELETE ON " + parent.StorageName() + " WHEN " + judges + " AND " + onDelete,
		"p": "AFTER UPDATE" + updateOf(
			parent,
			k.RefColumns,
		) + " ON " + parent.StorageName() + " WHEN " + judges + " AND " + moved + " AND " + onUpdate,
	}
	suffixes := make([]string, 0, len(triggers))
	for suffix := range triggers {
		suffixes = append(suffixes, suffix)
	}
	sort.Strings(suffixes)
	for _, suffix := range suffixes {
		if err := d.run("CREATE TRIGGER " + triggerName(fk.ID, suffix) + " " + triggers[suffix]); err != nil {
			return err
		}
	}
	return nil
}

// action is the rest of a trigger on the referenced table.
func (d *SchemaChange) action(
	k *metadata.ForeignKey,
	pairs []keyPair,
	action string,
	child *metadata.Object,
	hasChild, fail, match string,
	update bool,
) (string, error) {
	sets := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		sets[i] = metadata.ColumnName(c) + " = NULL"
		if update && action == "CASCADE" {
			sets[i] = metadata.ColumnName(c) + " = " + pairs[i].newParent
		}
		if action == "SET_DEFAULT" {
			value, err := d.defaultText(child, child.Table.ColumnByID(c))
			if err != nil {
				return "", err
			}
			sets[i] = metadata.ColumnName(c) + " = " + value
		}
	}
	switch {
	case action == "CASCADE" && !update:
		return fmt.Sprintf("1 BEGIN DELETE FROM %s WHERE %s; END", child.StorageName(), match), nil
	case action == "CASCADE", action == "SET_NULL", action == "SET_DEFAULT":
		return fmt.Sprintf(
			"1 BEGIN UPDATE %s SET %s WHERE %s; END",
			child.StorageName(),
			strings.Join(sets, ", "),
			match,
		), nil
	}
	return hasChild + " BEGIN " + fail + " END", nil
}

// release drops the triggers of a check constraint or foreign key.
func (d *SchemaChange) release(constraint *metadata.Object) error {
	for _, suffix := range []string{"i", "u", "d", "p"} {
		if err := d.run("DROP TRIGGER IF EXISTS " + triggerName(constraint.ID, suffix)); err != nil {
			return err
		}
	}
	return nil
}
