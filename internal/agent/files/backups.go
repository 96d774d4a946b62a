// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"geosql.dev/operator/internal/agent/orders"
)

// folders keeps those into which the engine writes backups that subscribers begin with: an engine makes no folder
// for one. They lie where snapshots do, and are served as these are.
type folders struct {
	dir string
	log *slog.Logger

	mu      sync.Mutex
	wanted  []orders.Reader
	changed chan struct{}
	kept    []kept
}

// kept is what became of an order: its status, and the folder into which an engine writes, empty where there is none.
type kept struct {
	Status

	folder string
}

func newFolders(dir string, log *slog.Logger) *folders {
	return &folders{dir: dir, log: log, changed: make(chan struct{}, 1)}
}

// set replaces the orders; those of snapshots are left out.
func (b *folders) set(readers []orders.Reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = nil
	for _, r := range readers {
		if r.Backup != "" || r.Ended {
			b.wanted = append(b.wanted, r)
		}
	}
	b.again()
}

// again has what is ordered be done once more.
func (b *folders) again() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// run does what is ordered, at each change and, while some of it fails, from time to time, until ctx ends.
func (b *folders) run(ctx context.Context) {
	for {
		if err := b.keep(); err != nil {
			b.log.Warn("a folder for a backup is not as it is ordered", "error", err)
			if !pause(ctx, retryPause) {
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-b.changed:
		}
	}
}

func (b *folders) keep() error {
	b.mu.Lock()
	wanted := slices.Clone(b.wanted)
	b.mu.Unlock()
	var all []kept
	var errs []error
	for _, r := range wanted {
		one := kept{Status: Status{Subscription: r.Subscription, Snapshot: r.Backup, State: Made}}
		if r.Ended {
			one.State = Removed
		}
		if err := b.keepOne(r); err != nil {
			one.State, one.Message = Failing, err.Error()
			errs = append(errs, err)
		} else if !r.Ended {
			one.folder = filepath.Join(b.dir, tree, r.Folder, r.Backup)
		}
		all = append(all, one)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = all
	return errors.Join(errs...)
}

func (b *folders) keepOne(r orders.Reader) error {
	if !single(r.Folder) || !r.Ended && (!single(r.Backup) || !isStamp(r.Backup)) {
		return fmt.Errorf("folder %q with %q is not one for a backup", r.Folder, r.Backup)
	}
	folder := filepath.Join(b.dir, tree, r.Folder)
	if r.Ended {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove a backup whose order has ended: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Join(folder, r.Backup), 0o770); err != nil {
		return fmt.Errorf("make the folder for a backup: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("look for backups before: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && isStamp(e.Name()) && e.Name() != r.Backup {
			if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
				return fmt.Errorf("remove a backup before: %w", err)
			}
		}
	}
	return nil
}

// all are the statuses of what was ordered; a folder's has the bytes that an engine has written there by now. One that
// has gone meanwhile is made anew.
func (b *folders) all() []Status {
	b.mu.Lock()
	all := slices.Clone(b.kept)
	b.mu.Unlock()
	var statuses []Status
	for _, one := range all {
		if one.folder != "" {
			var err error
			if one.Total, err = written(one.folder); err != nil {
				one.State, one.Message = Failing, err.Error()
				b.again()
			}
		}
		statuses = append(statuses, one.Status)
	}
	return statuses
}

// written are the bytes of a folder's files.
func written(folder string) (n int64, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0, fmt.Errorf("look for a backup: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, fmt.Errorf("look for a backup: %w", err)
		case info.Mode().IsRegular():
			n += info.Size()
		}
	}
	return n, nil
}

// single tells that a name is that of an entry of a folder.
func single(name string) bool {
	return filepath.IsLocal(name) && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, `/\`)
}

// remove takes away what was brought of a folder.
func (m *Mirrors) remove(ctx context.Context, one *mirror) error {
	if !single(one.order.Folder) || !single(one.order.Host) {
		return fmt.Errorf("folder %q of %q is not one of a backup", one.order.Folder, one.order.Host)
	}
	folder := filepath.Join(m.dir, one.order.Host, tree, one.order.Folder)
	leave, err := m.enter(ctx, folder)
	if err != nil {
		return err
	}
	defer leave()
	if err := os.RemoveAll(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a backup whose order has ended: %w", err)
	}
	m.say(one, func(s *Status) { s.State, s.Message = Removed, "" })
	return nil
}
