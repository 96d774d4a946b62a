// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"geosql.dev/standin/storage/disk"
)

// A database is restored over another in two steps: the set is read to its end and checked while it is written beside
// the old files, and only then takes their place. A crash before the second step leaves the old files as they were; one
// within it leaves what TakePlace goes on with. In between, the caller notes durably that it is to be taken.

const (
	besideSuffix = ".restoring"
	// partSuffix ends the name of a data file that is not whole yet.
	partSuffix = ".part"
)

// Beside is where RestoreBeside puts what is to take the place of the files.
func (f Files) Beside() Files { return Files{Data: f.Data + besideSuffix, Log: f.Log + besideSuffix} }

// RestoreBeside is the first step: after it, Beside has a whole database, and nothing of it after an error.
func RestoreBeside(ctx context.Context, in *BackupReader, files Files, opts Options) error {
	if err := RemoveBeside(files); err != nil {
		return fmt.Errorf("restore database %q: %w", opts.Name, err)
	}
	return layDown(ctx, in, files.Beside(), opts, Restoring)
}

// RemoveBeside removes what a restore that was broken off has left.
func RemoveBeside(files Files) error {
	beside := files.Beside()
	return errors.Join(Remove(beside), removeAll(beside.Data+partSuffix))
}

// TakePlace is the second step. It can be repeated after a crash or an error, and does nothing once it is done.
func TakePlace(files Files) error {
	beside := files.Beside()
	if there(beside.Data) {
		// A write-ahead log of the old file must be gone for good before the new file has its name.
		if err := replaceWith(beside.Data, files.Data, files.Data+"-wal", files.Data+"-shm"); err != nil {
			return fmt.Errorf("put the restored data file in its place: %w", err)
		}
	}
	if there(beside.Log) {
		if err := replaceWith(beside.Log, files.Log); err != nil {
			return fmt.Errorf("put the restored log in its place: %w", err)
		}
	}
	for _, path := range []string{files.Data, files.Log} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("look for what was restored: %w", err)
		}
	}
	return nil
}

// replaceWith gives a file or folder another's name; what had it goes, with others that belong to it.
func replaceWith(from, to string, others ...string) error {
	for _, path := range append(others, to) {
		if err := removeAll(path); err != nil {
			return err
		}
	}
	if err := disk.SyncFolder(filepath.Dir(to)); err != nil {
		return err
	}
	return disk.Rename(from, to)
}

func removeAll(path string) error {
	if err := disk.RemoveAll(path); err != nil {
		return fmt.Errorf("remove database file: %w", err)
	}
	return nil
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
