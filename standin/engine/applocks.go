// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"geosql.dev/standin/sqlerr"
)

// getAppLock is sp_getapplock: return status 0 granted, 1 granted after a wait, -1 timed out, -2 cancelled, -3
// deadlock, -999 bad arguments.
func getAppLock(ctx context.Context, c *ProcCall) error {
	s := c.Session
	mode := lockMode(c.String("@LockMode"))
	owner := strings.ToLower(c.String("@LockOwner"))
	if owner == "" {
		owner = "transaction"
	}
	resource := c.String("@Resource")
	if mode == "" || resource == "" || owner != "transaction" && owner != "session" ||
		owner == "transaction" && s.count == 0 {
		c.SetStatus(-999)
		return nil
	}
	timeout := s.settings.lockTimeout
	if c.Given("@LockTimeout") && !c.IsNull("@LockTimeout") {
		timeout = c.Int("@LockTimeout")
	}
	waited, err := s.inst.applocks.acquire(ctx, s, lockKey(s, resource), mode, owner == "transaction", timeout)
	switch {
	case errors.Is(err, errLockTimeout):
		c.SetStatus(-1)
	case err != nil:
		c.SetStatus(-2)
		return err
	case waited:
		c.SetStatus(1)
	}
	return nil
}

// lockMode is the mode of a name, empty when there is none of it.
func lockMode(name string) string {
	for mode := range lockConflicts {
		if strings.EqualFold(mode, name) {
			return mode
		}
	}
	return ""
}

func lockKey(s *Session, resource string) string { return itoa(s.db.ID()) + "/" + resource }

const errLockTimeout = stringError("the lock was not granted in time")

func (l *appLocks) acquire(
	ctx context.Context,
	s *Session,
	key, mode string,
	transaction bool,
	timeoutMS int64,
) (waited bool, err error) {
	var expired <-chan time.Time
	if timeoutMS >= 0 {
		timer := time.NewTimer(time.Duration(timeoutMS) * time.Millisecond)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		changed, granted := l.try(s, key, mode, transaction)
		if granted {
			return waited, nil
		}
		waited = true
		if timeoutMS == 0 {
			return waited, errLockTimeout
		}
		select {
		case <-changed:
		case <-expired:
			return waited, errLockTimeout
		case <-ctx.Done():
			return waited, ErrCancelled
		}
	}
}

func (l *appLocks) try(s *Session, key, mode string, transaction bool) (<-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks == nil {
		l.locks = map[string]*appLock{}
	}
	lock := l.locks[key]
	if lock == nil {
		lock = &appLock{holders: map[*Session]*appHold{}, changed: make(chan struct{})}
		l.locks[key] = lock
	}
	if !lock.grants(s, mode) {
		return lock.changed, false
	}
	h := lock.holders[s]
	if h == nil {
		h = &appHold{mode: mode, transaction: transaction}
		lock.holders[s] = h
	}
	if mode == "Exclusive" {
		h.mode = mode
	}
	h.count++
	return nil, true
}

// grants tells whether no other session holds the lock in a mode that conflicts.
func (lock *appLock) grants(s *Session, mode string) bool {
	for other, h := range lock.holders {
		if other != s && strings.Contains(" "+lockConflicts[mode]+" ", " "+h.mode+" ") {
			return false
		}
	}
	return true
}

func (l *appLocks) release(s *Session, key string, all bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.locks[key]
	if lock == nil || lock.holders[s] == nil {
		return false
	}
	h := lock.holders[s]
	h.count--
	if h.count <= 0 || all {
		l.drop(key, lock, s)
	}
	return true
}

func (l *appLocks) drop(key string, lock *appLock, s *Session) {
	delete(lock.holders, s)
	close(lock.changed)
	lock.changed = make(chan struct{})
	if len(lock.holders) == 0 {
		delete(l.locks, key)
	}
}

// releaseOwned releases what a session holds: its transaction's locks, or all.
func (l *appLocks) releaseOwned(s *Session, onlyTransaction bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, lock := range l.locks {
		if h := lock.holders[s]; h != nil && (h.transaction || !onlyTransaction) {
			l.drop(key, lock, s)
		}
	}
}

func (s *Session) releaseTransactionLocks() { s.inst.applocks.releaseOwned(s, true) }
func (s *Session) releaseSessionLocks()     { s.inst.applocks.releaseOwned(s, false) }

func releaseAppLock(ctx context.Context, c *ProcCall) error {
	if !c.Session.inst.applocks.release(c.Session, lockKey(c.Session, c.String("@Resource")), false) {
		c.SetStatus(-999)
		return sqlerr.New(1223, 1, c.String("@DbPrincipal"), c.String("@Resource"))
	}
	return nil
}

// appLockGrantable is APPLOCK_TEST: 1 where the session would get the lock at once, 0 where it would not, NULL for a
// mode that there is not (docs/t-sql/functions/applock-test-transact-sql.md).
func (s *Session) appLockGrantable(resource, mode string) any {
	if mode = lockMode(mode); mode == "" {
		return nil
	}
	l := &s.inst.applocks
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock := l.locks[lockKey(s, resource)]; lock != nil && !lock.grants(s, mode) {
		return int64(0)
	}
	return int64(1)
}

func (s *Session) appLockMode(resource string) any {
	l := &s.inst.applocks
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock := l.locks[lockKey(s, resource)]; lock != nil && lock.holders[s] != nil {
		return lock.holders[s].mode
	}
	return "NoLock"
}
