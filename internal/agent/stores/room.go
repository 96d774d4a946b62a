// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
)

// Folders of a store: objects by their keys, what is known of each beside, uploads that are not complete, and what is
// being written.
const (
	objectsDir = "objects"
	aboutDir   = "about"
	uploadsDir = "uploads"
	newDir     = "new"
)

// reserves is how many times the reserve of backups of data (backups.Reserved) others' backups leave free: those of the
// server itself come before them, and its logs before all.
const reserves = 2

// What is of a set beside its files, its description and marks, is of smallMost bytes at most and has smallExtension:
// it goes into the reserve of data, and beyond a quota. A set whose files are all there is none without it.
const (
	smallMost      = 64 << 10
	smallExtension = ".json"
	smallReserves  = 1
)

// errFull says that there is no room for what is to be stored.
var errFull = errors.New("no room")

// shelf is the folder of one store. What changes names in it does so under mu: an object and its folders come and go
// together.
type shelf struct {
	name string
	root *os.Root
	now  func() time.Time
	at   func(point string)
	// volume asks how large the volume is and what is free of it.
	volume func() (capacity, free int64, err error)

	mu sync.Mutex
	// quota, and what is there and on its way, in bytes.
	quota, used, coming int64
	// busy are uploads of which a part is being written.
	busy map[string]bool
	// last is what came of the last attempt. Nobody who asks waits for a volume that does not answer.
	last atomic.Pointer[Status]
}

func openShelf(dir string, order orders.Store, now func() time.Time, at func(string),
	volume func() (int64, int64, error)) (*shelf, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &shelf{name: order.Name, root: root, now: now, at: at, volume: volume, quota: order.Quota,
		busy: map[string]bool{}}
	s.last.Store(&Status{Store: order.Name})
	// What an earlier life was writing is nobody's: whoever sent it has had no answer.
	if err := root.RemoveAll(newDir); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	for _, folder := range []string{objectsDir, aboutDir, uploadsDir, newDir} {
		if err := root.MkdirAll(folder, 0o750); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	if err := errors.Join(s.flush("."), s.count()); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

func (s *shelf) setQuota(quota int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota = quota
}

// count counts what is there.
func (s *shelf) count() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := int64(0)
	for _, folder := range []string{objectsDir, uploadsDir} {
		err := fs.WalkDir(s.root.FS(), folder, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return gone(err)
			}
			info, err := e.Info()
			if err == nil {
				used += info.Size()
			}
			return gone(err)
		})
		if err != nil {
			return fmt.Errorf("count what store %s has: %w", s.name, err)
		}
	}
	s.used = used
	return nil
}

// gone is an error but for that of what was removed meanwhile.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// room is how many bytes can be stored yet. s.mu is held.
func (s *shelf) room() (int64, error) {
	capacity, free, err := s.volume()
	if err != nil {
		return 0, fmt.Errorf("ask how much room the backup volume has: %w", err)
	}
	left := free - s.coming - reserves*backups.Reserved(capacity)
	if s.quota > 0 {
		left = min(left, s.quota-s.used-s.coming)
	}
	return max(left, 0), nil
}

// smallRoom is how many bytes can be stored yet of what is small. s.mu is held.
func (s *shelf) smallRoom() (int64, error) {
	capacity, free, err := s.volume()
	if err != nil {
		return 0, fmt.Errorf("ask how much room the backup volume has: %w", err)
	}
	return max(free-s.coming-smallReserves*backups.Reserved(capacity), 0), nil
}

// small says whether an object is of a set beside its files.
func small(key string, bytes int64) bool {
	return bytes <= smallMost && path.Ext(key) == smallExtension
}

// take has room kept for bytes of an object that come. done says how many more are there by then.
func (s *shelf) take(key string, bytes int64) (done func(more int64), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.room
	if small(key, bytes) {
		room = s.smallRoom
	}
	left, err := room()
	if err != nil {
		return nil, err
	}
	if bytes > left {
		return nil, fmt.Errorf("%w: %d bytes come, and store %s may take %d more, by its quota and what the server's own "+
			"backups need of its volume", errFull, bytes, s.name, left)
	}
	s.coming += bytes
	return func(more int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.coming -= bytes
		s.used = max(s.used+more, 0)
	}, nil
}

// full makes what a file system says of no room into errFull.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", errFull, err)
	}
	return err
}

// try writes, reads back and removes a file, and notes what came of it.
func (s *shelf) try(now func() time.Time) {
	err := s.count()
	if err == nil {
		err = s.tryOnce()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left, unknown := s.room()
	if err = errors.Join(err, unknown); err == nil && left == 0 {
		err = fmt.Errorf("%w: its quota is used, or what is free of the backup volume is left to the server's own backups",
			errFull)
	}
	last := &Status{Store: s.name, Tried: now().UTC(), Bytes: s.used, RoomBytes: left}
	if err != nil {
		last.Error = err.Error()
	}
	s.last.Store(last)
}

func (s *shelf) tryOnce() error {
	name, content := path.Join(newDir, "try-"+rand.Text()), make([]byte, 64)
	_, _ = rand.Read(content) // it never fails
	if err := s.root.WriteFile(name, content, 0o640); err != nil {
		return fmt.Errorf("try the backup volume: %w", full(err))
	}
	f, err := s.root.Open(name)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	back, unread := s.root.ReadFile(name)
	if err = errors.Join(err, unread, s.root.Remove(name)); err != nil {
		return fmt.Errorf("try the backup volume: %w", full(err))
	}
	if !bytes.Equal(back, content) {
		return errors.New("the backup volume does not give a file back as it was written")
	}
	return nil
}

func (s *shelf) status() Status { return *s.last.Load() }

// flush writes a folder's names down.
func (s *shelf) flush(folder string) error {
	d, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// folderFor makes the folder of a file, durably. s.mu is held.
func (s *shelf) folderFor(file string) error {
	folder := path.Dir(file)
	if _, err := s.root.Stat(folder); err == nil {
		return nil
	}
	if err := s.root.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for at := folder; ; at = path.Dir(at) {
		if err := s.flush(at); err != nil || at == "." {
			return err
		}
	}
}

// prune removes the folders of a file that are empty, up to one of the store's own. s.mu is held.
func (s *shelf) prune(file string) {
	for at := path.Dir(file); path.Dir(at) != "."; at = path.Dir(at) {
		if s.root.Remove(at) != nil {
			return // it is not empty
		}
	}
}
