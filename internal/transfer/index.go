// SPDX-License-Identifier: Apache-2.0

package transfer

import (
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

// Index remembers the chunks and checksums of files for as long as their size and time stay.
type Index struct {
	mu    sync.Mutex
	known map[string]described
	// cutting has who asks for a file while it is read wait for that.
	cutting singleflight.Group
}

// described is what was found for a file of this size and time.
type described struct {
	file File
	time time.Time
}

// NewIndex knows nothing yet.
func NewIndex() *Index { return &Index{known: map[string]described{}} }

// Describe says what a file has, under the name by which it is remembered and opened.
func (x *Index) Describe(open Opener, name string) (File, error) {
	file, err := open(name)
	if err != nil {
		return File{}, err
	}
	info, err := file.Stat()
	_ = file.Close()
	if err != nil {
		return File{}, err
	}
	if known, ok := x.remembered(name, info); ok {
		return known, nil
	}
	found, err, _ := x.cutting.Do(name, func() (any, error) { return x.cut(open, name) })
	if err != nil {
		return File{}, err
	}
	return found.(File), nil
}

func (x *Index) remembered(name string, info fs.FileInfo) (File, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known, ok := x.known[name]
	return known.file, ok && known.file.Size == info.Size() && known.time.Equal(info.ModTime())
}

// cut reads a file to its end.
func (x *Index) cut(open Opener, name string) (File, error) {
	handle, err := open(name)
	if err != nil {
		return File{}, err
	}
	defer handle.Close()
	info, err := handle.Stat()
	if err != nil {
		return File{}, err
	}
	if known, ok := x.remembered(name, info); ok {
		return known, nil
	}
	chunks, sum, err := Cut(handle)
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", name, err)
	}
	file := File{Size: chunks.size(), SHA256: sum.String()}
	if len(chunks) > 1 {
		file.Chunks = chunks
	}
	// A file that grew meanwhile is remembered with another size than it has, and read again.
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known[name] = described{file: file, time: info.ModTime()}
	return file, nil
}

// Forget drops what is known of files of which forget says so.
func (x *Index) Forget(forget func(name string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.known, func(name string, _ described) bool { return forget(name) })
}

// Len is how many files are remembered.
func (x *Index) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.known)
}
