// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
)

// RestoreOver puts what a backup set has in the place of a database, which may move to other files. While the set is
// read the database is RESTORING and nothing of it is touched: when the set turns out to be damaged, or the server
// ends, it is as it was. Once the set is on disk, master notes in one transaction which files the database has from now
// on; what is left to do then is done again after a crash.
func (inst *Instance) RestoreOver(
	ctx context.Context,
	db *Database,
	files []metadata.File,
	r *storage.BackupReader,
) error {
	inst.changing.Lock()
	defer inst.changing.Unlock()
	if err := inst.finishRestore(ctx, db); err != nil {
		return err
	}
	was := db.State()
	db.SetState(Restoring)
	to := inst.filesOnDisk(files)
	err := storage.RestoreBeside(ctx, r, to, inst.storageOptions(db.Name()))
	if err == nil {
		err = db.Update(ctx, func(i *DatabaseInfo) {
			i.Replaced = append(i.Replaced, metadata.StorageFiles(i.Files))
			i.Files, i.Offline = files, false
		})
	}
	if err != nil {
		db.SetState(was)
		return errors.Join(err, storage.RemoveBeside(to))
	}
	return inst.replaceStorage(ctx, db, func(files storage.Files, opts storage.Options) (*storage.Database, error) {
		if err := inst.finishRestore(ctx, db); err != nil {
			return nil, err
		}
		return storage.OpenRestored(ctx, files, opts)
	})
}

// finishRestore does what restoreOver has left to do, and removes what one has left that did not come so far.
func (inst *Instance) finishRestore(ctx context.Context, db *Database) error {
	info := db.Info()
	files := inst.filesOnDisk(info.Files)
	if len(info.Replaced) == 0 {
		return storage.RemoveBeside(files)
	}
	if err := storage.TakePlace(files); err != nil {
		return err
	}
	for _, old := range info.Replaced {
		for path, others := range map[string][]string{inst.onDisk(old.Data): {"-wal", "-shm"}, inst.onDisk(old.Log): nil} {
			// Another path may lead to the same file.
			if disk.Same(path, files.Data) || disk.Same(path, files.Log) {
				continue
			}
			for _, suffix := range append(others, "") {
				if err := os.RemoveAll(path + suffix); err != nil {
					return fmt.Errorf("remove a file that was replaced: %w", err)
				}
			}
		}
	}
	return db.Update(ctx, func(i *DatabaseInfo) { i.Replaced = nil })
}

// removeClosed removes the files of a database that is not open.
func removeClosed(files storage.Files) error {
	return errors.Join(storage.Remove(files), storage.RemoveBeside(files))
}
