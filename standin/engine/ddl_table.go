// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// tableBuilder turns a table definition into metadata.
type tableBuilder struct {
	d     *SchemaChange
	o     *metadata.Object
	later []func() error // constraints, once the table exists
	// altering tells ALTER TABLE ADD from CREATE TABLE.
	altering bool
	verb     string
	noCheck  bool
	// computes are the computed columns of CREATE TABLE, whose types are known once those of all others are.
	computes []func() error
	// placed tells that the place of a new table is known, unplaced are indexes of its columns that wait for it.
	placed   bool
	unplaced []func() error
}

func (s *Session) createTable(ctx context.Context, n *ast.CreateTableStatement, w tds.Writer) error {
	switch {
	case n.SelectStatement != nil:
		return unsupported("CREATE TABLE AS SELECT")
	case n.AsEdge, n.AsNode, n.AsFileTable:
		return unsupported("CREATE TABLE AS NODE, AS EDGE and AS FILETABLE")
	}
	name := bind.NameOf(n.SchemaObjectName)
	if !name.Temporary() {
		if err := s.RequireDDL(ctx, name, "CREATE TABLE"); err != nil {
			return err
		}
	}
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		if err := d.Place(name); err != nil {
			return err
		}
		d.on, d.textOn = n.OnFileGroupOrPartitionScheme, n.TextImageOn
		_, err := d.makeTable(name, n.Definition, n.Options)
		return err
	})
}

func (d *SchemaChange) makeTable(
	name bind.ObjectName,
	def *ast.TableDefinition,
	options []ast.TableOption,
) (*metadata.Object, error) {
	o := d.NewObject(name, metadata.KindTable)
	d.forgetIdentity(o)
	o.Table = &metadata.Table{NextColumn: 1, NextIndex: 2, AnsiNullsOff: !d.s.settings.options["AnsiNulls"]}
	b := &tableBuilder{d: d, o: o, verb: "CREATE TABLE"}
	for _, c := range def.ColumnDefinitions {
		if err := b.column(c); err != nil {
			return nil, err
		}
	}
	if len(o.Table.Columns) == 0 {
		return nil, sqlerr.New(102, 1, ")")
	}
	for _, f := range b.computes {
		if err := f(); err != nil {
			return nil, err
		}
	}
	if err := o.Table.FitsRow(o.Name); err != nil {
		return nil, err
	}
	if err := b.placeTable(d.on, d.textOn); err != nil {
		return nil, err
	}
	for _, c := range def.TableConstraints {
		if err := b.constraint(c); err != nil {
			return nil, err
		}
	}
	for _, i := range def.Indexes {
		if err := b.inlineIndex(i, nil); err != nil {
			return nil, err
		}
	}
	for _, opt := range options {
		if err := b.option(opt); err != nil {
			return nil, err
		}
	}
	b.chooseRowid()
	if err := d.createTable(o); err != nil {
		return nil, err
	}
	for _, f := range b.later {
		if err := f(); err != nil {
			return nil, err
		}
	}
	return o, d.Save(o)
}

// chooseRowid makes a primary key of one integer column SQLite's row number.
func (b *tableBuilder) chooseRowid() {
	pk := b.o.Table.PrimaryKey()
	if pk == nil || len(pk.Keys) != 1 {
		return
	}
	c := b.o.Table.ColumnByID(pk.Keys[0].Column)
	if c.Type.Kind.IsInteger() && c.Computed == "" {
		b.o.Table.RowidColumn = c.ID
	}
}

func (b *tableBuilder) option(opt ast.TableOption) error {
	switch t := opt.(type) {
	case *ast.TableDataCompressionOption:
		c, err := compressionOf(t.DataCompressionOption, b.o.Table, "create table", "table", b.o.Name)
		if err != nil {
			return err
		}
		b.o.Table.Compression = c
		for _, i := range b.o.Table.Indexes {
			if i.Clustered {
				i.Compression = c
			}
		}
	case *ast.LockEscalationTableOption:
	default:
		return unsupported(fmt.Sprintf("The table option %s",
			strings.ToUpper(strings.TrimSuffix(bind.NodeName(opt), " Table Option"))))
	}
	return nil
}

