// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"slices"
	"strings"
	"time"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Table is what a table adds to an object.
type Table struct {
	Columns []*Column `json:"columns"`
	Indexes []*Index  `json:"indexes,omitempty"`
	// Statistics are those of CREATE STATISTICS.
	Statistics []*Statistic `json:"statistics,omitempty"`
	// NextColumn and NextIndex are the next free column_id and nonclustered index_id.
	NextColumn int32 `json:"nextColumn"`
	NextIndex  int32 `json:"nextIndex"`
	// RowidColumn is the column that is SQLite's row number, 0 when a hidden one is.
	RowidColumn int32 `json:"rowidColumn,omitempty"`
	// Compression is sys.partitions.data_compression of the heap: 0 none, 1 row, 2 page.
	Compression int  `json:"compression,omitempty"`
	Replicated  bool `json:"replicated,omitempty"`
	// AnsiNullsOff tells that the table was made under ANSI_NULLS OFF.
	AnsiNullsOff bool `json:"ansiNullsOff,omitempty"`
	// LockEscalation is sys.tables.lock_escalation: 0 table, 1 disabled, 2 automatic.
	LockEscalation int `json:"lockEscalation,omitempty"`
	// HeapLocks are those of the table where it has no clustered index.
	HeapLocks IndexLocks `json:"heapLocks,omitzero"`
	// OutOfRow, BulkLock and TextInRow are options of sp_tableoption.
	OutOfRow  bool `json:"outOfRow,omitempty"`
	BulkLock  bool `json:"bulkLock,omitempty"`
	TextInRow int  `json:"textInRow,omitempty"`
	// Place is where the heap or the clustered index is, TextSpace where large values are when TEXTIMAGE_ON says so.
	Place     Place `json:"place,omitzero"`
	TextSpace int32 `json:"textSpace,omitempty"`
}

// Column is a column of a table.
type Column struct {
	ID        int32        `json:"id"`
	Name      string       `json:"name"`
	Type      sqltype.Type `json:"type"`
	Nullable  bool         `json:"nullable,omitempty"`
	Collation string       `json:"collation,omitempty"`
	Sparse    bool         `json:"sparse,omitempty"`
	Identity  *Identity    `json:"identity,omitempty"`
	// Default is the object_id of its default constraint.
	Default int32 `json:"default,omitempty"`
	// Computed is the text of a computed column.
	Computed  string `json:"computed,omitempty"`
	Persisted bool   `json:"persisted,omitempty"`
	RowGUID   bool   `json:"rowGuid,omitempty"`
	// UserType is the name of the alias type, sysname among them.
	UserType string `json:"userType,omitempty"`
	// UserTypeID is the user_type_id of an alias type that CREATE TYPE made.
	UserTypeID int64 `json:"userTypeID,omitempty"`
	Numeric    bool  `json:"numeric,omitempty"`
}

// Identity is IDENTITY(seed, increment).
type Identity struct {
	Seed              int64 `json:"seed"`
	Increment         int64 `json:"increment"`
	NotForReplication bool  `json:"notForReplication,omitempty"`
}

// Statistic is a statistics object of CREATE STATISTICS: its definition, and when it was brought up to date last. What
// it would tell the optimiser is SQLite's matter.
type Statistic struct {
	// ID is its stats_id, which it shares the numbers of index_id for.
	ID          int32     `json:"id"`
	Name        string    `json:"name"`
	Columns     []int32   `json:"columns"`
	Filter      string    `json:"filter,omitempty"`
	NoRecompute bool      `json:"noRecompute,omitempty"`
	AutoDrop    bool      `json:"autoDrop,omitempty"`
	Updated     time.Time `json:"updated"`
}

