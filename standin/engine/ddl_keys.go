// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// foreignKey adds a foreign key; the referenced columns must be a primary or unique key.
func (b *tableBuilder) foreignKey(n *ast.ForeignKeyConstraintDefinition, columns []int32) error {
	first := b.o.Table.ColumnByID(columns[0]).Name
	o, err := b.child(n.ConstraintIdentifier, metadata.KindForeignKey, "FK", first)
	if err != nil {
		return err
	}
	if b.d.space == bind.TempSpace {
		b.d.s.notices = append(b.d.s.notices, sqlerr.New(1756, 0, o.Name))
		return nil
	}
	ref := bind.NameOf(n.ReferenceTableName)
	if ref.Database != "" && !strings.EqualFold(ref.Database, b.d.db.Name()) {
		return sqlerr.New(1763, 0, o.Name)
	}
	parent := b.o
	if !(strings.EqualFold(ref.Name, b.o.Name) &&
		(ref.Schema == "" || strings.EqualFold(ref.Schema, b.d.sch.SchemaName(b.o)))) {
		parent = b.d.LookUp(ref)
	}
	if parent == nil || parent.Kind != metadata.KindTable {
		return sqlerr.New(1767, 0, o.Name, ref.String())
	}
	k := &metadata.ForeignKey{Columns: columns, Referenced: parent.ID, OnDelete: "NO_ACTION", OnUpdate: "NO_ACTION"}
	if k.OnDelete, err = referentialAction(n.DeleteAction); err != nil {
		return err
	}
	if k.OnUpdate, err = referentialAction(n.UpdateAction); err != nil {
		return err
	}
	if err := b.referencedColumns(n, o, parent, k); err != nil {
		return err
	}
	if err := b.mayAct(o.Name, k); err != nil {
		return err
	}
	o.ForeignKey, o.NotForReplication, o.NotTrusted = k, n.NotForReplication, b.noCheck
	b.later = append(b.later, func() error {
		if b.altering && !b.noCheck {
			if err := b.d.verifyForeignKey(b.o, o); err != nil {
				return err
			}
		}
		return b.d.enforceForeignKey(b.o, o)
	})
	return b.d.Save(o)
}

func referentialAction(text string) (string, error) {
	switch strings.ToLower(text) {
	case "", "notspecified", "noaction":
		return "NO_ACTION", nil
	case "cascade":
		return "CASCADE", nil
	case "setnull":
		return "SET_NULL", nil
	case "setdefault":
		return "SET_DEFAULT", nil
	}
	return "", unsupported("The referential action " + text)
}

func (b *tableBuilder) referencedColumns(
	n *ast.ForeignKeyConstraintDefinition,
	o, parent *metadata.Object,
	k *metadata.ForeignKey,
) error {
	if len(n.ReferencedColumns) == 0 {
		pk := parent.Table.PrimaryKey()
		if pk == nil {
			return sqlerr.New(1773, 0, o.Name, parent.Name)
		}
		if len(pk.Keys) != len(k.Columns) {
			return sqlerr.New(1774, 0, o.Name, parent.Name)
		}
		for _, key := range pk.Keys {
			k.RefColumns = append(k.RefColumns, key.Column)
		}
	}
	for _, id := range n.ReferencedColumns {
		c := parent.Table.Column(id.Value)
		if c == nil {
			return sqlerr.New(1770, 0, o.Name, id.Value, parent.Name)
		}
		k.RefColumns = append(k.RefColumns, c.ID)
	}
	if len(k.RefColumns) != len(k.Columns) {
		return sqlerr.New(8139, 0, parent.Name)
	}
	for i := range k.Columns {
		child, ref := b.o.Table.ColumnByID(k.Columns[i]), parent.Table.ColumnByID(k.RefColumns[i])
		if err := b.mayRefer(o.Name, child, ref, k); err != nil {
			return err
		}
		if child.Type.Kind != ref.Type.Kind {
			return sqlerr.New(1778, 0, parent.Name, ref.Name, b.o.Name, child.Name, o.Name)
		}
		if child.Type.Precision != ref.Type.Precision || child.Type.Scale != ref.Type.Scale ||
			child.Type.Length != ref.Type.Length {
			return sqlerr.New(1753, 0, parent.Name, ref.Name, b.o.Name, child.Name, o.Name)
		}
	}
	for i := range k.Columns {
		child, ref := b.o.Table.ColumnByID(k.Columns[i]), parent.Table.ColumnByID(k.RefColumns[i])
		if child.Type.Kind.IsCharacter() && !strings.EqualFold(child.Collation, ref.Collation) {
			return sqlerr.New(1757, 0, parent.Name, ref.Name, b.o.Name, child.Name, o.Name)
		}
	}
	for _, i := range parent.Table.Indexes {
		if i.Unique && i.Filter == "" && metadata.SameKeys(i.Keys, k.RefColumns) {
			k.RefIndex = i.ID
			return nil
		}
	}
	return sqlerr.New(1776, 0, parent.Name, o.Name)
}

