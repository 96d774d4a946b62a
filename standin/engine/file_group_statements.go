// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// maxFileGroups is the number of file groups that a database may have
// (docs/t-sql/statements/alter-database-transact-sql-file-and-filegroup-options.md, Remarks).
const maxFileGroups = 32767

// groupName refuses the name that ON "default" means.
func groupName(name string) error {
	if strings.EqualFold(name, "DEFAULT") {
		return sqlerr.New(5051, 1)
	}
	return nil
}

// addFileGroup is ADD FILEGROUP.
func (s *Session) addFileGroup(ctx context.Context, db *Database, name string) error {
	if err := systemGroups(db); err != nil {
		return err
	}
	if err := groupName(name); err != nil {
		return err
	}
	return s.changeFiles(ctx, db, func(d *SchemaChange) error {
		if d.sch.HasDataSpace(name) {
			return sqlerr.New(5035, 1, name)
		}
		groups := d.sch.FileGroups()
		if len(groups) == maxFileGroups {
			return unsupported("More than 32,767 file groups")
		}
		id := groups[len(groups)-1].FileGroup.ID + 1
		return d.SavePlacement(metadata.NewFileGroup(id, name, metadata.FileGroup{GUID: uuid.New()}))
	})
}

// removeFileGroup is REMOVE FILEGROUP, which is refused while the file group has files or something is placed in it.
func (s *Session) removeFileGroup(ctx context.Context, db *Database, name string, w tds.Writer) error {
	err := s.changeFiles(ctx, db, func(d *SchemaChange) error {
		g := d.sch.FileGroup(name)
		if g == nil {
			return sqlerr.New(5014, 14, "filegroup", name, db.Name())
		}
		id := g.FileGroup.ID
		if d.sch.HasFiles(id) {
			return sqlerr.New(5042, 7, "filegroup", g.Name)
		}
		if d.sch.UsesGroup(id) {
			return sqlerr.New(5042, 8, "filegroup", g.Name)
		}
		return d.RemovePlacement(g)
	})
	if err != nil {
		return err
	}
	return w.Message(sqlerr.New(5044, 1, "filegroup", name))
}

// modifyFileGroup is MODIFY FILEGROUP.
func (s *Session) modifyFileGroup(ctx context.Context, db *Database, a syntax.DBModifyFileGroup, w tds.Writer) error {
	if a.Property == "READ_ONLY" || a.Property == "READ_WRITE" {
		if sch := db.catalogue(ctx); sch != nil && sch.FileGroup(a.Name) == nil {
			return sqlerr.New(5014, 2, "filegroup", a.Name, db.Name()) // for which nobody has to leave
		}
		if err := s.terminate(ctx, db, a.Until); err != nil {
			return err
		}
	}
	err := s.changeFiles(ctx, db, func(d *SchemaChange) error {
		g := d.sch.FileGroup(a.Name)
		if g == nil {
			return sqlerr.New(5014, 2, "filegroup", a.Name, db.Name())
		}
		if a.NewName != "" {
			return d.renameFileGroup(g, a.NewName)
		}
		return d.setFileGroup(g, a.Property)
	})
	switch {
	case err != nil:
		return err
	case a.NewName != "":
		return w.Message(sqlerr.New(5021, 1, "filegroup", a.NewName))
	}
	return w.Message(sqlerr.New(5046, 1, "filegroup", a.Property))
}

func (d *SchemaChange) renameFileGroup(g *metadata.Object, name string) error {
	if g.FileGroup.ID == metadata.PrimaryGroup {
		return sqlerr.New(5012, 1)
	}
	if err := groupName(name); err != nil {
		return err
	}
	if !strings.EqualFold(name, g.Name) && d.sch.HasDataSpace(name) {
		return sqlerr.New(5035, 2, name)
	}
	g.Name = name
	return d.SavePlacement(g)
}

func (d *SchemaChange) setFileGroup(g *metadata.Object, property string) error {
	group := g.FileGroup
	has := map[string]bool{
		"READ_ONLY":            group.ReadOnly,
		"READ_WRITE":           !group.ReadOnly,
		"DEFAULT":              group.Default,
		"AUTOGROW_ALL_FILES":   group.GrowAll,
		"AUTOGROW_SINGLE_FILE": !group.GrowAll,
	}
	state := map[string]uint8{
		"READ_ONLY":            1,
		"READ_WRITE":           2,
		"DEFAULT":              3,
		"AUTOGROW_ALL_FILES":   3,
		"AUTOGROW_SINGLE_FILE": 4,
	}
	switch {
	case group.ID == metadata.PrimaryGroup && strings.HasPrefix(property, "READ_"):
		return sqlerr.New(5047, 1)
	case !d.sch.HasFiles(group.ID):
		return sqlerr.New(5050, 1, g.Name)
	case has[property]:
		return sqlerr.New(5045, state[property], "filegroup", property)
	}
	switch property {
	case "READ_ONLY", "READ_WRITE":
		group.ReadOnly = property == "READ_ONLY"
	case "DEFAULT":
		former := d.sch.DefaultGroup()
		former.FileGroup.Default = false
		if err := d.SavePlacement(former); err != nil {
			return err
		}
		group.Default = true
	default:
		group.GrowAll = property == "AUTOGROW_ALL_FILES"
	}
	return d.SavePlacement(g)
}

// populated tells whether a file group has rows.
func (d *SchemaChange) populated(group int32) (bool, error) {
	for _, o := range d.sch.Objects {
		if o.Kind != metadata.KindTable {
			continue
		}
		in := o.Table.LOBDataSpace() == group
		for _, p := range o.Table.Places() {
			in = in || p.DataSpace() == group
			scheme, _ := d.sch.SchemeOf(p.DataSpace())
			if scheme == nil || !slices.Contains(scheme.Groups, group) {
				continue
			}
			counts, err := PartitionRows(d.conn, d.sch, o, p)
			if err != nil {
				return false, err
			}
			for number := range counts {
				if scheme.Groups[number-1] == group {
					return true, nil
				}
			}
		}
		if !in {
			continue
		}
		rows := false
		if err := sqlitex.ExecuteTransient(d.conn, "SELECT 1 FROM main."+o.StorageName()+" LIMIT 1", &sqlitex.ExecOptions{
			ResultFunc: func(*sqlite.Stmt) error { rows = true; return nil }}); err != nil || rows {
			return rows, err
		}
	}
	return false, nil
}
