// SPDX-License-Identifier: Apache-2.0

package agent

import (
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
