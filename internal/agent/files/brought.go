// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// A mirror may be one whose files a person brings, on a disk or another way: its source is asked for the list of them,
// and for nothing else. What the person's folder has, and older snapshots of the mirror have, is taken by its
// checksums; the folder itself stays as it is.

const (
	// lookPause is the time between two looks into a folder that a person fills.
	lookPause = 5 * time.Second
	// mostLacking are so many files that a status names.
	mostLacking = 16
	// listName is the file with a snapshot's listing, where its files gather: it is read again whenever more has come,
	// and not asked for again.
	listName = ".listing"
)

// errAwaited ends an attempt for want of files that a person brings.
var errAwaited = errors.New("a person brings files that are not here yet")

// Brought is what a person brings for a mirror.
type Brought struct {
	// Folder with the files, below the snapshot folder of the source.
	Folder string `json:"folder"`
	// Manifest is the SHA-256 of the list of the files as sha256sum writes it, sorted by their paths.
	Manifest string `json:"manifest"`
	Files    int    `json:"files"`
	// LackingFiles are so many of Files that are not here, or not whole; Lacking are the first 16 of them.
	LackingFiles int    `json:"lackingFiles,omitempty"`
	Lacking      []Lack `json:"lacking,omitempty"`
}

// Why a file is not taken.
type Why string

const (
	// Missing: nothing of its name is there, or it is still being written.
	Missing Why = "Missing"
	// Differs: what has its name is not the file, or not all of it.
	Differs Why = "Differs"
	// Unreadable: what has its name may not be read.
	Unreadable Why = "Unreadable"
)

// Lack is a file that is not here.
type Lack struct {
	// File by its path in the snapshot.
	File string `json:"file"`
	Why  Why    `json:"why"`
}

// visit is what a mirror remembers of a folder that a person fills, from one look into it to the next.
type visit struct {
	mirrors *Mirrors
	// list is the file with the snapshot's listing, empty before the source was asked for it; final is where the snapshot
	// will be.
	list, final string
	// seen are the files that the last look found, by their paths, and taken those of the last attempt.
	seen, taken map[string]found
}

// found is a file as it was found: its size, and when it was written, in nanoseconds.
type found struct{ size, time int64 }

// filled is a folder that a person fills, and which of its files are not being written any more.
type filled struct {
	dir   string
	whole map[string]found
}

// has tells that a file is whole, by its path with slashes.
func (f filled) has(name string) bool {
	_, ok := f.whole[name]
	return ok
}

// copy takes what has come since the last look. Without anything new it reads nothing. failed are the attempts that
// brought nothing before.
func (v *visit) copy(ctx context.Context, one *mirror, failed int) error {
	m := v.mirrors
	from, err := v.look(one.order)
	if err != nil {
		return err
	}
	if v.taken != nil && maps.Equal(v.taken, from.whole) && !v.arrived() {
		m.say(one, func(s *Status) { s.State, s.Message = Awaiting, "" })
		return errAwaited
	}
	listing, done, err := v.listing(ctx, one, failed)
	if err != nil {
		return err
	}
	defer done()
	err = m.settle(ctx, one, listing, Awaiting, func(p place) error { return v.bring(ctx, one, listing, p, from) })
	var lacking *transfer.LackingError
	// What failed otherwise is tried again, also with a folder as it was before: all may have been taken.
	v.taken = nil
	switch {
	case errors.As(err, &lacking):
		v.taken = from.whole
		return errAwaited
	case err == nil:
		below := from.dir + string(filepath.Separator)
		m.index.Forget(func(name string) bool { return strings.HasPrefix(name, below) })
	}
	return err
}

// look finds out what the folder has. A file whose size and time are those of the look before is whole: no clock tells
// it, and what a person copies may have the time of its source from the beginning.
func (v *visit) look(order orders.Mirror) (filled, error) {
	if v.mirrors.brought == "" || !filepath.IsLocal(order.Manual) {
		return filled{}, fmt.Errorf("the orders name %q, which is no folder for files that a person brings", order.Manual)
	}
	f := filled{dir: filepath.Join(v.mirrors.brought, filepath.FromSlash(order.Manual)), whole: map[string]found{}}
	root, err := rootBelow(f.dir, v.mirrors.brought)
	if err != nil {
		return f, fmt.Errorf("make the folder for files that a person brings: %w", err)
	}
	defer root.Close()
	now, err := filesOf(root)
	if err != nil {
		return f, fmt.Errorf("look into the folder for files that a person brings: %w", err)
	}
	for name, one := range now {
		if was, ok := v.seen[name]; ok && was == one {
			f.whole[name] = one
		}
	}
	v.seen = now
	return f, nil
}

// rootBelow makes a folder below another one, and opens it. The engine writes on the same volume, and the sidecar may
// read what the engine may not: links that lead elsewhere are refused, also in place of that other folder.
func rootBelow(dir, top string) (*os.Root, error) {
	volume := filepath.Dir(top)
	if err := os.MkdirAll(volume, 0o770); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(volume)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := filepath.Rel(volume, dir)
	if err == nil {
		err = root.MkdirAll(name, 0o770)
	}
	if err != nil {
		return nil, err
	}
	return root.OpenRoot(name)
}

