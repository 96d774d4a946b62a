// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"geosql.dev/standin/config"
	"geosql.dev/standin/sqlerr"
)

// DefaultDirectory is the instance's own snapshot folder, which an installation has.
func (a *Runner) DefaultDirectory() (string, error) {
	directory := filepath.Join(a.inst.Config().DataDir, "ReplData")
	local, err := a.localPath(directory)
	if err != nil {
		return "", err
	}
	return directory, os.MkdirAll(local, 0o770)
}

// RequireDirectory is 21037 unless a snapshot folder is there: replication makes what lies below it, never itself.
func (a *Runner) RequireDirectory(directory string) error {
	local, err := a.localPath(directory)
	if strings.HasPrefix(slashed(directory), "//") && a.inst.Answers(config.FolderUnmapped) {
		err = fs.ErrNotExist
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(local); err == nil && info.IsDir() {
			return nil
		}
	}
	return sqlerr.Raise(21037, 1, directory)
}

// RequireScriptFolder makes the folder below a snapshot folder in which the engine of a publisher keeps the scripts of
// a publication's articles for subscribers that have the rows: 21330 where that cannot be
// (docs/relational-databases/replication/mssql-eng021330.md). The snapshot folder itself is never made.
func (a *Runner) RequireScriptFolder(directory string, publication ...string) error {
	if a.makeScriptFolder(directory, folderName(publication...)) != nil {
		return sqlerr.Raise(21330, 1, directory)
	}
	return nil
}

func (a *Runner) makeScriptFolder(directory, name string) error {
	if err := a.RequireDirectory(directory); err != nil {
		return err
	}
	local, err := a.localPath(directory)
	if err != nil {
		return err
	}
	folder := filepath.Join(local, "scripts", name)
	if err := os.MkdirAll(folder, 0o770); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, "script")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
