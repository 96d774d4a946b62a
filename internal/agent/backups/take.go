// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

const (
	// stillFor is how long a backup of data may get no further, stillLog one of a log.
	stillFor, stillLog = 24 * time.Hour, 4 * time.Hour
	// asking bounds what is asked of the engine beside them.
	asking = 15 * time.Second
)

var (
	// errUnsettled says that nobody knows yet what became of a backup.
	errUnsettled = errors.New("what became of a backup that was begun is not known yet")
	// errAside says that a backup's files are kept though the server notes no backup to them.
	errAside = errors.New("the server notes no backup to files that it wrote, which may be whole")
)

// begun is what lies in the folder of a set that is being taken.
type begun struct {
	Take
	Policy, Namespace, Target string
	Compressed, Checksum      bool
	Files                     []string
	// KeepAge is how long the policy keeps backups; 0 for ever.
	KeepAge time.Duration
}

// taker is where backups are taken. A backup that goes on outlives a change of the order that it was taken for.
type taker struct {
	open Engine
	sets *local
	now  func() time.Time
	// room asks a file system for its bytes, and those that are free.
	room func(dir string) (capacity, free int64, err error)
	// lanes are those in which backups go on.
	lanes sync.WaitGroup

	mu sync.Mutex
	// taking are the backups that go on by lane and database, live the folders that they are written to.
	taking map[string]Taking
	live   map[string]bool
	// refusals are the folders of backups that the engine has refused, expected those that are not settled.
	refusals map[string]bool
	expected map[string]expected
	// short are backups by lane for which there was no room.
	short map[string]short
}

func newTaker(open Engine, sets *local, now func() time.Time) *taker {
	return &taker{open: open, sets: sets, now: now, room: FileSystem, taking: map[string]Taking{}, live: map[string]bool{},
		refusals: map[string]bool{}, expected: map[string]expected{}, short: map[string]short{}}
}

// Taking is a backup that goes on.
type Taking struct {
	Take
	// Policy by which it is taken.
	Policy string
	// Since when.
	Since time.Time
}

// lane keeps two backups of a database apart: one with its data, and one of its log beside it.
func (t Take) lane() string {
	if t.Kind == backup.Log {
		return "log of " + t.Database
	}
	return "data of " + t.Database
}

// enter says whether a backup may begin, and in which folder; one that may is over when leave is called. A policy takes
// one backup of data at a time, also when its order changes meanwhile.
func (e *taker) enter(t Take, policy string) (dir string, leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for lane, other := range e.taking {
		if lane == t.lane() || other.Policy == policy && other.Kind != backup.Log && t.Kind != backup.Log {
			return "", nil, fmt.Errorf("the %s backup of %s: %w", other.Kind, other.Database, errBusy)
		}
	}
	for dir, x := range e.expected {
		if x.lane == t.lane() && (x.until.IsZero() || e.now().Before(x.until)) {
			return "", nil, fmt.Errorf("what was begun in %s: %w", dir, errBusy)
		}
	}
	dir = filepath.Join(e.sets.dir, newPrefix+uuid.NewString())
	e.taking[t.lane()], e.live[dir] = Taking{t, policy, e.now()}, true
	return dir, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.taking, t.lane())
		delete(e.live, dir)
	}, nil
}

// goingOn are the backups that are being taken.
func (e *taker) goingOn() []Taking {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.taking), func(a, b Taking) int { return cmp.Compare(a.lane(), b.lane()) })
}

// take has the engine write a set and makes it one of the volume's. A set whose outcome is not known is settled later:
// the log that a backup has is nowhere else any more. size is how many bytes it may have, 0 where nobody knows. The
// error is errBusy where another one is being taken.
func (e *taker) take(ctx context.Context, order orders.Backup, t Take, size int64) error {
	dir, leave, err := e.enter(t, order.Policy)
	if err != nil {
		return err
	}
	defer leave()
	free, err := e.fits(t, size)
	if err != nil {
		return err
	}
	b, err := begin(dir, order, t)
	if err != nil {
		return err
	}
	e.sets.reached("begun", t.Kind)
	open := e.open.Data
	if t.Kind == backup.Log {
		open = e.open.Log
	}
	db, err := open(ctx)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	executing, cancel := e.whileMoving(ctx, dir, b)
	defer cancel()
	execution := db.Exec(executing, b.statement(dir, order))
	e.sets.reached("executed", t.Kind)
	// What became of it is told from what the engine notes, whatever its answer was.
	if refused(execution) {
		e.note(dir)
		e.tooLittle(t, free, execution)
	}
	made, err := e.settle(ctx, dir)
	switch {
	case made:
		return err
	case errors.Is(err, errBusy):
		return execution
	case err != nil:
		return errors.Join(execution, err)
	case execution == nil:
		return fmt.Errorf("the server says that it took a backup to %s, and wrote none there", dir)
	}
	return execution
}

// whileMoving ends once the engine neither writes to the files of a backup nor says that it gets any further. A file
// may have its size from the begin.
func (e *taker) whileMoving(ctx context.Context, dir string, b begun) (context.Context, context.CancelFunc) {
	still := stillFor
	if b.Kind == backup.Log {
		still = stillLog
	}
	return mssql.WhileMoving(ctx, still, func(ctx context.Context) string {
		var sizes []int64
		for _, name := range b.Files {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				sizes = append(sizes, info.Size())
			}
		}
		progress := ""
		if db, err := e.open.Ask(ctx); err == nil {
			progress = mssql.Progress(ctx, db, b.command())
		}
		return fmt.Sprint(sizes, progress)
	})
}

// begin makes the folder of a backup, and says there what it is, before anything is asked of the engine.
func begin(dir string, order orders.Backup, t Take) (begun, error) {
	b := begun{Take: t, Policy: order.Policy, Namespace: order.Namespace, Target: order.Target,
		Compressed: order.Compression, Checksum: order.Checksum, KeepAge: order.KeepAge}
	stripes, extension := max(order.Stripes, 1), ".bak"
	if t.Kind == backup.Log {
		stripes, extension = 1, ".trn"
	}
	for n := range stripes {
		b.Files = append(b.Files, fmt.Sprint(n+1, extension))
	}
	content, err := json.Marshal(b)
	if err != nil {
		return b, fmt.Errorf("begin a backup: %w", err)
	}
	// The engine's user is the sidecar's, or of its group.
	if err := os.MkdirAll(dir, 0o770); err != nil {
		return b, fmt.Errorf("begin a backup: %w", err)
	}
	if err := durable.Replace(filepath.Join(dir, takeName), content); err != nil {
		return b, fmt.Errorf("begin a backup: %w", err)
	}
	return b, nil
}

func (b begun) statement(dir string, order orders.Backup) tsql.Statement {
	form := tsql.BackupForm{
		Transfer:    tsql.Transfer{MaxTransferSize: order.MaxTransferSize, BufferCount: order.BufferCount},
		Compression: b.Compressed, Checksum: b.Checksum, Differential: b.Kind == backup.Differential, CopyOnly: b.CopyOnly,
	}
	for _, file := range b.Files {
		form.Files = append(form.Files, filepath.Join(dir, file))
	}
	if b.Kind == backup.Log {
		return tsql.BackupLog(b.Database, form).Because(b.Reason)
	}
	return tsql.BackupDatabase(b.Database, form).Because(b.Reason)
}
