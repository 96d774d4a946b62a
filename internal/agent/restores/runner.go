// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

const (
	// tick is the time between two looks at a restore that waits.
	tick = 2 * time.Second
	// pauseLeast and pauseMost bound the pause after something failed; it doubles with each failure.
	pauseLeast, pauseMost = 5 * time.Second, 5 * time.Minute
	// stillFor is how long a download or a statement may get no further; asking bounds what is asked of the engine beside
	// them.
	stillFor = 24 * time.Hour
	asking   = 15 * time.Second
	// recordName is the file of the record in the folder of a restore.
	recordName = "restore.json"
)

// runner carries out one Restore's order.
type runner struct {
	dir    string
	engine backups.Engine
	who    backups.Identity
	log    *slog.Logger
	now    func() time.Time
	free   func(dir string) (int64, error)
	at     func(ctx context.Context, point string)
	tick   time.Duration
	pause  time.Duration
	// begun is the number of the file, from 1, that this life has begun to download.
	begun int

	mu         sync.Mutex
	order      orders.Restore
	record     record
	failing    string
	lacks      []string
	downloaded int64
	// denied says that the engine does not let this login check the database.
	denied bool
}

func newRunner(order orders.Restore, p *Part) *runner {
	return &runner{dir: filepath.Join(p.dir, order.UID), engine: p.engine, who: p.who, log: p.log, now: p.now,
		free: p.free, at: p.at, tick: p.tick, pause: p.pause, order: order, record: record{UID: order.UID}}
}

// tell changes how the stores are reached, and whether the group is made; all else of an order stays as it was.
func (r *runner) tell(order orders.Restore) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order.Stores, r.order.Unmade = order.Stores, order.Unmade
}

// run carries the order out until ctx ends or it is over.
func (r *runner) run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		pause := time.Duration(0)
		over, waits, err := r.step(ctx)
		switch {
		case over:
			return
		case err != nil && ctx.Err() == nil:
			if failures == 0 {
				r.log.Warn("a step of a restore failed, and is tried again", "restore", r.order.Name, "error", err)
			}
			pause = min(r.pause<<min(failures, 10), pauseMost)
			failures++
			r.fail(err.Error())
		case waits != "":
			pause = r.tick
			r.fail(waits)
		default:
			failures = 0
			r.fail("")
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (r *runner) fail(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = why
}

// step observes, plans and carries out the next step.
func (r *runner) step(ctx context.Context) (over bool, waits string, err error) {
	if r.record.Started.IsZero() {
		if err := r.load(); err != nil {
			return false, "", err
		}
	}
	o := r.observe(ctx)
	s := next(o)
	if s == nil {
		return true, "", nil
	}
	r.at(ctx, "before: "+s.String())
	if ctx.Err() != nil {
		return false, "", ctx.Err()
	}
	if w, is := s.(wait); is {
		return false, w.Why, nil
	}
	if err := r.apply(ctx, o, s); err != nil {
		return false, "", fmt.Errorf("%s: %w", s, err)
	}
	return false, "", nil
}

// load reads what an earlier life has written down, or takes the order up.
func (r *runner) load() error {
	content, err := os.ReadFile(filepath.Join(r.dir, recordName))
	kept := record{UID: r.order.UID, Started: r.now().UTC()}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read what was written down of the restore: %w", err)
	default:
		if err := json.Unmarshal(content, &kept); err != nil {
			return fmt.Errorf("read what was written down of the restore in %s: %w", r.dir, err)
		}
	}
	return r.keep(kept)
}

// keep writes the record down, and goes by it from then on.
func (r *runner) keep(next record) error {
	content, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("write the restore down: %w", err)
	}
	// The engine's user is the sidecar's, or of its group.
	if err := os.MkdirAll(r.dir, 0o770); err != nil {
		return fmt.Errorf("write the restore down: %w", err)
	}
	if err := durable.Replace(filepath.Join(r.dir, recordName), content); err != nil {
		return fmt.Errorf("write the restore down: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record = next
	return nil
}

// observe reads the database's state at the engine. It decides nothing.
func (r *runner) observe(ctx context.Context) *observed {
	r.mu.Lock()
	o := &observed{Order: r.order, Record: r.record, Now: r.now().UTC()}
	r.mu.Unlock()
	if entries, err := os.ReadDir(r.dir); err == nil {
		for _, e := range entries {
			o.Left = o.Left || e.IsDir()
		}
	}
	if o.Record.Database == "" || o.Record.Result != nil {
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	db, err := r.engine.Ask(ctx)
	if err != nil {
		o.Err = err
		return o
	}
	// Whether the engine is at it is asked first: what ends between the two questions shows in the second.
	for _, command := range restoring {
		err := db.Query(ctx, tsql.TaskProgress(command, db.Login()), func(mssql.Row) error { o.Working = true; return nil })
		if err != nil {
			o.Err = err
			return o
		}
	}
	if o.Order.Group != "" {
		if o.Role, o.Err = mssql.ReadLocalRole(ctx, db, o.Order.Group); o.Err != nil {
			return o
		}
	}
	if o.Lacks, o.Err = lacks(ctx, db, o.Record.Plan); o.Err != nil {
		return o
	}
	o.Database, o.Err = mssql.ReadDatabasePlaces(ctx, db, o.Record.Database)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lacks = o.Lacks
	return o
}

// lacks are the certificates that a plan needs and the server does not have.
func lacks(ctx context.Context, db *mssql.DB, plan backup.Plan) (missing []string, err error) {
	needed := plan.Encryptors()
	if len(needed) == 0 {
		return nil, nil
	}
	have, err := mssql.ReadThumbprints(ctx, db)
	for _, thumbprint := range needed {
		if !slices.Contains(have, thumbprint) {
			missing = append(missing, thumbprint)
		}
	}
	return missing, err
}
