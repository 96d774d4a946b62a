// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// columns refuses tables whose columns differ.
func (sw *switching) columns() error {
	from, to := sw.from.o, sw.to.o
	if len(from.Table.Columns) != len(to.Table.Columns) {
		return sqlerr.New(4943, 1, from.Name, len(from.Table.Columns), to.Name, len(to.Table.Columns))
	}
	for i, a := range from.Table.Columns {
		b := to.Table.Columns[i]
		switch {
		case !strings.EqualFold(a.Name, b.Name):
			return sqlerr.New(4942, 1, a.Name, i+1, from.Name, b.Name, to.Name)
		case a.Computed != "" && b.Computed == "":
			return sqlerr.New(4965, 1, a.Name, from.Name, to.Name)
		case a.Computed == "" && b.Computed != "":
			return sqlerr.New(4965, 1, a.Name, to.Name, from.Name)
		case a.Computed != b.Computed:
			return sqlerr.New(4966, 1, a.Name, a.Computed, from.Name, to.Name, b.Computed)
		case a.Persisted != b.Persisted:
			return sqlerr.New(4946, 1, a.Name, from.Name, to.Name)
		case a.Type != b.Type || a.UserTypeID != b.UserTypeID || a.Numeric != b.Numeric:
			return sqlerr.New(4944, 1, a.Name, a.Type, from.Name, b.Type, to.Name)
		case !strings.EqualFold(a.Collation, b.Collation):
			return sqlerr.New(4945, 1, a.Name, from.Name, to.Name)
		case a.Nullable && !b.Nullable:
			return sqlerr.New(4961, 1, a.Name, from.Name, to.Name)
		case b.Nullable && !a.Nullable:
			return sqlerr.New(4961, 1, a.Name, to.Name, from.Name)
		case a.RowGUID != b.RowGUID:
			return sqlerr.New(4958, 1, a.Name, from.Name, to.Name)
		}
	}
	if from.Table.TextInRow != to.Table.TextInRow {
		return sqlerr.New(4954, 1, from.Name, from.Table.TextInRow, to.Name, to.Table.TextInRow)
	}
	return nil
}

// divided refuses two partitioned tables that different columns divide.
func (sw *switching) divided() error {
	from, to := sw.from.o, sw.to.o
	if sw.from.number > 0 && sw.to.number > 0 &&
		from.Table.Ordinal(from.Table.Place.Column) != to.Table.Ordinal(to.Table.Place.Column) {
		return sqlerr.New(4953, 1, from.Name, to.Name)
	}
	return nil
}

// alignedIndexes refuses tables with an index that is divided otherwise than its table.
func (sw *switching) alignedIndexes() error {
	const verb = "ALTER TABLE SWITCH"
	words := map[bool]string{true: "partitioned", false: "not partitioned"}
	for _, side := range []switchSide{sw.from, sw.to} {
		for _, i := range side.o.Table.Indexes {
			_, f := sw.d.Catalog().SchemeOf(i.Place.DataSpace())
			own := side.function
			switch {
			case (f == nil) != (own == nil):
				return sqlerr.New(4906, 1, verb, "table", side.o.Name, words[own != nil], i.Name, words[f != nil])
			case f == nil || sw.d.Catalog().Aligned(i.Place, side.o.Table.Place):
			case i.Place.Column != side.o.Table.Place.Column:
				return sqlerr.New(4912, 1, verb, "table", side.o.Name, i.Name)
			case f.Type != own.Type:
				return sqlerr.New(4915, 1, verb, "table", side.o.Name, i.Name)
			case f.Fanout() != own.Fanout():
				return sqlerr.New(4907, 1, verb, "table", side.o.Name, own.Fanout(), i.Name, f.Fanout())
			default:
				return sqlerr.New(4908, 1, verb, "table", side.o.Name, i.Name)
			}
		}
	}
	return nil
}

// indexes refuses a target with an index that the source has not.
func (sw *switching) indexes() error {
	from, to := sw.from.o, sw.to.o
	a, b := from.Table.ClusteredIndex(), to.Table.ClusteredIndex()
	switch {
	case a != nil && b == nil:
		return sqlerr.New(4913, 1, from.Name, a.Name, to.Name)
	case a == nil && b != nil:
		return sqlerr.New(4913, 1, to.Name, b.Name, from.Name)
	case a != nil && a.Disabled:
		return sqlerr.New(4914, 1, from.Name)
	case b != nil && b.Disabled:
		return sqlerr.New(4914, 1, to.Name)
	case a == nil && from.Table.Compression != to.Table.Compression:
		return sqlerr.New(11406, 1)
	}
	for _, i := range to.Table.Indexes {
		same := sw.sameIndex(i)
		if same == nil {
			return sqlerr.New(4947, 1, from.Name, i.Name, to.Name)
		}
		if same.Compression != i.Compression {
			return sqlerr.New(11406, 1)
		}
	}
	return nil
}

// sameIndex is the source's index that is as one of the target; nil when there is none.
func (sw *switching) sameIndex(want *metadata.Index) *metadata.Index {
	from, to := sw.from.o.Table, sw.to.o.Table
	same := func(i *metadata.Index) bool {
		if i.Unique != want.Unique || i.Clustered != want.Clustered || i.PrimaryKey != want.PrimaryKey ||
			(i.Constraint != 0) != (want.Constraint != 0) || i.IgnoreDup != want.IgnoreDup ||
			i.Disabled != want.Disabled ||
			i.Filter != want.Filter ||
			len(i.Keys) != len(want.Keys) ||
			len(i.Included) != len(want.Included) {
			return false
		}
		for at, k := range i.Keys {
			if from.Ordinal(k.Column) != to.Ordinal(want.Keys[at].Column) || k.Descending != want.Keys[at].Descending {
				return false
			}
		}
		included := map[int]bool{}
		for _, id := range i.Included {
			included[from.Ordinal(id)] = true
		}
		for _, id := range want.Included {
			if !included[to.Ordinal(id)] {
				return false
			}
		}
		return true
	}
	for _, i := range from.Indexes {
		if same(i) {
			return i
		}
	}
	return nil
}

