// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
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
	return s.changeFiles(ctx, s.db, func(d *SchemaChange) error {
		o := d.sch.Placement(metadata.KindFile, f.ID)
		if o == nil {
			return sqlerr.New(8985, 1, f.LogicalName, s.db.Name())
		}
		holds, err := d.holds(f)
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

// ShrinkFile lowers a file's declared size to a target in pages, never below what is on disk.
func (s *Session) ShrinkFile(ctx context.Context, db *Database, f metadata.File, target int64) (metadata.File, error) {
	size := max(target, db.pagesOnDisk(f))
	if size >= f.SizePages {
		return f, nil
	}
	f.SizePages = size
	if f.ID > 2 && !db.System() {
		return f, s.changeFiles(ctx, db, func(d *SchemaChange) error {
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
