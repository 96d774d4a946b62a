// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"context"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// partitioning are the types that a partition function may have.
func partitioning(n *ast.PartitionParameterType) (sqltype.Type, error) {
	t, e := bind.DataTypeOf(n.DataType, false)
	name := bind.NameOf(n.DataType.Name).Name
	if name == "" {
		name = strings.ToLower(n.DataType.SqlDataTypeOption)
	}
	if e != nil {
		return t, sqlerr.New(7704, 2, name)
	}
	switch t.Kind {
	case sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML, sqltype.RowVersion:
		return t, sqlerr.New(7704, 1, name)
	case sqltype.SQLVariant:
		return t, sqlerr.Unsupported("A partition function of sql_variant")
	}
	if t.Length == sqltype.MaxLength {
		return t, sqlerr.New(7704, 1, name)
	}
	return t, nil
}

// createFunction is CREATE PARTITION FUNCTION
// (docs/t-sql/statements/create-partition-function-transact-sql.md).
func createFunction(
	ctx context.Context,
	s *engine.Session,
	n *ast.CreatePartitionFunctionStatement,
	w tds.Writer,
) error {
	if n.ParameterType == nil || n.ParameterType.DataType == nil {
		return sqlerr.New(7702, 1)
	}
	t, err := partitioning(n.ParameterType)
	if err != nil {
		return err
	}
	f := &metadata.PartitionFunction{Type: t, Right: strings.EqualFold(n.Range, "Right")}
	if f.Collation, err = collationOf(s, n.ParameterType, t); err != nil {
		return err
	}
	if len(n.BoundaryValues) >= engine.MaxPartitions {
		return sqlerr.New(7719, 1, engine.MaxPartitions)
	}
	values := make([]string, len(n.BoundaryValues))
	for i, node := range n.BoundaryValues {
		v, err := valueOf(ctx, s, node)
		if err != nil {
			return err
		}
		if values[i], err = boundaryText(f, v, i+1, s.DateStyle(0)); err != nil {
			return err
		}
	}
	sorted := true
	err = change(ctx, s, func(d *engine.SchemaChange) error {
		if d.Catalog().PartitionObject(metadata.KindPartitionFunction, n.Name.Value) != nil {
			return sqlerr.New(2714, 7, n.Name.Value)
		}
		var places []int
		var err error
		if f.Values, places, err = orderBounds(d.Conn(), f, values); err != nil {
			return err
		}
		sorted = slices.IsSorted(places)
		f.ID = 65536
		for _, other := range d.Catalog().Placed(metadata.KindPartitionFunction) {
			f.ID = max(f.ID, other.Function.ID+1)
		}
		return d.SavePlacement(
			newObject(metadata.KindPartitionFunction, f.ID, n.Name.Value, &metadata.Object{Function: f}),
		)
	})
	if err != nil || sorted {
		return err
	}
	return w.Message(sqlerr.New(7709, 1, n.Name.Value, n.Name.Value))
}

// collationOf is the collation by which a partition function compares: that of the database unless COLLATE says
// which.
func collationOf(s *engine.Session, n *ast.PartitionParameterType, t sqltype.Type) (string, error) {
	switch {
	case n.Collation == nil && !t.Kind.IsCharacter():
		return "", nil
	case n.Collation == nil, strings.EqualFold(n.Collation.Value, "database_default"):
		return s.CurrentDatabase().Info().Collation, nil
	}
	if _, ok := sqltype.ParseCollation(n.Collation.Value); !ok {
		return "", sqlerr.New(448, 1, n.Collation.Value)
	}
	return n.Collation.Value, nil
}

// alterFunction is SPLIT RANGE and MERGE RANGE
// (docs/t-sql/statements/alter-partition-function-transact-sql.md). No row moves: which partition one is in follows
// from its value.
func alterFunction(
	ctx context.Context,
	s *engine.Session,
	n *ast.AlterPartitionFunctionStatement,
	w tds.Writer,
) error {
	var given boundaryValue
	if n.Boundary != nil {
		var err error
		if given, err = valueOf(ctx, s, n.Boundary); err != nil {
			return err
		}
	}
	return change(ctx, s, func(d *engine.SchemaChange) error {
		o := d.Catalog().PartitionObject(metadata.KindPartitionFunction, n.Name.Value)
		if o == nil {
			return sqlerr.New(15151, 1, "alter", "partition function", n.Name.Value)
		}
		if n.Boundary == nil {
			return sqlerr.New(7714, 1)
		}
		value, err := boundaryText(o.Function, given, 1, s.DateStyle(0))
		if err != nil {
			return err
		}
		var schemes []*metadata.Object
		for _, scheme := range d.Catalog().Placed(metadata.KindPartitionScheme) {
			if scheme.Scheme.Function == o.Function.ID {
				schemes = append(schemes, scheme)
			}
		}
		if n.IsSplit {
			err = splitRange(d, o.Function, schemes, value)
		} else {
			err = mergeRange(d, o.Function, schemes, value)
		}
		if err != nil {
			return err
		}
		for _, scheme := range schemes {
			if err := d.SavePlacement(scheme); err != nil {
				return err
			}
		}
		return d.SavePlacement(o)
	})
}

// splitRange adds a boundary: the new partition is the side that has the boundary value, and is in the file group
// marked NEXT USED, which none is any more.
func splitRange(d *engine.SchemaChange, f *metadata.PartitionFunction, schemes []*metadata.Object, value string) error {
	at, there, err := boundaryAt(d, f, value)
	switch {
	case err != nil:
		return err
	case there:
		return sqlerr.New(7721, 1, at+1)
	case f.Fanout() == engine.MaxPartitions:
		return sqlerr.New(7719, 2, engine.MaxPartitions)
	}
	fresh := at
	if f.Right {
		fresh = at + 1
	}
	for _, o := range schemes {
		if o.Scheme.Next == 0 {
			return &sqlerr.Error{Number: 7710, Class: 16, State: 1, Message: sqlerr.Text(7710, o.Name)}
		}
		if g := d.Catalog().FileGroupByID(o.Scheme.Next); g != nil && !d.Catalog().HasFiles(o.Scheme.Next) {
			return sqlerr.New(622, 3, g.Name)
		}
		o.Scheme.Groups = slices.Insert(slices.Clone(o.Scheme.Groups), fresh, o.Scheme.Next)
		o.Scheme.Next = 0
	}
	f.Values = slices.Insert(slices.Clone(f.Values), at, value)
	return nil
}

// mergeRange takes a boundary away: the partition that has the boundary value goes, and its rows with the other's.
func mergeRange(d *engine.SchemaChange, f *metadata.PartitionFunction, schemes []*metadata.Object, value string) error {
	at, there, err := boundaryAt(d, f, value)
	switch {
	case err != nil:
		return err
	case len(f.Values) == 0:
		return sqlerr.New(7716, 2)
	case !there:
		return sqlerr.New(7715, 1)
	}
	gone := at
	if f.Right {
		gone = at + 1
	}
	for _, o := range schemes {
		o.Scheme.Groups = slices.Delete(slices.Clone(o.Scheme.Groups), gone, gone+1)
	}
	f.Values = slices.Delete(slices.Clone(f.Values), at, at+1)
	return nil
}
