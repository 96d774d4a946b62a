// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// File is a file as its source describes it.
type File struct {
	// Path below the folder, with slashes.
	Path string `json:"path"`
	// Size in bytes.
	Size int64 `json:"size"`
	// SHA256 in hexadecimal.
	SHA256 string `json:"sha256"`
	// Chunks of the file; none for a file of one chunk, whose checksum is the file's.
	Chunks Chunks `json:"chunks,omitempty"`
}

// Described tells that it is known of which chunks the file is.
func (f File) Described() bool { return f.Size <= maxChunk || len(f.Chunks) > 0 }

// mostRemembered bounds the chunks that an Index remembers: they take 36 MiB, and are of about 1 TiB.
const mostRemembered = 1 << 20

// Index remembers the chunks and checksums of files for as long as their size and time stay.
type Index struct {
	mu    sync.Mutex
	known map[string]described
	// chunks of all files, at most of them.
	chunks, most int
	// cutting has who asks for a file while it is read wait for that, and reading bounds how many are read.
	cutting singleflight.Group
	reading gate
}

// described is what was found for a file of this size and time.
type described struct {
	file File
	time time.Time
	// cut tells that chunks were asked for: a file without them has one, or they would have been too many.
	cut bool
}

// NewIndex knows nothing yet.
func NewIndex() *Index {
	x := &Index{known: map[string]described{}, most: mostRemembered}
	x.reading.resize(readers)
	return x
}

// Describe says what a file has, under the name by which it is remembered and opened: its checksum, and its chunks
// where these are asked for and can be remembered.
func (x *Index) Describe(ctx context.Context, open Opener, name string, chunks bool) (File, error) {
	for {
		file, err := open(name)
		if err != nil {
			return File{}, err
		}
		info, err := file.Stat()
		_ = file.Close()
		if err != nil {
			return File{}, err
		}
		if known, ok := x.remembered(name, info, chunks); ok {
			return known, nil
		}
		_, err, _ = x.cutting.Do(name, func() (any, error) { return nil, x.read(ctx, open, name, chunks) })
		switch {
		case ctx.Err() != nil:
			return File{}, ctx.Err()
		case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
			continue // who read it has given up
		case err != nil:
			return File{}, err
		}
		// One that grows while it is read is read again only with the next question.
		if known, ok := x.any(name); ok {
			return known, nil
		}
	}
}

func (x *Index) any(name string) (File, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known, ok := x.known[name]
	return known.file, ok
}

func (x *Index) remembered(name string, info fs.FileInfo, chunks bool) (File, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known, ok := x.known[name]
	return known.file, ok && known.file.Size == info.Size() && known.time.Equal(info.ModTime()) && (known.cut || !chunks)
}

// read reads a file to its end and remembers what it has.
func (x *Index) read(ctx context.Context, open Opener, name string, chunks bool) error {
	if err := x.reading.enter(ctx, ""); err != nil {
		return err
	}
	defer x.reading.leave("")
	handle, err := open(name)
	if err != nil {
		return err
	}
	defer handle.Close()
	info, err := handle.Stat()
	if err != nil {
		return err
	}
	if _, ok := x.remembered(name, info, chunks); ok {
		return nil
	}
	found := described{time: info.ModTime(), cut: chunks}
	var sum Sum
	var all Chunks
	if chunks {
		all, sum, err = Cut(ctx, handle)
		found.file.Size = all.size()
	} else {
		found.file.Size, sum, err = SumOf(ctx, handle)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	found.file.SHA256 = sum.String()
	// A file that grew meanwhile is remembered with another size than it has, and read again.
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(name)
	if len(all) > 1 && x.chunks+len(all) <= x.most {
		found.file.Chunks = all
		x.chunks += len(all)
	}
	x.known[name] = found
	return nil
}

// drop forgets one file. x.mu is held.
func (x *Index) drop(name string) {
	x.chunks -= len(x.known[name].file.Chunks)
	delete(x.known, name)
}

// Doubt forgets a file that does not have a chunk as it is remembered.
func (x *Index) Doubt(name string, stale Span) {
	x.mu.Lock()
	defer x.mu.Unlock()
	file := x.known[name].file
	if file.SHA256 == stale.SHA256 {
		x.drop(name)
		return
	}
	offset := int64(0)
	for _, one := range file.Chunks {
		if offset == stale.Offset && one.Sum.String() == stale.SHA256 {
			x.drop(name)
			return
		}
		offset += int64(one.Length)
	}
}

// Forget drops what is known of files of which forget says so.
func (x *Index) Forget(forget func(name string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range maps.Clone(x.known) {
		if forget(name) {
			x.drop(name)
		}
	}
}

// Len is how many files are remembered.
func (x *Index) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.known)
}

// Chunks is how many chunks are remembered.
func (x *Index) Chunks() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.chunks
}
