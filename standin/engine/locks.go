// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// lockTable knows who holds and who waits for the write transaction of which database, to find deadlocks.
type lockTable struct {
	mu      sync.Mutex
	holders map[*Database]*Session
	waiting map[*Session]*Database
}

// wait notes that s is about to wait; it is false when the wait would close a circle.
func (l *lockTable) wait(s *Session, db *Database) (holder *Session, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders == nil {
		l.holders, l.waiting = map[*Database]*Session{}, map[*Session]*Database{}
	}
	at := db
	for range 100 {
		h := l.holders[at]
		if h == nil {
			break
		}
		if h == s {
			return h, false
		}
		next := l.waiting[h]
		if next == nil {
			break
		}
		at = next
	}
	l.waiting[s] = db
	return l.holders[db], true
}

func (l *lockTable) got(s *Session, db *Database, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, s)
	if held {
		l.holders[db] = s
	}
}

func (l *lockTable) release(s *Session, db *Database) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders[db] == s {
		delete(l.holders, db)
	}
}

// begin waits for the write transaction of a database, no longer than LOCK_TIMEOUT.
func (s *Session) begin(ctx context.Context, db *Database) (*storage.Tx, error) {
	st := db.Storage()
	if err := db.Available(); err != nil {
		return nil, err
	}
	if db.Info().ReadOnly {
		return nil, sqlerr.New(3906, 1, db.Name())
	}
	holder, ok := s.inst.locks.wait(s, db)
	if !ok {
		return nil, sqlerr.New(1205, 51, s.spid, "lock")
	}
	by := 0
	if holder != nil {
		by = holder.spid
	}
	defer s.status.waiting("LCK_M_X", by)()
	wait := ctx
	if s.settings.lockTimeout >= 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, time.Duration(max(s.settings.lockTimeout, 1))*time.Millisecond)
		defer cancel()
	}
	tx, err := st.Begin(wait)
	s.inst.locks.got(s, db, err == nil)
	if err == nil {
		return tx, nil
	}
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return nil, e
	case ctx.Err() != nil:
		return nil, ErrCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return nil, sqlerr.New(1222, 51)
	case errors.Is(err, storage.ErrReadOnly):
		return nil, sqlerr.New(3906, 2, db.Name())
	}
	return nil, fmt.Errorf("begin a transaction in database %q: %w", db.Name(), err)
}

// appLocks are the locks of sp_getapplock.
type appLocks struct {
	mu    sync.Mutex
	locks map[string]*appLock
}

type appLock struct {
	holders map[*Session]*appHold
	changed chan struct{}
}

// appHold is what one session holds; transaction locks end with the transaction.
type appHold struct {
	mode        string
	count       int
	transaction bool
}

var lockConflicts = map[string]string{
	"Shared": "Exclusive IntentExclusive", "IntentShared": "Exclusive", "IntentExclusive": "Shared Update Exclusive",
	"Update": "Update Exclusive IntentExclusive", "Exclusive": "Shared Update Exclusive IntentShared IntentExclusive",
}
