// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/storage"
)

// File groups and files but a database's first two are kept with its objects, in its own catalogue: they are in
// backups, travel with the log and are undone with it. They have no name among objects.
const (
	KindFileGroup = "FG"
	KindFile      = "file"
)

// PrimaryGroup is the data_space_id of PRIMARY.
const PrimaryGroup = 1

// FileGroup is what a file group adds to an object (sys.filegroups).
type FileGroup struct {
	ID                         int32
	GUID                       uuid.UUID
	Default, ReadOnly, GrowAll bool
}

// File is one file of a database (sys.database_files).
type File struct {
	ID           int32
	Log          bool
	LogicalName  string
	PhysicalName string
	// SizePages, MaxSizePages and Growth are as declared, in 8 KB pages; MaxSizePages -1 is unlimited.
	SizePages, MaxSizePages, Growth int64
	PercentGrowth                   bool
	// Effective is where a file of tempdb is until the next start, when PhysicalName was changed.
	Effective string
	// Group is the data_space_id of a data file, 0 for PRIMARY. GUID is file_guid of all but the first two.
	Group int32     `json:",omitempty"`
	GUID  uuid.UUID `json:",omitzero"`
	// Emptied tells that DBCC SHRINKFILE (EMPTYFILE) has moved away what the file had.
	Emptied bool `json:",omitempty"`
}

// DataSpace is the data_space_id of a file, 0 of one of the log.
func (f File) DataSpace() int32 {
	if f.Log {
		return 0
	}
	return max(f.Group, PrimaryGroup)
}

// Place is where the rows of a table or an index are: the file group or partition scheme, 0 for PRIMARY, and the column
// that a scheme partitions by.
type Place struct {
	Space  int32 `json:"space,omitempty"`
	Column int32 `json:"column,omitempty"`
}

// DataSpace is the place's data_space_id.
func (p Place) DataSpace() int32 {
	if p.Space == 0 {
		return PrimaryGroup
	}
	return p.Space
}

// PlacementRow is the number under which a placement is kept: apart from those of objects, which are positive.
func PlacementRow(kind string, id int32) int32 {
	return map[string]int32{KindFileGroup: -1_000_000, KindPartitionScheme: -1_000_000, KindFile: -3_000_000,
		KindPartitionFunction: -4_000_000, KindScopedConfiguration: -5_000_000}[kind] - id
}

// Placement finds a placement by its kind and number; nil when there is none.
func (s *Catalog) Placement(kind string, id int32) *Object {
	return s.placements[PlacementRow(kind, id)]
}

// HasPlacements tells whether anything of a database was ever placed: where nothing was, all is in PRIMARY.
func (s *Catalog) HasPlacements() bool { return len(s.placements) > 0 }

// NewFileGroup is a file group's placement, which is not saved yet.
func NewFileGroup(id int32, name string, g FileGroup) *Object {
	now := time.Now().UTC()
	g.ID = id
	return &Object{
		ID:        PlacementRow(KindFileGroup, id),
		Name:      name,
		Kind:      KindFileGroup,
		Created:   now,
		Modified:  now,
		FileGroup: &g,
	}
}

// NewFile is a file's placement, which is not saved yet.
func NewFile(f File) *Object {
	now := time.Now().UTC()
	return &Object{
		ID:       PlacementRow(KindFile, f.ID),
		Name:     f.LogicalName,
		Kind:     KindFile,
		Created:  now,
		Modified: now,
		File:     &f,
	}
}

// Placed are the placements of a kind, in the order of their numbers.
func (s *Catalog) Placed(kind string) []*Object {
	var out []*Object
	for _, o := range s.placements {
		if o.Kind == kind {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Object) int { return cmp.Compare(b.ID, a.ID) })
	return out
}

// FileGroups are those of a database, PRIMARY first. One is the default.
func (s *Catalog) FileGroups() []*Object {
	out := s.Placed(KindFileGroup)
	if len(out) == 0 || out[0].FileGroup.ID != PrimaryGroup {
		out = append([]*Object{NewFileGroup(PrimaryGroup, "PRIMARY", FileGroup{})}, out...)
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

// FileGroup finds a file group by its name; nil when there is none.
func (s *Catalog) FileGroup(name string) *Object {
	for _, o := range s.FileGroups() {
		if strings.EqualFold(o.Name, name) {
			return o
		}
	}
	return nil
}

// FileGroupByID finds a file group by its data_space_id; nil when there is none.
func (s *Catalog) FileGroupByID(space int32) *Object {
	for _, o := range s.FileGroups() {
		if o.FileGroup.ID == space {
			return o
		}
	}
	return nil
}

// DefaultGroup is the file group for what no statement places.
func (s *Catalog) DefaultGroup() *Object {
	groups := s.FileGroups()
	for _, o := range groups {
		if o.FileGroup.Default {
			return o
		}
	}
	return groups[0]
}

// HasFiles tells whether a file group has any.
func (s *Catalog) HasFiles(group int32) bool {
	if group == PrimaryGroup {
		return true
	}
	for _, o := range s.Placed(KindFile) {
		if o.File.Group == group {
			return true
		}
	}
	return false
}

// HasDataSpace tells whether a file group or a partition scheme has a name: ON means either.
func (s *Catalog) HasDataSpace(name string) bool {
	return s.FileGroup(name) != nil || s.PartitionObject(KindPartitionScheme, name) != nil
}

// UsesGroup tells whether anything is placed in a file group.
func (s *Catalog) UsesGroup(group int32) bool {
	for _, o := range s.Placed(KindPartitionScheme) {
		if o.Scheme.Next == group || slices.Contains(o.Scheme.Groups, group) {
			return true
		}
	}
	for _, o := range s.Objects {
		if o.Kind != KindTable {
			continue
		}
		for _, p := range o.Table.Places() {
			if p.DataSpace() == group {
				return true
			}
		}
		if o.Table.LOBDataSpace() == group {
			return true
		}
	}
	return false
}

// StorageFiles are the first data file and the first log of a database's files.
func StorageFiles(files []File) storage.Files {
	var f storage.Files
	for _, file := range files {
		if file.Log && f.Log == "" {
			f.Log = file.PhysicalName
		}
		if !file.Log && f.Data == "" {
			f.Data = file.PhysicalName
		}
	}
	return f
}
