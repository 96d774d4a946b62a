// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// requireRename asks for ALTER on what is renamed, and on the schema of a type
// (docs/relational-databases/system-stored-procedures/sp-rename-transact-sql.md, Permissions).
func (s *Session) requireRename(ctx context.Context, d *SchemaChange, o *metadata.Object) error {
	p := Permission{Name: "ALTER", Database: d.db, Schema: d.sch.SchemaName(o), Object: o.Name, ObjectID: o.ID}
	if o.UserTypeID() != 0 {
		p.Object, p.ObjectID = "", 0
	}
	return s.require(ctx, p)
}

// renameStatistics renames what CREATE STATISTICS made; statistics of an index are renamed with it.
func (d *SchemaChange) renameStatistics(o *metadata.Object, old, name string) error {
	if o.Table == nil {
		return sqlerr.New(15248, 1, "STATISTICS")
	}
	for _, st := range o.Table.Statistics {
		if !strings.EqualFold(st.Name, old) {
			continue
		}
		if o.Table.HasStatistics(name) && !strings.EqualFold(old, name) {
			return sqlerr.New(15335, 1, name, "STATISTICS")
		}
		st.Name = name
		return d.Modify(o)
	}
	return d.renameIndex(o, old, name)
}

// renameType renames a type, and with it what the columns that are of it show.
func (d *SchemaChange) renameType(o *metadata.Object, name string) error {
	stored := metadata.AliasTypePrefix + name
	if d.sch.Named(o.Schema, stored) != nil && !strings.EqualFold(o.Name, stored) {
		return sqlerr.New(15335, 1, name, "USERDATATYPE")
	}
	id := o.UserTypeID()
	renamed := *o
	renamed.Name = stored
	if err := d.Modify(&renamed); err != nil {
		return err
	}
	for _, other := range d.sch.Objects {
		if other.Table == nil {
			continue
		}
		shown := false
		for _, c := range other.Table.Columns {
			if c.UserTypeID == id && id != 0 {
				c.UserType, shown = name, true
			}
		}
		if shown {
			if err := d.Save(other); err != nil {
				return err
			}
		}
	}
	return nil
}