func (b *tableBuilder) indexOptions(i *metadata.Index, options []ast.IndexOption) error {
	for _, opt := range options {
		switch o := opt.(type) {
		case *ast.DataCompressionOption:
			c, err := compressionOf(o, b.o.Table, "index", "index", i.Name)
			if err != nil {
				return err
			}
			i.Compression = c
			if i.Clustered {
				b.o.Table.Compression = c
			}
		case *ast.IndexExpressionOption:
			if err := setIndexExpression(i, o); err != nil {
				return err
			}
		case *ast.IgnoreDupKeyIndexOption:
			if err := setIgnoreDuplicates(i, o.OptionState); err != nil {
				return err
			}
		case *ast.IndexStateOption:
			if err := setIndexState(i, lower(o.OptionKind), o.OptionState); err != nil {
				return err
			}
		}
	}
	return nil
}

// setIndexExpression is an option with a value; of keys of declared tables those that are ON or OFF have strings for it
// (syntax.switchesOfKeys).
func setIndexExpression(i *metadata.Index, o *ast.IndexExpressionOption) error {
	state, ok := o.Expression.(*ast.StringLiteral)
	switch {
	case strings.EqualFold(o.OptionKind, "FillFactor"):
		return setFillFactor(i, o.Expression)
	case !ok:
		return nil
	case strings.EqualFold(o.OptionKind, "IgnoreDupKey"):
		return setIgnoreDuplicates(i, state.Value)
	}
	return setIndexState(i, lower(o.OptionKind), state.Value)
}

// setFillFactor is FILLFACTOR = percent (129 outside of 1 to 100; docs/t-sql/statements/create-index-transact-sql.md).
func setFillFactor(i *metadata.Index, percent ast.ScalarExpression) error {
	l, ok := percent.(*ast.IntegerLiteral)
	if !ok {
		return sqlerr.New(102, 1, "FILLFACTOR")
	}
	n, err := strconv.Atoi(l.Value)
	if err != nil || n < 1 || n > 100 {
		return sqlerr.New(129, 1, l.Value)
	}
	i.FillFactor = n
	return nil
}

// TableToChange finds the table of ALTER TABLE, CREATE INDEX and so on; number is the error when there is none.
func (d *SchemaChange) TableToChange(name bind.ObjectName, number int32) (*metadata.Object, error) {
	o := d.LookUp(name)
	if o == nil || o.Kind != metadata.KindTable {
		switch {
		case number == 1088:
			return nil, sqlerr.New(1088, 12, name.String())
		case number == 4902 && o != nil:
			return nil, sqlerr.New(4909, 1, name.String())
		default:
			return nil, sqlerr.New(number, 1, name.String())
		}
	}
	if d.space != bind.TempSpace {
		p := Permission{Name: "ALTER", Database: d.db, Schema: d.sch.SchemaName(o), Object: o.Name, ObjectID: o.ID}
		if err := d.s.require(d.ctx, p); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// mayBeIndexed judges what an index is to be on when it is no table
// (docs/t-sql/statements/create-index-transact-sql.md).
func (d *SchemaChange) mayBeIndexed(name bind.ObjectName, n *ast.CreateIndexStatement) error {
	if d.space == bind.TempSpace {
		return nil
	}
	o := d.LookUp(name)
	switch {
	case o == nil || o.Kind == metadata.KindTable || o.Kind == metadata.KindSynonym:
		return nil
	case o.Kind != metadata.KindView:
		return sqlerr.New(1914, 1, o.Name)
	case !IsSchemaBound(o):
		return sqlerr.New(1939, 1, "index", o.Name)
	case !n.Unique || n.Clustered == nil || !*n.Clustered:
		return sqlerr.New(1940, 1, o.Name)
	}
	return unsupported("An index on a view")
}

// createIndexStatement is CREATE INDEX.
func (s *Session) createIndexStatement(ctx context.Context, n *ast.CreateIndexStatement, w tds.Writer) error {
	name := bind.NameOf(n.OnName)
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		if err := d.mayBeIndexed(name, n); err != nil {
			return err
		}
		o, err := d.TableToChange(name, 1088)
		if err != nil {
			return err
		}
		b := &tableBuilder{d: d, o: o, altering: true, verb: "CREATE INDEX"}
		keys, err := b.keys(n.Columns, "")
		if err != nil {
			return err
		}
		i := &metadata.Index{Name: n.Name.Value, Unique: n.Unique, Clustered: n.Clustered != nil && *n.Clustered, Keys: keys}
		dropExisting := dropsExisting(n.IndexOptions)
		for at, other := range o.Table.Indexes {
			if !strings.EqualFold(other.Name, i.Name) {
				continue
			}
			if !dropExisting {
				return sqlerr.New(1913, 1, i.Name, "table", name.String())
			}
			if err := d.dropIndex(o, other); err != nil {
				return err
			}
			o.Table.Indexes = append(o.Table.Indexes[:at], o.Table.Indexes[at+1:]...)
			break
		}
		if err := b.covered(i, n.IncludeColumns, n.FilterPredicate); err != nil {
			return err
		}
		if err := b.addIndex(i, n.OnFileGroupOrPartitionScheme, n.IndexOptions); err != nil {
			return err
		}
		if err := d.createIndex(o, i); err != nil {
			return err
		}
		return d.Modify(o)
	})
}

