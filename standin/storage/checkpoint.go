// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage/disk"
)

// A checkpoint is considered every second, and run when as much log was written since the last one and that is some
// time ago: pages that are written again meanwhile are moved once. SQL Server has a minute for it
// (docs/relational-databases/logs/ database-checkpoints-sql-server.md, TARGET_RECOVERY_TIME).
const (
	checkpointEvery    = time.Second
	checkpointLogBytes = 8 << 20
	checkpointApart    = 3 * time.Second
	checkpointIdle     = time.Minute
)

// keptWAL bounds a write-ahead log that is written over (disk.KeepRoom), in bytes: one that has become longer is cut
// after the first commit that begins it again.
const keptWAL = 256 << 20

// checkpointState remembers the last checkpoint.
type checkpointState struct {
	mu sync.Mutex
	// durable is the newest commit that is in the data file on disk.
	durable LSN
	bytes   uint64
	at      time.Time
	// kept says that the write-ahead log has kept its room.
	kept bool

	// moving is held while conn moves pages; conn is nil before the first checkpoint.
	moving sync.Mutex
	conn   *sqlite.Conn
}

// checkpoints runs checkpoints when enough log was written, or some time has passed.
func (db *Database) checkpoints(ctx context.Context) {
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		c := &db.checkpoint
		c.mu.Lock()
		bytes, at, durable, kept := c.bytes, c.at, c.durable, c.kept
		c.mu.Unlock()
		applied, _ := db.Applied()
		grown := db.log.Bytes(db.log.End()) - bytes
		enough := grown >= checkpointLogBytes && time.Since(at) >= checkpointApart || grown >= db.log.limit()/4
		// A failed checkpoint only lets the log grow; the next one tries again and the log's limit tells.
		switch {
		case db.opts.Logless:
			_ = db.checkpointAnd(ctx, false)
		case enough:
			_ = db.checkpointAnd(ctx, true)
		case (kept || durable != applied) && time.Since(at) > checkpointIdle:
			_ = db.checkpointAnd(ctx, false)
		}
	}
}

// Checkpoint brings all committed changes into the data file, durably, and truncates what the log need not keep.
func (db *Database) Checkpoint(ctx context.Context) error { return db.checkpointAnd(ctx, true) }

// checkpointAnd is Checkpoint, after which the write-ahead log keeps its room on the disk or gives it back.
func (db *Database) checkpointAnd(ctx context.Context, keepRoom bool) error {
	// Most of the work happens beside the writer; the rest, in the writer's turn, is short.
	if err := db.movePages(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := db.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-db.turn }()
	return db.checkpointLocked(keepRoom)
}

// movePages moves pages into the data file beside the writer, as many as readers let it. Its connection is kept for the
// next time: to open one takes as long as to move some hundred pages.
func (db *Database) movePages() error {
	c := &db.checkpoint
	c.moving.Lock()
	defer c.moving.Unlock()
	db.mu.Lock()
	closed := db.closed
	db.mu.Unlock()
	if closed != nil {
		return closed
	}
	if c.conn == nil {
		conn, err := db.connect(sqlite.OpenReadWrite)
		if err != nil {
			return err
		}
		c.conn = conn
	}
	return exec(c.conn, "PRAGMA wal_checkpoint(PASSIVE)")
}

// close ends the connection that moves pages; the database is marked closed already.
func (c *checkpointState) close(disconnect func(*sqlite.Conn) error) error {
	c.moving.Lock()
	defer c.moving.Unlock()
	if c.conn == nil {
		return nil
	}
	err := disconnect(c.conn)
	c.conn = nil
	return err
}

// checkpointLocked runs in the writer's turn.
func (db *Database) checkpointLocked(keepRoom bool) error {
	applied, _ := db.Applied()
	if db.interrupts != nil {
		db.interrupts.settle()
	}
	db.writer.SetBusyTimeout(0)
	defer db.writer.SetBlockOnBusy()
	disk.KeepRoom(db.files.Data, keepRoom)
	var frames, moved int64
	err := sqlitex.ExecuteTransient(db.writer, "PRAGMA wal_checkpoint(TRUNCATE)", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			frames, moved = stmt.ColumnInt64(1), stmt.ColumnInt64(2)
			return nil
		}})
	if err != nil && sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err != nil || frames != moved {
		// Readers of an old snapshot are in the way. The log is kept as long.
		return nil
	}
	c := &db.checkpoint
	c.mu.Lock()
	c.durable, c.bytes, c.at, c.kept = applied, db.log.Bytes(db.log.End()), time.Now(), keepRoom
	c.mu.Unlock()
	if err := db.TruncateLog(); err != nil || db.opts.Logless {
		return err
	}
	return db.dropKept(db.log.Oldest())
}

