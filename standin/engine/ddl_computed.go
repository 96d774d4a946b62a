// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// computation is the expression of a computed column over the plain columns of its table.
type computation struct {
	bind.Expr
	// varies tells that equal rows may have other values, rough that it has to do with float and real
	// (docs/relational-databases/indexes/indexes-on-computed-columns.md, Determinism and Precision requirements).
	varies, rough bool
}

// computation binds an expression over the plain columns of a table, prefixed ("NEW.").
func (d *SchemaChange) computation(o *metadata.Object, node ast.ScalarExpression, prefix string) (computation, error) {
	b, sc := d.rowBinder(o, prefix)
	defer b.InDatabase(d.space)()
	var k computation
	if e := bind.Safely(func() { k.Expr = b.Scalar(sc, node) }); e != nil {
		return k, e
	}
	outside := len(b.Used) > 0 || len(b.Needs) > 0
	for _, p := range b.Params {
		outside = outside || p.Variable != ""
	}
	if outside {
		return k, sqlerr.New(1046, 1)
	}
	switch {
	case k.Window:
		return k, sqlerr.New(4108, 1)
	case k.Aggregate:
		return k, sqlerr.New(175, 1)
	}
	k.varies, k.rough = b.Varies, b.Rough || k.Type.Kind.IsApproximate()
	return k, nil
}

// computed is what a column of a table is computed by.
func (d *SchemaChange) computed(o *metadata.Object, c *metadata.Column, prefix string) (computation, error) {
	node := bind.ParseExpression(c.Computed)
	if node == nil {
		return computation{}, sqlerr.New(207, 1, c.Name)
	}
	return d.computation(o, node, prefix)
}

// computation is what a column of a table of the current database is computed by.
func (s *Session) computation(o *metadata.Object, c *metadata.Column) (computation, error) {
	db := s.viewDatabase()
	sch, err := s.schema(s.context(), db.ID())
	if err != nil {
		return computation{}, err
	}
	return (&SchemaChange{s: s, ctx: s.context(), space: db.ID(), db: db, sch: sch}).computed(o, c, "")
}

// mayCompute refuses what a computed column cannot be declared with.
func mayCompute(n *ast.ColumnDefinition) error {
	for _, con := range n.Constraints {
		switch t := con.(type) {
		case *ast.NullableConstraintDefinition:
			if !t.Nullable && !n.IsPersisted {
				return sqlerr.New(8183, 1)
			}
		case *ast.CheckConstraintDefinition, *ast.ForeignKeyConstraintDefinition:
			if !n.IsPersisted {
				return sqlerr.New(8183, 1)
			}
		case *ast.UniqueConstraintDefinition:
		default:
			return unsupported("A constraint of a computed column")
		}
	}
	return nil
}

// declaredNotNull tells whether a column is declared NOT NULL.
func declaredNotNull(n *ast.ColumnDefinition) bool {
	for _, con := range n.Constraints {
		if t, ok := con.(*ast.NullableConstraintDefinition); ok && !t.Nullable {
			return true
		}
	}
	return false
}

// computed makes a computed column. Its value is computed whenever it is read, and indexes have the expression as their
// key; one that is persisted is computed when its row is written, too.
func (b *tableBuilder) computed(n *ast.ColumnDefinition, c *metadata.Column) error {
	k, err := b.d.computation(b.o, n.ComputedColumnExpression, "")
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.Number == 207 {
		for _, other := range b.o.Table.Columns {
			if other.Computed != "" && e.Message == sqlerr.Text(207, other.Name) {
				return sqlerr.New(1759, 0, other.Name, b.o.Name)
			}
		}
	}
	if err != nil {
		return err
	}
	if k.XML {
		statement := "CREATE TABLE"
		if b.altering {
			statement = "ALTER TABLE"
		}
		return sqlerr.New(435, 1, c.Name, b.o.ShownName(), statement)
	}
	if c.Persisted && k.varies {
		return sqlerr.New(4936, 1, c.Name, b.o.ShownName())
	}
	c.Type, c.Nullable, c.Collation = k.Type, (k.Nullable || k.Null) && !declaredNotNull(n), b.collation()
	if k.CollationName != "" && c.Type.Kind.IsCharacter() {
		c.Collation = k.CollationName
	}
	for _, con := range n.Constraints {
		if _, null := con.(*ast.NullableConstraintDefinition); null {
			continue
		}
		if err := b.columnConstraint(con, c, n); err != nil {
			return err
		}
	}
	if n.Index != nil {
		if err := b.inlineIndex(n.Index, c); err != nil {
			return err
		}
	}
	b.later = append(b.later, func() error { return b.d.enforcePersisted(b.o, c, b.altering) })
	return nil
}

