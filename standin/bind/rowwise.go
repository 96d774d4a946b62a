// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/metadata"
)

// RowByRow is a change whose rows are found first and then changed one by one. It is what SQLite's own statements
// cannot do: MERGE, an OUTPUT clause that names old values, tables with triggers, and updates after which a unique key
// holds although it would not hold between two of their rows.
type RowByRow struct {
	// Findings find the rows, one for each action.
	Findings []Finding
	// Image are the columns that the table stores, in the order of a row's old and new values.
	Image []*metadata.Column
	// Output is the SELECT that makes a row of the OUTPUT clause, from parameters numbered from RowParameters on: the
	// new values, the old ones, those of the other tables, and the action.
	Output string
	// Sources is the number of values of the other tables.
	Sources int
	// Limit, when set, gives the number of rows that are changed at most.
	Limit string
	// Referenced are columns that foreign keys refer to.
	Referenced map[int32]bool
}

// Finding is one way in which rows are found and changed.
type Finding struct {
	// Action is INSERT, UPDATE or DELETE.
	Action string
	// Query gives the row's number, the values of Set, the old values and those of the other tables. Of an insert that
	// is Direct it is the INSERT itself, which returns the new values.
	Query  string
	Direct bool
	Set    []*metadata.Column
	// Variables get the values that follow those of Set.
	Variables []string
	// Apply is the statement that changes one row.
	Apply string
	// Once refuses rows that are found twice (8672); else the first finding counts.
	Once bool
}

// RowParameters is above the number of parameters that a request can have.
const RowParameters = 2200

// StoredColumns are the columns of a table that are not computed.
func StoredColumns(o *metadata.Object) []*metadata.Column {
	var out []*metadata.Column
	for _, c := range o.Table.Columns {
		if c.Computed == "" {
			out = append(out, c)
		}
	}
	return out
}

func (b *Binder) newRowwise(sch *metadata.Catalog, obj *metadata.Object) *RowByRow {
	r := &RowByRow{Image: StoredColumns(obj), Referenced: map[int32]bool{}}
	for _, o := range sch.Objects {
		if o.ForeignKey != nil && o.ForeignKey.Referenced == obj.ID {
			for _, c := range o.ForeignKey.RefColumns {
				r.Referenced[c] = true
			}
		}
	}
	return r
}

func (r *RowByRow) imageNames(prefix string) []string {
	out := make([]string, len(r.Image))
	for i, c := range r.Image {
		out[i] = prefix + metadata.ColumnName(c.ID)
	}
	return out
}

// add completes a find: its statement for one row.
func (r *RowByRow) add(f Finding, obj *metadata.Object) {
	table := "main." + obj.StorageName()
	returning := " RETURNING " + strings.Join(r.imageNames(""), ", ")
	switch f.Action {
	case "DELETE":
		f.Apply = "DELETE FROM " + table + " WHERE rowid = ?1"
	case "UPDATE":
		sets := make([]string, len(f.Set))
		for i, c := range f.Set {
			sets[i] = fmt.Sprintf("%s = ?%d", metadata.ColumnName(c.ID), i+2)
		}
		f.Apply = "UPDATE " + table + " SET " + strings.Join(sets, ", ") + " WHERE rowid = ?1" + returning
	case "INSERT":
		names, values := make([]string, len(f.Set)), make([]string, len(f.Set))
		for i, c := range f.Set {
			names[i], values[i] = metadata.ColumnName(c.ID), fmt.Sprintf("?%d", i+2)
		}
		f.Apply = "INSERT INTO " + table + " (" + strings.Join(
			names,
			", ",
		) + ") VALUES (" + strings.Join(
			values,
			", ",
		) + ")" + returning
	}
	r.Findings = append(r.Findings, f)
}

// IsCollision tells whether an error is that of a unique key that would hold two rows alike.
func IsCollision(err error) bool {
	switch sqlite.ErrCode(err) {
	case sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID:
		return true
	}
	return false
}
