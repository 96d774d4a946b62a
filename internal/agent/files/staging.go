// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// stagingEvery is the time between two looks at what mirrors take.
const stagingEvery = 30 * time.Second

// staging keeps what mirrors take below a quota. What the sidecar has brought counts: whole snapshots, and those that
// gather. What a person put there does not: the folder seed, what was set aside, and the folders of Manual.
type staging struct {
	// deciding is held by who measures and then claims or removes: nobody counts the same room twice. It is taken before
	// Mirrors.mu.
	deciding sync.Mutex
	now      func() time.Time

	// All else is guarded by Mirrors.mu.
	bounds transfer.Staging
	// heard is since when all orders could be read; zero while one cannot, or before any came.
	heard time.Time
	// named is when an order last named a publication's folder, by folderKey.
	named map[string]time.Time
	// claims are the rooms that mirrors have been promised. Each keeps its own from one attempt to the next: what was
	// given away in a pause would leave two that are half done, of which each waits for the other for good.
	claims map[*mirror]claim
	// blocked are the mirrors for whose snapshots the quota is too small.
	blocked map[*mirror]refusal
	// last is what was seen last; nil before that. removed are all bytes that were.
	last    *seenStaging
	cleaned *Cleaned
	removed int64
	// unlisted tells that a folder could not be listed at the last look; deciding guards it.
	unlisted bool
}

// claim is what a snapshot under way is to have.
type claim struct {
	at    spot
	total int64
}

// refusal is a claim for which there is no room.
type refusal struct {
	claim

	says Blocked
}

func newStaging() *staging {
	return &staging{now: time.Now, named: map[string]time.Time{}, claims: map[*mirror]claim{},
		blocked: map[*mirror]refusal{}}
}

// folderKey of a publication's folder, which orders name without regard to case.
func folderKey(host, folder string) string { return host + "/" + strings.ToLower(folder) }

// Bound replaces the bounds of what the mirrors take together. None begins again for them, and none ends.
func (m *Mirrors) Bound(bounds transfer.Staging) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.staging.bounds = bounds
}

// heed notes which folders orders name. Mirrors.mu is held.
func (s *staging) heed(running map[string]*mirror, list []orders.Mirror) {
	now := s.now()
	if s.heard.IsZero() {
		s.heard = now
	}
	for _, one := range running {
		s.named[folderKey(one.order.Host, one.order.Folder)] = now
	}
	for _, order := range list {
		s.named[folderKey(order.Host, order.Folder)] = now
	}
}

// doubt says that an order could not be read: what it names is not known, and nothing is removed.
func (m *Mirrors) doubt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.staging.heard = time.Time{}
}

// naming is what is known of the orders for what lies there.
func (m *Mirrors) naming(s staged) naming {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, stage := folderKey(s.host, s.folder), m.staging
	for _, one := range m.running {
		if folderKey(one.order.Host, one.order.Folder) == key {
			return naming{named: true}
		}
	}
	if last := stage.named[key]; !stage.heard.IsZero() && last.After(stage.heard) {
		return naming{since: last}
	}
	return naming{since: stage.heard}
}

// lying is what the sidecar has brought and is there. No link is followed: one has the server's own snapshots. What
// cannot be listed counts as nothing, and nothing of it is removed: somebody else's folder must not keep all transfers
// of the server waiting.
func (m *Mirrors) lying() (all []staged, err error) {
	hosts, err := m.foldersOf(m.dir)
	if err != nil {
		return nil, fmt.Errorf("look at what mirrors take: %w", err)
	}
	for _, host := range hosts {
		trees, unread := m.foldersOf(filepath.Join(m.dir, host))
		err = errors.Join(err, unread)
		for _, one := range trees {
			if one != tree {
				continue
			}
			folders, unread := m.foldersOf(filepath.Join(m.dir, host, tree))
			err = errors.Join(err, unread)
			for _, folder := range folders {
				of, unread := m.lyingIn(host, folder)
				all, err = append(all, of...), errors.Join(err, unread)
			}
		}
	}
	if err != nil && !m.staging.unlisted {
		m.log.Warn("a folder of mirrors cannot be listed: what is there does not count for the staging quota, and stays",
			"error", err)
	}
	m.staging.unlisted = err != nil
	return all, nil
}

// lyingIn is what lies in a publication's folder.
func (m *Mirrors) lyingIn(host, folder string) (all []staged, err error) {
	parent := filepath.Join(m.dir, host, tree, folder)
	names, err := m.foldersOf(parent)
	for _, name := range names {
		s := staged{spot: spot{host, folder, name}, kind: whole}
		if of := strings.TrimSuffix(strings.TrimPrefix(name, hidden), partialSuffix); name == partialName(of) {
			s.snapshot, s.kind = of, begun
		}
		if !isStamp(s.snapshot) {
			continue
		}
		if info, err := os.Lstat(filepath.Join(parent, recordName(s.snapshot))); err == nil {
			s.recorded = info.Mode().IsRegular()
		}
		s.bytes, s.written, s.unread = extent(filepath.Join(parent, name))
		all = append(all, s)
	}
	return all, err
}

// foldersOf are the folders in one, links not among them; none where it is not there.
func (m *Mirrors) foldersOf(dir string) (names []string, err error) {
	entries, err := m.listFolder(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// extent are the bytes that the files of a folder take, and when anything in it was written last. What is renamed or
// removed meanwhile counts as gone.
func extent(dir string) (n int64, written time.Time, unread bool) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				if info.ModTime().After(written) {
					written = info.ModTime()
				}
				if info.Mode().IsRegular() {
					n += min(info.Size(), allocated(info))
				}
			}
		}
		unread = unread || err != nil && !errors.Is(err, fs.ErrNotExist)
		return nil
	})
	return n, written, unread
}
