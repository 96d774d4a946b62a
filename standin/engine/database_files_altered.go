// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// addFiles is ADD FILE and ADD LOG FILE.
func (s *Session) addFiles(ctx context.Context, db *Database, a syntax.DBAddFile) error {
	if db.ID() == 1 || db.ID() == 3 {
		return sqlerr.New(5013, 1)
	}
	var added []metadata.File
	for _, f := range a.Files {
		file, err := newFile(f, a.Log, 0)
		if err == nil {
			err = fileNamed(file)
		}
		if err != nil {
			return err
		}
		file.GUID = uuid.New()
		added = append(added, file)
	}
	if err := differentNames(added, 9); err != nil {
		return err
	}
	if err := s.inst.CheckPaths(added); err != nil {
		return err
	}
	if db.System() {
		return s.addSystemFiles(ctx, db, a, added)
	}
	if err := s.fileNamesFree(ctx, db, added); err != nil {
		return err
	}
	return s.changeFiles(ctx, db, func(d *SchemaChange) error {
		if err := d.differentFiles(4, added...); err != nil {
			return err // another session was faster
		}
		group := d.sch.FileGroupByID(metadata.PrimaryGroup)
		if a.FileGroup != "" {
			group = d.sch.FileGroup(a.FileGroup)
		}
		switch {
		case group == nil:
			return sqlerr.New(1921, 4, "filegroup", a.FileGroup)
		case group.FileGroup.ReadOnly:
			return sqlerr.New(5048, 1, group.Name)
		}
		next := int32(3)
		for _, o := range d.sch.Placed(metadata.KindFile) {
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
func (d *SchemaChange) differentFiles(state uint8, files ...metadata.File) error {
	for _, f := range d.db.Info().Files {
		if f.ID <= 2 {
			files = append(files, f)
		}
	}
	changed := len(files)
	for _, o := range d.sch.Placed(metadata.KindFile) {
		if !slices.ContainsFunc(files[:changed], func(f metadata.File) bool { return f.ID == o.File.ID }) {
			files = append(files, *o.File)
		}
	}
	return differentNames(files, state)
}

// fileNamesFree refuses logical names that the database has and paths that any database has.
func (s *Session) fileNamesFree(ctx context.Context, db *Database, added []metadata.File) error {
	if err := differentNames(append(db.Files(ctx), added...), 4); err != nil {
		return err
	}
	for _, other := range s.inst.Databases() {
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
func (s *Session) addSystemFiles(ctx context.Context, db *Database, a syntax.DBAddFile, added []metadata.File) error {
	if a.FileGroup != "" && !strings.EqualFold(a.FileGroup, "PRIMARY") {
		return sqlerr.New(1921, 4, "filegroup", a.FileGroup)
	}
	if err := s.fileNamesFree(ctx, db, added); err != nil {
		return err
	}
	next := int32(3)
	for _, f := range db.Info().Files {
		next = max(next, f.ID+1)
	}
	for i := range added {
		added[i].ID = next + int32(i)
	}
	return db.Update(ctx, func(i *DatabaseInfo) { i.Files = append(i.Files, added...) })
}

// changeFiles runs f on the catalogue of a database, and has master know the files afterwards.
func (s *Session) changeFiles(ctx context.Context, db *Database, f func(d *SchemaChange) error) error {
	if db.Info().ReadOnly {
		return sqlerr.New(5004, 1)
	}
	if err := s.ChangeSchema(ctx, ObjectName{Database: db.Name()}, f); err != nil {
		return err
	}
	return db.noteFiles(ctx)
}

// modifyFile is MODIFY FILE: of each file one or more properties.
func (s *Session) modifyFile(ctx context.Context, db *Database, f syntax.FileSpec, w tds.Writer) error {
	old, err := s.fileToModify(ctx, db, f)
	if err == nil {
		err = s.inst.Announce(ctx, DatabaseEvent{Kind: DatabaseAltering, Database: db, Option: "FILE"})
	}
	if err != nil {
		return err
	}
	defer func() { limitLog(db.Storage(), db.Info().Files) }()
	if db.System() || old.ID <= 2 {
		return db.Update(ctx, func(i *DatabaseInfo) {
			for n := range i.Files {
				if i.Files[n].ID == old.ID {
					modifyFile(&i.Files[n], f, db.ID() == 2)
				}
			}
		})
	}
	// Where it is, is this server's own.
	path := f.FileName
	f.FileName = nil
	err = s.changeFiles(ctx, db, func(d *SchemaChange) error {
		o := d.sch.Placement(metadata.KindFile, old.ID)
		if o == nil {
			return sqlerr.New(5041, 1, old.LogicalName)
		}
		if g := d.sch.FileGroupByID(o.File.DataSpace()); g != nil && g.FileGroup.ReadOnly {
			return sqlerr.New(5048, 3, g.Name)
		}
		modifyFile(o.File, f, false)
		o.Name = o.File.LogicalName
		if err := d.differentFiles(3, *o.File); err != nil {
			return err // another session was faster
		}
		return d.SavePlacement(o)
	})
	if err != nil || path == nil {
		return err
	}
	if err := db.Update(ctx, func(i *DatabaseInfo) {
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

// modifyFile is what MODIFY FILE makes of a file. One of tempdb stays where it is until the next start.
func modifyFile(f *metadata.File, spec syntax.FileSpec, keeps bool) {
	if keeps && f.Effective == "" {
		f.Effective = f.PhysicalName
	}
	_ = declare(f, spec) // what it can refuse was refused before
	if spec.NewName != nil {
		f.LogicalName = *spec.NewName
	}
}

// fileToModify finds the file that MODIFY FILE names, and refuses what it cannot be made.
func (s *Session) fileToModify(ctx context.Context, db *Database, f syntax.FileSpec) (metadata.File, error) {
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
			return old, unsupported("MODIFY FILE ... OFFLINE")
		case f.FileName != nil && old.ID <= 2 && db.ID() != 2:
			return old, unsupported("Moving the first data file or log file of a database other than tempdb")
		case f.NewName == nil && f.FileName == nil && f.Size == nil && f.MaxSize == nil && f.Growth == nil:
			return old, sqlerr.New(5038, 1, f.LogicalName)
		case f.Size != nil && f.Size.KB/8 <= db.Pages(old):
			return old, sqlerr.New(5039, 1)
		}
		if f.NewName != nil && !strings.EqualFold(*f.NewName, f.LogicalName) {
			if err := differentNames(append(files, metadata.File{LogicalName: *f.NewName}), 3); err != nil {
				return old, err
			}
		}
		if declare(&changed, f) != nil {
			return old, sqlerr.New(5040, 1, db.Name(), old.ID, changed.SizePages*8, changed.MaxSizePages*8)
		}
		return old, nil
	}
	return metadata.File{}, sqlerr.New(5041, 1, f.LogicalName)
}

// maxLogPages is the greatest size of a log file, 2 TB
// (docs/sql-server/maximum-capacity-specifications-for-sql-server.md).
const maxLogPages = 268435456

// limitLog holds a database's log to the MAXSIZE of its file.
func limitLog(st *storage.Database, files []metadata.File) {
	if st == nil {
		return
	}
	for _, f := range files {
		if f.Log && f.MaxSizePages > 0 && f.MaxSizePages < maxLogPages {
			st.Log().Limit(f.MaxSizePages * 8192)
			return
		}
	}
}

// removeFile is REMOVE FILE, which an empty file alone can be.
func (s *Session) removeFile(ctx context.Context, db *Database, name string, w tds.Writer) error {
	for _, f := range db.Files(ctx) {
		if !strings.EqualFold(f.LogicalName, name) {
			continue
		}
		if f.ID <= 2 {
			return sqlerr.New(5020, 1)
		}
		var err error
		if db.System() {
			err = db.Update(ctx, func(i *DatabaseInfo) {
				for n := range i.Files {
					if i.Files[n].ID == f.ID {
						i.Files = append(i.Files[:n], i.Files[n+1:]...)
						return
					}
				}
			})
		} else {
			err = s.changeFiles(ctx, db, func(d *SchemaChange) error { return d.removeFile(f) })
		}
		if err != nil {
			return err
		}
		return w.Message(sqlerr.New(5044, 1, "file", f.LogicalName))
	}
	return sqlerr.New(5009, 9)
}

func (d *SchemaChange) removeFile(f metadata.File) error {
	o := d.sch.Placement(metadata.KindFile, f.ID)
	if o == nil {
		return sqlerr.New(5009, 9)
	}
	if g := d.sch.FileGroupByID(f.DataSpace()); g != nil {
		others := 0
		for _, other := range d.sch.Placed(metadata.KindFile) {
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
		holds, err := d.holds(f)
		if err != nil {
			return err
		}
		if holds {
			return sqlerr.New(5042, 1, "file", f.LogicalName)
		}
	}
	return d.RemovePlacement(o)
}

// holds tells whether a data file has a file group's rows. They are taken to be in its first file that was not emptied:
// a database has one store, which knows no files.
func (d *SchemaChange) holds(f metadata.File) (bool, error) {
	if f.Log || f.Emptied || f.DataSpace() == metadata.PrimaryGroup {
		return false, nil
	}
	for _, o := range d.sch.Placed(metadata.KindFile) {
		if o.File.DataSpace() == f.DataSpace() && o.File.ID < f.ID && !o.File.Emptied {
			return false, nil
		}
	}
	return d.populated(f.DataSpace())
}
