// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"os"
	"path/filepath"
)

// defaultDirectory is the instance's own snapshot folder, which an installation has.
func (e *Extension) defaultDirectory() (string, error) {
	directory := filepath.Join(e.inst.Config().DataDir, "ReplData")
	local, err := e.localPath(directory)
	if err != nil {
		return "", err
	}
	return directory, os.MkdirAll(local, 0o770)
}

// requireDirectory is 21037 unless a snapshot folder is there: replication makes what lies below it, never itself.
func (e *Extension) requireDirectory(directory string) error {
	local, err := e.localPath(directory)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(local); err == nil && info.IsDir() {
			return nil
		}
	}
	return raise(21037, 1, directory)
}
