// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// declaredFiles are the files of CREATE DATABASE, with defaults where none are declared: those of PRIMARY, the log's,
// those of other file groups. Source: docs/t-sql/statements/create-database-transact-sql.md.
func (inst *Instance) declaredFiles(n *syntax.CreateDatabase) ([]metadata.File, error) {
	files := inst.DefaultFiles(n.Name)
	if n.ForAttach || n.ForAttachRebuildLog {
		n = inst.withLog(n)
	}
	switch {
	case len(n.Files) == 0 && len(n.Logs) > 0:
		files = files[:1]
	case len(n.Files) > 0 && len(n.Logs) == 0:
		files = files[1:]
	case len(n.Files) > 0:
		files = nil
	}
	next := int32(3)
	add := func(f syntax.FileSpec, log bool, id, group int32) error {
		file, err := NewFile(f, log, group)
		if err != nil {
			return err
		}
		if file.ID = id; id == 0 {
			file.ID, file.GUID = next, uuid.New()
			next++
		}
		files = append(files, file)
		return nil
	}
	first := func(i int, id int32) int32 {
		if i > 0 {
			return 0
		}
		return id
	}
	for i, f := range n.Files {
		if err := add(f, false, first(i, 1), 0); err != nil {
			return nil, err
		}
	}
	for i, g := range n.FileGroups {
		for _, f := range g.Files {
			if err := add(f, false, 0, int32(i)+metadata.PrimaryGroup+1); err != nil {
				return nil, err
			}
		}
	}
	for i, f := range n.Logs {
		if err := add(f, true, first(i, 2), 0); err != nil {
			return nil, err
		}
	}
	if n.ForAttach || n.ForAttachRebuildLog {
		attached(files)
	}
	for _, f := range files {
		if err := FileNamed(f); err != nil {
			return nil, err
		}
	}
	return files, DifferentNames(files, 3)
}

// FileNamed refuses a file without NAME or FILENAME (docs/t-sql/statements/create-database-transact-sql.md, filespec).
func FileNamed(f metadata.File) error {
	switch {
	case f.PhysicalName == "":
		return sqlerr.New(1036, 1, "FILENAME")
	case f.LogicalName == "":
		return sqlerr.New(1036, 1, "NAME")
	}
	return nil
}

// withLog is a FOR ATTACH with the log under LOG ON, that may be listed with the files
// (docs/relational-databases/databases/attach-a-database.md, Use Transact-SQL): it is the one that is a folder.
func (inst *Instance) withLog(n *syntax.CreateDatabase) *syntax.CreateDatabase {
	if len(n.Logs) > 0 {
		return n
	}
	at := slices.IndexFunc(n.Files, func(f syntax.FileSpec) bool {
		if f.FileName == nil {
			return false
		}
		info, err := os.Stat(inst.onDisk(*f.FileName))
		return err == nil && info.IsDir()
	})
	if at < 1 {
		return n
	}
	parted := *n
	parted.Files, parted.Logs = slices.Delete(slices.Clone(n.Files), at, at+1), n.Files[at:at+1]
	return &parted
}

// attached names the files of FOR ATTACH, which need no NAME, after themselves.
func attached(files []metadata.File) {
	for i, f := range files {
		if f.LogicalName == "" {
			base := filepath.Base(f.PhysicalName)
			files[i].LogicalName = strings.TrimSuffix(base, filepath.Ext(base))
		}
	}
}

// present refuses to attach files that are not there (5120): of a database's files its first two are on disk.
func (inst *Instance) present(files []metadata.File) error {
	for _, f := range files {
		if f.ID > 2 {
			continue
		}
		if _, err := os.Stat(inst.onDisk(f.PhysicalName)); err != nil {
			return sqlerr.New(5120, 101, f.PhysicalName, 2, "2(The system cannot find the file specified.)")
		}
	}
	return nil
}

// DifferentNames is error 1828 where two files have one logical name.
func DifferentNames(files []metadata.File, state uint8) error {
	seen := map[string]bool{}
	for _, f := range files {
		if seen[lower(f.LogicalName)] {
			return sqlerr.New(1828, state, f.LogicalName)
		}
		seen[lower(f.LogicalName)] = true
	}
	return nil
}

// declaredPlacements are the file groups of CREATE DATABASE, and of its files those that the database's own catalogue
// has.
func declaredPlacements(n *syntax.CreateDatabase, files []metadata.File) ([]*metadata.Object, error) {
	var out []*metadata.Object
	seen := map[string]bool{"primary": true}
	chosen := false
	for i, g := range n.FileGroups {
		if seen[lower(g.Name)] {
			return nil, sqlerr.New(5035, 1, g.Name)
		}
		seen[lower(g.Name)] = true
		if err := GroupName(g.Name); err != nil {
			return nil, err
		}
		out = append(
			out,
			metadata.NewFileGroup(
				int32(i)+metadata.PrimaryGroup+1,
				g.Name,
				metadata.FileGroup{GUID: uuid.New(), Default: g.Default && !chosen},
			),
		)
		chosen = chosen || g.Default
	}
	for _, f := range files {
		if f.ID > 2 {
			out = append(out, metadata.NewFile(f))
		}
	}
	return out, nil
}

// NewFile is a file as it is declared, with the defaults for what is not.
func NewFile(f syntax.FileSpec, log bool, group int32) (metadata.File, error) {
	file := metadata.File{
		Log:          log,
		LogicalName:  f.LogicalName,
		SizePages:    1024,
		MaxSizePages: -1,
		Growth:       8192,
		Group:        group,
	}
	if log {
		file.MaxSizePages = maxLogPages
	}
	err := DeclareFile(&file, f)
	return file, err
}

// DeclareFile gives a file what its declaration says; error 5040 for a SIZE above MAXSIZE.
func DeclareFile(file *metadata.File, f syntax.FileSpec) error {
	if f.FileName != nil {
		file.PhysicalName = *f.FileName
	}
	if f.Size != nil {
		file.SizePages = f.Size.KB / 8
	}
	if f.MaxSize != nil {
		file.MaxSizePages = f.MaxSize.KB / 8
		if f.MaxSize.Unlimited {
			file.MaxSizePages = -1
		}
	}
	if f.Growth != nil {
		file.Growth, file.PercentGrowth = f.Growth.KB/8, false
		if f.Growth.Percent {
			file.Growth, file.PercentGrowth = f.Growth.KB, true
		}
	}
	if file.MaxSizePages > 0 && file.SizePages > file.MaxSizePages {
		return sqlerr.New(5040, 1, "", file.ID, file.SizePages, file.MaxSizePages)
	}
	return nil
}

// GroupName refuses the name that ON "default" means.
func GroupName(name string) error {
	if strings.EqualFold(name, "DEFAULT") {
		return sqlerr.New(5051, 1)
	}
	return nil
}