// foreignKeys refuses a source that is referred to, and a target with a foreign key that the source has not.
func (sw *switching) foreignKeys() error {
	from, to := sw.from.o, sw.to.o
	for _, fk := range sw.d.Catalog().Objects {
		if fk.ForeignKey != nil && fk.ForeignKey.Referenced == from.ID && !fk.Disabled {
			return sqlerr.New(4967, 1, from.Name, fk.Name)
		}
	}
	for _, fk := range sw.d.Catalog().Children(to.ID) {
		if fk.Kind != metadata.KindForeignKey || fk.Disabled {
			continue
		}
		same := sw.sameForeignKey(fk)
		switch {
		case same == nil:
			return sqlerr.New(4968, 1, to.Name, fk.Name, from.Name)
		case same.Disabled:
			return sqlerr.New(4969, 1, same.Name, from.Name, fk.Name, to.Name)
		case same.NotTrusted && !fk.NotTrusted:
			return sqlerr.New(4974, 1, same.Name, from.Name, fk.Name, to.Name)
		}
	}
	return nil
}

func (sw *switching) sameForeignKey(want *metadata.Object) (found *metadata.Object) {
	from, to := sw.from.o, sw.to.o
next:
	for _, fk := range sw.d.Catalog().Children(from.ID) {
		if fk.Kind != metadata.KindForeignKey || fk.ForeignKey.Referenced != want.ForeignKey.Referenced ||
			len(fk.ForeignKey.Columns) != len(want.ForeignKey.Columns) {
			continue
		}
		for i, id := range fk.ForeignKey.Columns {
			if from.Table.Ordinal(id) != to.Table.Ordinal(want.ForeignKey.Columns[i]) ||
				fk.ForeignKey.RefColumns[i] != want.ForeignKey.RefColumns[i] {
				continue next
			}
		}
		if found == nil || !fk.Disabled && !fk.NotTrusted {
			found = fk
		}
	}
	return found
}

// spaces refuses source and target in different file groups, and in one that is read-only.
func (sw *switching) spaces() error {
	if err := sw.oneGroup("table", sw.from.o.Name, sw.from.o.Table.Place, sw.to.o.Name, sw.to.o.Table.Place); err != nil {
		return err
	}
	for _, i := range sw.to.o.Table.Indexes {
		same := sw.sameIndex(i)
		if i.Clustered || same == nil {
			continue
		}
		if err := sw.oneGroup("index", same.Name, same.Place, i.Name, i.Place); err != nil {
			return err
		}
	}
	large := false
	for _, c := range sw.from.o.Table.Columns {
		large = large ||
			c.Computed == "" &&
				(c.Type.Length == sqltype.MaxLength || c.Type.Kind == sqltype.Text || c.Type.Kind == sqltype.NText ||
					c.Type.Kind == sqltype.Image || c.Type.Kind == sqltype.XML)
	}
	a, b := sw.textGroup(sw.from), sw.textGroup(sw.to)
	if large && a != b {
		return sqlerr.New(
			4959,
			1,
			max(sw.from.number, 1),
			"table",
			sw.from.o.Name,
			sw.groupName(a),
			max(sw.to.number, 1),
			"table",
			sw.to.o.Name,
			sw.groupName(b),
		)
	}
	for _, side := range []switchSide{sw.from, sw.to} {
		g := sw.d.Catalog().FileGroupByID(sw.group(side.o.Table.Place, side.number))
		switch {
		case g == nil || !g.FileGroup.ReadOnly:
		case side.number > 0:
			return sqlerr.New(4978, 1, side.number, side.o.Name, g.Name)
		default:
			return sqlerr.New(4979, 1, side.o.Name, g.Name)
		}
	}
	return nil
}

// group is the file group of a place, or of one of its partitions.
func (sw *switching) group(p metadata.Place, number int) int32 {
	return sw.d.Catalog().GroupsOf(p)[max(number-1, 0)]
}

func (sw *switching) groupName(id int32) string {
	if g := sw.d.Catalog().FileGroupByID(id); g != nil {
		return g.Name
	}
	return ""
}

// textGroup is where a side's large values are.
func (sw *switching) textGroup(side switchSide) int32 {
	if side.o.Table.TextSpace != 0 && side.number == 0 {
		return side.o.Table.TextSpace
	}
	return sw.group(side.o.Table.Place, side.number)
}

// oneGroup compares the file groups of two tables or indexes.
func (sw *switching) oneGroup(kind, from string, a metadata.Place, to string, b metadata.Place) error {
	m, n := sw.from.number, sw.to.number
	x, y := sw.group(a, m), sw.group(b, n)
	first, second := sw.groupName(x), sw.groupName(y)
	switch {
	case x == y:
		return nil
	case m > 0 && n > 0:
		return sqlerr.New(4938, 1, m, kind, from, first, n, kind, to, second)
	case n > 0:
		return sqlerr.New(4939, 1, kind, from, first, n, kind, to, second)
	case m > 0:
		return sqlerr.New(4939, 1, kind, to, second, m, kind, from, first)
	}
	return sqlerr.New(4940, 1, kind, from, first, kind, to, second)
}