// covered gives an index what INCLUDE and WHERE say.
func (b *tableBuilder) covered(
	i *metadata.Index,
	columns []*ast.ColumnReferenceExpression,
	filter ast.BooleanExpression,
) error {
	for _, c := range columns {
		parts := bind.Identifiers(c.MultiPartIdentifier)
		col := b.o.Table.Column(parts[len(parts)-1])
		if col == nil {
			return sqlerr.New(1911, 1, parts[len(parts)-1])
		}
		if metadata.IsKey(i.Keys, col.ID) || slices.Contains(i.Included, col.ID) {
			return sqlerr.New(1909, 1, "index", col.Name)
		}
		i.Included = append(i.Included, col.ID)
	}
	if filter != nil {
		i.Filter = b.filterText(filter)
	}
	return nil
}

// filterText is what sys.indexes and sys.stats show of a filter.
func (b *tableBuilder) filterText(filter ast.BooleanExpression) string {
	text := syntax.FilterText(filter)
	if text == "" || ParsePredicate(text) == nil {
		text = b.text(filter)
	}
	return "(" + text + ")"
}

func dropsExisting(options []ast.IndexOption) bool {
	for _, opt := range options {
		if o, ok := opt.(*ast.IndexStateOption); ok && strings.EqualFold(o.OptionKind, "DropExisting") &&
			strings.EqualFold(o.OptionState, "On") {
			return true
		}
	}
	return false
}

func (s *Session) dropIndexStatement(ctx context.Context, n *ast.DropIndexStatement, w tds.Writer) error {
	for _, clause := range n.DropIndexClauses {
		var table bind.ObjectName
		index := ""
		switch {
		case clause.Object != nil && clause.Index != nil:
			table, index = bind.NameOf(clause.Object), clause.Index.Value
		case clause.LegacyIndex != nil:
			o := bind.NameOf(clause.LegacyIndex)
			table, index = bind.ObjectName{Schema: o.Database, Name: o.Schema}, o.Name
		default:
			return sqlerr.New(159, 1)
		}
		err := s.ChangeSchema(ctx, table, func(d *SchemaChange) error {
			o, err := d.TableToChange(table, 4902)
			if err != nil {
				if n.IsIfExists {
					return nil
				}
				return sqlerr.New(3701, 7, "drop", "index", table.String()+"."+index)
			}
			for at, i := range o.Table.Indexes {
				if !strings.EqualFold(i.Name, index) {
					continue
				}
				if i.Constraint != 0 {
					kind := "UNIQUE KEY"
					if i.PrimaryKey {
						kind = "PRIMARY KEY"
					}
					return sqlerr.New(3723, 4, table.String()+"."+index, kind)
				}
				if err := d.moveHeap(o, i, movedTo(clause.Options)); err != nil {
					return err
				}
				if err := d.dropIndex(o, i); err != nil {
					return err
				}
				o.Table.Indexes = append(append([]*metadata.Index(nil), o.Table.Indexes[:at]...), o.Table.Indexes[at+1:]...)
				return d.Modify(o)
			}
			if n.IsIfExists {
				return nil
			}
			return sqlerr.New(3701, 7, "drop", "index", table.String()+"."+index)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// alterIndex is ALTER INDEX: REBUILD and REORGANIZE record compression; DISABLE takes the index away until REBUILD.
func (s *Session) alterIndex(ctx context.Context, n *ast.AlterIndexStatement, w tds.Writer) error {
	name := bind.NameOf(n.OnName)
	number, err := s.partitionNumber(ctx, n.Partition)
	if err != nil {
		return err
	}
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		o, err := d.TableToChange(name, 1088)
		if err != nil {
			return err
		}
		b := &tableBuilder{d: d, o: o}
		found := n.All
		for _, i := range o.Table.Indexes {
			if !n.All && !strings.EqualFold(i.Name, n.Name.Value) {
				continue
			}
			found = true
			if err := d.onePartition(number, i.Place, n.IndexOptions, "ALTER INDEX", "index", i.Name); err != nil {
				return err
			}
			switch n.AlterIndexType {
			case "Rebuild":
				if i.Disabled {
					i.Disabled = false
					if err := d.createIndex(o, i); err != nil {
						return err
					}
				}
			case "Disable":
				if i.PrimaryKey && o.Table.RowidColumn != 0 || i.Clustered {
					return unsupported("Disabling a clustered index")
				}
				i.Disabled = true
				if err := d.dropIndex(o, i); err != nil {
					return err
				}
			case "Reorganize", "Set":
			default:
				return unsupported("ALTER INDEX ... " + n.AlterIndexType)
			}
			if err := b.indexOptions(i, n.IndexOptions); err != nil {
				return err
			}
		}
		if !found {
			return sqlerr.New(2727, 11, n.Name.Value)
		}
		return d.Modify(o)
	})
}