// TruncateLog removes the virtual log files that nothing needs.
func (db *Database) TruncateLog() error {
	keep, _ := db.keep()
	_, err := db.log.truncate(keep)
	return err
}

// The reasons of log_reuse_wait (sys.databases).
const (
	reuseNothing    = 0
	reuseCheckpoint = 1
	reuseLogBackup  = 2
	reuseActive     = 4
	reuseReplicated = 6
	reuseReplica    = 9
)

var reuseNames = map[int]string{reuseNothing: "NOTHING", reuseCheckpoint: "CHECKPOINT", reuseLogBackup: "LOG_BACKUP",
	reuseActive: "ACTIVE_TRANSACTION", reuseReplicated: "REPLICATION", reuseReplica: "AVAILABILITY_REPLICA"}

// keep is the position from which the log must be kept, and why.
func (db *Database) keep() (LSN, int) {
	c := &db.checkpoint
	c.mu.Lock()
	keep, why := c.durable, reuseCheckpoint
	c.mu.Unlock()
	return db.held(keep, why)
}

// whyFull tells why the log could not be made shorter. A checkpoint that is still to come is a reason only when there
// is no other.
func (db *Database) whyFull() error {
	end := db.log.End()
	at, why := db.held(end, reuseCheckpoint)
	return &LogFull{Reuse: reuseNames[why], Holdup: at}
}

// held is the position from which the log must be kept, and why, when apart from holds and backups it is keep for a
// checkpoint.
func (db *Database) held(keep LSN, why int) (LSN, int) {
	st := db.currentState()
	consider := func(lsn LSN, reason int) {
		if !lsn.IsZero() && (lsn.VLF() < keep.VLF() || (why == reuseCheckpoint && lsn.VLF() == keep.VLF())) {
			keep, why = lsn, reason
		}
	}
	if st.RecoveryModel != Simple && !st.FullBackup.IsZero() {
		consider(st.LogBackup, reuseLogBackup)
	}
	for owner, lsn := range st.Holds {
		if strings.HasPrefix(owner, HoldReplication) {
			consider(lsn, reuseReplicated)
		} else {
			consider(lsn, reuseReplica)
		}
	}
	return keep, why
}

// ReuseWait is sys.databases.log_reuse_wait and its description: what kept log from being removed.
func (db *Database) ReuseWait() (int, string) {
	keep, why := db.keep()
	oldest, end := db.log.Oldest(), db.log.End()
	switch {
	case oldest.VLF() < keep.VLF() || (why == reuseCheckpoint && db.log.Segments() <= 1):
		why = reuseNothing
	case keep.VLF() == end.VLF() && why != reuseReplica && why != reuseReplicated && db.log.Segments() <= 1:
		why = reuseNothing
	}
	return why, reuseNames[why]
}

// The owners of holds; a suffix tells several of one kind apart.
const (
	HoldReplication = "REPLICATION"
	HoldReplica     = "AVAILABILITY_REPLICA"
)

// HoldLog keeps the log from position lsn on for owner (HoldReplication or HoldReplica with a suffix); a zero lsn
// releases it. It survives a restart. Moves within one virtual log file are not written to disk: the older position
// keeps the same file.
func (db *Database) HoldLog(owner string, lsn LSN) error {
	db.stateMu.Lock()
	old, had := db.state.Holds[owner]
	db.stateMu.Unlock()
	set := func(s *state) {
		if lsn.IsZero() {
			delete(s.Holds, owner)
		} else {
			s.Holds[owner] = lsn
		}
	}
	if had == !lsn.IsZero() && old.VLF() == lsn.VLF() {
		db.stateMu.Lock()
		defer db.stateMu.Unlock()
		db.state = db.state.clone()
		set(&db.state)
		return nil
	}
	return db.changeState(set)
}

// Holds are the positions that are held, by owner.
func (db *Database) Holds() map[string]LSN {
	out := map[string]LSN{}
	db.stateMu.Lock()
	defer db.stateMu.Unlock()
	for k, v := range db.state.Holds {
		out[k] = v
	}
	return out
}
