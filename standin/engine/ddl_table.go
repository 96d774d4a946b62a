// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/syntax"
	"geosql.dev/operator/standin/tds"
)

// tableBuilder turns a table definition into metadata.
type tableBuilder struct {
	d     *ddl
	o     *Object
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
	name := nameOf(n.SchemaObjectName)
	if !name.temporary() {
		if err := s.requireDDL(ctx, name, "CREATE TABLE"); err != nil {
			return err
		}
	}
	return s.changeSchema(ctx, name, func(d *ddl) error {
		if err := d.place(name); err != nil {
			return err
		}
		d.on, d.textOn = n.OnFileGroupOrPartitionScheme, n.TextImageOn
		_, err := d.makeTable(name, n.Definition, n.Options)
		return err
	})
}

func (d *ddl) makeTable(name objectName, def *ast.TableDefinition, options []ast.TableOption) (*Object, error) {
	o := d.newObject(name, kindTable)
	o.Table = &Table{NextColumn: 1, NextIndex: 2, AnsiNullsOff: !d.s.settings.options["AnsiNulls"]}
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
	if err := o.Table.fitsRow(o.Name); err != nil {
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
	return o, d.save(o)
}

// chooseRowid makes a primary key of one integer column SQLite's row number.
func (b *tableBuilder) chooseRowid() {
	pk := b.o.Table.primaryKey()
	if pk == nil || len(pk.Keys) != 1 {
		return
	}
	c := b.o.Table.columnByID(pk.Keys[0].Column)
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
		return unsupported(fmt.Sprintf("The table option %s", strings.ToUpper(strings.TrimSuffix(named(opt), " Table Option"))))
	}
	return nil
}

// compressionOf is DATA_COMPRESSION within a statement about a table or an index of that name, of which no single partitions can be chosen (7729).
func compressionOf(o *ast.DataCompressionOption, t *Table, statement, kind, name string) (int, error) {
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

// name is a constraint's name, made up when none is given.
func (b *tableBuilder) name(id *ast.Identifier, prefix, column string, o *Object) {
	if id != nil && id.Value != "" {
		o.Name = id.Value
		return
	}
	o.SystemNamed = true
	o.Name = prefix + "__" + sqltype.Cut(b.o.shownName(), 9)
	if column != "" {
		o.Name += "__" + sqltype.Cut(column, 5)
	}
	o.Name += fmt.Sprintf("__%08X", uint32(o.ID))
}

// child makes the object of a constraint of the table.
func (b *tableBuilder) child(id *ast.Identifier, kind, prefix, column string) (*Object, error) {
	if id != nil && id.Value == syntax.UnnamedConstraint {
		id = nil
	}
	o := b.d.newObject(objectName{}, kind)
	o.Schema, o.Parent = b.o.Schema, b.o.ID
	b.name(id, prefix, column, o)
	if b.d.sch.byName[objectKey(o.Schema, o.Name)] != nil {
		return nil, sqlerr.New(2714, 5, o.Name)
	}
	return o, nil
}

// defaultDefinition is a default as the catalogue shows it: in one pair of parentheses, a number in two, functions of the system's in small
// letters.
func (b *tableBuilder) defaultDefinition(node ast.ScalarExpression) string {
	for {
		inner, ok := node.(*ast.ParenthesisExpression)
		if !ok {
			break
		}
		node = inner.Expression
	}
	text := syntax.ValueText(node)
	if text == "" {
		text = b.text(node)
	}
	return "(" + text + ")"
}

func (b *tableBuilder) addDefault(n *ast.DefaultConstraintDefinition, c *Column) error {
	switch {
	case c.Default != 0:
		return sqlerr.New(1781, 1)
	case c.Identity != nil:
		return sqlerr.New(1754, 0, b.o.Name, c.Name)
	case c.Type.Kind == sqltype.RowVersion:
		return sqlerr.New(1755, 0, b.o.Name, c.Name)
	}
	if hasSubquery(n.Expression) {
		return sqlerr.New(1046, 1)
	}
	o, err := b.child(n.ConstraintIdentifier, kindDefault, "DF", c.Name)
	if err != nil {
		return err
	}
	o.Definition = b.defaultDefinition(n.Expression)
	o.Column = c.ID
	if e := bindSafely(func() {
		bind := newBinder(b.d.ctx, b.d.s, b.d.space)
		bind.spaces[b.d.space] = b.d.sch
		x := bind.scalar(nil, n.Expression)
		if !x.null {
			if e := sqltype.Convertible(x.typ, c.Type, sqltype.Assign); e != nil {
				bind.failWith(e)
			}
		}
	}); e != nil {
		return e
	}
	c.Default = o.ID
	return b.d.save(o)
}

func (b *tableBuilder) columnConstraint(con ast.ConstraintDefinition, c *Column, n *ast.ColumnDefinition) error {
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
		return b.key(t, []Key{{Column: c.ID}}, c)
	case *ast.CheckConstraintDefinition:
		return b.check(t, c.ID)
	case *ast.ForeignKeyConstraintDefinition:
		return b.foreignKey(t, []int32{c.ID})
	}
	return unsupported(fmt.Sprintf("The column constraint %s", named(con)))
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
			c := b.o.Table.column(id.Value)
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
		c := b.o.Table.column(t.Column.Value)
		if c == nil {
			return sqlerr.New(1752, 0, t.Column.Value, b.o.Name)
		}
		return b.addDefault(t, c)
	}
	return unsupported(fmt.Sprintf("The table constraint %s", named(con)))
}

