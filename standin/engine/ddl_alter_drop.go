// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

func (s *Session) alterTableDrop(ctx context.Context, n *ast.AlterTableDropTableElementStatement, w tds.Writer) error {
	return s.alterTable(ctx, n, n.SchemaObjectName, func(d *SchemaChange, o *metadata.Object) error {
		kind := ""
		for _, el := range n.AlterTableDropTableElements {
			var err error
			// COLUMN and CONSTRAINT hold for the names after them, too: DROP COLUMN a, b.
			if t := strings.ToLower(el.TableElementType); kind == "" || t != "notspecified" && t != "" {
				kind = t
			}
			if kind == "column" {
				err = d.dropColumn(o, el.Name.Value, el.IsIfExists)
			} else {
				err = d.dropConstraint(o, el.Name.Value, el.IsIfExists, keyMovedTo(el.DropClusteredConstraintOptions))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *SchemaChange) dropColumn(o *metadata.Object, name string, ifExists bool) error {
	c := o.Table.Column(name)
	if c == nil {
		if ifExists {
			return nil
		}
		return sqlerr.New(4924, 1, "ALTER TABLE DROP COLUMN", name, o.Name)
	}
	if len(o.Table.Columns) == 1 {
		return sqlerr.New(4923, 1, name, o.Name)
	}
	if err := d.partitions(o, c); err != nil {
		return err
	}
	for _, i := range o.Table.Indexes {
		what := "index"
		if i.Constraint != 0 {
			what = "object"
		}
		if slices.Contains(i.Included, c.ID) ||
			slices.ContainsFunc(i.Keys, func(k metadata.Key) bool { return k.Column == c.ID }) {
			return sqlerr.New(5074, 1, what, i.Name, "column", name)
		}
	}
	if err := o.Table.StatisticsOn(c); err != nil {
		return err
	}
	for _, child := range d.sch.Children(o.ID) {
		used := child.Column == c.ID && child.Kind != metadata.KindPrimaryKey && child.Kind != metadata.KindUnique
		if child.ForeignKey != nil {
			for _, id := range child.ForeignKey.Columns {
				used = used || id == c.ID
			}
		}
		checked, err := d.checks(o, child, c)
		if err != nil {
			return err
		}
		if used || checked {
			return sqlerr.New(5074, 1, "object", child.Name, "column", name)
		}
	}
	if err := d.unread(o, c); err != nil {
		return err
	}
	if c.Persisted {
		if err := d.releasePersisted(o, c); err != nil {
			return err
		}
	}
	if c.Computed == "" {
		if err := d.run("ALTER TABLE " + o.StorageName() + " DROP COLUMN " + metadata.ColumnName(c.ID)); err != nil {
			return err
		}
	}
	for i, other := range o.Table.Columns {
		if other == c {
			o.Table.Columns = append(append([]*metadata.Column(nil), o.Table.Columns[:i]...), o.Table.Columns[i+1:]...)
			break
		}
	}
	return nil
}

func (d *SchemaChange) dropConstraint(
	o *metadata.Object,
	name string,
	ifExists bool,
	to *ast.FileGroupOrPartitionScheme,
) error {
	var con *metadata.Object
	for _, child := range d.sch.Children(o.ID) {
		if strings.EqualFold(child.Name, name) {
			con = child
		}
	}
	if con == nil {
		if ifExists {
			return nil
		}
		return sqlerr.New(3728, 1, name)
	}
	switch con.Kind {
	case metadata.KindDefault:
		for _, c := range o.Table.Columns {
			if c.Default == con.ID {
				c.Default = 0
			}
		}
	case metadata.KindCheck, metadata.KindForeignKey:
		if err := d.release(con); err != nil {
			return err
		}
	default:
		if err := d.dropKey(o, con, to); err != nil {
			return err
		}
	}
	return d.Remove(con)
}

func (d *SchemaChange) dropKey(o, con *metadata.Object, to *ast.FileGroupOrPartitionScheme) error {
	for at, i := range o.Table.Indexes {
		if i.Constraint != con.ID {
			continue
		}
		for _, fk := range d.sch.Objects {
			if fk.ForeignKey != nil && fk.ForeignKey.Referenced == o.ID && fk.ForeignKey.RefIndex == i.ID {
				return sqlerr.New(3725, 0, con.Name, o.Name, fk.Name)
			}
		}
		if err := d.moveHeap(o, i, to); err != nil {
			return err
		}
		if i.PrimaryKey && o.Table.RowidColumn != 0 {
			if err := d.freeRowid(o); err != nil {
				return err
			}
		} else if err := d.dropIndex(o, i); err != nil {
			return err
		}
		o.Table.Indexes = append(append([]*metadata.Index(nil), o.Table.Indexes[:at]...), o.Table.Indexes[at+1:]...)
		return nil
	}
	return nil
}

// freeRowid gives a table whose primary key was SQLite's row number a hidden one instead, so that the column may
// repeat.
func (d *SchemaChange) freeRowid(o *metadata.Object) error {
	var columns, names []string
	for _, c := range o.Table.Columns {
		if c.Computed == "" {
			columns, names = append(columns, columnDDL(c)), append(names, metadata.ColumnName(c.ID))
		}
	}
	constraints := []*metadata.Object{}
	for _, x := range d.sch.Objects {
		if x.Kind == metadata.KindCheck && x.Parent == o.ID && !x.Disabled ||
			x.ForeignKey != nil && (x.Parent == o.ID || x.ForeignKey.Referenced == o.ID) && !x.Disabled {
			constraints = append(constraints, x)
			if err := d.release(x); err != nil {
				return err
			}
		}
	}
	name := o.StorageName()
	list := strings.Join(names, ", ")
	for _, i := range o.Table.Indexes {
		if err := d.dropIndex(o, i); err != nil {
			return err
		}
	}
	err := d.run("CREATE TABLE " + name + "_new (__rowid INTEGER PRIMARY KEY, " + strings.Join(columns, ", ") + "); " +
		"INSERT INTO " + name + "_new (" + list + ") SELECT " + list + " FROM " + name + " ORDER BY rowid; DROP TABLE " +
		name +
		"; ALTER TABLE " + name + "_new RENAME TO " + name)
	if err != nil {
		return err
	}
	o.Table.RowidColumn = 0
	for _, i := range o.Table.Indexes {
		if i.PrimaryKey {
			continue
		}
		if err := d.createIndex(o, i); err != nil {
			return err
		}
	}
	for _, c := range o.Table.Columns {
		if err := d.enforcePersisted(o, c, false); err != nil {
			return err
		}
	}
	for _, x := range constraints {
		if x.Kind == metadata.KindCheck {
			err = d.enforceCheck(o, x)
		} else {
			err = d.enforceForeignKey(d.sch.Objects[x.Parent], x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
