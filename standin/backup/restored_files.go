// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"path/filepath"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/syntax"
)

// misplaced is why files cannot be restored to their places: each message is sent, before 3119.
type misplaced []*sqlerr.Error

// Error is the first message.
func (m misplaced) Error() string { return m[0].Error() }

// restoredFiles are the places of the restored files: MOVE's, or those of the backup. over is the database whose place
// they take.
func restoredFiles(
	ctx context.Context,
	s *engine.Session,
	name string,
	over *engine.Database,
	note backupNote,
	o syntax.RestoreOptions,
) ([]metadata.File, error) {
	files := append([]metadata.File(nil), note.Files...)
	if len(files) == 0 {
		files = s.Instance().DefaultFiles(name)
	}
	for _, m := range o.Move {
		found := false
		for i := range files {
			if strings.EqualFold(files[i].LogicalName, m.LogicalName) {
				files[i].PhysicalName, found = m.Path, true
			}
		}
		if !found {
			return nil, sqlerr.New(3234, 2, m.LogicalName, name)
		}
	}
	if err := s.Instance().CheckPaths(files); err != nil {
		return nil, err
	}
	if wrong := misplacedFiles(ctx, s, files, over, o.Replace); len(wrong) > 0 {
		return nil, wrong
	}
	return files, nil
}

// misplacedFiles finds files that two of the set claim (3176), that another database has (1834), and those that are
// there and nobody's, which only REPLACE writes over (3142;
// docs/t-sql/statements/restore-statements-arguments-transact-sql.md, REPLACE).
func misplacedFiles(
	ctx context.Context,
	s *engine.Session,
	files []metadata.File,
	over *engine.Database,
	replace bool,
) (wrong misplaced) {
	owners := map[string]*engine.Database{}
	for _, db := range s.Instance().Databases() {
		for _, f := range db.Files(ctx) {
			owners[placeOf(s.Instance(), f)] = db
		}
	}
	claimed := map[string]metadata.File{}
	for _, f := range files {
		place := placeOf(s.Instance(), f)
		first, twice := claimed[place]
		owner := ownerOf(place, owners)
		switch {
		case twice:
			wrong = append(wrong, sqlerr.New(3176, 1, f.PhysicalName, f.LogicalName, f.ID, first.LogicalName, first.ID))
		case owner != nil && owner != over:
			wrong = append(wrong, sqlerr.New(1834, 1, f.PhysicalName, owner.Name()),
				sqlerr.New(3156, 4, f.LogicalName, f.PhysicalName))
		case owner == nil && !replace && disk.Exists(place):
			wrong = append(wrong, sqlerr.New(3142, 1, f.LogicalName, f.PhysicalName))
		}
		claimed[place] = f
	}
	return wrong
}

// ownerOf is the database that has a file, which another path may lead to.
func ownerOf(place string, owners map[string]*engine.Database) *engine.Database {
	if owner := owners[place]; owner != nil {
		return owner
	}
	for other, owner := range owners {
		if disk.Same(place, other) {
			return owner
		}
	}
	return nil
}

// placeOf tells one file from another, however its path is written.
func placeOf(inst *engine.Instance, f metadata.File) string {
	return filepath.Clean(inst.OnDisk(f.PhysicalName))
}
