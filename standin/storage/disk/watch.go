// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"path/filepath"
	"strings"
	"sync"
)

// Watcher is told of everything that was done to the files below a folder, in order and before whoever did it goes on.
// Its methods are called from several goroutines. The bytes are the caller's: copy them.
type Watcher interface {
	Created(path string)
	Wrote(path string, offset int64, data []byte)
	Truncated(path string, size int64)
	Removed(path string)
	Renamed(from, to string)
	// Sync syncs a file, or a folder's names, with the given function: what was told before the call is durable once
	// that has returned nil.
	Sync(path string, sync func() error) error
}

// Filler is a Watcher that can let the volume have no room left.
type Filler interface {
	// Room is asked before n bytes are written at the offset of a file. Its error is the write's, of which nothing is done
	// then.
	Room(path string, offset int64, n int) error
}

var watchers struct {
	mu      sync.RWMutex
	folders map[string]Watcher
}

// Watch tells w of what is done from now on to files below folder, also by files that are opened later only.
func Watch(folder string, w Watcher) (stop func()) {
	folder = filepath.Clean(folder) + string(filepath.Separator)
	watchers.mu.Lock()
	defer watchers.mu.Unlock()
	if watchers.folders == nil {
		watchers.folders = map[string]Watcher{}
	}
	watchers.folders[folder] = w
	return func() {
		watchers.mu.Lock()
		defer watchers.mu.Unlock()
		delete(watchers.folders, folder)
	}
}

func watcherOf(path string) Watcher {
	watchers.mu.RLock()
	defer watchers.mu.RUnlock()
	for folder, w := range watchers.folders {
		if strings.HasPrefix(path, folder) {
			return w
		}
	}
	return nil
}