func persistedTrigger(o *metadata.Object, c *metadata.Column, suffix string) string {
	return fmt.Sprintf("p%d_%d%s", uint32(o.ID), c.ID, suffix)
}

// enforcePersisted makes the triggers that compute a persisted column when its row is written: what the expression
// raises ends the statement, and so does NULL where the column has none. They act only while a session executes, as
// those of constraints do.
func (d *SchemaChange) enforcePersisted(o *metadata.Object, c *metadata.Column, verify bool) error {
	if !c.Persisted {
		return nil
	}
	then := "SELECT NULL;"
	if !c.Nullable {
		then = fmt.Sprintf("SELECT tsql_notnull(NULL, %d, %d);", o.ID, c.ID)
	}
	if verify {
		k, err := d.computed(o, c, "")
		if err != nil {
			return err
		}
		null := false
		before, target := d.s.target, d.target(o, "ALTER TABLE")
		d.s.target = target
		err = d.Find("SELECT 1 FROM "+o.StorageName()+" WHERE ("+k.SQL+") IS NULL LIMIT 1", &null)
		d.s.target = before
		if err != nil {
			return err
		}
		if null && !c.Nullable {
			return bind.NullError(target, c)
		}
	}
	k, err := d.computed(o, c, "NEW.")
	if err != nil {
		return err
	}
	for _, event := range []string{"INSERT", "UPDATE"} {
		if err := d.run(fmt.Sprintf("CREATE TRIGGER %s AFTER %s ON %s WHEN tsql_active() AND (%s) IS NULL BEGIN %s END",
			persistedTrigger(o, c, strings.ToLower(event[:1])), event, o.StorageName(), k.SQL, then)); err != nil {
			return err
		}
	}
	return nil
}

// releasePersisted drops the triggers of a persisted column.
func (d *SchemaChange) releasePersisted(o *metadata.Object, c *metadata.Column) error {
	for _, suffix := range []string{"i", "u"} {
		if err := d.run("DROP TRIGGER IF EXISTS " + persistedTrigger(o, c, suffix)); err != nil {
			return err
		}
	}
	return nil
}

// reader is a column that is computed from another one; nil when there is none.
func (d *SchemaChange) reader(o *metadata.Object, c *metadata.Column) (*metadata.Column, error) {
	for _, other := range o.Table.Columns {
		if other.Computed == "" || other == c {
			continue
		}
		k, err := d.computed(o, other, "")
		if err != nil {
			return nil, err
		}
		for _, read := range k.Free {
			if read.Column == c {
				return other, nil
			}
		}
	}
	return nil, nil
}

// unread refuses a change of a column that another one is computed from.
func (d *SchemaChange) unread(o *metadata.Object, c *metadata.Column) error {
	other, err := d.reader(o, c)
	if err != nil {
		return err
	}
	if other != nil {
		return sqlerr.New(5074, 1, "column", other.Name, "column", c.Name)
	}
	if by := d.BoundTo(o, c); by != "" {
		return sqlerr.New(5074, 1, "object", by, "column", c.Name)
	}
	return nil
}

// enforced tells whether a computed column or a check constraint is made of a column
// (docs/relational-databases/system-stored-procedures/ sp-rename-transact-sql.md, enforced dependencies).
func (d *SchemaChange) enforced(o *metadata.Object, c *metadata.Column) (bool, error) {
	if other, err := d.reader(o, c); err != nil || other != nil {
		return other != nil, err
	}
	if d.BoundTo(o, c) != "" {
		return true, nil
	}
	for _, child := range d.sch.Children(o.ID) {
		if used, err := d.checks(o, child, c); used || err != nil {
			return used, err
		}
	}
	return false, nil
}

// checks tells whether an object of a table is a check constraint that is made of a column.
func (d *SchemaChange) checks(o, child *metadata.Object, c *metadata.Column) (used bool, err error) {
	if child.Kind != metadata.KindCheck {
		return false, nil
	}
	_, err = d.lookAtCheck(o, child, "", func(_ *bind.Binder, e bind.Expr) {
		for _, read := range e.Free {
			used = used || read.Column == c
		}
	})
	return used, err
}

