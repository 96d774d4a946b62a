// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
)

// keepLogsEvery is how often databases are looked at for keepLogs.
const keepLogsEvery = 5 * time.Second

// keepLogs makes replicas of published databases keep the log that the log reader will need after a failover, and makes
// master know that they are published.
func (e *Extension) keepLogs(ctx context.Context) {
	ticker := time.NewTicker(keepLogsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, db := range e.inst.Databases() {
			if db.System() || db.State() != engine.Online || db.Storage() == nil || db.Info().GroupDatabaseID == [16]byte{} {
				continue
			}
			if err := e.keepLog(ctx, db); err != nil && ctx.Err() == nil {
				e.inst.Log().Debug("replication: the log's hold could not be renewed", "database", db.Name(), "error", err.Error())
			}
		}
	}
}

func (e *Extension) keepLog(ctx context.Context, db *engine.Database) error {
	s, err := e.system(ctx, "master")
	if err != nil {
		return err
	}
	defer s.Close()
	position, err := s.Table(ctx, db, "dbo", "MSreplposition")
	if err != nil {
		return err
	}
	published := position != nil
	if published != db.Info().Published {
		if err := db.Update(ctx, func(i *engine.DatabaseInfo) { i.Published = published }); err != nil {
			return err
		}
	}
	switch {
	case !published:
		return nil
	case db.Storage().Mode() == storage.Primary:
		return holdUnread(ctx, s, db)
	}
	lsn, err := readUpTo(ctx, s, db)
	if err != nil || lsn.IsZero() {
		return err
	}
	return db.Storage().HoldLog(storage.HoldReplication, lsn)
}

// readUpTo is the position in a published database up to which its log was read when that was last written, zero when
// nothing says it.
func readUpTo(ctx context.Context, s *engine.Session, db *engine.Database) (storage.LSN, error) {
	var lsn storage.LSN
	r, err := s.Query(ctx, "SELECT xact_seqno FROM "+bracket(db.Name())+".dbo.MSreplposition WHERE id = 1")
	if err == nil && r.Len() > 0 {
		copy(lsn[:], r.Bytes(0, "xact_seqno"))
	}
	return lsn, err
}

// holdUnread keeps the log of a published database that was restored from where the log reader has not read it: holds
// do not come with a backup, and replication's settings do
// (docs/relational-databases/replication/administration/back-up-and-restore-replicated-databases.md).
func holdUnread(ctx context.Context, s *engine.Session, db *engine.Database) error {
	if _, held := db.Storage().Holds()[storage.HoldReplication]; held {
		return nil
	}
	lsn, err := readUpTo(ctx, s, db)
	if err != nil || lsn.IsZero() {
		return err
	}
	return db.Storage().HoldLog(storage.HoldReplication, lsn)
}

// opened keeps the log of a database that comes up published.
func (e *Extension) opened(ctx context.Context, db *engine.Database) error {
	if st := db.Storage(); !db.Info().Published || st == nil || st.Mode() != storage.Primary {
		return nil
	} else if _, held := st.Holds()[storage.HoldReplication]; held {
		return nil
	}
	s, err := e.system(ctx, "master")
	if err != nil {
		return err
	}
	defer s.Close()
	// A backup of a time when it was not published yet has no table.
	if there, err := s.Table(ctx, db, "dbo", "MSreplposition"); err != nil || there == nil {
		return err
	}
	return holdUnread(ctx, s, db)
}
