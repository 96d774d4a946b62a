// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
)

// MoveRows moves the rows of a table that a condition in SQLite's words holds for to a table of the same columns.
// Identities stay as they are, constraints are not judged, and no trigger fires.
func (d *SchemaChange) MoveRows(source, target *metadata.Object, condition string) error {
	from, to := bind.StoredColumns(source), bind.StoredColumns(target)
	var read, written []string
	for i := range from {
		read, written = append(read, metadata.ColumnName(from[i].ID)), append(written, metadata.ColumnName(to[i].ID))
	}
	if st := d.s.inst.conns.of(d.conn); st != nil {
		st.quiet = true
		defer func() { st.quiet = false }()
	}
	before := d.s.target
	defer func() { d.s.target = before }()
	table, where := "main."+source.StorageName(), " WHERE "+condition
	d.s.target = d.target(target, "INSERT")
	err := d.Exec(
		fmt.Sprintf(
			"INSERT INTO main.%s (%s) SELECT %s FROM %s%s",
			target.StorageName(),
			strings.Join(written, ","),
			strings.Join(read, ","),
			table,
			where,
		),
	)
	if err != nil {
		return d.stepError(err)
	}
	d.s.target = d.target(source, "DELETE")
	return d.stepError(d.Exec("DELETE FROM " + table + where))
}
