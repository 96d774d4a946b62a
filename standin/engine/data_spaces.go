// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/storage"
)

// File groups and files but a database's first two are kept with its objects, in its own catalogue: they are in backups, travel
// with the log and are undone with it. They have no name among objects.
const (
	kindFileGroup = "FG"
	kindFile      = "file"
)

// primaryGroup is the data_space_id of PRIMARY.
const primaryGroup = 1

// FileGroup is what a file group adds to an object (sys.filegroups).
type FileGroup struct {
	ID                         int32
	GUID                       uuid.UUID
	Default, ReadOnly, GrowAll bool
}

// Place is where the rows of a table or an index are: the file group or partition scheme, 0 for PRIMARY, and the column that a
// scheme partitions by.
type Place struct {
	Space  int32 `json:"space,omitempty"`
	Column int32 `json:"column,omitempty"`
}

// space is the place's data_space_id.
func (p Place) space() int32 {
	if p.Space == 0 {
		return primaryGroup
	}
	return p.Space
}

// placement tells whether an object is kept with the placements, not among the objects.
func (o *Object) placement() bool {
	return o.FileGroup != nil || o.File != nil || o.Function != nil || o.Scheme != nil || o.Kind == kindScopedConfiguration
}

// placementRow is the number under which a placement is kept: apart from those of objects, which are positive.
func placementRow(kind string, id int32) int32 {
	return map[string]int32{kindFileGroup: -1_000_000, kindPartitionScheme: -1_000_000, kindFile: -3_000_000, kindPartitionFunction: -4_000_000, kindScopedConfiguration: -5_000_000}[kind] - id
}

// newFileGroup is a file group's placement, which is not saved yet.
func newFileGroup(id int32, name string, g FileGroup) *Object {
	now := time.Now().UTC()
	g.ID = id
	return &Object{ID: placementRow(kindFileGroup, id), Name: name, Kind: kindFileGroup, Created: now, Modified: now, FileGroup: &g}
}

// newFileObject is a file's placement, which is not saved yet.
func newFileObject(f File) *Object {
	now := time.Now().UTC()
	return &Object{ID: placementRow(kindFile, f.ID), Name: f.LogicalName, Kind: kindFile, Created: now, Modified: now, File: &f}
}

// placement finds a placement by its kind and number; nil when there is none.
func (s *schema) placement(kind string, id int32) *Object {
	return s.placements[placementRow(kind, id)]
}

// hasPlacements tells whether anything of a database was ever placed: where nothing was, all is in PRIMARY.
func (s *schema) hasPlacements() bool { return len(s.placements) > 0 }

// placed are the placements of a kind, in the order of their numbers.
func (s *schema) placed(kind string) []*Object {
	var out []*Object
	for _, o := range s.placements {
		if o.Kind == kind {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Object) int { return cmp.Compare(b.ID, a.ID) })
	return out
}

// fileGroups are those of a database, PRIMARY first. One is the default.
func (s *schema) fileGroups() []*Object {
	out := s.placed(kindFileGroup)
	if len(out) == 0 || out[0].FileGroup.ID != primaryGroup {
		out = append([]*Object{newFileGroup(primaryGroup, "PRIMARY", FileGroup{})}, out...)
	}
	other := false
	for _, o := range out[1:] {
		other = other || o.FileGroup.Default
	}
	first := *out[0]
	group := *first.FileGroup
	group.Default = !other
	first.FileGroup = &group
	out[0] = &first
	return out
}

// fileGroup finds a file group by its name; nil when there is none.
func (s *schema) fileGroup(name string) *Object {
	for _, o := range s.fileGroups() {
		if strings.EqualFold(o.Name, name) {
			return o
		}
	}
	return nil
}

// fileGroupOf finds a file group by its data_space_id; nil when there is none.
func (s *schema) fileGroupOf(space int32) *Object {
	for _, o := range s.fileGroups() {
		if o.FileGroup.ID == space {
			return o
		}
	}
	return nil
}

// defaultGroup is the file group for what no statement places.
func (s *schema) defaultGroup() *Object {
	groups := s.fileGroups()
	for _, o := range groups {
		if o.FileGroup.Default {
			return o
		}
	}
	return groups[0]
}

// hasFiles tells whether a file group has any.
func (s *schema) hasFiles(group int32) bool {
	if group == primaryGroup {
		return true
	}
	for _, o := range s.placed(kindFile) {
		if o.File.Group == group {
			return true
		}
	}
	return false
}

// savePlacement stores a placement.
func (d *ddl) savePlacement(o *Object) error {
	o.Modified = time.Now().UTC()
	d.sch.add(o)
	doc, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return d.exec("INSERT OR REPLACE INTO __objects VALUES (?, ?)", int64(o.ID), string(doc))
}

// removePlacement forgets one.
func (d *ddl) removePlacement(o *Object) error {
	d.sch.remove(o)
	return d.exec("DELETE FROM __objects WHERE id = ?", int64(o.ID))
}

// catalogue is what a database itself has of its objects and files by the last commit, whoever may use it now; nil where it cannot be
// read, as when it is offline or being restored.
func (db *Database) catalogue(ctx context.Context) *schema {
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
	version, err := schemaVersion(r.Conn())
	if err != nil {
		return nil
	}
	if sch := db.schemas.get(version); sch != nil {
		return sch
	}
	sch, err := loadSchema(r.Conn(), version)
	if err != nil {
		return nil
	}
	db.schemas.put(sch)
	return sch
}

// files are all files of a database, by file_id: the first two as master has them, the others as the database itself has them, or as
// master last saw them where it cannot be read. Where a file is, is each server's own.
func (db *Database) files(ctx context.Context) []File {
	known := db.Info().Files
	if db.System() {
		return known
	}
	sch := db.catalogue(ctx)
	if sch == nil {
		return known
	}
	var out []File
	for _, f := range known {
		if f.ID <= 2 {
			out = append(out, f)
		}
	}
	for _, o := range sch.placed(kindFile) {
		f := *o.File
		for _, k := range known {
			if k.GUID == f.GUID && k.ID == f.ID {
				f.PhysicalName = k.PhysicalName
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// noteFiles has master know a database's files as they are now, for when the database cannot be read.
func (db *Database) noteFiles(ctx context.Context) error {
	return db.Update(ctx, func(i *DatabaseInfo) { i.Files = db.files(ctx) })
}

// preparePlacements makes the file groups and files that CREATE DATABASE declares, before the database is known.
func (inst *Instance) preparePlacements(ctx context.Context, db *Database, list []*Object) error {
	if len(list) == 0 {
		return nil
	}
	return inTransaction(ctx, db.storage, func(tx *storage.Tx) error {
		tx.ChangesMetadata()
		d := &ddl{ctx: ctx, space: db.info.ID, db: db, sch: emptySchema(), conn: tx.Conn(), tx: tx}
		for _, o := range list {
			if err := d.savePlacement(o); err != nil {
				return fmt.Errorf("record the files of database %q: %w", db.Name(), err)
			}
		}
		return nil
	})
}

// systemGroups refuses file groups in system databases.
func systemGroups(db *Database) error {
	if db.ID() <= 3 {
		return sqlerr.New(1826, 1, db.Name())
	}
	return nil
}

// groupNames are the names of a database's file groups by number, for a backup.
func groupNames(ctx context.Context, db *Database) map[int32]string {
	sch := db.catalogue(ctx)
	if sch == nil {
		return nil
	}
	out := map[int32]string{}
	for _, o := range sch.fileGroups() {
		out[o.FileGroup.ID] = o.Name
	}
	return out
}
