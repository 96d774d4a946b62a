// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// Partition functions and schemes are kept with the file groups. A partitioned table is one table in SQLite: which partition a row is
// in follows from its value.
const (
	kindPartitionFunction = "PF"
	kindPartitionScheme   = "PS"
)

// maxPartitions is the number of partitions of a table or index (docs/t-sql/statements/create-partition-function-transact-sql.md).
const maxPartitions = 15000

// PartitionFunction is what a partition function adds to an object (sys.partition_functions).
type PartitionFunction struct {
	ID   int32
	Type sqltype.Type
	// Collation is the collation that texts compare by, empty for other types.
	Collation string `json:",omitempty"`
	Right     bool   `json:",omitempty"`
	// Values are the boundary values in their order, as SQLite's text of what a column stores; NULL is the lowest.
	Values []string
}

// PartitionScheme is what a partition scheme adds to an object (sys.partition_schemes).
type PartitionScheme struct {
	ID, Function int32
	// Groups are the file groups by partition, Next is the one that is marked NEXT USED, 0 when none is.
	Groups []int32
	Next   int32 `json:",omitempty"`
}

// fanout is the number of partitions (sys.partition_functions.fanout).
func (f *PartitionFunction) fanout() int { return len(f.Values) + 1 }

// compared is SQLite's expression for a stored value as the function compares it: the offset of a datetimeoffset, behind the point in
// time, does not count.
func (f *PartitionFunction) compared(value string) string {
	if f.Type.Kind == sqltype.DateTimeOffset {
		return "substr(" + value + ",1,8)"
	}
	if key := (&Column{Type: f.Type, Collation: f.Collation}).collationKey(); key != "" {
		return value + " COLLATE " + key
	}
	return value
}

// number is SQLite's expression for the partition that a value is in; value is used often and has to be a column or a constant.
func (f *PartitionFunction) number(value string) string {
	bounds, first, null := f.Values, 1, 1
	if len(bounds) > 0 && bounds[0] == "NULL" {
		bounds, first = bounds[1:], 2
		if f.Right {
			null = 2
		}
	}
	operator := " <= "
	if f.Right {
		operator = " < "
	}
	if len(bounds) >= searchedBounds {
		if search := f.search(value, bounds); search != "" {
			return fmt.Sprintf("CASE WHEN %s IS NULL THEN %d ELSE %d + %s END", value, null, first, search)
		}
	}
	compared := f.compared(value)
	var tree func(low, high int) string
	tree = func(low, high int) string {
		if low == high {
			return fmt.Sprint(first + low)
		}
		middle := (low + high) / 2
		return "CASE WHEN " + compared + operator + f.compared(bounds[middle]) + " THEN " + tree(low, middle) + " ELSE " + tree(middle+1, high) + " END"
	}
	return fmt.Sprintf("CASE WHEN %s IS NULL THEN %d ELSE %s END", value, null, tree(0, len(bounds)))
}

// partitionObject finds a partition function or scheme by its name; nil when there is none.
func (s *schema) partitionObject(kind, name string) *Object {
	for _, o := range s.placed(kind) {
		if strings.EqualFold(o.Name, name) {
			return o
		}
	}
	return nil
}

// schemeOf finds a partition scheme by its data_space_id, with its function; nil for a file group.
func (s *schema) schemeOf(space int32) (*PartitionScheme, *PartitionFunction) {
	o := s.placement(kindPartitionScheme, space)
	if o == nil || o.Scheme == nil {
		return nil, nil
	}
	if f := s.placement(kindPartitionFunction, o.Scheme.Function); f != nil {
		return o.Scheme, f.Function
	}
	return nil, nil
}

// groupsOf are the file groups of a place, by partition.
func (s *schema) groupsOf(p Place) []int32 {
	if scheme, _ := s.schemeOf(p.space()); scheme != nil {
		return scheme.Groups
	}
	return []int32{p.space()}
}

