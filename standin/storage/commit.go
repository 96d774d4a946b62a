// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Commit makes the transaction durable and ends it. It returns the commit record's LSN (zero when nothing was changed).
//
// Order: the log record is written, then the data file commits, then the log is published to followers and the next
// writer goes on while this one waits for fsync and for the gate. A process killed after the first step redoes the
// transaction. An error that is not ErrOutcomeUnknown means that the transaction is rolled back, here and everywhere.
func (tx *Tx) Commit(ctx context.Context) (LSN, error) {
	leave, err := tx.use(context.WithoutCancel(ctx))
	if err != nil {
		return LSN{}, err
	}
	lsn, err := tx.commitLocal()
	if err == nil {
		if tx.metadata {
			tx.db.generation.Add(1)
		}
		tx.usage.mu.Lock()
		tx.usage.broken = errTransactionEnded
		tx.usage.mu.Unlock()
	}
	leave()
	if err != nil {
		tx.abort(errTransactionEnded)
		return LSN{}, fmt.Errorf("commit in database %q: %w", tx.db.opts.Name, err)
	}
	if !tx.done.Swap(true) {
		tx.finish()
	}
	if lsn.IsZero() {
		return lsn, tx.db.confirm(ctx, tx.began)
	}
	return lsn, tx.db.harden(ctx, lsn)
}

// harden waits for this server's disk and for the gate.
func (db *Database) harden(ctx context.Context, lsn LSN) error {
	if db.opts.Logless {
		return nil
	}
	if err := db.log.Harden(context.Background(), MakeLSN(lsn.VLF(), lsn.Block()+1, 0)); err != nil {
		return fmt.Errorf("commit in database %q: %w", db.opts.Name, errors.Join(ErrOutcomeUnknown, err))
	}
	db.mu.Lock()
	gate := db.gate
	db.mu.Unlock()
	if gate == nil {
		return nil
	}
	if err := gate.WaitHardened(ctx, lsn); err != nil {
		return fmt.Errorf("commit in database %q: %w", db.opts.Name, errors.Join(ErrOutcomeUnknown, err))
	}
	db.confirmed(lsn)
	return nil
}

// commitLocal writes the log and commits the data file.
func (tx *Tx) commitLocal() (LSN, error) {
	db := tx.db
	if db.opts.Logless {
		return LSN{}, exec(tx.conn, "COMMIT")
	}
	if err := db.admit(true); err != nil {
		return LSN{}, err
	}
	records, err := tx.capture.records()
	if err != nil {
		return LSN{}, err
	}
	for _, m := range tx.marks {
		records = append(records, record{recordMark, encodeMark(m)})
	}
	if len(records) == 0 {
		return LSN{}, exec(tx.conn, "COMMIT")
	}
	info := commitInfo{transaction: tx.id, time: nowUTC(), fork: db.currentFork()}
	records = append(records, record{recordCommit, info.encode()})
	lsn, end, undo, err := db.log.write(records, false)
	if errors.Is(err, ErrLogFull) {
		err = db.whyFull()
	}
	if err != nil {
		return LSN{}, err
	}
	err = setApplied(tx.conn, lsn, end)
	if err == nil && tx.capture.keeps {
		err = datedKept(tx.conn, lsn)
	}
	if err == nil {
		err = exec(tx.conn, "COMMIT")
	}
	if err != nil {
		undo()
		return LSN{}, err
	}
	db.mu.Lock()
	db.applied, db.appliedEnd, db.appliedTime, db.appliedAt = lsn, end, info.time, info.time
	if tx.capture.publishedNew != nil {
		db.published = tx.capture.publishedNew
	}
	db.mu.Unlock()
	db.log.publish()
	return lsn, nil
}

func (db *Database) currentFork() uuid.UUID {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.identity.Forks[len(db.identity.Forks)-1].ID
}
