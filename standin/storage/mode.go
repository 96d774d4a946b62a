// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// SetMode changes what the database takes. From Primary, transactions and readers in progress are broken off with
// reason. To Primary, all whole transactions of the log are redone first, and an unfinished one at its end is cut off;
// BeginFork has to follow when other copies may have gone on differently.
func (db *Database) SetMode(ctx context.Context, mode Mode, reason error) error {
	was := db.Mode()
	if was == mode {
		return nil
	}
	if mode == Primary {
		return db.becomePrimary(ctx)
	}
	if reason == nil {
		reason = ErrReadOnly
	}
	db.mu.Lock()
	db.mode = mode
	db.mu.Unlock()
	db.stopRedo()
	db.breakAll(reason)
	if err := db.takeTurn(ctx); err != nil {
		return err
	}
	err := db.changeState(func(s *state) { s.Mode = mode })
	<-db.turn
	if err != nil {
		return err
	}
	if mode == Redo {
		db.startRedo()
	}
	return nil
}

func (db *Database) becomePrimary(ctx context.Context) error {
	db.stopRedo()
	for {
		n, err := db.redoBatch(ctx, false)
		if err != nil {
			return fmt.Errorf("redo before the change of role: %w", err)
		}
		if n == 0 {
			break
		}
	}
	if err := db.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-db.turn }()
	if err := db.cutUnfinished(); err != nil {
		return err
	}
	if err := db.readPublished(); err != nil {
		return err
	}
	if err := db.changeState(func(s *state) { s.Mode, s.Standby = Primary, "" }); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.mode = Primary
	return nil
}

// cutUnfinished removes the blocks after the last whole transaction.
func (db *Database) cutUnfinished() error {
	return db.log.cutAt(db.end())
}

// BreakOff ends transactions and readers in progress with reason, without a change of mode; the gate keeps new ones
// out.
func (db *Database) BreakOff(reason error) { db.breakAll(reason) }

func (db *Database) breakAll(reason error) {
	db.mu.Lock()
	tx := db.current
	readers := make([]*Reader, 0, len(db.readers))
	for r := range db.readers {
		readers = append(readers, r)
	}
	db.mu.Unlock()
	for _, r := range readers {
		r.interruptAll(reason)
	}
	if tx != nil {
		tx.abort(reason)
	}
}

// BeginFork begins a recovery fork in a new virtual log file: what this primary writes from here on is told apart from
// what any other copy may have written after the same position.
func (db *Database) BeginFork(ctx context.Context) (Fork, error) {
	if err := db.takeTurn(ctx); err != nil {
		return Fork{}, err
	}
	defer func() { <-db.turn }()
	if mode := db.Mode(); mode != Primary {
		return Fork{}, fmt.Errorf("begin a recovery fork: %w", ErrReadOnly)
	}
	info := commitInfo{transaction: transactionIDs.Add(1), time: nowUTC(), fork: uuid.New(), forkStart: db.log.End()}
	lsn, end, undo, err := db.log.write([]record{{recordFork, info.encode()}}, true)
	if err != nil {
		return Fork{}, fmt.Errorf("begin a recovery fork: %w", err)
	}
	t := &Transaction{Commit: lsn, End: end, Time: info.time, fork: &Fork{ID: info.fork, Start: info.forkStart}}
	if err := db.redo1([]*Transaction{t}); err != nil {
		undo()
		return Fork{}, fmt.Errorf("begin a recovery fork: %w", err)
	}
	db.log.publish()
	if err := db.log.Harden(ctx, db.log.End()); err != nil {
		return Fork{}, fmt.Errorf("begin a recovery fork: %w", err)
	}
	if err := db.chainAt(t.fork.Start); err != nil {
		return Fork{}, fmt.Errorf("begin a recovery fork: %w", err)
	}
	// Whoever read this copy from here on reads what it was taken over with, as after any recovery: only what is written
	// from now on has to be hardened elsewhere before it is shown.
	db.confirmed(lsn)
	return *t.fork, nil
}

