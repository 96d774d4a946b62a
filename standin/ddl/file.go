// SPDX-License-Identifier: Apache-2.0

package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// addFiles is ADD FILE and ADD LOG FILE.
func addFiles(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a syntax.DBAddFile,
	_ tds.Writer,
) error {
	if db.ID() == 1 || db.ID() == 3 {
		return sqlerr.New(5013, 1)
	}
	var added []metadata.File
	for _, f := range a.Files {
		file, err := engine.NewFile(f, a.Log, 0)
		if err == nil {
			err = engine.FileNamed(file)
		}
		if err != nil {
			return err
		}
		file.GUID = uuid.New()
		added = append(added, file)
	}
	if err := engine.DifferentNames(added, 9); err != nil {
		return err
	}
	if err := s.Instance().CheckPaths(added); err != nil {
		return err
	}
	if db.System() {
		return addSystemFiles(ctx, s, db, a, added)
	}
	if err := fileNamesFree(ctx, s, db, added); err != nil {
		return err
	}
	return s.ChangeFiles(ctx, db, func(d *engine.SchemaChange) error {
		if err := differentFiles(d, 4, added...); err != nil {
			return err // another session was faster
		}
		group := d.Catalog().FileGroupByID(metadata.PrimaryGroup)
		if a.FileGroup != "" {
			group = d.Catalog().FileGroup(a.FileGroup)
		}
		switch {
		case group == nil:
			return sqlerr.New(1921, 4, "filegroup", a.FileGroup)
		case group.FileGroup.ReadOnly:
			return sqlerr.New(5048, 1, group.Name)
		}
		next := int32(3)
		for _, o := range d.Catalog().Placed(metadata.KindFile) {
			next = max(next, o.File.ID+1)
		}
		for _, f := range added {
			f.ID = next
			if !a.Log && group.FileGroup.ID != metadata.PrimaryGroup {
				f.Group = group.FileGroup.ID
			}
			if err := d.SavePlacement(metadata.NewFile(f)); err != nil {
				return err
			}
			next++
		}
		return nil
	})
}

// differentFiles is 1828 where a file that is about to be has the logical name of another one: of a new file's, or of
// one that the database has and that is not changed by it.
func differentFiles(d *engine.SchemaChange, state uint8, files ...metadata.File) error {
	for _, f := range d.Database().Info().Files {
		if f.ID <= 2 {
			files = append(files, f)
		}
	}
	changed := len(files)
	for _, o := range d.Catalog().Placed(metadata.KindFile) {
		if !slices.ContainsFunc(files[:changed], func(f metadata.File) bool { return f.ID == o.File.ID }) {
			files = append(files, *o.File)
		}
	}
	return engine.DifferentNames(files, state)
}

// fileNamesFree refuses logical names that the database has and paths that any database has.
func fileNamesFree(ctx context.Context, s *engine.Session, db *engine.Database, added []metadata.File) error {
	if err := engine.DifferentNames(append(db.Files(ctx), added...), 4); err != nil {
		return err
	}
	for _, other := range s.Instance().Databases() {
		for _, f := range other.Files(ctx) {
			for _, mine := range added {
				if f.PhysicalName == mine.PhysicalName {
					return sqlerr.New(5170, 1, mine.PhysicalName)
				}
			}
		}
	}
	return nil
}

// addSystemFiles adds files to tempdb and msdb, which master has in its list: tempdb is made anew at every start.
func addSystemFiles(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a syntax.DBAddFile,
	added []metadata.File,
) error {
	if a.FileGroup != "" && !strings.EqualFold(a.FileGroup, "PRIMARY") {
		return sqlerr.New(1921, 4, "filegroup", a.FileGroup)
	}
	if err := fileNamesFree(ctx, s, db, added); err != nil {
		return err
	}
	next := int32(3)
	for _, f := range db.Info().Files {
		next = max(next, f.ID+1)
	}
	for i := range added {
		added[i].ID = next + int32(i)
	}
	return db.Update(ctx, func(i *engine.DatabaseInfo) { i.Files = append(i.Files, added...) })
}

