// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/standin/sqltype"
)

// Partition functions and schemes are kept with the file groups. A partitioned table is one table in SQLite: which
// partition a row is in follows from its value.
const (
	KindPartitionFunction = "PF"
	KindPartitionScheme   = "PS"
)

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

// Fanout is the number of partitions (sys.partition_functions.fanout).
func (f *PartitionFunction) Fanout() int { return len(f.Values) + 1 }

// Compared is SQLite's expression for a stored value as the function compares it: the offset of a datetimeoffset,
// behind the point in time, does not count.
func (f *PartitionFunction) Compared(value string) string {
	if f.Type.Kind == sqltype.DateTimeOffset {
		return "substr(" + value + ",1,8)"
	}
	if key := (&Column{Type: f.Type, Collation: f.Collation}).CollationKey(); key != "" {
		return value + " COLLATE " + key
	}
	return value
}

// Number is SQLite's expression for the partition that a value is in; value is used often and has to be a column or a
// constant.
func (f *PartitionFunction) Number(value string) string {
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
	compared := f.Compared(value)
	var tree func(low, high int) string
	tree = func(low, high int) string {
		if low == high {
			return fmt.Sprint(first + low)
		}
		middle := (low + high) / 2
		return "CASE WHEN " + compared + operator + f.Compared(
			bounds[middle],
		) + " THEN " + tree(
			low,
			middle,
		) + " ELSE " + tree(
			middle+1,
			high,
		) + " END"
	}
	return fmt.Sprintf("CASE WHEN %s IS NULL THEN %d ELSE %s END", value, null, tree(0, len(bounds)))
}

// PartitionObject finds a partition function or scheme by its name; nil when there is none.
func (s *Catalog) PartitionObject(kind, name string) *Object {
	for _, o := range s.Placed(kind) {
		if strings.EqualFold(o.Name, name) {
			return o
		}
	}
	return nil
}

// SchemeOf finds a partition scheme by its data_space_id, with its function; nil for a file group.
func (s *Catalog) SchemeOf(space int32) (*PartitionScheme, *PartitionFunction) {
	o := s.Placement(KindPartitionScheme, space)
	if o == nil || o.Scheme == nil {
		return nil, nil
	}
	if f := s.Placement(KindPartitionFunction, o.Scheme.Function); f != nil {
		return o.Scheme, f.Function
	}
	return nil, nil
}

// GroupsOf are the file groups of a place, by partition.
func (s *Catalog) GroupsOf(p Place) []int32 {
	if scheme, _ := s.SchemeOf(p.DataSpace()); scheme != nil {
		return scheme.Groups
	}
	return []int32{p.DataSpace()}
}

// InPartitions is SQLite's condition for the rows of a table in those partitions.
func (s *Catalog) InPartitions(o *Object, numbers []int) string {
	_, f := s.SchemeOf(o.Table.Place.DataSpace())
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = fmt.Sprint(n)
	}
	return f.Number(ColumnName(o.Table.Place.Column)) + " IN (" + strings.Join(list, ",") + ")"
}

// PartitionID is sys.partitions.partition_id.
func PartitionID(object, index int32, number int) int64 {
	return int64(uint32(object))<<16 | int64(index) | int64(number-1)<<48
}

// Aligned tells whether two places divide rows alike.
func (s *Catalog) Aligned(a, b Place) bool {
	_, f := s.SchemeOf(a.DataSpace())
	_, g := s.SchemeOf(b.DataSpace())
	if f == nil || g == nil {
		return f == g
	}
	return a.Column == b.Column && f.Right == g.Right && f.Type == g.Type && f.Collation == g.Collation &&
		slices.Equal(f.Values, g.Values)
}