// partitionBy is the place that ON scheme (column) names (docs/t-sql/statements/create-table-transact-sql.md, ON).
func (d *ddl) partitionBy(t *Object, on *ast.FileGroupOrPartitionScheme) (Place, error) {
	name := spaceName(on.Name)
	o := d.sch.partitionObject(kindPartitionScheme, name)
	if o == nil {
		return Place{}, sqlerr.New(1921, 1, "partition scheme", name)
	}
	_, f := d.sch.schemeOf(o.Scheme.ID)
	function := d.sch.placement(kindPartitionFunction, o.Scheme.Function).Name
	if len(on.PartitionSchemeColumns) != 1 {
		return Place{}, sqlerr.New(2726, 1, function, 1)
	}
	written := on.PartitionSchemeColumns[0].Value
	c := t.Table.column(written)
	switch {
	case c == nil:
		return Place{}, sqlerr.New(1911, 1, written)
	case c.Computed != "" && !c.Persisted:
		return Place{}, sqlerr.New(7724, 1, c.Name, t.Name)
	case c.Computed != "":
		return Place{}, unsupported("A computed column that partitions")
	case c.Type != f.Type:
		return Place{}, sqlerr.New(7726, 1, c.Name, c.Type, function, f.Type)
	case !strings.EqualFold(c.Collation, f.Collation):
		return Place{}, sqlerr.New(7727, 1, c.Name, function)
	}
	for _, group := range o.Scheme.Groups {
		if g := d.sch.fileGroupOf(group); g != nil && g.FileGroup.ReadOnly {
			return Place{}, sqlerr.New(1924, 2, g.Name)
		}
	}
	return Place{Space: o.Scheme.ID, Column: c.ID}, nil
}

// partitions refuses to change or drop a column that a table or index is partitioned by (5074).
func (d *ddl) partitions(o *Object, c *Column) error {
	for _, p := range o.Table.places() {
		if p.Column == c.ID {
			return sqlerr.New(5074, 1, "object", d.sch.placement(kindPartitionScheme, p.Space).Name, "column", c.Name)
		}
	}
	return nil
}

// uniqueWithin refuses a unique index whose key has not the column that partitions it (1908).
func (t *Table) uniqueWithin(i *Index) error {
	if !i.Unique || i.Place.Column == 0 || isKey(i.Keys, i.Place.Column) {
		return nil
	}
	return sqlerr.New(1908, 1, t.columnByID(i.Place.Column).Name, i.Name)
}

// partitionRows counts a table's rows by the partition of a place.
func partitionRows(conn *sqlite.Conn, sch *schema, o *Object, p Place) (map[int]int64, error) {
	number := "1"
	if _, f := sch.schemeOf(p.space()); f != nil && p.Column != 0 {
		number = f.number(columnName(p.Column))
	}
	out := map[int]int64{}
	err := sqlitex.ExecuteTransient(conn, "SELECT "+number+" AS p, count(*) FROM main."+o.storageName()+" GROUP BY p", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { out[stmt.ColumnInt(0)] = stmt.ColumnInt64(1); return nil }})
	return out, err
}

// partitionNumber binds [database.]$PARTITION.function(value) (docs/t-sql/functions/partition-transact-sql.md).
func (b *binder) partitionNumber(sc *scope, n *ast.PartitionFunctionCall) expr {
	space := b.s.db.ID()
	if n.DatabaseName != nil {
		db := b.s.inst.Database(n.DatabaseName.Value)
		if db == nil {
			b.fail(911, n.DatabaseName.Value)
		}
		space = db.ID()
	}
	if n.FunctionName == nil {
		b.fail(102, "$PARTITION")
	}
	o := b.schema(space).partitionObject(kindPartitionFunction, n.FunctionName.Value)
	if o == nil {
		b.fail(208, n.FunctionName.Value)
	}
	if len(n.Parameters) != 1 {
		b.fail(174, n.FunctionName.Value, 1)
	}
	if b.kept {
		b.refuse("$PARTITION in a constraint") // which would go on with the boundaries of today
	}
	b.varies = true
	x := b.scalar(sc, n.Parameters[0])
	v := b.convert(x, o.Function.Type, sqltype.Implicit, 0, false)
	sql := "(SELECT " + o.Function.number("__v") + " FROM (SELECT " + v.sql + " AS __v))"
	return merge(expr{sql: sql, typ: sqltype.IntType, nullable: true}, v)
}

// aligned tells whether two places divide rows alike.
func (s *schema) aligned(a, b Place) bool {
	_, f := s.schemeOf(a.space())
	_, g := s.schemeOf(b.space())
	if f == nil || g == nil {
		return f == g
	}
	return a.Column == b.Column && f.Right == g.Right && f.Type == g.Type && f.Collation == g.Collation && slices.Equal(f.Values, g.Values)
}