func (b *tableBuilder) fkName(t *ast.ForeignKeyConstraintDefinition) string {
	if t.ConstraintIdentifier != nil && t.ConstraintIdentifier.Value != syntax.UnnamedConstraint {
		return t.ConstraintIdentifier.Value
	}
	return ""
}

// mayBeKey tells whether a column's type may be that of a key of an index.
func mayBeKey(c *Column) bool {
	switch c.Type.Kind {
	case sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML:
		return false
	}
	return c.Type.Length != sqltype.MaxLength
}

// keys are the columns of a key: of the constraint of that kind, or of an index.
func (b *tableBuilder) keys(columns []*ast.ColumnWithSortOrder, constraint string) ([]Key, error) {
	var keys []Key
	for _, k := range columns {
		parts := identifiers(k.Column.MultiPartIdentifier)
		name := parts[len(parts)-1]
		c := b.o.Table.column(name)
		if c == nil {
			return nil, sqlerr.New(1911, 1, name)
		}
		for _, other := range keys {
			if other.Column == c.ID {
				if constraint != "" {
					return nil, sqlerr.New(8136, 1, constraint, b.o.Name)
				}
				return nil, sqlerr.New(1909, 2, "index", name)
			}
		}
		if !mayBeKey(c) {
			return nil, sqlerr.New(1919, 1, name, b.o.Name)
		}
		keys = append(keys, Key{Column: c.ID, Descending: k.SortOrder == ast.SortOrderDescending})
	}
	return keys, nil
}

// keyWord is what a constraint is called in statements.
func keyWord(n *ast.UniqueConstraintDefinition) string {
	if n.IsPrimaryKey {
		return "PRIMARY KEY"
	}
	return "UNIQUE"
}

// key adds a PRIMARY KEY or UNIQUE constraint.
func (b *tableBuilder) key(n *ast.UniqueConstraintDefinition, keys []Key, column *Column) error {
	t := b.o.Table
	if len(n.Columns) > 0 {
		var err error
		if keys, err = b.keys(n.Columns, keyWord(n)); err != nil {
			return err
		}
	}
	kind, prefix := kindUnique, "UQ"
	if n.IsPrimaryKey {
		kind, prefix = kindPrimaryKey, "PK"
		switch {
		case t.primaryKey() != nil && b.altering:
			return sqlerr.New(1779, 0, b.o.Name)
		case t.primaryKey() != nil:
			return sqlerr.New(8110, 0, b.o.Name)
		}
		for _, k := range keys {
			c := t.columnByID(k.Column)
			if b.altering && c.Nullable && column == nil && c.Computed == "" {
				return sqlerr.New(8111, 1, b.o.Name)
			}
			c.Nullable = c.Nullable && c.Computed != ""
		}
	}
	o, err := b.child(n.ConstraintIdentifier, kind, prefix, "")
	if err != nil {
		return err
	}
	clustered := n.Clustered
	if n.IndexType != nil {
		clustered = strings.EqualFold(n.IndexType.IndexTypeKind, "Clustered")
	} else if n.IsPrimaryKey && !n.Clustered {
		clustered = !b.hasClustered()
	}
	index := &Index{Name: o.Name, Unique: true, PrimaryKey: n.IsPrimaryKey, Constraint: o.ID, Keys: keys, Clustered: clustered}
	if err := b.placeIndex(index); err != nil {
		return err
	}
	if err := b.locate(index, n.OnFileGroupOrPartitionScheme); err != nil {
		return err
	}
	if err := b.indexOptions(index, n.IndexOptions); err != nil {
		return err
	}
	if err := b.keyed(index); err != nil {
		return err
	}
	t.Indexes = append(t.Indexes, index)
	if b.altering {
		if err := b.d.createIndex(b.o, index); err != nil {
			return err
		}
	}
	return b.d.save(o)
}