// compressionOf is DATA_COMPRESSION within a statement about a table or an index of that name, of which no single
// partitions can be chosen (7729).
func compressionOf(o *ast.DataCompressionOption, t *metadata.Table, statement, kind, name string) (int, error) {
	if len(o.PartitionRanges) > 0 {
		if t.Place.Column != 0 {
			return 0, unsupported("DATA_COMPRESSION of single partitions")
		}
		return 0, sqlerr.New(7729, 1, statement, kind, name)
	}
	switch strings.ToUpper(o.CompressionLevel) {
	case "NONE":
		return 0, nil
	case "ROW":
		return 1, nil
	case "PAGE":
		return 2, nil
	}
	return 0, unsupported("DATA_COMPRESSION = " + o.CompressionLevel)
}

// text is the source of a node as the metadata keep it.
func (b *tableBuilder) text(node any) string {
	f := b.d.s.frame()
	if f == nil || f.batch == nil {
		return ""
	}
	return strings.TrimSpace(f.batch.TextOf(node))
}

// name is a constraint's name, made up when none is given: that of a key as
// docs/t-sql/language-elements/throw-transact-sql.md, example B, prints one, with eight digits more than others have,
// which stand for its columns.
func (b *tableBuilder) name(id *ast.Identifier, prefix, column string, o *metadata.Object) {
	if id != nil && id.Value != "" {
		o.Name = id.Value
		return
	}
	o.SystemNamed = true
	if o.Kind == metadata.KindPrimaryKey || o.Kind == metadata.KindUnique {
		o.Name = fmt.Sprintf(
			"%s__%s__%08X%08X",
			prefix,
			sqltype.Cut(b.o.ShownName(), 8),
			crc32.ChecksumIEEE([]byte(column)),
			uint32(o.ID),
		)
		return
	}
	o.Name = prefix + "__" + sqltype.Cut(b.o.ShownName(), 9)
	if column != "" {
		o.Name += "__" + sqltype.Cut(column, 5)
	}
	o.Name += fmt.Sprintf("__%08X", uint32(o.ID))
}

// child makes the object of a constraint of the table.
func (b *tableBuilder) child(id *ast.Identifier, kind, prefix, column string) (*metadata.Object, error) {
	if id != nil && id.Value == syntax.UnnamedConstraint {
		id = nil
	}
	o := b.d.NewObject(bind.ObjectName{}, kind)
	o.Schema, o.Parent = b.o.Schema, b.o.ID
	b.name(id, prefix, column, o)
	if b.d.sch.Named(o.Schema, o.Name) != nil {
		return nil, sqlerr.New(2714, 5, o.Name)
	}
	return o, nil
}

// defaultDefinition is a default as the catalogue shows it: in one pair of parentheses, a number in two, functions of
// the system's in small letters.
func (b *tableBuilder) defaultDefinition(node ast.ScalarExpression) string {
	for {
		inner, ok := node.(*ast.ParenthesisExpression)
		if !ok {
			break
		}
		node = inner.Expression
	}
	if next, ok := node.(*ast.NextValueForExpression); ok {
		// The name is kept as what it meant here: the rows come from anywhere.
		if name := bind.NameOf(next.SequenceName); name.Database == "" && next.OverClause == nil {
			if o := b.d.LookUp(name); o != nil {
				return "(NEXT VALUE FOR " + quoteName(b.d.sch.SchemaName(o)) + "." + quoteName(o.Name) + ")"
			}
		}
	}
	text := syntax.ValueText(node)
	if text == "" {
		text = b.text(node)
	}
	return "(" + text + ")"
}

