// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// SavePlacement stores a file, file group, partition function or partition scheme.
func (d *SchemaChange) SavePlacement(o *metadata.Object) error {
	o.Modified = time.Now().UTC()
	d.sch.Add(o)
	doc, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return d.Exec("INSERT OR REPLACE INTO __objects VALUES (?, ?)", int64(o.ID), string(doc))
}

// RemovePlacement forgets one.
func (d *SchemaChange) RemovePlacement(o *metadata.Object) error {
	d.sch.Remove(o)
	return d.Exec("DELETE FROM __objects WHERE id = ?", int64(o.ID))
}

// catalogue is what a database itself has of its objects and files by the last commit, whoever may use it now; nil
// where it cannot be read, as when it is offline or being restored.
func (db *Database) catalogue(ctx context.Context) *metadata.Catalog {
	st := db.Storage()
	if st == nil || db.State() != Online {
		return nil
	}
	r, err := st.Reader(ctx)
	if err != nil {
		return nil
	}
	defer r.Release()
	leave, err := r.Use(ctx)
	if err != nil {
		return nil
	}
	defer leave()
	version, err := metadata.Version(r.Conn())
	if err != nil {
		return nil
	}
	if sch := db.schemas.get(version); sch != nil {
		return sch
	}
	sch, err := metadata.Load(r.Conn(), version)
	if err != nil {
		return nil
	}
	db.schemas.put(sch)
	return sch
}

// Files are all files of a database, by file_id: the first two as master has them, the others as the database itself
// has them, or as master last saw them where it cannot be read. Where a file is, is each server's own.
func (db *Database) Files(ctx context.Context) []metadata.File {
	known := db.Info().Files
	if db.System() {
		return known
	}
	sch := db.catalogue(ctx)
	if sch == nil {
		return known
	}
	var out []metadata.File
	for _, f := range known {
		if f.ID <= 2 {
			out = append(out, f)
		}
	}
	for _, o := range sch.Placed(metadata.KindFile) {
		f := *o.File
		for _, k := range known {
			if k.GUID == f.GUID && k.ID == f.ID {
				f.PhysicalName = k.PhysicalName
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b metadata.File) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// noteFiles has master know a database's files as they are now, for when the database cannot be read.
func (db *Database) noteFiles(ctx context.Context) error {
	return db.Update(ctx, func(i *DatabaseInfo) { i.Files = db.Files(ctx) })
}

// preparePlacements makes the file groups and files that CREATE DATABASE declares, before the database is known.
func (inst *Instance) preparePlacements(ctx context.Context, db *Database, list []*metadata.Object) error {
	if len(list) == 0 {
		return nil
	}
	return inTransaction(ctx, db.storage, func(tx *storage.Tx) error {
		tx.ChangesMetadata()
		d := &SchemaChange{ctx: ctx, space: db.id, db: db, sch: metadata.Empty(), conn: tx.Conn(), tx: tx}
		for _, o := range list {
			if err := d.SavePlacement(o); err != nil {
				return fmt.Errorf("record the files of database %q: %w", db.Name(), err)
			}
		}
		return nil
	})
}

// FileGroupNames are the names of the database's file groups by number; nil where it cannot be read.
func (db *Database) FileGroupNames(ctx context.Context) map[int32]string {
	sch := db.catalogue(ctx)
	if sch == nil {
		return nil
	}
	out := map[int32]string{}
	for _, o := range sch.FileGroups() {
		out[o.FileGroup.ID] = o.Name
	}
	return out
}

// IsReadOnly tells of the database's files whether they are read-only: those of a read-only file group, and the data
// files of a read-only database.
func (db *Database) IsReadOnly(ctx context.Context) func(f metadata.File) bool {
	groups := map[int32]bool{}
	if sch := db.catalogue(ctx); sch != nil {
		for _, g := range sch.FileGroups() {
			groups[g.FileGroup.ID] = g.FileGroup.ReadOnly
		}
	}
	readOnly := db.Info().ReadOnly
	return func(f metadata.File) bool { return groups[f.DataSpace()] || readOnly && !f.Log }
}
