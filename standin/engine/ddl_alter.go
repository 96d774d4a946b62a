// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// ChangeTable runs f on a table; verb is what the extensions are asked about.
func (s *Session) ChangeTable(
	ctx context.Context,
	n *ast.SchemaObjectName,
	verb string,
	f func(d *SchemaChange, o *metadata.Object) error,
) error {
	name := bind.NameOf(n)
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		o, err := d.TableToChange(name, 4902)
		if err != nil {
			return err
		}
		if err := s.ObjectEvent(ctx, d, verb, o); err != nil {
			return err
		}
		if err := f(d, o); err != nil {
			return err
		}
		return d.Modify(o)
	})
}

// ObjectEvent asks the extensions whether an object may be changed (replication).
func (s *Session) ObjectEvent(ctx context.Context, d *SchemaChange, verb string, o *metadata.Object) error {
	if d.db == nil {
		return nil
	}
	for _, f := range s.inst.registry.objectHooks {
		if err := f(ctx, s, d.db, verb, o.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) alterTableAdd(ctx context.Context, n *ast.AlterTableAddTableElementStatement, w tds.Writer) error {
	return s.alterTable(ctx, n, n.SchemaObjectName, func(d *SchemaChange, o *metadata.Object) error {
		b := &tableBuilder{
			d:        d,
			o:        o,
			altering: true,
			verb:     "ALTER TABLE",
			noCheck:  n.ExistingRowsCheckEnforcement == "NoCheck",
		}
		if len(n.Definition.ColumnDefinitions)+len(n.Definition.TableConstraints)+len(n.Definition.Indexes) == 0 {
			return sqlerr.New(8135, 0, o.Name) // the parser drops a key that lists no columns
		}
		for _, c := range n.Definition.ColumnDefinitions {
			if err := b.addColumn(c); err != nil {
				return err
			}
		}
		if err := o.Table.FitsRow(o.Name); err != nil {
			return err
		}
		for _, c := range n.Definition.TableConstraints {
			if err := b.constraint(c); err != nil {
				return err
			}
		}
		for _, i := range n.Definition.Indexes {
			if err := b.inlineIndex(i, nil); err != nil {
				return err
			}
		}
		for _, f := range b.later {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
}

// addColumn adds a column to a table that may have rows.
func (b *tableBuilder) addColumn(n *ast.ColumnDefinition) error {
	// Keys need the column to exist in SQLite before their index is made.
	keys := []ast.ConstraintDefinition{}
	plain := *n
	plain.Constraints = nil
	for _, c := range n.Constraints {
		if _, ok := c.(*ast.UniqueConstraintDefinition); ok {
			keys = append(keys, c)
		} else {
			plain.Constraints = append(plain.Constraints, c)
		}
	}
	if err := b.column(&plain); err != nil {
		return err
	}
	t := b.o.Table
	c := t.Columns[len(t.Columns)-1]
	if c.Computed != "" {
		return b.columnKeys(keys, c, n)
	}
	if err := b.d.run("ALTER TABLE " + b.o.StorageName() + " ADD COLUMN " + columnDDL(c)); err != nil {
		return err
	}
	withValues := n.DefaultConstraint != nil && n.DefaultConstraint.WithValues
	for _, con := range n.Constraints {
		if dc, ok := con.(*ast.DefaultConstraintDefinition); ok {
			withValues = withValues || dc.WithValues
		}
	}
	if err := b.fillColumn(c, withValues); err != nil {
		return err
	}
	return b.columnKeys(keys, c, n)
}

// columnKeys adds the keys of a column that was added.
func (b *tableBuilder) columnKeys(keys []ast.ConstraintDefinition, c *metadata.Column, n *ast.ColumnDefinition) error {
	for _, k := range keys {
		if err := b.columnConstraint(k, c, n); err != nil {
			return err
		}
	}
	return nil
}

// fillColumn gives existing rows the new column's value.
func (b *tableBuilder) fillColumn(c *metadata.Column, withValues bool) error {
	if c.Nullable && !withValues {
		return nil
	}
	empty := true
	if err := sqlitex.ExecuteTransient(b.d.conn, "SELECT 1 FROM "+b.o.StorageName()+" LIMIT 1", &sqlitex.ExecOptions{
		ResultFunc: func(*sqlite.Stmt) error { empty = false; return nil }}); err != nil {
		return err
	}
	if empty {
		return nil
	}
	value := ""
	switch {
	case c.Identity != nil:
		value = fmt.Sprintf(
			"%d + %d * (SELECT count(*) FROM %s x WHERE x.rowid < %s.rowid)",
			c.Identity.Seed,
			c.Identity.Increment,
			b.o.StorageName(),
			b.o.StorageName(),
		)
	case c.Type.Kind == sqltype.RowVersion:
		value = "tsql_rowversion(0)"
	case c.Default != 0:
		binder := newBinder(b.d.ctx, b.d.s, b.d.space)
		binder.Spaces[b.d.space] = b.d.sch
		t := b.d.target(b.o, "ALTER TABLE")
		var p *bind.Plan
		if e := bind.Safely(func() {
			p = binder.Plan(binder.Store(binder.DefaultValue(b.d.space, b.d.sch, c), c, t))
		}); e != nil {
			return e
		}
		return b.fillWith(c, p, t)
	default:
		return sqlerr.New(4901, 1, c.Name, b.o.Name)
	}
	return b.fillWith(c, &bind.Plan{SQL: value}, b.d.target(b.o, "ALTER TABLE"))
}

// fillWith sets a column of all rows. Constraints of the table are not judged again: rows that NOCHECK let in may stay.
func (b *tableBuilder) fillWith(c *metadata.Column, p *bind.Plan, t *bind.Target) error {
	before := b.d.s.target
	b.d.s.target = t
	defer func() { b.d.s.target = before }()
	if st := b.d.s.inst.conns.of(b.d.conn); st != nil {
		st.quiet = true
		defer func() { st.quiet = false }()
	}
	stmt, _, err := b.d.conn.PrepareTransient(
		"UPDATE " + b.o.StorageName() + " SET " + metadata.ColumnName(c.ID) + " = " + p.SQL,
	)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Finalize() }()
	if err := b.d.s.bindParams(p, stmt); err != nil {
		return err
	}
	_, err = stmt.Step()
	return b.d.stepError(err)
}

func (s *Session) alterColumn(ctx context.Context, n *ast.AlterTableAlterColumnStatement, w tds.Writer) error {
	return s.alterTable(ctx, n, n.SchemaObjectName, func(d *SchemaChange, o *metadata.Object) error {
		c := o.Table.Column(n.ColumnIdentifier.Value)
		if c == nil {
			return sqlerr.New(4924, 1, "ALTER TABLE ALTER COLUMN", n.ColumnIdentifier.Value, o.Name)
		}
		switch n.AlterTableAlterColumnOption {
		case "AddRowGuidCol":
			c.RowGUID = true
			return nil
		case "DropRowGuidCol":
			c.RowGUID = false
			return nil
		case "AddSparse", "DropSparse":
			c.Sparse = n.AlterTableAlterColumnOption == "AddSparse"
			return (&tableBuilder{d: d, o: o, altering: true}).properties(c)
		case "", "NoOptionDefined", "Null", "NotNull":
		default:
			return unsupported("ALTER COLUMN ... " + strings.ToUpper(bind.Words(n.AlterTableAlterColumnOption)))
		}
		if c.Computed != "" {
			return sqlerr.New(4928, 1, c.Name, "COMPUTED")
		}
		if c.Type.Kind == sqltype.RowVersion {
			return sqlerr.New(4928, 1, c.Name, c.Type.Kind)
		}
		if err := d.partitions(o, c); err != nil {
			return err
		}
		if err := d.unread(o, c); err != nil {
			return err
		}
		b := &tableBuilder{d: d, o: o, altering: true}
		next := *c
		if err := b.columnType(&ast.ColumnDefinition{DataType: n.DataType, Collation: n.Collation}, &next); err != nil {
			return err
		}
		if next.Type.Kind == sqltype.RowVersion {
			return sqlerr.New(4927, 1, c.Name, next.Type.Kind)
		}
		next.Nullable = n.AlterTableAlterColumnOption != "NotNull"
		if next.Type.Kind.IsCharacter() && n.Collation == nil && c.Type.Kind.IsCharacter() {
			next.Collation = c.Collation
			next.Type = next.Type.In(c.Collation)
		}
		if err := b.dependents(c, next); err != nil {
			return err
		}
		return b.convertColumn(c, next)
	})
}

// dependents refuses a change of type of a column that keys and constraints are made of
// (docs/t-sql/statements/alter-table-transact-sql.md, ALTER COLUMN).
func (b *tableBuilder) dependents(c *metadata.Column, next metadata.Column) error {
	same := next.Type == c.Type && next.CollationKey() == c.CollationKey()
	resized, grown := resized(c, next)
	for _, i := range b.o.Table.Indexes {
		what := "index"
		if i.Constraint != 0 {
			what = "object"
		}
		keyed := slices.ContainsFunc(i.Keys, func(k metadata.Key) bool { return k.Column == c.ID })
		switch {
		case i.PrimaryKey && keyed && (next.Nullable || !same),
			(keyed || slices.Contains(i.Included, c.ID)) && !same && !grown:
			return sqlerr.New(5074, 1, what, i.Name, "column", c.Name)
		}
	}
	if same {
		return nil
	}
	if !grown {
		if err := b.o.Table.StatisticsOn(c); err != nil {
			return err
		}
	}
	for _, child := range b.d.sch.Children(b.o.ID) {
		holds := child.Kind == metadata.KindDefault && child.Column == c.ID && next.Type.Kind != c.Type.Kind ||
			child.Kind == metadata.KindForeignKey && slices.Contains(child.ForeignKey.Columns, c.ID)
		if !holds && !resized {
			var err error
			if holds, err = b.d.checks(b.o, child, c); err != nil {
				return err
			}
		}
		if holds {
			return sqlerr.New(5074, 1, "object", child.Name, "column", c.Name)
		}
	}
	if c.Identity != nil && !next.Type.Kind.IsInteger() {
		return sqlerr.New(2749, 2, c.Name)
	}
	return nil
}

// resized tells whether a change gives a column of variable length another length alone, and grown whether that is not
// a shorter one.
func resized(c *metadata.Column, next metadata.Column) (is, grown bool) {
	switch k := c.Type.Kind; {
	case k != sqltype.VarChar && k != sqltype.NVarChar && k != sqltype.VarBinary,
		next.Type.Kind != k,
		next.CollationKey() != c.CollationKey():
		return false, false
	}
	longest := next.Type.Length == sqltype.MaxLength
	return true, longest || c.Type.Length != sqltype.MaxLength && next.Type.Length >= c.Type.Length
}

func (b *tableBuilder) convertColumn(c *metadata.Column, next metadata.Column) error {
	old := *c
	*c = next
	if bind.StoredAlike(old.Type, next.Type) && (next.Nullable || !old.Nullable) {
		return nil
	}
	if err := sqltype.Convertible(old.Type, next.Type, sqltype.Assign); err != nil {
		return err
	}
	sql := fmt.Sprintf(
		"tsql_store(%s,%d,%d,%d)",
		metadata.ColumnName(c.ID),
		sqltype.Pack(old.Type),
		sqltype.Pack(next.Type),
		c.ID,
	)
	return b.fillWith(c, &bind.Plan{SQL: sql}, b.d.target(b.o, "UPDATE"))
}

// alterConstraints is ALTER TABLE ... [WITH CHECK] CHECK | NOCHECK CONSTRAINT.
func (s *Session) alterConstraints(
	ctx context.Context,
	n *ast.AlterTableConstraintModificationStatement,
	w tds.Writer,
) error {
	return s.alterTable(ctx, n, n.SchemaObjectName, func(d *SchemaChange, o *metadata.Object) error {
		disable := n.ConstraintEnforcement == "NoCheck"
		for _, child := range append([]*metadata.Object(nil), d.sch.Children(o.ID)...) {
			if child.Kind != metadata.KindCheck && child.Kind != metadata.KindForeignKey {
				continue
			}
			named := n.All
			for _, id := range n.ConstraintNames {
				named = named || strings.EqualFold(id.Value, child.Name)
			}
			if !named {
				continue
			}
			if err := d.release(child); err != nil {
				return err
			}
			child.Disabled = disable
			if disable {
				child.NotTrusted = true
			} else if err := d.enable(o, child, n.ExistingRowsCheckEnforcement == "Check"); err != nil {
				return err
			}
			if err := d.Save(child); err != nil {
				return err
			}
		}
		for _, id := range n.ConstraintNames {
			found := false
			for _, child := range d.sch.Children(o.ID) {
				found = found || strings.EqualFold(id.Value, child.Name)
			}
			if !found {
				return sqlerr.New(4917, 0, id.Value)
			}
		}
		return nil
	})
}

func (d *SchemaChange) enable(o, child *metadata.Object, verify bool) error {
	if child.Kind == metadata.KindCheck {
		if verify {
			if err := d.verifyCheck(o, child); err != nil {
				return err
			}
			child.NotTrusted = false
		}
		return d.enforceCheck(o, child)
	}
	if verify {
		if err := d.verifyForeignKey(o, child); err != nil {
			return err
		}
		child.NotTrusted = false
	}
	return d.enforceForeignKey(o, child)
}

// rebuild is ALTER TABLE ... REBUILD, which records compression. It changes nothing that others see of the table.
func (s *Session) rebuild(ctx context.Context, n *ast.AlterTableRebuildStatement, w tds.Writer) error {
	number, err := s.partitionNumber(ctx, n.Partition)
	if err != nil {
		return err
	}
	return s.ChangeTable(ctx, n.SchemaObjectName, "REBUILD", func(d *SchemaChange, o *metadata.Object) error {
		if err := d.onePartition(number, o.Table.Place, n.IndexOptions, "alter table", "table", o.Name); err != nil {
			return err
		}
		b := &tableBuilder{d: d, o: o}
		for _, opt := range n.IndexOptions {
			c, ok := opt.(*ast.DataCompressionOption)
			if !ok {
				continue
			}
			level, err := compressionOf(c, o.Table, "alter table", "table", o.Name)
			if err != nil {
				return err
			}
			b.o.Table.Compression = level
			for _, i := range b.o.Table.Indexes {
				if i.Clustered {
					i.Compression = level
				}
			}
		}
		return nil
	})
}
