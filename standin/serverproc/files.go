// SPDX-License-Identifier: Apache-2.0

package serverproc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// installFileProcedures registers what scripts of maintenance ask about the server's files before they write backups:
// whether a path is there, what is in a folder, and a new folder. No page describes them; their columns are those that
// such scripts read.
func installFileProcedures(r *engine.Registry) {
	const found = "file_exists int, file_is_a_directory int, parent_directory_exists int"
	path, onDisk := sqltype.NVarCharOf(4000), r.Instance().OnDisk
	r.TableFunction(
		engine.TableFunction{
			Schema:     "sys",
			Name:       "dm_os_file_exists",
			Parameters: []sqltype.Type{path},
			Columns:    engine.ColumnList(found),
			Rows: func(_ context.Context, _ *engine.Session, args []any) ([][]any, error) {
				name, _ := args[0].(string)
				return [][]any{lookAt(onDisk(name))}, nil
			},
		},
	)
	exists := engine.ParameterList("@filename! nvarchar(4000), @found int")
	exists[1].Output = true
	r.Procedure(
		engine.Procedure{Name: "xp_fileexist", Parameters: exists, Run: func(_ context.Context, c *engine.ProcCall) error {
			row := lookAt(onDisk(c.String("@filename")))
			if c.Given("@found") {
				c.SetOutput("@found", row[0])
				return nil
			}
			columns := engine.ColumnList("a tinyint, b tinyint, c tinyint")
			for i, name := range []string{"File Exists", "File is a Directory", "Parent Directory Exists"} {
				columns[i].Name = name
			}
			return c.ResultSet(columns, [][]any{row})
		}},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "xp_create_subdir",
			Parameters: engine.ParameterList("@path! nvarchar(4000)"),
			Run: func(_ context.Context, c *engine.ProcCall) error {
				if !c.Session.Login().Sysadmin {
					return sqlerr.New(229, 5, "EXECUTE", "xp_create_subdir", "mssqlsystemresource", "sys")
				}
				if err := os.MkdirAll(onDisk(c.String("@path")), 0o750); err != nil {
					return sqlerr.New(5133, 1, c.String("@path"), sqlerr.OperatingSystem(err))
				}
				return nil
			},
		},
	)
	r.Procedure(
		engine.Procedure{
			Name: "xp_delete_file",
			Parameters: engine.ParameterList(
				"@kind! int, @folder! nvarchar(4000), @extension nvarchar(260), @before datetime, @subfolders int",
			),
			Run: func(_ context.Context, c *engine.ProcCall) error {
				return deleteFiles(c, onDisk(c.String("@folder")))
			},
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "xp_subdirs",
			Parameters: engine.ParameterList("@path! nvarchar(4000)"),
			Run: func(_ context.Context, c *engine.ProcCall) error {
				var rows [][]any
				for _, e := range entries(onDisk(c.String("@path")), 1, 1, false) {
					rows = append(rows, e[:1])
				}
				return c.ResultSet(engine.ColumnList("subdirectory nvarchar(512)"), rows)
			},
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "xp_dirtree",
			Parameters: engine.ParameterList("@path! nvarchar(4000), @depth int, @files int"),
			Run: func(_ context.Context, c *engine.ProcCall) error {
				return listFolder(c, onDisk(c.String("@path")))
			},
		},
	)
}

// lookAt tells of a path whether it is a file, whether it is a folder, and whether the folder above it is there.
func lookAt(path string) []any {
	one := func(yes bool) int64 {
		if yes {
			return 1
		}
		return 0
	}
	info, err := os.Stat(path)
	above, failed := os.Stat(filepath.Dir(strings.TrimRight(path, "/")))
	return []any{one(err == nil && !info.IsDir()), one(err == nil && info.IsDir()), one(failed == nil && above.IsDir())}
}

// listFolder is xp_dirtree: folders down to a depth, 0 for all, and files beside them when they are asked for.
func listFolder(c *engine.ProcCall, path string) error {
	depth, _ := c.Value("@depth").(int64)
	wanted, _ := c.Value("@files").(int64)
	list := "subdirectory nvarchar(512), depth int"
	if wanted != 0 {
		list += ", file int"
	}
	columns := engine.ColumnList(list)
	var rows [][]any
	for _, e := range entries(path, 1, depth, wanted != 0) {
		rows = append(rows, e[:len(columns)])
	}
	return c.ResultSet(columns, rows)
}

// entries are name, depth and whether it is a file of what is in a folder; one that cannot be read has nothing in it.
func entries(path string, depth, most int64, files bool) (out [][]any) {
	list, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	for _, e := range list {
		if !e.IsDir() {
			if files {
				out = append(out, []any{e.Name(), depth, int64(1)})
			}
			continue
		}
		out = append(out, []any{e.Name(), depth, int64(0)})
		if most == 0 || depth < most {
			out = append(out, entries(filepath.Join(path, e.Name()), depth+1, most, files)...)
		}
	}
	return out
}

// deleteFiles is xp_delete_file for backups (kind 0): of a folder, and of the folders in it where that is asked for,
// the files with an extension that were written before a time and are backups, as their headers say. What else lies
// there stays. Reports of maintenance plans, kind 1, do not exist here.
func deleteFiles(c *engine.ProcCall, root string) error {
	if !c.Session.Login().Sysadmin {
		return sqlerr.New(229, 5, "EXECUTE", "xp_delete_file", "mssqlsystemresource", "sys")
	}
	if kind := c.Int("@kind"); kind != 0 {
		return sqlerr.Unsupported(fmt.Sprintf("xp_delete_file of files of type %d", kind))
	}
	before := time.Now()
	if at, ok := c.Value("@before").(time.Time); ok {
		before = at
	}
	folders := []string{root}
	if c.Int("@subfolders") != 0 {
		for _, e := range entries(root, 1, 1, false) {
			folders = append(folders, filepath.Join(root, e[0].(string)))
		}
	}
	for _, folder := range folders {
		for _, e := range entries(folder, 1, 1, true) {
			name := e[0].(string)
			if e[2] == int64(0) ||
				!strings.EqualFold(strings.TrimPrefix(filepath.Ext(name), "."), strings.TrimPrefix(c.String("@extension"), ".")) {
				continue
			}
			if err := deleteBackup(filepath.Join(folder, name), before); err != nil {
				return sqlerr.New(5133, 1, filepath.Join(folder, name), sqlerr.OperatingSystem(err))
			}
		}
	}
	return nil
}

// deleteBackup removes a file that was written before a time, if it begins as a backup does.
func deleteBackup(path string, before time.Time) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
		return nil // it is gone, or stays
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // what cannot be read is not known to be a backup
	}
	media, _ := storage.ReadMedia(f, info.Size())
	f.Close()
	if len(media.Sets) == 0 {
		return nil
	}
	return os.Remove(path)
}
