// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

func installPartitions(r *Registry) {
	on(r, (*Session).createPartitionFunction)
	on(r, (*Session).alterPartitionFunction)
	on(r, (*Session).createPartitionScheme)
	on(r, (*Session).alterPartitionScheme)
	on(r, func(s *Session, ctx context.Context, n *ast.DropPartitionFunctionStatement, w tds.Writer) error {
		return s.dropPartitionObject(ctx, metadata.KindPartitionFunction, n.Name)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.DropPartitionSchemeStatement, w tds.Writer) error {
		return s.dropPartitionObject(ctx, metadata.KindPartitionScheme, n.Name)
	})
}

// changePartitions runs f on the partition functions and schemes of the current database.
func (s *Session) changePartitions(ctx context.Context, f func(d *ddl) error) error {
	if err := s.require(ctx, Permission{Name: "ALTER ANY DATASPACE", Database: s.db}); err != nil {
		return err
	}
	return s.changeSchema(ctx, objectName{}, f)
}

func newPartitionObject(kind string, id int32, name string, o *metadata.Object) *metadata.Object {
	now := time.Now().UTC()
	o.ID, o.Kind, o.Name, o.Created, o.Modified = metadata.PlacementRow(kind, id), kind, name, now, now
	return o
}

// dropPartitionObject is DROP PARTITION FUNCTION and DROP PARTITION SCHEME, which are refused while something uses
// them.
func (s *Session) dropPartitionObject(ctx context.Context, kind string, name *ast.Identifier) error {
	return s.changePartitions(ctx, func(d *ddl) error {
		o := d.sch.PartitionObject(kind, name.Value)
		word := map[string]string{metadata.KindPartitionFunction: "partition function",
			metadata.KindPartitionScheme: "partition scheme"}[kind]
		if o == nil {
			return sqlerr.New(15151, 1, "drop", word, name.Value)
		}
		if kind == metadata.KindPartitionScheme {
			if d.sch.UsesGroup(o.Scheme.ID) {
				return sqlerr.New(7717, 1, o.Name)
			}
			return d.removePlacement(o)
		}
		for _, scheme := range d.sch.Placed(metadata.KindPartitionScheme) {
			if scheme.Scheme.Function == o.Function.ID {
				return sqlerr.New(7706, 1, o.Name)
			}
		}
		return d.removePlacement(o)
	})
}

// partitionNumber is the number of PARTITION = n, nil for all partitions.
func (s *Session) partitionNumber(ctx context.Context, n *ast.PartitionSpecifier) (*int64, error) {
	if n == nil || n.All {
		return nil, nil
	}
	if n.Number == nil {
		return nil, sqlerr.New(102, 1, "PARTITION")
	}
	number, err := s.evaluateInt(ctx, n.Number)
	return &number, err
}

// onePartition judges PARTITION = number, when it is given, of a statement about a table or an index at a place: a
// place without partitions (7729), a number that none has (7722), and options that would be of one partition.
func (d *ddl) onePartition(
	number *int64,
	p metadata.Place,
	options []ast.IndexOption,
	statement, kind, name string,
) error {
	if number == nil {
		return nil
	}
	_, f := d.sch.SchemeOf(p.DataSpace())
	switch {
	case f == nil:
		return sqlerr.New(7729, 1, statement, kind, name)
	case *number < 1 || *number > int64(f.Fanout()):
		return sqlerr.New(7722, 2, *number, kind, name, f.Fanout())
	}
	for _, o := range options {
		if _, ok := o.(*ast.DataCompressionOption); ok {
			return unsupported("DATA_COMPRESSION of single partitions")
		}
	}
	return nil
}

// partitionsChosen are the partitions that WITH (PARTITIONS (n, n TO m)) of TRUNCATE TABLE names
// (docs/t-sql/statements/truncate-table-transact-sql.md).
func (s *Session) partitionsChosen(
	ctx context.Context,
	sch *metadata.Catalog,
	o *metadata.Object,
	ranges []*ast.CompressionPartitionRange,
) ([]int, error) {
	_, f := sch.SchemeOf(o.Table.Place.DataSpace())
	if f == nil {
		return nil, sqlerr.New(7729, 3, "truncate table", "table", o.Name)
	}
	for _, i := range o.Table.Indexes {
		if !sch.Aligned(i.Place, o.Table.Place) {
			function := sch.Placement(metadata.KindPartitionFunction, f.ID).Name
			return nil, sqlerr.New(3756, 1, i.Name, o.Name, function)
		}
	}
	seen := map[int]bool{}
	for _, r := range ranges {
		from, err := s.evaluateInt(ctx, r.From)
		if err != nil {
			return nil, err
		}
		to := from
		if r.To != nil {
			if to, err = s.evaluateInt(ctx, r.To); err != nil {
				return nil, err
			}
		}
		for _, n := range []int64{from, to} {
			if n < 1 || n > int64(f.Fanout()) {
				return nil, sqlerr.New(7722, 2, n, "table", o.Name, f.Fanout())
			}
		}
		if from > to {
			return nil, sqlerr.New(7728, 1, from, to)
		}
		for n := int(from); n <= int(to); n++ {
			if seen[n] {
				return nil, sqlerr.New(7711, 2, "PARTITIONS")
			}
			seen[n] = true
		}
	}
	var out []int
	for n := range seen {
		out = append(out, n)
	}
	slices.SortFunc(out, cmp.Compare)
	return out, nil
}