// Column finds a column by name; nil when there is none.
func (t *Table) Column(name string) *Column {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

// ColumnByID finds a column by its column_id; nil when there is none.
func (t *Table) ColumnByID(id int32) *Column {
	for _, c := range t.Columns {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// IdentityColumn is the column with IDENTITY; nil when the table has none.
func (t *Table) IdentityColumn() *Column {
	for _, c := range t.Columns {
		if c.Identity != nil {
			return c
		}
	}
	return nil
}

// PrimaryKey is the index of the primary key; nil when the table has none.
func (t *Table) PrimaryKey() *Index {
	for _, i := range t.Indexes {
		if i.PrimaryKey {
			return i
		}
	}
	return nil
}

// Ordinal is the place of a column among a table's, -1 for none.
func (t *Table) Ordinal(id int32) int {
	for i, c := range t.Columns {
		if c.ID == id {
			return i
		}
	}
	return -1
}

// ClusteredIndex is the clustered index; nil when the table is a heap.
func (t *Table) ClusteredIndex() *Index {
	for _, i := range t.Indexes {
		if i.Clustered {
			return i
		}
	}
	return nil
}

// IsClustered tells whether a table has a clustered index.
func (t *Table) IsClustered() bool {
	for _, i := range t.Indexes {
		if i.Clustered {
			return true
		}
	}
	return false
}

// Places are where a table's rows and those of its indexes are, by index_id.
func (t *Table) Places() map[int32]Place {
	out := map[int32]Place{}
	if !t.IsClustered() {
		out[0] = t.Place
	}
	for _, i := range t.Indexes {
		out[i.ID] = i.Place
	}
	return out
}

// Large tells whether a table has columns of large values.
func (t *Table) Large() bool {
	for _, c := range t.Columns {
		switch c.Type.Kind {
		case sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML:
			return true
		}
		if c.Type.Length == sqltype.MaxLength && (c.Computed == "" || c.Persisted) {
			return true
		}
	}
	return false
}

// LOBDataSpace is sys.tables.lob_data_space_id: 0 for a table without large values.
func (t *Table) LOBDataSpace() int32 {
	switch {
	case !t.Large():
		return 0
	case t.TextSpace != 0:
		return t.TextSpace
	}
	return t.Place.DataSpace()
}

// NeedsSetOptions tells whether the table has such an index.
func (t *Table) NeedsSetOptions() bool {
	for _, i := range t.Indexes {
		if t.IndexNeedsSetOptions(i) {
			return true
		}
	}
	return false
}

// IndexNeedsSetOptions tells whether an index has a filter or a computed column, so that rows may be written under some
// options only.
func (t *Table) IndexNeedsSetOptions(i *Index) bool {
	if i.Filter != "" {
		return true
	}
	for _, k := range i.Keys {
		if c := t.ColumnByID(k.Column); c != nil && c.Computed != "" {
			return true
		}
	}
	return false
}

// IgnoresDuplicates tells whether an INSERT leaves out rows whose key is there already instead of failing.
func (t *Table) IgnoresDuplicates() bool {
	for _, i := range t.Indexes {
		if i.IgnoreDup && !i.Disabled {
			return true
		}
	}
	return false
}

// HasStatistics tells whether statistics, those of indexes among them, have a name already.
func (t *Table) HasStatistics(name string) bool {
	return slices.ContainsFunc(t.Indexes, func(i *Index) bool { return strings.EqualFold(i.Name, name) }) ||
		slices.ContainsFunc(t.Statistics, func(st *Statistic) bool { return strings.EqualFold(st.Name, name) })
}

// StatisticsOn refuses a change of a column that statistics of CREATE STATISTICS are of
// (docs/t-sql/statements/alter-table-transact-sql.md, ALTER COLUMN and DROP COLUMN).
func (t *Table) StatisticsOn(c *Column) error {
	for _, st := range t.Statistics {
		if slices.Contains(st.Columns, c.ID) {
			return sqlerr.New(5074, 1, "statistics", st.Name, "column", c.Name)
		}
	}
	return nil
}

// UniqueWithin refuses a unique index whose key has not the column that partitions it (1908).
func (t *Table) UniqueWithin(i *Index) error {
	if !i.Unique || i.Place.Column == 0 || IsKey(i.Keys, i.Place.Column) {
		return nil
	}
	return sqlerr.New(1908, 1, t.ColumnByID(i.Place.Column).Name, i.Name)
}

// HasColumn tells whether a column is in a list.
func HasColumn(list []*Column, c *Column) bool {
	for _, other := range list {
		if other.ID == c.ID {
			return true
		}
	}
	return false
}

// LockEscalations are the values of LOCK_ESCALATION by what they are in sys.tables.
var LockEscalations = []string{"TABLE", "DISABLE", "AUTO"}
