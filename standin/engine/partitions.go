// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// MaxPartitions is the number of partitions of a table or index
// (docs/t-sql/statements/create-partition-function-transact-sql.md).
const MaxPartitions = 15000

// partitionBy is the place that ON scheme (column) names (docs/t-sql/statements/create-table-transact-sql.md, ON).
func (d *SchemaChange) partitionBy(t *metadata.Object, on *ast.FileGroupOrPartitionScheme) (metadata.Place, error) {
	name := SpaceName(on.Name)
	o := d.sch.PartitionObject(metadata.KindPartitionScheme, name)
	if o == nil {
		return metadata.Place{}, sqlerr.New(1921, 1, "partition scheme", name)
	}
	_, f := d.sch.SchemeOf(o.Scheme.ID)
	function := d.sch.Placement(metadata.KindPartitionFunction, o.Scheme.Function).Name
	if len(on.PartitionSchemeColumns) != 1 {
		return metadata.Place{}, sqlerr.New(2726, 1, function, 1)
	}
	written := on.PartitionSchemeColumns[0].Value
	c := t.Table.Column(written)
	switch {
	case c == nil:
		return metadata.Place{}, sqlerr.New(1911, 1, written)
	case c.Computed != "" && !c.Persisted:
		return metadata.Place{}, sqlerr.New(7724, 1, c.Name, t.Name)
	case c.Computed != "":
		return metadata.Place{}, unsupported("A computed column that partitions")
	case c.Type != f.Type:
		return metadata.Place{}, sqlerr.New(7726, 1, c.Name, c.Type, function, f.Type)
	case !strings.EqualFold(c.Collation, f.Collation):
		return metadata.Place{}, sqlerr.New(7727, 1, c.Name, function)
	}
	for _, group := range o.Scheme.Groups {
		if g := d.sch.FileGroupByID(group); g != nil && g.FileGroup.ReadOnly {
			return metadata.Place{}, sqlerr.New(1924, 2, g.Name)
		}
	}
	return metadata.Place{Space: o.Scheme.ID, Column: c.ID}, nil
}

// partitions refuses to change or drop a column that a table or index is partitioned by (5074).
func (d *SchemaChange) partitions(o *metadata.Object, c *metadata.Column) error {
	for _, p := range o.Table.Places() {
		if p.Column == c.ID {
			return sqlerr.New(5074, 1, "object", d.sch.Placement(metadata.KindPartitionScheme, p.Space).Name, "column", c.Name)
		}
	}
	return nil
}

// PartitionRows counts a table's rows by the partition of a place.
func PartitionRows(
	conn *sqlite.Conn,
	sch *metadata.Catalog,
	o *metadata.Object,
	p metadata.Place,
) (map[int]int64, error) {
	number := "1"
	if _, f := sch.SchemeOf(p.DataSpace()); f != nil && p.Column != 0 {
		number = f.Number(metadata.ColumnName(p.Column))
	}
	out := map[int]int64{}
	err := sqlitex.ExecuteTransient(
		conn,
		"SELECT "+number+" AS p, count(*) FROM main."+o.StorageName()+" GROUP BY p",
		&sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { out[stmt.ColumnInt(0)] = stmt.ColumnInt64(1); return nil }},
	)
	return out, err
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
func (d *SchemaChange) onePartition(
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
