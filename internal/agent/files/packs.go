// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// packsFolder has, beside the tree of snapshots, what is packed of them: a folder for each publication with a file for
// each snapshot. Engines know nothing of it.
const packsFolder = "packed"

// packSuffix ends the name of a snapshot's file.
const packSuffix = ".pack"

// packs are those of a snapshot folder.
type packs struct {
	// dir is packsFolder in it.
	dir string
	// volume says what room the folder has; tests have their own.
	volume func(dir string) (capacity, free int64, err error)

	mu sync.Mutex
	// open are those that were asked for, by their files' names.
	open map[string]*transfer.Pack
}

func newPacks(dir string) *packs {
	return &packs{dir: dir, volume: backups.FileSystem, open: map[string]*transfer.Pack{}}
}

// take opens a snapshot's pack in the snapshot folder, until Leave is called.
func (p *packs) take(root *os.Root, folder, snapshot string) (*transfer.Pack, error) {
	name := filepath.Join(p.dir, folder, snapshot+packSuffix)
	p.mu.Lock()
	defer p.mu.Unlock()
	if pack := p.open[name]; pack != nil && pack.Use() {
		return pack, nil
	}
	pack, err := transfer.OpenPack(root, path.Join(packsFolder, folder, snapshot+packSuffix), p.room)
	if err != nil {
		return nil, err
	}
	pack.Use()
	p.open[name] = pack
	return pack, nil
}

// room tells whether so many bytes more may be packed: backups of logs keep what is theirs.
func (p *packs) room(n int64) bool {
	capacity, free, err := p.volume(p.dir)
	return err == nil && free-n > backups.Reserved(capacity)
}

// prune removes the packs but those of which keep says so. Who is being sent one goes on with it. What else lies there
// is somebody else's.
func (p *packs) prune(keep func(folder, snapshot string) bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	folders, err := entriesOf(p.dir)
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		dir := filepath.Join(p.dir, folder.Name())
		files, unread := entriesOf(dir)
		err = errors.Join(err, unread)
		left := len(files)
		for _, file := range files {
			name := filepath.Join(dir, file.Name())
			snapshot, is := strings.CutSuffix(file.Name(), packSuffix)
			if !is || !isStamp(snapshot) || !file.Type().IsRegular() || keep(folder.Name(), snapshot) {
				continue
			}
			if pack := p.open[name]; pack != nil {
				delete(p.open, name)
				pack.Leave()
			}
			removed := os.Remove(name)
			if err = errors.Join(err, removed); removed == nil {
				left--
			}
		}
		if left == 0 && unread == nil {
			err = errors.Join(err, os.Remove(dir))
		}
	}
	return err
}

// entriesOf a folder; none where it is not there.
func entriesOf(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look through what is packed: %w", err)
	}
	return entries, nil
}

// pack is that of a snapshot for a reader for whom it is packed; nil for others, and where it cannot be kept.
func (s *Server) pack(root *os.Root, reader orders.Reader, folder, snapshot string) *transfer.Pack {
	if !reader.Packed || !isStamp(snapshot) {
		return nil
	}
	if info, err := root.Stat(path.Join(tree, folder, snapshot)); err != nil || !info.IsDir() {
		return nil
	}
	pack, err := s.packs.take(root, folder, snapshot)
	s.warnOf(err)
	return pack
}

// prunePacks removes what is packed of snapshots that are gone, or that nobody is to have packed any more.
func (s *Server) prunePacks() error {
	s.mu.Lock()
	readers, told := s.readers, s.told
	s.mu.Unlock()
	if !told {
		return nil
	}
	return s.packs.prune(func(folder, snapshot string) bool {
		wanted := slices.ContainsFunc(readers, func(r orders.Reader) bool {
			return r.Packed && strings.EqualFold(r.Folder, folder)
		})
		_, err := os.Stat(filepath.Join(s.dir, tree, folder, snapshot))
		return wanted && !errors.Is(err, fs.ErrNotExist)
	})
}

// warnOf tells of what keeps nobody from a snapshot.
func (s *Server) warnOf(err error) {
	if err != nil {
		s.log.Warn("what is packed of snapshots is not as it should be", "error", err)
	}
}