func (b *tableBuilder) hasClustered() bool {
	for _, i := range b.o.Table.Indexes {
		if i.Clustered {
			return true
		}
	}
	return false
}

// placeIndex gives an index its index_id.
func (b *tableBuilder) placeIndex(i *Index) error {
	if len(i.Keys) > maxKeyColumns {
		return sqlerr.New(1904, 1, "index", i.Name, b.o.Name, len(i.Keys), "index", maxKeyColumns)
	}
	if i.Clustered {
		for _, other := range b.o.Table.Indexes {
			if other.Clustered {
				if i.Constraint != 0 && other.Constraint != 0 {
					return sqlerr.New(8112, 0, b.o.Name)
				}
				return sqlerr.New(1902, 3, "clustered", b.o.Name, other.Name)
			}
		}
		i.ID = 1
		return nil
	}
	i.ID = b.o.Table.NextIndex
	b.o.Table.NextIndex++
	return nil
}

func (b *tableBuilder) check(n *ast.CheckConstraintDefinition, column int32) error {
	name := ""
	if c := b.o.Table.columnByID(column); c != nil {
		name = c.Name
	}
	o, err := b.child(n.ConstraintIdentifier, kindCheck, "CK", name)
	if err != nil {
		return err
	}
	if hasSubquery(n.CheckCondition) {
		return sqlerr.New(1046, 1)
	}
	text := syntax.ConditionText(n.CheckCondition)
	if text == "" || parsePredicate(text) == nil {
		text = b.text(n.CheckCondition)
	}
	o.Definition = "(" + text + ")"
	o.Column, o.NotForReplication, o.NotTrusted = column, n.NotForReplication, b.noCheck
	b.later = append(b.later, func() error {
		if column != 0 && b.namesOther(n.CheckCondition, name) {
			return sqlerr.New(8141, 0, "CHECK", name, b.o.Name)
		}
		if b.altering && !b.noCheck {
			if err := b.d.verifyCheck(b.o, o); err != nil {
				return err
			}
		}
		return b.d.enforceCheck(b.o, o)
	})
	return b.d.save(o)
}

func (b *tableBuilder) inlineIndex(n *ast.IndexDefinition, c *Column) error {
	var keys []Key
	if c != nil && len(n.Columns) == 0 {
		keys = []Key{{Column: c.ID}}
	} else {
		var err error
		if keys, err = b.keys(n.Columns, ""); err != nil {
			return err
		}
	}
	i := &Index{Name: n.Name.Value, Unique: n.Unique, Keys: keys}
	if slices.ContainsFunc(b.o.Table.Indexes, func(other *Index) bool { return strings.EqualFold(other.Name, i.Name) }) {
		return sqlerr.New(1913, 1, i.Name, "table", b.o.Name)
	}
	if n.IndexType != nil {
		i.Clustered = strings.EqualFold(n.IndexType.IndexTypeKind, "Clustered")
		if strings.Contains(strings.ToLower(n.IndexType.IndexTypeKind), "columnstore") {
			return unsupported("A columnstore index")
		}
	}
	if err := b.covered(i, n.IncludeColumns, n.FilterPredicate); err != nil {
		return err
	}
	if err := b.placeIndex(i); err != nil {
		return err
	}
	if err := b.locate(i, n.OnFileGroupOrPartitionScheme); err != nil {
		return err
	}
	if err := b.indexOptions(i, n.IndexOptions); err != nil {
		return err
	}
	if err := b.keyed(i); err != nil {
		return err
	}
	b.o.Table.Indexes = append(b.o.Table.Indexes, i)
	return nil
}