// SharedPosition is up to where the log of this copy and that of a copy with the other history are the same, when the
// other's log ends at otherEnd. ok is false when they share no fork.
func (id Identity) SharedPosition(end LSN, other []Fork, otherEnd LSN) (at LSN, ok bool) {
	n := 0
	for n < len(id.Forks) && n < len(other) && id.Forks[n].ID == other[n].ID {
		n++
	}
	if n == 0 {
		return LSN{}, false
	}
	if n < len(id.Forks) && id.Forks[n].Start.Less(end) {
		end = id.Forks[n].Start
	}
	if n < len(other) && other[n].Start.Less(otherEnd) {
		otherEnd = other[n].Start
	}
	if otherEnd.Less(end) {
		end = otherEnd
	}
	return end, true
}

// Parts is where the log of this copy, which ends at end, parts from that of a copy with the other history. parts is
// false when this copy has nothing that the other has not, or cannot have: it only lacks log.
func (id Identity) Parts(end LSN, other []Fork) (at LSN, parts bool) {
	n := 0
	for n < len(id.Forks) && n < len(other) && id.Forks[n].ID == other[n].ID {
		n++
	}
	switch {
	case n == 0:
		return LSN{}, false
	case n < len(id.Forks):
		at = id.Forks[n].Start
		if n < len(other) && other[n].Start.Less(at) {
			at = other[n].Start
		}
	case n < len(other) && other[n].Start.Less(end):
		at = other[n].Start
	default:
		return LSN{}, false
	}
	return at, true
}

// UndoTo takes back the transactions from position on (a whole transaction's beginning), newest first, and cuts the
// log there. The database must be in Redo mode. ErrNoUndo when the log does not reach back far enough, or holds a
// change of the schema without undo; nothing is changed then, apart from newer transactions already taken back, which
// the local log still has and redo would repeat.
func (db *Database) UndoTo(ctx context.Context, position LSN) error {
	if db.Mode() != Redo {
		return fmt.Errorf("undo to %s: %w", position, ErrReadOnly)
	}
	db.stopRedo()
	if err := db.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-db.turn }()
	err := db.undoTo(ctx, position)
	if err != nil {
		return fmt.Errorf("undo database %q to %s: %w", db.opts.Name, position, err)
	}
	return nil
}

func (db *Database) undoTo(ctx context.Context, position LSN) error {
	if position.Less(db.log.Oldest()) {
		return ErrNoUndo
	}
	applied, _ := db.Applied()
	all, err := db.log.scanTransactions(LSN{}, applied)
	if err != nil {
		return err
	}
	for i := len(all) - 1; i >= 0; i-- {
		t := all[i]
		if t.begin.Less(position) {
			// It is whole before the position, or the position is inside it.
			if position.Less(t.end) && t.commit.VLF() == position.VLF() {
				return errors.Join(ErrNoUndo, fmt.Errorf("the position is inside the transaction at %s", t.commit))
			}
			break
		}
		var before LSN
		if i > 0 {
			before = all[i-1].commit
		} else if before, err = db.base(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := db.undo1(t, before); err != nil {
			return err
		}
	}
	return db.log.cutAt(position)
}

// undo1 takes one transaction back.
func (db *Database) undo1(t transactionPlace, before LSN) error {
	full, err := db.log.readTransaction(t)
	if err != nil {
		return err
	}
	next := db.Identity()
	if n := len(next.Forks); full.fork != nil && n > 1 && next.Forks[n-1].ID == full.fork.ID {
		next.Forks = next.Forks[:n-1]
	}
	err = db.inRedoTransaction(func() error {
		for i := len(full.records) - 1; i >= 0; i-- {
			if err := undoRecord(db, full.records[i]); err != nil {
				return fmt.Errorf("take back the transaction at %s: %w", t.commit, err)
			}
		}
		if err := setApplied(db.writer, before, t.begin); err != nil {
			return err
		}
		return setIdentity(db.writer, next)
	})
	if err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.applied, db.appliedEnd, db.identity = before, t.begin, next
	db.generation.Add(1)
	return nil
}

func undoRecord(db *Database, rec record) error {
	switch rec.kind {
	case recordChanges:
		inverse, err := invert(rec.payload)
		if err != nil {
			return err
		}
		return applyChangeset(db.writer, inverse)
	case recordSchema:
		s, err := decodeSchemaChange(rec.payload)
		if err != nil {
			return err
		}
		if s.final {
			return ErrNoUndo
		}
		if have, err := haveKept(db.writer, s.kept); err != nil || !have {
			return errors.Join(ErrNoUndo, err)
		}
		for _, sql := range s.undo {
			if err := executeScript(db.writer, sql); err != nil {
				return err
			}
		}
	}
	return nil
}
