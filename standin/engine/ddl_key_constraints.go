// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// mayBeKey tells whether a column's type may be that of a key of an index.
func mayBeKey(c *metadata.Column) bool {
	switch c.Type.Kind {
	case sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML:
		return false
	}
	return c.Type.Length != sqltype.MaxLength
}

// keys are the columns of a key: of the constraint of that kind, or of an index.
func (b *tableBuilder) keys(columns []*ast.ColumnWithSortOrder, constraint string) ([]metadata.Key, error) {
	var keys []metadata.Key
	for _, k := range columns {
		parts := bind.Identifiers(k.Column.MultiPartIdentifier)
		name := parts[len(parts)-1]
		c := b.o.Table.Column(name)
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
		keys = append(keys, metadata.Key{Column: c.ID, Descending: k.SortOrder == ast.SortOrderDescending})
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
func (b *tableBuilder) key(n *ast.UniqueConstraintDefinition, keys []metadata.Key, column *metadata.Column) error {
	t := b.o.Table
	if len(n.Columns) > 0 {
		var err error
		if keys, err = b.keys(n.Columns, keyWord(n)); err != nil {
			return err
		}
	}
	kind, prefix := metadata.KindUnique, "UQ"
	if n.IsPrimaryKey {
		kind, prefix = metadata.KindPrimaryKey, "PK"
		switch {
		case t.PrimaryKey() != nil && b.altering:
			return sqlerr.New(1779, 0, b.o.Name)
		case t.PrimaryKey() != nil:
			return sqlerr.New(8110, 0, b.o.Name)
		}
		for _, k := range keys {
			c := t.ColumnByID(k.Column)
			if b.altering && c.Nullable && column == nil && c.Computed == "" {
				return sqlerr.New(8111, 1, b.o.Name)
			}
			c.Nullable = c.Nullable && c.Computed != "" && !c.Persisted
		}
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = t.ColumnByID(k.Column).Name
	}
	o, err := b.child(n.ConstraintIdentifier, kind, prefix, strings.Join(names, ","))
	if err != nil {
		return err
	}
	clustered := n.Clustered
	if n.IndexType != nil {
		clustered = strings.EqualFold(n.IndexType.IndexTypeKind, "Clustered")
	} else if n.IsPrimaryKey && !n.Clustered {
		clustered = !b.hasClustered()
	}
	index := &metadata.Index{
		Name:       o.Name,
		Unique:     true,
		PrimaryKey: n.IsPrimaryKey,
		Constraint: o.ID,
		Keys:       keys,
		Clustered:  clustered,
	}
	if err := b.addIndex(index, n.OnFileGroupOrPartitionScheme, n.IndexOptions); err != nil {
		return err
	}
	if b.altering {
		if err := b.d.createIndex(b.o, index); err != nil {
			return err
		}
	}
	return b.d.Save(o)
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
func (b *tableBuilder) placeIndex(i *metadata.Index) error {
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

func (b *tableBuilder) inlineIndex(n *ast.IndexDefinition, c *metadata.Column) error {
	var keys []metadata.Key
	if c != nil && len(n.Columns) == 0 {
		keys = []metadata.Key{{Column: c.ID}}
	} else {
		var err error
		if keys, err = b.keys(n.Columns, ""); err != nil {
			return err
		}
	}
	i := &metadata.Index{Name: n.Name.Value, Unique: n.Unique, Keys: keys}
	if slices.ContainsFunc(
		b.o.Table.Indexes,
		func(other *metadata.Index) bool { return strings.EqualFold(other.Name, i.Name) },
	) {
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
	return b.addIndex(i, n.OnFileGroupOrPartitionScheme, n.IndexOptions)
}

// addIndex gives the table an index that has its keys: a number, the place where it is kept and its options.
func (b *tableBuilder) addIndex(
	i *metadata.Index,
	on *ast.FileGroupOrPartitionScheme,
	options []ast.IndexOption,
) error {
	if err := b.placeIndex(i); err != nil {
		return err
	}
	if err := b.locate(i, on); err != nil {
		return err
	}
	if err := b.indexOptions(i, options); err != nil {
		return err
	}
	if err := b.keyed(i); err != nil {
		return err
	}
	b.o.Table.Indexes = append(b.o.Table.Indexes, i)
	return nil
}
