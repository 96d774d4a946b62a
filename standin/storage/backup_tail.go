// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
)

// TakeTail has the tail of the log backed up and stored while nobody can write, and leaves the database Restoring: it
// has nothing that the backup has not (docs/relational-databases/backup-restore/tail-log-backups-sql-server.md). When
// the backup fails the database stays as it is; so it does in a crash before the backup was stored, or right after it.
func (db *Database) TakeTail(ctx context.Context, backup func() (BackupHeader, error)) error {
	if err := db.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-db.turn }()
	if db.Mode() != Primary {
		return fmt.Errorf("back up the tail of the log of database %q: %w", db.opts.Name, ErrReadOnly)
	}
	h, err := backup()
	if err != nil {
		return err
	}
	err = db.changeState(func(s *state) {
		s.Mode, s.Until = Restoring, nowUTC()
		if !h.CopyOnly {
			s.LogBackup = h.Last
		}
	})
	if err != nil {
		return err
	}
	db.mu.Lock()
	db.mode = Restoring
	db.mu.Unlock()
	db.breakAll(ErrReadOnly)
	return nil
}
