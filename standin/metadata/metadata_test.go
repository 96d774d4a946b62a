// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"fmt"
	"math"
	"sort"
	"testing"

	. "github.com/onsi/gomega"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// TestSpanIsAsManyNext: a range of a sequence is what as many single values would have been, its bounds and cycles
// included.
func TestSpanIsAsManyNext(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, q := range []metadata.Sequence{
		{Start: 3, Increment: 2, Min: 1, Max: 8, Cycle: true},
		{Start: -1, Increment: -3, Min: -9, Max: 4, Cycle: true},
		{Start: 1, Increment: 1, Min: 1, Max: 20},
		{Start: math.MaxInt64 - 5, Increment: 2, Min: math.MinInt64, Max: math.MaxInt64},
	} {
		for size := int64(1); size < 30; size++ {
			first, end, cycles, ok := q.Span(0, false, size)
			var values []int64
			last, began, all := int64(0), uint64(0), true
			for range size {
				next, cycled, given := q.Next(last, len(values) > 0)
				if !given {
					all = false
					break
				}
				if cycled {
					began++
				}
				values, last = append(values, next), next
			}
			g.Expect(ok).To(Equal(all), "%+v, %d values", q, size)
			if ok {
				g.Expect([]int64{first, end, int64(cycles)}).
					To(Equal([]int64{values[0], last, int64(began)}), "%+v, %d values", q, size)
			}
		}
	}
}

// TestNamesOfTemporaryTables: the table that was made last has the name, and when it goes the one that it hid has it
// again; names of objects do not tell upper from lower case.
func TestNamesOfTemporaryTables(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := metadata.Empty()
	outer, inner := &metadata.Object{ID: -1, Schema: 1, Name: "#t"}, &metadata.Object{ID: -2, Schema: 1, Name: "#T"}
	c.Add(outer)
	c.Add(inner)
	g.Expect(c.Find("DBO", "#t")).To(BeIdenticalTo(inner))
	c.Remove(inner)
	g.Expect(c.Find("dbo", "#T")).To(BeIdenticalTo(outer))
	c.Remove(outer)
	g.Expect(c.Find("dbo", "#t")).To(BeNil())
	g.Expect(c.Find("nosuch", "#t")).To(BeNil())
}

// TestChildren: constraints are with their table until they are removed, and belong to it.
func TestChildren(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := metadata.Empty()
	table := &metadata.Object{ID: 1, Schema: 1, Kind: metadata.KindTable, Name: "t", Table: &metadata.Table{}}
	check, key := &metadata.Object{
		ID:     2,
		Schema: 1,
		Kind:   metadata.KindCheck,
		Name:   "c",
		Parent: 1,
	}, &metadata.Object{
		ID:     3,
		Schema: 1,
		Kind:   metadata.KindPrimaryKey,
		Name:   "k",
		Parent: 1,
	}
	for _, o := range []*metadata.Object{table, check, key} {
		c.Add(o)
	}
	g.Expect(c.Children(1)).To(Equal([]*metadata.Object{check, key}))
	g.Expect(c.Owner(check)).To(BeIdenticalTo(table))
	g.Expect(c.Owner(table)).To(BeIdenticalTo(table))
	c.Remove(check)
	g.Expect(c.Children(1)).To(Equal([]*metadata.Object{key}))
}

// TestPartitionNumbers: a value is in the partition behind as many boundary values as are below it, or, of RANGE RIGHT,
// not above it; NULL is in the first one, or behind a boundary of NULL where that belongs to the right.
func TestPartitionNumbers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	conn, err := sqlite.OpenConn(":memory:")
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	for _, bounds := range [][]int{nil, {5}, {-3, 0, 5, 9}} {
		for _, null := range []bool{false, true} {
			for _, right := range []bool{false, true} {
				f := &metadata.PartitionFunction{Type: sqltype.IntType, Right: right}
				if null {
					f.Values = append(f.Values, "NULL")
				}
				for _, b := range bounds {
					f.Values = append(f.Values, fmt.Sprint(b))
				}
				before := len(f.Values) - len(bounds)
				for v := -5; v <= 10; v++ {
					below := sort.Search(len(bounds), func(i int) bool { return bounds[i] >= v && (!right || bounds[i] > v) })
					g.Expect(number(t, conn, f, fmt.Sprint(v))).To(Equal(before+below+1), "%d of %v, right %t", v, f.Values, right)
				}
				want := 1
				if null && right {
					want = 2
				}
				g.Expect(number(t, conn, f, "NULL")).To(Equal(want), "NULL of %v, right %t", f.Values, right)
			}
		}
	}
}

func number(t *testing.T, conn *sqlite.Conn, f *metadata.PartitionFunction, value string) int {
	t.Helper()
	got, err := sqlitex.ResultInt(conn.Prep("SELECT " + f.Number("v") + " FROM (SELECT " + value + " AS v)"))
	if err != nil {
		t.Fatal(err)
	}
	return got
}
