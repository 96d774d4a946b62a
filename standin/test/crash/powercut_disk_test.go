// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// recording is everything that was done to files, in order, with what was acknowledged in between.
type recording struct {
	mu     sync.Mutex
	events []event
	// root is the folder that is watched.
	root string
}

type kind int

const (
	created kind = iota
	wrote
	truncated
	removed
	renamed
	// synced makes what was done to the file, or to the folder's names, before event number upto durable.
	synced
	// acknowledged is a commit's answer.
	acknowledged
)

type event struct {
	kind     kind
	path, to string
	offset   int64
	data     []byte
	upto     int
	number   int
}

func (r *recording) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recording) length() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

func (r *recording) Created(path string) { r.add(event{kind: created, path: path}) }
func (r *recording) Wrote(path string, offset int64, data []byte) {
	r.add(event{kind: wrote, path: path, offset: offset, data: append([]byte(nil), data...)})
}
func (r *recording) Truncated(path string, size int64) {
	r.add(event{kind: truncated, path: path, offset: size})
}
func (r *recording) Removed(path string)     { r.add(event{kind: removed, path: path}) }
func (r *recording) Renamed(from, to string) { r.add(event{kind: renamed, path: from, to: to}) }

// Sync makes durable what was done before it began; other things happen while it lasts.
func (r *recording) Sync(path string, sync func() error) error {
	upto := r.length()
	if err := sync(); err != nil {
		return err
	}
	r.add(event{kind: synced, path: path, upto: upto})
	return nil
}

// inode is a file without its name.
type inode struct {
	durable []byte
	pending []event
}

// disk replays a recording: names and contents as programs see them, and as they would be after a power cut.
type disk struct {
	names, durable map[string]*inode
	// changes are the changes of names that no sync has made durable, in order.
	changes []nameChange
}

type nameChange struct {
	event int
	path  string
	file  *inode // nil: the name is gone
	// more says that the next change is the same step: a file gets another name, or a folder does with all that is in it.
	more bool
}

func (d *disk) change(n int, path string, file *inode) {
	if file == nil {
		delete(d.names, path)
	} else {
		d.names[path] = file
	}
	d.changes = append(d.changes, nameChange{event: n, path: path, file: file})
}

func (d *disk) file(n int, path string) *inode {
	f := d.names[path]
	if f == nil {
		f = &inode{}
		d.change(n, path, f)
	}
	return f
}

// replay brings the disk to the moment after the first n events, from the moment after the first of them.
func (d *disk) replay(events []event, from, n int) {
	for i := from; i < n; i++ {
		switch e := events[i]; e.kind {
		case created:
			d.file(i, e.path)
		case wrote, truncated:
			f := d.file(i, e.path)
			e.number = i
			f.pending = append(f.pending, e)
		case removed:
			d.change(i, e.path, nil)
		case renamed:
			d.rename(i, e.path, e.to)
		case synced:
			d.sync(e)
		}
	}
}

// rename is one step: a journal has it whole or not at all.
func (d *disk) rename(n int, from, to string) {
	first := len(d.changes)
	for path, f := range maps.Clone(d.names) {
		if name, within := strings.CutPrefix(path, from); within && (name == "" || name[0] == '/') {
			d.change(n, path, nil)
			d.change(n, to+name, f)
		}
	}
	for i := first; i < len(d.changes)-1; i++ {
		d.changes[i].more = true
	}
}

func (d *disk) sync(e event) {
	if f := d.names[e.path]; f != nil {
		for len(f.pending) > 0 && f.pending[0].number < e.upto {
			f.durable = apply(f.durable, f.pending[0])
			f.pending = f.pending[1:]
		}
	}
	// Changes of names are made durable together, in order, as journals of file systems do it: by the sync of the
	// folder. SQLite syncs the folder itself when it has made a write-ahead log.
	if d.names[e.path] == nil || strings.HasSuffix(e.path, "-wal") {
		for len(d.changes) > 0 && d.changes[0].event < e.upto {
			d.changes[0].applyTo(d.durable)
			d.changes = d.changes[1:]
		}
	}
}

func (c nameChange) applyTo(names map[string]*inode) {
	if c.file == nil {
		delete(names, c.path)
	} else {
		names[c.path] = c.file
	}
}

func apply(content []byte, e event) []byte {
	end := e.offset
	if e.kind == wrote {
		end += int64(len(e.data))
	}
	if int64(len(content)) < end {
		content = append(content, make([]byte, end-int64(len(content)))...)
	}
	if e.kind == truncated {
		return content[:end]
	}
	copy(content[e.offset:], e.data)
	return content
}

// how a power cut treats what was not synced.
type cutKind int

const (
	nothing cutKind = iota // all of it is gone
	everything
	someSectors // any sectors of 512 bytes of it are there
	someFiles   // of some files all, of others nothing
)

// write makes the disk after a power cut in a folder; the recorded paths begin with root.
func (d *disk) write(root, folder string, how cutKind, random *rand.Rand) error {
	names := map[string]*inode{}
	for path, f := range d.durable {
		names[path] = f
	}
	there := random.IntN(len(d.changes) + 1)
	for there > 0 && d.changes[there-1].more {
		there++
	}
	for _, c := range d.changes[:there] {
		c.applyTo(names)
	}
	for path, f := range names {
		if strings.HasSuffix(path, "-shm") {
			continue
		}
		content := append([]byte(nil), f.durable...)
		all := how == everything || how == someFiles && random.IntN(2) == 0
		for _, e := range f.pending {
			switch {
			case all:
				content = apply(content, e)
			case how == someSectors && e.kind == wrote:
				for at := 0; at < len(e.data); {
					n := min(len(e.data)-at, 512-int((e.offset+int64(at))%512))
					if random.IntN(2) == 0 {
						content = apply(content, event{kind: wrote, offset: e.offset + int64(at), data: e.data[at : at+n]})
					}
					at += n
				}
			case how == someSectors && random.IntN(2) == 0:
				content = apply(content, e)
			}
		}
		to := filepath.Join(folder, strings.TrimPrefix(path, root))
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0o640); err != nil {
			return err
		}
	}
	return nil
}
