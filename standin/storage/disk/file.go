// SPDX-License-Identifier: Apache-2.0

// Package disk is how a database reaches its files: SQLite's through a virtual file system that puts a checksum on
// every page, the log's through File. What is written and synced can be watched (Watch), so that a test can make the
// disk that a power cut would leave.
package disk

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file that is written to; a Watcher sees what is done to it.
type File struct {
	*os.File
	watcher Watcher
}

// OpenFile is os.OpenFile.
func OpenFile(path string, flag int, perm os.FileMode) (*File, error) {
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	w := watcherOf(path)
	if w != nil && flag&os.O_CREATE != 0 {
		w.Created(path)
		if flag&os.O_TRUNC != 0 {
			w.Truncated(path, 0)
		}
	}
	return &File{f, w}, nil
}

// WriteAt is os.File's.
func (f *File) WriteAt(b []byte, offset int64) (int, error) {
	if filler, ok := f.watcher.(Filler); ok {
		if err := filler.Room(f.Name(), offset, len(b)); err != nil {
			return 0, err
		}
	}
	n, err := f.File.WriteAt(b, offset)
	if f.watcher != nil {
		f.watcher.Wrote(f.Name(), offset, b[:n])
	}
	return n, err
}

// Write is os.File's.
func (f *File) Write(b []byte) (int, error) {
	var offset int64
	if f.watcher != nil {
		var err error
		if offset, err = f.Seek(0, io.SeekCurrent); err != nil {
			return 0, err
		}
	}
	if filler, ok := f.watcher.(Filler); ok {
		if err := filler.Room(f.Name(), offset, len(b)); err != nil {
			return 0, err
		}
	}
	n, err := f.File.Write(b)
	if f.watcher != nil {
		f.watcher.Wrote(f.Name(), offset, b[:n])
	}
	return n, err
}

// Truncate is os.File's.
func (f *File) Truncate(size int64) error {
	err := f.File.Truncate(size)
	if f.watcher != nil && err == nil {
		f.watcher.Truncated(f.Name(), size)
	}
	return err
}

// Sync is os.File's.
func (f *File) Sync() error {
	if f.watcher == nil {
		return f.File.Sync()
	}
	return f.watcher.Sync(f.Name(), f.File.Sync)
}

// Remove is os.Remove.
func Remove(path string) error {
	err := os.Remove(path)
	if w := watcherOf(path); w != nil && err == nil {
		w.Removed(path)
	}
	return err
}

// RemoveAll is os.RemoveAll.
func RemoveAll(path string) error {
	w := watcherOf(path)
	var files []string
	if w != nil {
		_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error { // what cannot be read is not there
			if err == nil && !d.IsDir() {
				files = append(files, name)
			}
			return nil
		})
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	for _, name := range files {
		w.Removed(name)
	}
	return nil
}

// Replace gives a file new content, so that after a crash at any moment either the old or the new content is there. A
// file that is new gets the permissions.
func Replace(path string, data []byte, perm os.FileMode) error {
	tmp := path + ".new"
	f, err := OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = Rename(tmp, path)
	}
	return err
}

// Rename is os.Rename within a folder, durably.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if w := watcherOf(to); w != nil {
		w.Renamed(from, to)
	}
	return SyncFolder(filepath.Dir(to))
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	if w := watcherOf(filepath.Join(folder, "any")); w != nil {
		return w.Sync(folder, d.Sync)
	}
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", folder, err)
	}
	return nil
}

// Same tells whether two paths lead to one file that is there.
func Same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Exists tells whether anything is at a path, a link that leads nowhere included.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Size is a file's size in bytes, or that of all files of a folder.
func Size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if !info.IsDir() {
		return info.Size()
	}
	total := int64(0)
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if fi, err := os.Stat(filepath.Join(path, e.Name())); err == nil {
			total += fi.Size()
		}
	}
	return total
}
