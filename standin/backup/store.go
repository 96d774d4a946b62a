// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"io"

	"geosql.dev/standin/backupmedia"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// secondary tells whether a database is a secondary replica's.
func secondary(db *engine.Database) bool { return db.InGroup() && db.Storage().Mode() == storage.Redo }

// atSecondary is nil for a backup that a secondary replica may take: a full one that is copy-only, and a regular one of
// the log, while it is SYNCHRONIZED or SYNCHRONIZING (docs/database-engine/availability-groups/windows/
// active-secondaries-backup-on-secondary-replicas-always-on-availability-groups.md, Backup Types Supported on Secondary
// Replicas).
func (e Extension) atSecondary(n *syntax.Backup, db *engine.Database) error {
	o := n.Options
	if regular := !o.CopyOnly && !o.NoTruncate && !o.NoRecovery; n.Log != regular || o.Differential {
		return sqlerr.New(3059, 1)
	}
	return e.Replicas.MayBackUp(db.Name())
}

// storeBackup writes the set, and has the database go on from it.
func (e Extension) storeBackup(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	n *syntax.Backup,
	m *backupmedia.Media,
	opts storage.BackupOptions,
	w tds.Writer,
) (h storage.BackupHeader, position int, size int64, err error) {
	st := db.Storage()
	store := func() (storage.BackupHeader, error) {
		position, size, err = m.Put(func(families []io.Writer) (err error) {
			opts := opts
			opts.Further = families[1:]
			if n.Log {
				h, err = st.BackupLog(ctx, families[0], opts)
			} else {
				h, err = st.Backup(ctx, families[0], opts)
			}
			return err
		})
		return h, err
	}
	switch {
	case !n.Log:
		if _, err = store(); err == nil {
			err = st.NoteBackup(h)
		}
	case secondary(db):
		err = e.storeAtSecondary(ctx, db, store, w)
	default:
		err = storeLog(ctx, s, db, n.Options.NoRecovery, store)
	}
	return h, position, size, err
}

// storeAtSecondary writes a set of the log at a secondary replica; the primary notes it for all.
func (e Extension) storeAtSecondary(
	ctx context.Context,
	db *engine.Database,
	store func() (storage.BackupHeader, error),
	w tds.Writer,
) error {
	noted, err := e.Replicas.BackUpLog(ctx, db.Name(), func() (storage.LSN, error) {
		h, err := store()
		return h.Last, err
	})
	if err != nil || noted {
		return err
	}
	return w.Message(sqlerr.New(35297, 1, db.Name()))
}

// storeLog writes a set of the log, after which the database is RESTORING where it is the tail.
func storeLog(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	tail bool,
	store func() (storage.BackupHeader, error),
) error {
	st := db.Storage()
	release, err := st.LogBackupTurn(ctx)
	if err != nil {
		return err
	}
	defer release()
	if !tail {
		h, err := store()
		if err != nil {
			return err
		}
		return st.NoteLogBackup(h)
	}
	if err := st.TakeTail(ctx, store); err != nil {
		return err
	}
	db.SetState(engine.Restoring)
	db.ReadAnew()
	return s.Instance().Announce(ctx, engine.DatabaseEvent{Kind: engine.DatabaseClosing, Database: db})
}
