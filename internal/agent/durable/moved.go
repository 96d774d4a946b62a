// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Empty leaves nothing of the content of file, which is there or not. It needs no room.
func Empty(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Remove takes file away, which is there or not. When it returns nil, that is on disk.
func Remove(file string) error {
	if err := os.Remove(file); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return syncDir(filepath.Dir(file))
}

// Moved is a file that moves from one folder to another.
type Moved struct {
	// Path is where it is to be, Former where it was; empty when it is nowhere else.
	Path, Former string
}

// Read is the content, of two files that of the one that was written later. The error is fs.ErrNotExist's where there
// is none.
func (m Moved) Read() ([]byte, error) {
	if m.Former == "" {
		return os.ReadFile(m.Path)
	}
	former, err := os.Stat(m.Former)
	if err != nil {
		return os.ReadFile(m.Path)
	}
	if now, err := os.Stat(m.Path); err == nil && !former.ModTime().After(now.ModTime()) {
		return os.ReadFile(m.Path)
	}
	return os.ReadFile(m.Former)
}

// Replace writes content at Path as the function Replace does, and then takes away what is left at Former. An error of
// the latter says so, and is met again by the next Replace.
func (m Moved) Replace(content []byte) error {
	if err := Replace(m.Path, content); err != nil || m.Former == "" {
		return err
	}
	return errors.Join(Remove(m.Former+".next"), Remove(m.Former))
}