func (b *tableBuilder) addDefault(n *ast.DefaultConstraintDefinition, c *metadata.Column) error {
	switch {
	case c.Default != 0:
		return sqlerr.New(1781, 1)
	case c.Identity != nil:
		return sqlerr.New(1754, 0, b.o.Name, c.Name)
	case c.Type.Kind == sqltype.RowVersion:
		return sqlerr.New(1755, 0, b.o.Name, c.Name)
	}
	if bind.HasSubquery(n.Expression) {
		return sqlerr.New(1046, 1)
	}
	o, err := b.child(n.ConstraintIdentifier, metadata.KindDefault, "DF", c.Name)
	if err != nil {
		return err
	}
	o.Definition = b.defaultDefinition(n.Expression)
	o.Column = c.ID
	if e := bind.Safely(func() {
		binder := newBinder(b.d.ctx, b.d.s, b.d.space)
		binder.Spaces[b.d.space] = b.d.sch
		x := binder.Scalar(nil, n.Expression)
		if !x.Null {
			if e := sqltype.Convertible(x.Type, c.Type, sqltype.Assign); e != nil {
				binder.FailWith(e)
			}
		}
	}); e != nil {
		return e
	}
	c.Default = o.ID
	return b.d.Save(o)
}

func (b *tableBuilder) columnConstraint(
	con ast.ConstraintDefinition,
	c *metadata.Column,
	n *ast.ColumnDefinition,
) error {
	switch t := con.(type) {
	case *ast.NullableConstraintDefinition:
		if c.Identity != nil && t.Nullable {
			return sqlerr.New(8147, 1, c.Name, b.o.Name)
		}
		c.Nullable = t.Nullable
		return nil
	case *ast.DefaultConstraintDefinition:
		return b.addDefault(t, c)
	case *ast.UniqueConstraintDefinition:
		if t.IsPrimaryKey && declaredNull(n) {
			return sqlerr.New(8111, 1, b.o.Name)
		}
		if !mayBeKey(c) {
			return sqlerr.New(1919, 1, c.Name, b.o.Name)
		}
		return b.key(t, []metadata.Key{{Column: c.ID}}, c)
	case *ast.CheckConstraintDefinition:
		return b.check(t, c.ID)
	case *ast.ForeignKeyConstraintDefinition:
		return b.foreignKey(t, []int32{c.ID})
	}
	return unsupported(fmt.Sprintf("The column constraint %s", bind.NodeName(con)))
}

// declaredNull tells whether a column is declared NULL.
func declaredNull(n *ast.ColumnDefinition) bool {
	for _, con := range n.Constraints {
		if c, ok := con.(*ast.NullableConstraintDefinition); ok && c.Nullable {
			return true
		}
	}
	return n.Nullable != nil && n.Nullable.Nullable
}

func (b *tableBuilder) constraint(con ast.TableConstraint) error {
	switch t := con.(type) {
	case *ast.UniqueConstraintDefinition:
		if len(t.Columns) == 0 {
			return sqlerr.New(8135, 0, b.o.Name)
		}
		keys, err := b.keys(t.Columns, keyWord(t))
		if err != nil {
			return err
		}
		return b.key(t, keys, nil)
	case *ast.CheckConstraintDefinition:
		return b.check(t, 0)
	case *ast.ForeignKeyConstraintDefinition:
		if len(t.Columns) == 0 {
			return sqlerr.New(8135, 0, b.o.Name)
		}
		var ids []int32
		for _, id := range t.Columns {
			c := b.o.Table.Column(id.Value)
			if c == nil {
				return sqlerr.New(1769, 1, b.fkName(t), id.Value, b.o.Name)
			}
			if slices.Contains(ids, c.ID) {
				return sqlerr.New(8136, 1, "FOREIGN KEY", b.o.Name)
			}
			ids = append(ids, c.ID)
		}
		return b.foreignKey(t, ids)
	case *ast.DefaultConstraintDefinition:
		if t.Column == nil {
			return sqlerr.New(142, 2, "DEFAULT")
		}
		c := b.o.Table.Column(t.Column.Value)
		if c == nil {
			return sqlerr.New(1752, 0, t.Column.Value, b.o.Name)
		}
		return b.addDefault(t, c)
	}
	return unsupported(fmt.Sprintf("The table constraint %s", bind.NodeName(con)))
}

func (b *tableBuilder) fkName(t *ast.ForeignKeyConstraintDefinition) string {
	if t.ConstraintIdentifier != nil && t.ConstraintIdentifier.Value != syntax.UnnamedConstraint {
		return t.ConstraintIdentifier.Value
	}
	return ""
}
