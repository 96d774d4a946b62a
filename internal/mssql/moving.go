// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"fmt"
	"sync"
	"time"

	"geosql.dev/operator/internal/tsql"
)

// movingAsked is the time between two looks at how far something is.
const movingAsked = 30 * time.Second

// WhileMoving is a context for what may last for days: it ends with context.DeadlineExceeded once look has told the
// same for so long, and with ctx. What look tells has no meaning but that another text is progress; it is asked every
// half minute, and may take as long. The function that is returned has to be called.
func WhileMoving(ctx context.Context, still time.Duration, look func(context.Context) string) (
	context.Context, context.CancelFunc) {
	m := &moving{Context: ctx, still: still, moved: time.Now(), done: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { m.end(ctx.Err()) })
	go m.watch(look)
	return m, func() { stop(); m.end(context.Canceled) }
}

// moving has a deadline that moves on. It is no context of the standard library's, whose deadlines stay.
type moving struct {
	context.Context
	still time.Duration
	done  chan struct{}

	mu    sync.Mutex
	moved time.Time
	err   error
}

func (m *moving) watch(look func(context.Context) string) {
	ask := func() string {
		// Of m itself it would wait for the deadline that is moved here.
		ctx, cancel := context.WithTimeout(m.Context, movingAsked)
		defer cancel()
		defer context.AfterFunc(m, cancel)()
		return look(ctx)
	}
	last := ask()
	for {
		left := time.Until(m.until())
		if left <= 0 {
			m.end(context.DeadlineExceeded)
			return
		}
		again := time.NewTimer(min(left, movingAsked))
		select {
		case <-m.done:
			again.Stop()
			return
		case <-again.C:
		}
		if now := ask(); now != last {
			last = now
			m.mu.Lock()
			m.moved = time.Now()
			m.mu.Unlock()
		}
	}
}

func (m *moving) until() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moved.Add(m.still)
}

func (m *moving) end(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = why
		close(m.done)
	}
}

// Deadline is when it ends unless something moves until then.
func (m *moving) Deadline() (time.Time, bool) { return m.until(), true }

// Done is closed once it has ended.
func (m *moving) Done() <-chan struct{} { return m.done }

// Err is why it has ended.
func (m *moving) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Progress tells how far the login's requests of these commands are, for WhileMoving; what cannot be asked now tells
// nothing of it.
func Progress(ctx context.Context, db *DB, commands ...string) string {
	var all []int
	for _, command := range commands {
		_ = db.Query(ctx, tsql.TaskProgress(command, db.Login()), func(r Row) error {
			var percent int
			err := r.Scan(&percent)
			all = append(all, percent)
			return err
		})
	}
	return fmt.Sprint(all)
}