// keyed refuses an index of computed columns that cannot be one
// (docs/relational-databases/indexes/indexes-on-computed-columns.md).
func (b *tableBuilder) keyed(i *metadata.Index) error {
	t := b.o.Table
	if size, most := t.KeySize(i), i.MaxKeySize(); size > most {
		kind := "nonclustered"
		if i.Clustered {
			kind = "clustered"
		}
		return sqlerr.New(1944, 1, i.Name, size, kind, most)
	}
	columns := append([]int32(nil), i.Included...)
	for _, k := range i.Keys {
		columns = append(columns, k.Column)
	}
	for at, id := range columns {
		c := t.ColumnByID(id)
		if c.Computed == "" {
			continue
		}
		k, err := b.d.computed(b.o, c, "")
		switch {
		case err != nil:
			return err
		case k.varies:
			return sqlerr.New(2729, 1, c.Name, "table", b.o.ShownName())
		case k.rough && !c.Persisted && at >= len(i.Included):
			return sqlerr.New(2799, 1, i.Name, b.o.ShownName(), c.Name)
		case i.PrimaryKey && c.Nullable:
			return sqlerr.New(1711, 1, c.Name, b.o.ShownName())
		}
	}
	if !t.IndexNeedsSetOptions(i) {
		return nil
	}
	if t.AnsiNullsOff {
		return sqlerr.New(1935, 1, b.o.ShownName(), "ANSI_NULLS")
	}
	return b.d.s.indexOptions(b.verb)
}

// keyText is a column as the key of an index in SQLite: its name or what it is computed by, and the same with its
// collation.
func (d *SchemaChange) keyText(o *metadata.Object, c *metadata.Column) (plain, collated string, err error) {
	if c.Computed == "" && c.Type.Kind == sqltype.SQLVariant {
		plain = bind.VariantKeySQL(metadata.ColumnName(c.ID))
		return plain, plain, nil
	}
	if c.Computed == "" {
		return metadata.ColumnName(c.ID), columnDDL(c), nil
	}
	if plain, collated, err = d.computedText(o, c, ""); err == nil && c.Type.Kind == sqltype.SQLVariant {
		plain = bind.VariantKeySQL(plain)
		collated = plain
	}
	return plain, collated, err
}

// computedText is what a column is computed by as a part of other SQL, and the same with its collation.
func (d *SchemaChange) computedText(
	o *metadata.Object,
	c *metadata.Column,
	prefix string,
) (plain, collated string, err error) {
	k, err := d.computed(o, c, prefix)
	if err != nil {
		return "", "", err
	}
	plain = "(" + k.SQL + ")"
	if key := c.CollationKey(); key != "" {
		return plain, plain + " COLLATE " + key, nil
	}
	return plain, plain, nil
}

// indexOptions refuses a statement under options with which indexes of computed columns and filtered ones are not kept
// (docs/relational-databases/indexes/indexes-on-computed-columns.md, SET option requirements).
func (s *Session) indexOptions(verb string) error {
	var wrong []string
	for _, o := range []struct{ key, name string }{{"AnsiNulls", "ANSI_NULLS"}, {"QuotedIdentifier", "QUOTED_IDENTIFIER"},
		{"ConcatNullYieldsNull", "CONCAT_NULL_YIELDS_NULL"},
		{"AnsiWarnings", "ANSI_WARNINGS"}, {"AnsiPadding", "ANSI_PADDING"}, {"ArithAbort", "ARITHABORT"}} {
		// ANSI_WARNINGS ON sets ARITHABORT ON, too.
		if !s.settings.options[o.key] && !(o.key == "ArithAbort" && s.settings.options["AnsiWarnings"]) {
			wrong = append(wrong, o.name)
		}
	}
	if s.settings.options["NumericRoundAbort"] {
		wrong = append(wrong, "NUMERIC_ROUNDABORT")
	}
	if len(wrong) == 0 {
		return nil
	}
	return sqlerr.New(
		1934,
		1,
		verb,
		strings.Join(wrong, ", "),
		"indexed views and/or indexes on computed columns and/or filtered indexes and/or query notifications and/or XML "+
			"data type methods and/or spatial index operations",
	)
}

// ChecksColumn tells whether a check constraint of a table of the current database reads the column.
func (s *Session) ChecksColumn(
	ctx context.Context,
	sch *metadata.Catalog,
	table, check *metadata.Object,
	column *metadata.Column,
) (bool, error) {
	d := &SchemaChange{s: s, ctx: ctx, space: s.db.ID(), db: s.db, sch: sch}
	return d.checks(table, check, column)
}
