// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"io"
)

// BackupLog writes a log backup set: the log since the last one, up to the last whole transaction.
func (db *Database) BackupLog(ctx context.Context, out io.Writer, opts BackupOptions) (BackupHeader, error) {
	st := db.currentState()
	switch {
	case st.RecoveryModel == Simple:
		return BackupHeader{}, fmt.Errorf("back up the log of database %q: %w", db.opts.Name, ErrNotFull)
	case st.FullBackup.IsZero() || st.LogBackup.Less(db.log.Oldest()):
		return BackupHeader{}, fmt.Errorf("back up the log of database %q: %w", db.opts.Name, ErrNoBackupBase)
	}
	end := db.end()
	if end.Less(st.LogBackup) {
		// Of a secondary: the newest backup was taken elsewhere, of log that is not redone here.
		return BackupHeader{}, &OutOfLine{Reason: ErrBackedUpAhead, Has: end, Needs: st.LogBackup}
	}
	h := db.header(LogBackup, opts)
	h.First, h.DatabaseBackup, h.BeginsChain, h.Last = st.LogBackup, st.FullBackup, st.LogBackup == st.ChainBegin, end
	h.Size = int64(db.log.Bytes(end) - db.log.Bytes(h.First))
	w, err := newBackupWriter(h, opts.families(out)...)
	if err == nil {
		err = db.copyLog(ctx, w, h.First, end)
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return h, fmt.Errorf("back up the log of database %q: %w", db.opts.Name, err)
	}
	return h, nil
}

// NoteLogBackup lets go of log whose backup was stored safely.
func (db *Database) NoteLogBackup(h BackupHeader) error {
	if h.CopyOnly || h.Kind != LogBackup {
		return nil
	}
	if err := db.changeState(func(s *state) { s.LogBackup = h.Last }); err != nil {
		return err
	}
	return db.TruncateLog()
}

func (db *Database) copyLog(ctx context.Context, w io.Writer, from, end LSN) error {
	f, err := db.log.Follow(from)
	if err != nil {
		return err
	}
	defer f.Close()
	for f.Position().Less(end) {
		b, err := f.TryNext()
		if err != nil {
			return err
		}
		if b == nil || !b.LSN.Less(end) {
			return nil
		}
		if _, err := w.Write(b.Raw); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// Chain is where the chain of backups stands; zero before the first full one.
type Chain struct {
	// Full is the newest full backup's position, Log where the next log backup begins.
	Full LSN `json:"fullBackup"`
	Log  LSN `json:"logBackup"`
	// Begin is where the chain's first log backup begins.
	Begin LSN `json:"chainBegin,omitzero"`
}

// Chain is the chain of backups that other servers' replicas have to go on with.
func (db *Database) Chain() Chain {
	st := db.currentState()
	return Chain{Full: st.FullBackup, Log: st.LogBackup, Begin: st.ChainBegin}
}

// SetChain is for a secondary that is told of the primary's chain.
func (db *Database) SetChain(c Chain) error {
	if db.Chain() == c {
		return nil
	}
	return db.changeState(func(s *state) { s.FullBackup, s.LogBackup, s.ChainBegin = c.Full, c.Log, c.Begin })
}

// BackupPositions are the positions of the last full and of the last log backup; zero before the first.
func (db *Database) BackupPositions() (full, log LSN) {
	c := db.Chain()
	return c.Full, c.Log
}

// LogBackupTurn waits until nobody else backs up the log, here or at a secondary replica: each backup begins where the
// one before it ended. The caller releases it when its backup is noted, or given up.
func (db *Database) LogBackupTurn(ctx context.Context) (release func(), err error) {
	select {
	case db.logBackup <- struct{}{}:
		return func() { <-db.logBackup }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another backup of the log of database %q: %w", db.opts.Name, context.Cause(ctx))
	}
}

// chainAt has the chain of a copy that goes on from a recovery fork's beginning know only what lies before it: a
// primary that is gone may have told of later backups.
func (db *Database) chainAt(fork LSN) error {
	c := db.Chain()
	earlier := func(at LSN) LSN {
		if fork.Less(at) {
			return fork
		}
		return at
	}
	return db.SetChain(Chain{Full: earlier(c.Full), Log: earlier(c.Log), Begin: earlier(c.Begin)})
}
