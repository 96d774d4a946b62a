// SPDX-License-Identifier: Apache-2.0

package ddl

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// maxFileGroups is the number of file groups that a database may have
// (docs/t-sql/statements/alter-database-transact-sql-file-and-filegroup-options.md, Remarks).
const maxFileGroups = 32767

// addFileGroup is ADD FILEGROUP.
func addFileGroup(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a syntax.DBAddFileGroup,
	_ tds.Writer,
) error {
	name := a.Name
	if db.ID() <= 3 {
		return sqlerr.New(1826, 1, db.Name())
	}
	if err := engine.GroupName(name); err != nil {
		return err
	}
	return s.ChangeFiles(ctx, db, func(d *engine.SchemaChange) error {
		if d.Catalog().HasDataSpace(name) {
			return sqlerr.New(5035, 1, name)
		}
		groups := d.Catalog().FileGroups()
		if len(groups) == maxFileGroups {
			return sqlerr.Unsupported("More than 32,767 file groups")
		}
		id := groups[len(groups)-1].FileGroup.ID + 1
		return d.SavePlacement(metadata.NewFileGroup(id, name, metadata.FileGroup{GUID: uuid.New()}))
	})
}

// removeFileGroup is REMOVE FILEGROUP, which is refused while the file group has files or something is placed in it.
func removeFileGroup(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a syntax.DBRemoveFileGroup,
	w tds.Writer,
) error {
	name := a.Name
	err := s.ChangeFiles(ctx, db, func(d *engine.SchemaChange) error {
		g := d.Catalog().FileGroup(name)
		if g == nil {
			return sqlerr.New(5014, 14, "filegroup", name, db.Name())
		}
		id := g.FileGroup.ID
		if d.Catalog().HasFiles(id) {
			return sqlerr.New(5042, 7, "filegroup", g.Name)
		}
		if d.Catalog().UsesGroup(id) {
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
func modifyFileGroup(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a syntax.DBModifyFileGroup,
	w tds.Writer,
) error {
	if a.Property == "READ_ONLY" || a.Property == "READ_WRITE" {
		if names := db.FileGroupNames(ctx); names != nil && !named(names, a.Name) {
			return sqlerr.New(5014, 2, "filegroup", a.Name, db.Name()) // for which nobody has to leave
		}
		if err := s.Terminate(ctx, db, a.Until); err != nil {
			return err
		}
	}
	err := s.ChangeFiles(ctx, db, func(d *engine.SchemaChange) error {
		g := d.Catalog().FileGroup(a.Name)
		if g == nil {
			return sqlerr.New(5014, 2, "filegroup", a.Name, db.Name())
		}
		if a.NewName != "" {
			return renameFileGroup(d, g, a.NewName)
		}
		return setFileGroup(d, g, a.Property)
	})
	switch {
	case err != nil:
		return err
	case a.NewName != "":
		return w.Message(sqlerr.New(5021, 1, "filegroup", a.NewName))
	}
	return w.Message(sqlerr.New(5046, 1, "filegroup", a.Property))
}

func renameFileGroup(d *engine.SchemaChange, g *metadata.Object, name string) error {
	if g.FileGroup.ID == metadata.PrimaryGroup {
		return sqlerr.New(5012, 1)
	}
	if err := engine.GroupName(name); err != nil {
		return err
	}
	if !strings.EqualFold(name, g.Name) && d.Catalog().HasDataSpace(name) {
		return sqlerr.New(5035, 2, name)
	}
	g.Name = name
	return d.SavePlacement(g)
}

func setFileGroup(d *engine.SchemaChange, g *metadata.Object, property string) error {
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
	case !d.Catalog().HasFiles(group.ID):
		return sqlerr.New(5050, 1, g.Name)
	case has[property]:
		return sqlerr.New(5045, state[property], "filegroup", property)
	}
	switch property {
	case "READ_ONLY", "READ_WRITE":
		group.ReadOnly = property == "READ_ONLY"
	case "DEFAULT":
		former := d.Catalog().DefaultGroup()
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

// named tells whether a file group has a name.
func named(groups map[int32]string, name string) bool {
	for _, g := range groups {
		if strings.EqualFold(g, name) {
			return true
		}
	}
	return false
}
