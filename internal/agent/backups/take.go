// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	// longest bounds one backup, and the reading of it from a store.
	longest = 24 * time.Hour
	// asking bounds what is asked of the engine beside them.
	asking = 15 * time.Second
)

// errUnsettled says that nobody knows yet what became of a backup: the engine may still be at it.
var errUnsettled = errors.New("what became of a backup that was begun is not known yet")

// begun is what lies in the folder of a set that is being taken.
type begun struct {
	Take
	Policy, Namespace, Target string
	Compressed, Checksum      bool
	Files                     []string
}

// taker is where backups are taken. A backup that goes on outlives a change of the order that it was taken for.
type taker struct {
	open func(context.Context) (*mssql.DB, error)
	sets *local

	mu sync.Mutex
	// taking are the backups that go on by lane and database, live the folders that they are written to.
	taking map[string]Taking
	live   map[string]bool
}

// Taking is a backup that goes on.
type Taking struct {
	Take
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

// enter says whether a backup may begin, and in which folder; one that may is over when leave is called.
func (e *taker) enter(t Take, now time.Time) (dir string, leave func(), ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, busy := e.taking[t.lane()]; busy {
		return "", nil, false
	}
	dir = filepath.Join(e.sets.dir, newPrefix+uuid.NewString())
	e.taking[t.lane()], e.live[dir] = Taking{t, now}, true
	return dir, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.taking, t.lane())
		delete(e.live, dir)
	}, true
}

// goingOn are the backups that are being taken.
func (e *taker) goingOn() []Taking {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.taking), func(a, b Taking) int { return cmp.Compare(a.lane(), b.lane()) })
}

// take has the engine write a set and makes it one of the volume's. A set whose outcome is not known is settled later:
// the log that a backup has is nowhere else any more.
func (e *taker) take(ctx context.Context, order orders.Backup, t Take, now time.Time) error {
	dir, leave, ok := e.enter(t, now)
	if !ok {
		return nil
	}
	defer leave()
	b := begun{Take: t, Policy: order.Policy, Namespace: order.Namespace, Target: order.Target,
		Compressed: order.Compression, Checksum: order.Checksum}
	extension := ".bak"
	if t.Kind == backup.Log {
		extension = ".trn"
	}
	for n := range max(order.Stripes, 1) {
		b.Files = append(b.Files, fmt.Sprint(n+1, extension))
	}
	content, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("begin a backup: %w", err)
	}
	// The engine's user is the sidecar's, or of its group.
	if err := os.MkdirAll(dir, 0o770); err != nil {
		return fmt.Errorf("begin a backup: %w", err)
	}
	if err := durable.Replace(filepath.Join(dir, takeName), content); err != nil {
		return fmt.Errorf("begin a backup: %w", err)
	}
	db, err := e.open(ctx)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	execution := db.Exec(ctx, b.statement(dir, order))
	// A backup that was refused, or whose answer was lost, is told from what the engine notes.
	settling, done := context.WithTimeout(context.WithoutCancel(ctx), asking)
	defer done()
	made, err := e.settle(settling, dir)
	switch {
	case err != nil:
		return errors.Join(execution, err)
	case !made && execution == nil:
		return fmt.Errorf("the engine notes no backup to %s, which it said it took", dir)
	case !made:
		return execution
	}
	return nil
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

// settleAll settles what an earlier life of this sidecar, or a broken connection, has left.
func (e *taker) settleAll(ctx context.Context) error {
	dirs, err := e.sets.begun()
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		e.mu.Lock()
		live := e.live[dir]
		e.mu.Unlock()
		if live {
			continue
		}
		if _, err := e.settle(ctx, dir); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// settle makes a set of a folder in which the engine has finished one, and says so. A folder in which it has not, and
// in which nothing is being written, goes.
func (e *taker) settle(ctx context.Context, dir string) (made bool, err error) {
	b, err := readBegun(dir)
	if err != nil {
		return false, errors.Join(err, os.RemoveAll(dir)) // before it is on disk nothing is asked of the engine
	}
	db, err := e.open(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUnsettled, err)
	}
	// Whether the engine is at it is asked first: one that ends between the two questions is noted by the second.
	busy, err := atWork(ctx, db, b)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUnsettled, err)
	}
	taken, err := mssql.ReadBackupTaken(ctx, db, filepath.Join(dir, b.Files[0]))
	switch {
	case err != nil:
		return false, fmt.Errorf("%w: %w", errUnsettled, err)
	case taken == nil && busy:
		return false, errUnsettled
	case taken == nil || taken.Damaged:
		return false, os.RemoveAll(dir)
	}
	d, err := describe(ctx, db, dir, b, *taken)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUnsettled, err)
	}
	return true, e.sets.add(dir, d)
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
	command := "BACKUP DATABASE"
	if b.Kind == backup.Log {
		command = "BACKUP LOG"
	}
	busy := false
	err := db.Query(ctx, tsql.TaskProgress(command, db.Login()), func(mssql.Row) error { busy = true; return nil })
	return busy, err
}

// describe reads what a set is that the engine has finished.
func describe(ctx context.Context, db *mssql.DB, dir string, b begun, t mssql.BackupTaken) (backup.Description, error) {
	d := backup.Description{
		Set: backup.Set{ID: t.ID, Kind: b.Kind, Database: t.Database, Family: t.Family, CopyOnly: t.CopyOnly,
			FirstLSN: backup.LSN(t.FirstLSN), LastLSN: backup.LSN(t.LastLSN), BaseID: t.BaseID, FirstFork: t.FirstFork,
			Fork: t.Fork, ForkLSN: backup.LSN(t.ForkLSN), Begun: t.Begun, Finished: t.Finished, Until: t.Until},
		Namespace: b.Namespace, Target: b.Target, Policy: b.Policy, Request: b.Request, Server: db.Server(),
		ClockOffset: int(t.ClockOffset / time.Minute), Bytes: t.Bytes, Compressed: b.Compressed, Checksum: t.Checksum,
	}
	if d.Kind != backup.Log {
		d.Until = time.Time{}
	}
	instance, err := mssql.ReadInstance(ctx, db)
	if err != nil {
		return d, err
	}
	d.Build = instance.ProductVersion
	files, err := mssql.ReadDatabaseFiles(ctx, db, t.Database)
	if err != nil {
		return d, err
	}
	for _, f := range files {
		d.DatabaseFiles = append(d.DatabaseFiles, backup.DatabaseFile{Name: f.Name, Log: f.Log, Bytes: f.Bytes})
	}
	for _, name := range b.Files {
		f, err := sum(filepath.Join(dir, name))
		if err != nil {
			return d, err
		}
		d.Files = append(d.Files, f)
	}
	return d, nil
}

// sum is what a file has on disk.
func sum(path string) (backup.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return backup.File{}, fmt.Errorf("read what was backed up: %w", err)
	}
	defer func() { _ = f.Close() }()
	digest := sha256.New()
	bytes, err := io.Copy(digest, f)
	if err != nil {
		return backup.File{}, fmt.Errorf("read what was backed up: %w", err)
	}
	return backup.File{Name: filepath.Base(path), Bytes: bytes,
			SHA256: strings.ToLower(hex.EncodeToString(digest.Sum(nil)))},
		nil
}
