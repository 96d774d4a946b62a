// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

const (
	// stillFor is how long a statement whose time grows with the data may get no further. Of those of which the engine
	// does not say how far they are it is how long they may take.
	stillFor = 30 * time.Minute
	// atOnce is how long its sender waits for it: of a small database it takes no longer.
	atOnce = 3 * time.Second
	// progressTimeout bounds the question how far it is.
	progressTimeout = 2 * time.Second
	// successFor and failureFor are how long its end is kept for whoever asks next. What has succeeded is seen by then,
	// and is not planned any more; if it is planned again later, it is to be done again.
	successFor = time.Minute
	failureFor = 10 * time.Minute
)

// lasting are the statements that go on without a worker. They end with the connector: an engine rolls back what its
// client has left, and the next manager begins it again.
type lasting struct {
	ctx context.Context
	end context.CancelFunc

	mu   sync.Mutex
	runs map[work]*run
}

// work is one statement that goes on, and for which object.
type work struct {
	owner  types.UID
	target Target
	task   tsql.Task
}

type run struct {
	since time.Time
	done  chan struct{}
	// err and ended are set when done is closed.
	err   error
	ended time.Time
}

func newLasting() *lasting {
	ctx, end := context.WithCancel(context.Background())
	return &lasting{ctx: ctx, end: end, runs: map[work]*run{}}
}

// ExecLong executes a statement that takes long for the object with the UID owner. It waits for it a few seconds; then
// the error is a *reconcile.UnderWay, and so it is at each further call until the statement has ended, whose outcome
// the next call returns. Where the engine shows that the login executes such a statement already - one that a manager
// began which is gone, or for another object - it is not sent a second time.
func (c *Connector) ExecLong(ctx context.Context, owner types.UID, t Target, s tsql.Statement) error {
	t = t.withDefaults()
	w := work{owner, t, s.Task}
	db, err := c.Open(ctx, t)
	if err != nil {
		return err
	}
	r := c.lasting.running(w)
	if r == nil {
		percent, others, err := readProgress(ctx, db, s.Task)
		if err != nil {
			return err
		}
		if others {
			what := fmt.Sprintf("%s on server %s", s.Task.Command, db.server)
			return &reconcile.UnderWay{What: what, Percent: percent}
		}
		r = c.lasting.start(w, func(ctx context.Context) error { return db.Exec(ctx, s) }, c.looks(t, s.Task.Command))
	}
	waiting := time.NewTimer(max(0, atOnce-time.Since(r.since)))
	defer waiting.Stop()
	select {
	case <-r.done:
		return c.lasting.take(w, r)
	case <-waiting.C:
	case <-ctx.Done():
	}
	select {
	case <-r.done:
		return c.lasting.take(w, r)
	default:
	}
	under := &reconcile.UnderWay{What: fmt.Sprintf("%s on server %s", s.Reason, db.server), Since: r.since, Percent: -1}
	// That the engine does not say how far it is does not matter.
	if percent, shown, err := readProgress(ctx, db, s.Task); err == nil && shown {
		under.Percent = percent
	}
	return under
}

// looks tells how far the login's requests of a command are, at any time later: the pools of a server may be closed
// while its statement goes on, on whose connection it stays. What cannot be asked now is as it was.
func (c *Connector) looks(t Target, command string) func(context.Context) string {
	last := ""
	return func(ctx context.Context) string {
		if db, err := c.Open(ctx, t); err == nil {
			last = Progress(ctx, db, command)
		}
		return last
	}
}

// running is a statement that goes on, or has ended and was not asked for since; nil when there is none.
func (l *lasting) running(w work) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, r := range l.runs {
		select {
		case <-r.done:
			keep := successFor
			if r.err != nil {
				keep = failureFor
			}
			if time.Since(r.ended) > keep {
				delete(l.runs, at)
			}
		default:
		}
	}
	return l.runs[w]
}

// start lets a statement go on by itself.
func (l *lasting) start(w work, execute func(context.Context) error, look func(context.Context) string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[w]; r != nil {
		return r
	}
	r := &run{since: time.Now(), done: make(chan struct{})}
	l.runs[w] = r
	go func() {
		ctx, cancel := WhileMoving(l.ctx, stillFor, look)
		defer cancel()
		err := execute(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		r.err, r.ended = err, time.Now()
		close(r.done)
	}()
	return r
}

// take hands the outcome over, once.
func (l *lasting) take(w work, r *run) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[w] == r {
		delete(l.runs, w)
	}
	return r.err
}

// Executes tells whether the connection's login executes a command there, on any connection.
func Executes(ctx context.Context, db *DB, command string) (bool, error) {
	_, shown, err := readProgress(ctx, db, tsql.Task{Command: command})
	return shown, err
}

// readProgress asks whether the login executes a command of the task's, and how many percent of it are done.
func readProgress(ctx context.Context, db *DB, task tsql.Task) (percent int, shown bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, progressTimeout)
	defer cancel()
	err = db.Query(ctx, tsql.TaskProgress(task.Command, db.login), func(r Row) error {
		shown = true
		return r.Scan(&percent)
	})
	return percent, shown, err
}
