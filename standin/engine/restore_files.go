// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"path/filepath"
	"strings"

	"geosql.dev/operator/standin/metadata"
	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/syntax"
)

// misplaced is why files cannot be restored to their places: each message is sent, before 3119.
type misplaced []*sqlerr.Error

// Error is the first message.
func (m misplaced) Error() string { return m[0].Error() }

// restoredFiles are the places of the restored files: MOVE's, or those of the backup. over is the database whose place they take.
func (s *Session) restoredFiles(name string, over *Database, note backupNote, o syntax.RestoreOptions) ([]metadata.File, error) {
	files := append([]metadata.File(nil), note.Files...)
	if len(files) == 0 {
		files = s.inst.defaultFiles(name)
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
	if err := s.inst.checkPaths(files); err != nil {
		return nil, err
	}
	if wrong := s.misplacedFiles(files, over, o.Replace); len(wrong) > 0 {
		return nil, wrong
	}
	return files, nil
}

// misplacedFiles finds files that two of the set claim (3176), that another database has (1834), and those that are there and
// nobody's, which only REPLACE writes over (3142; docs/t-sql/statements/restore-statements-arguments-transact-sql.md, REPLACE).
func (s *Session) misplacedFiles(files []metadata.File, over *Database, replace bool) (wrong misplaced) {
	owners := map[string]*Database{}
	for _, db := range s.inst.Databases() {
		for _, f := range db.files(s.context()) {
			owners[s.inst.placeOf(f)] = db
		}
	}
	claimed := map[string]metadata.File{}
	for _, f := range files {
		place := s.inst.placeOf(f)
		first, twice := claimed[place]
		owner := ownerOf(place, owners)
		switch {
		case twice:
			wrong = append(wrong, sqlerr.New(3176, 1, f.PhysicalName, f.LogicalName, f.ID, first.LogicalName, first.ID))
		case owner != nil && owner != over:
			wrong = append(wrong, sqlerr.New(1834, 1, f.PhysicalName, owner.Name()),
				sqlerr.New(3156, 4, f.LogicalName, f.PhysicalName))
		case owner == nil && !replace && exists(place):
			wrong = append(wrong, sqlerr.New(3142, 1, f.LogicalName, f.PhysicalName))
		}
		claimed[place] = f
	}
	return wrong
}

// ownerOf is the database that has a file, which another path may lead to.
func ownerOf(place string, owners map[string]*Database) *Database {
	if owner := owners[place]; owner != nil {
		return owner
	}
	for other, owner := range owners {
		if sameFile(place, other) {
			return owner
		}
	}
	return nil
}

// placeOf tells one file from another, however its path is written.
func (inst *Instance) placeOf(f metadata.File) string {
	return filepath.Clean(inst.onDisk(f.PhysicalName))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
