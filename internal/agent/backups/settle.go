// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// notNoted is the number of the error with which a server says that it could not note a backup in msdb: "The
// backup/restore operation was still successful"
// (docs/relational-databases/errors-events/database-engine-events-and-errors-3000-to-3999.md).
const notNoted = 3009

// refused says whether the outcome of a backup's execution is the engine's definite no. All else leaves it open: an
// answer that was lost, and the error of a server that could not note a backup that it has taken.
func refused(execution error) bool {
	return mssql.Number(execution) != 0 && !mssql.HasNumber(execution, notNoted)
}

// note notes that the engine has refused the backup to a folder.
func (e *taker) note(dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refusals[dir] = true
}

// fate is what becomes of the folder of a backup that was begun.
type fate string

const (
	// becomesSet: the engine notes it.
	becomesSet fate = "BecomesSet"
	// waits: the engine may be at it.
	waits fate = "Waits"
	// goes: there is no backup in it.
	goes fate = "Goes"
	// keptAside: there may be one in it. That of a log has what is nowhere else any more.
	keptAside fate = "KeptAside"
)

// evidence is what is known of a backup that was begun.
type evidence struct {
	// Noted is what the engine notes of it.
	Noted *mssql.BackupTaken
	// Refused says that the engine said no; Busy that it takes a backup of the kind; Written that a file has bytes.
	Refused, Busy, Written bool
}

// fateOf judges the evidence.
func fateOf(v evidence) fate {
	switch {
	case v.Noted != nil && !v.Noted.Damaged:
		return becomesSet
	case v.Refused:
		return goes
	case v.Busy:
		return waits
	case !v.Written:
		return goes
	}
	return keptAside
}

// errUnasked says that the server does not say what became of a backup. One that cannot be asked takes none either.
var errUnasked = errors.New("the server cannot be asked")

// expected is a backup whose outcome is not known: until then no other of its lane begins.
type expected struct {
	lane string
	// until is when others no longer wait for it; zero is never.
	until time.Time
}

// logsWaitFor is how long backups of a log wait for one whose outcome is not known.
const logsWaitFor = time.Minute

// expect notes what an earlier life of this sidecar has begun.
func (e *taker) expect() {
	dirs, _ := e.sets.begun()
	for _, dir := range dirs {
		if b, err := readBegun(dir); err == nil {
			e.waitFor(dir, b)
		}
	}
}

// waitFor has others of the lane wait for a backup, as long as it is not settled.
func (e *taker) waitFor(dir string, b begun) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.expected[dir]; known {
		return
	}
	x := expected{lane: b.lane()}
	if b.Kind == backup.Log {
		x.until = e.now().Add(logsWaitFor)
	}
	e.expected[dir] = x
}

// left are the folders of backups that nobody takes any more, those of logs or the others.
func (e *taker) left(logs bool) (left []string, err error) {
	dirs, err := e.sets.begun()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		e.mu.Lock()
		live := e.live[dir]
		e.mu.Unlock()
		b, err := readBegun(dir)
		if isLog := err == nil && b.Kind == backup.Log; !live && isLog == logs {
			left = append(left, dir)
		}
	}
	return left, nil
}

// settle makes a set of a folder in which the engine has finished one, and says so. A folder in which there surely is
// none goes; one in which there may be one is kept aside. The error is errBusy while the engine may be at it.
func (e *taker) settle(ctx context.Context, dir string) (made bool, err error) {
	b, err := readBegun(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.RemoveAll(dir) // before it is on disk nothing is asked of the engine
	case err != nil:
		err = fmt.Errorf("%w: %w", errUnsettled, err)
	default:
		made, err = e.settled(ctx, dir, b)
	}
	if errors.Is(err, errBusy) || errors.Is(err, errUnasked) {
		e.waitFor(dir, b)
		return made, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.expected, dir)
	if err == nil {
		delete(e.refusals, dir)
	}
	return made, err
}

func (e *taker) settled(ctx context.Context, dir string, b begun) (made bool, err error) {
	db, err := e.open.Ask(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: %w: %w", errUnsettled, errUnasked, err)
	}
	v, err := e.evidence(ctx, db, dir, b)
	if err != nil {
		return false, fmt.Errorf("%w: %w: %w", errUnsettled, errUnasked, err)
	}
	switch fateOf(v) {
	case waits:
		return false, fmt.Errorf("%w: %w", errUnsettled, errBusy)
	case goes:
		return false, os.RemoveAll(dir)
	case keptAside:
		return false, e.putAside(dir, b)
	}
	d, err := describe(ctx, db, dir, b, *v.Noted)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUnsettled, err)
	}
	if err := e.sets.add(dir, d); err != nil {
		return true, err
	}
	return true, e.replaced(d)
}

func (e *taker) evidence(ctx context.Context, db *mssql.DB, dir string, b begun) (v evidence, err error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	e.mu.Lock()
	v.Refused = e.refusals[dir]
	e.mu.Unlock()
	// Whether the engine is at it is asked first: one that ends between the two questions is noted by the second.
	if v.Busy, err = atWork(ctx, db, b); err != nil {
		return v, err
	}
	if v.Noted, err = mssql.ReadBackupTaken(ctx, db, filepath.Join(dir, b.Files[0])); err != nil {
		return v, err
	}
	for _, name := range b.Files {
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err == nil && info.Size() > 0:
			v.Written = true
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return v, err
		}
	}
	return v, nil
}

func readBegun(dir string) (begun, error) {
	var b begun
	content, err := os.ReadFile(filepath.Join(dir, takeName))
	if err == nil {
		err = json.Unmarshal(content, &b)
	}
	if err == nil && len(b.Files) == 0 {
		err = errors.New("it names no files")
	}
	if err != nil {
		return b, fmt.Errorf("a backup that was begun in %s: %w", dir, err)
	}
	return b, nil
}

// atWork says whether the engine takes a backup of the kind for this login.
func atWork(ctx context.Context, db *mssql.DB, b begun) (bool, error) {
	busy := false
	err := db.Query(ctx, tsql.TaskProgress(b.command(), db.Login()), func(mssql.Row) error { busy = true; return nil })
	return busy, err
}

// command of the engine's that takes the backup.
func (b begun) command() string {
	if b.Kind == backup.Log {
		return "BACKUP LOG"
	}
	return "BACKUP DATABASE"
}