// modifyFile is MODIFY FILE: of each file one or more properties.
func modifyFile(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a syntax.DBModifyFile,
	w tds.Writer,
) error {
	f := a.File
	old, err := fileToModify(ctx, s, db, f)
	if err == nil {
		err = s.Instance().Announce(ctx, engine.DatabaseEvent{Kind: engine.DatabaseAltering, Database: db, Option: "FILE"})
	}
	if err != nil {
		return err
	}
	defer db.LimitLog()
	if db.System() || old.ID <= 2 {
		return db.Update(ctx, func(i *engine.DatabaseInfo) {
			for n := range i.Files {
				if i.Files[n].ID == old.ID {
					applySpec(&i.Files[n], f, db.ID() == 2)
				}
			}
		})
	}
	// Where it is, is this server's own.
	path := f.FileName
	f.FileName = nil
	err = s.ChangeFiles(ctx, db, func(d *engine.SchemaChange) error {
		o := d.Catalog().Placement(metadata.KindFile, old.ID)
		if o == nil {
			return sqlerr.New(5041, 1, old.LogicalName)
		}
		if g := d.Catalog().FileGroupByID(o.File.DataSpace()); g != nil && g.FileGroup.ReadOnly {
			return sqlerr.New(5048, 3, g.Name)
		}
		applySpec(o.File, f, false)
		o.Name = o.File.LogicalName
		if err := differentFiles(d, 3, *o.File); err != nil {
			return err // another session was faster
		}
		return d.SavePlacement(o)
	})
	if err != nil || path == nil {
		return err
	}
	if err := db.Update(ctx, func(i *engine.DatabaseInfo) {
		for n := range i.Files {
			if i.Files[n].GUID == old.GUID && i.Files[n].ID == old.ID {
				i.Files[n].PhysicalName = *path
			}
		}
	}); err != nil {
		return err
	}
	return w.Message(sqlerr.New(5018, 1, old.LogicalName))
}

// applySpec is what MODIFY FILE makes of a file. One of tempdb stays where it is until the next start.
func applySpec(f *metadata.File, spec syntax.FileSpec, keeps bool) {
	if keeps && f.Effective == "" {
		f.Effective = f.PhysicalName
	}
	_ = engine.DeclareFile(f, spec) // what it can refuse was refused before
	if spec.NewName != nil {
		f.LogicalName = *spec.NewName
	}
}

// fileToModify finds the file that MODIFY FILE names, and refuses what it cannot be made.
func fileToModify(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	f syntax.FileSpec,
) (metadata.File, error) {
	if f.LogicalName == "" {
		return metadata.File{}, sqlerr.New(5036, 1)
	}
	files := db.Files(ctx)
	for _, old := range files {
		if !strings.EqualFold(old.LogicalName, f.LogicalName) {
			continue
		}
		changed := old
		switch {
		case f.Offline:
			return old, sqlerr.Unsupported("MODIFY FILE ... OFFLINE")
		case f.FileName != nil && old.ID <= 2 && db.ID() != 2:
			return old, sqlerr.Unsupported("Moving the first data file or log file of a database other than tempdb")
		case f.NewName == nil && f.FileName == nil && f.Size == nil && f.MaxSize == nil && f.Growth == nil:
			return old, sqlerr.New(5038, 1, f.LogicalName)
		case f.Size != nil && f.Size.KB/8 <= db.Pages(old):
			return old, sqlerr.New(5039, 1)
		}
		if f.NewName != nil && !strings.EqualFold(*f.NewName, f.LogicalName) {
			if err := engine.DifferentNames(append(files, metadata.File{LogicalName: *f.NewName}), 3); err != nil {
				return old, err
			}
		}
		if engine.DeclareFile(&changed, f) != nil {
			return old, sqlerr.New(5040, 1, db.Name(), old.ID, changed.SizePages*8, changed.MaxSizePages*8)
		}
		return old, nil
	}
	return metadata.File{}, sqlerr.New(5041, 1, f.LogicalName)
}

// removeFile is REMOVE FILE, which an empty file alone can be.
func removeFile(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a syntax.DBRemoveFile,
	w tds.Writer,
) error {
	for _, f := range db.Files(ctx) {
		if !strings.EqualFold(f.LogicalName, a.LogicalName) {
			continue
		}
		if f.ID <= 2 {
			return sqlerr.New(5020, 1)
		}
		var err error
		if db.System() {
			err = db.Update(ctx, func(i *engine.DatabaseInfo) {
				for n := range i.Files {
					if i.Files[n].ID == f.ID {
						i.Files = append(i.Files[:n], i.Files[n+1:]...)
						return
					}
				}
			})
		} else {
			err = s.ChangeFiles(ctx, db, func(d *engine.SchemaChange) error { return removeEmpty(d, f) })
		}
		if err != nil {
			return err
		}
		return w.Message(sqlerr.New(5044, 1, "file", f.LogicalName))
	}
	return sqlerr.New(5009, 9)
}

func removeEmpty(d *engine.SchemaChange, f metadata.File) error {
	o := d.Catalog().Placement(metadata.KindFile, f.ID)
	if o == nil {
		return sqlerr.New(5009, 9)
	}
	if g := d.Catalog().FileGroupByID(f.DataSpace()); g != nil {
		others := 0
		for _, other := range d.Catalog().Placed(metadata.KindFile) {
			if other.File.ID != f.ID && other.File.DataSpace() == f.DataSpace() {
				others++
			}
		}
		switch {
		case g.FileGroup.ReadOnly:
			return sqlerr.New(5055, 3, f.LogicalName)
		case g.FileGroup.Default && others == 0 && g.FileGroup.ID != metadata.PrimaryGroup:
			return sqlerr.New(5031, 1, f.LogicalName)
		}
		holds, err := d.HoldsRows(f)
		if err != nil {
			return err
		}
		if holds {
			return sqlerr.New(5042, 1, "file", f.LogicalName)
		}
	}
	return d.RemovePlacement(o)
}
