// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
)

// pagesOnDisk is what a file takes on disk, in pages.
func (db *Database) pagesOnDisk(f metadata.File) int64 {
	path := f.PhysicalName
	if f.Effective != "" {
		path = f.Effective
	}
	return disk.Size(db.inst.onDisk(path)) / 8192
}

// Pages is the size of a file: the declared one, or what is on disk when that is more.
func (db *Database) Pages(f metadata.File) int64 { return max(f.SizePages, db.pagesOnDisk(f)) }

// UsedPages is what a file has in use, in pages: all of a data file that is on disk, and what the log still needs.
func (db *Database) UsedPages(f metadata.File) int64 {
	st := db.Storage()
	if !f.Log || st == nil {
		return db.pagesOnDisk(f)
	}
	return min(db.pagesOnDisk(f), (int64(st.Log().Bytes(st.Log().End())-st.Log().Bytes(st.Log().Oldest()))+8191)/8192)
}

// EmptyFile takes a file of the current database out of use (DBCC SHRINKFILE with EMPTYFILE): what the file had is in
// the others of its file group from now on, and nothing is put there again. 2555: there is no other to take it.
func (s *Session) EmptyFile(ctx context.Context, f metadata.File) error {
	if f.ID <= 2 || s.db.System() {
		return nil
	}
	return s.ChangeFiles(ctx, s.db, func(d *SchemaChange) error {
		o := d.sch.Placement(metadata.KindFile, f.ID)
		if o == nil {
			return sqlerr.New(8985, 1, f.LogicalName, s.db.Name())
		}
		holds, err := d.HoldsRows(f)
		if err != nil {
			return err
		}
		for _, other := range d.sch.Placed(metadata.KindFile) {
			if other.File.ID != f.ID && other.File.DataSpace() == f.DataSpace() && !other.File.Emptied {
				holds = false
			}
		}
		if holds {
			return sqlerr.New(2555, 1, f.LogicalName)
		}
		o.File.Emptied = true
		return d.SavePlacement(o)
	})
}

// LimitLog holds the database's log to the MAXSIZE of its file.
func (db *Database) LimitLog() { limitLog(db.Storage(), db.Info().Files) }

// ShrinkFile lowers a file's declared size to a target in pages, never below what is on disk.
func (s *Session) ShrinkFile(ctx context.Context, db *Database, f metadata.File, target int64) (metadata.File, error) {
	size := max(target, db.pagesOnDisk(f))
	if size >= f.SizePages {
		return f, nil
	}
	f.SizePages = size
	if f.ID > 2 && !db.System() {
		return f, s.ChangeFiles(ctx, db, func(d *SchemaChange) error {
			o := d.sch.Placement(metadata.KindFile, f.ID)
			if o == nil {
				return sqlerr.New(8985, 1, f.LogicalName, db.Name())
			}
			o.File.SizePages = size
			return d.SavePlacement(o)
		})
	}
	return f, db.Update(ctx, func(i *DatabaseInfo) {
		for n := range i.Files {
			if i.Files[n].ID == f.ID {
				i.Files[n].SizePages = size
			}
		}
	})
}

// ChangeFiles runs f on the catalogue of a database, and has master know the files afterwards.
func (s *Session) ChangeFiles(ctx context.Context, db *Database, f func(d *SchemaChange) error) error {
	if db.Info().ReadOnly {
		return sqlerr.New(5004, 1)
	}
	if err := s.ChangeSchema(ctx, bind.ObjectName{Database: db.Name()}, f); err != nil {
		return err
	}
	return db.noteFiles(ctx)
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

// HoldsRows tells whether a data file has a file group's rows. They are taken to be in its first file that was not
// emptied: a database has one store, which knows no files.
func (d *SchemaChange) HoldsRows(f metadata.File) (bool, error) {
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