// filesOf are the files below a folder, by their paths, but hidden ones.
func filesOf(root *os.Root) (map[string]found, error) {
	all := map[string]found{}
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name == "." {
				return err
			}
			return nil // what cannot be read has nothing
		}
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			return nil
		}
		if info, err := e.Info(); err == nil {
			all[name] = found{info.Size(), info.ModTime().UnixNano()}
		}
		return nil
	})
	return all, err
}

// filesIn are those of a folder; none where it cannot be read.
func filesIn(dir string) map[string]found {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	all, _ := filesOf(root)
	return all
}

// arrived tells that the snapshot is in its place: another mirror of this server may have fetched it.
func (v *visit) arrived() bool {
	_, err := os.Stat(v.final)
	return v.final != "" && err == nil
}

// listing is what was stored of it, or else the source is asked.
func (v *visit) listing(ctx context.Context, one *mirror, failed int) (*Listing, func(), error) {
	m := v.mirrors
	if v.list != "" {
		listing, done, err := m.list(ctx, func(ctx context.Context) (*Listing, error) {
			return m.stored(ctx, v.list, one.order)
		})
		if err == nil || ctx.Err() != nil {
			return listing, done, err
		}
		m.warn(one, "the list of a snapshot's files is asked for again", err)
		v.list = ""
	}
	source, err := m.source(one.order, one.meter, failed)
	if err != nil {
		return nil, nil, err
	}
	defer source.close()
	return m.list(ctx, source.list)
}

// stored reads a listing from a file.
func (m *Mirrors) stored(ctx context.Context, name string, order orders.Mirror) (*Listing, error) {
	if err := m.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer m.reading.Release(1)
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the list of a snapshot's files: %w", err)
	}
	var listing Listing
	if err := json.Unmarshal(content, &listing); err != nil {
		return nil, fmt.Errorf("read the list of a snapshot's files: %w", err)
	}
	return &listing, listing.check(order)
}

// store writes a listing down, once.
func (v *visit) store(listing *Listing, p place) error {
	if v.list != "" {
		return nil
	}
	var content bytes.Buffer
	if err := listing.write(&content); err != nil {
		return fmt.Errorf("write the list of a snapshot's files: %w", err)
	}
	name := filepath.Join(p.partial(), listName)
	err := os.MkdirAll(p.partial(), 0o770)
	if err == nil {
		err = durable.Replace(name, content.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the list of a snapshot's files: %w", err)
	}
	v.list = name
	return nil
}

// bring has a snapshot be in its place when all its files are here. Else it ends with a transfer.LackingError, and
// status says which are not.
func (v *visit) bring(ctx context.Context, one *mirror, listing *Listing, p place, from filled) error {
	v.final = p.final()
	there, err := v.mirrors.inPlace(ctx, one, listing, p)
	if err == nil && !there {
		err = v.gather(ctx, one, listing, p, from)
	}
	var lacking *transfer.LackingError
	if err != nil && !errors.As(err, &lacking) {
		return err
	}
	brought := &Brought{Folder: path.Join(tree, listing.Folder, listing.Snapshot), Manifest: listing.manifest(),
		Files: len(listing.Files)}
	if lacking != nil {
		brought.LackingFiles, brought.Lacking = len(lacking.Files), from.lacks(lacking.Files)
	}
	v.mirrors.say(one, func(s *Status) { s.Brought = brought })
	return err
}

// gather takes what is on this side.
func (v *visit) gather(ctx context.Context, one *mirror, listing *Listing, p place, from filled) error {
	m := v.mirrors
	if err := m.claim(one, p, listing); err != nil {
		return err
	}
	if err := v.store(listing, p); err != nil {
		return err
	}
	if !listing.Chunked {
		if err := m.wholes(ctx, one, listing, p, from); err != nil {
			return err
		}
		return p.finish(listing, m.step, m.unrecorded(one))
	}
	job, err := m.transfer(one, listing, p)
	if err != nil {
		return err
	}
	job.Local, job.Room = true, func(n int64) error { return m.fits(p, n) }
	job.Searched = nil // what was begun is not fetched again
	job.Seeds = append(job.Seeds, transfer.Seed{Dir: from.dir, Only: from.has})
	if err := job.Run(ctx); err != nil {
		return err
	}
	return p.finish(listing, m.step, m.unrecorded(one))
}

// lacks says why files are not here, of the first of them.
func (f filled) lacks(files []string) []Lack {
	var all []Lack
	for _, file := range files[:min(len(files), mostLacking)] {
		one := Lack{file, Missing}
		for name := range f.whole {
			if name != file && !strings.HasSuffix(name, "/"+file) {
				continue
			}
			one.Why = Differs
			handle, err := os.OpenInRoot(f.dir, filepath.FromSlash(name))
			if err != nil {
				one.Why = Unreadable
				break
			}
			_ = handle.Close()
		}
		all = append(all, one)
	}
	return all
}

// manifest is the SHA-256, in hexadecimal, of the list of the files as sha256sum writes it, sorted by their paths.
func (l *Listing) manifest() string {
	sorted := slices.SortedFunc(slices.Values(l.Files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	hash := sha256.New()
	for _, f := range sorted {
		fmt.Fprintf(hash, "%s  %s\n", f.SHA256, f.Path)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
