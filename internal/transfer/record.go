// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Record says what was brought into a folder, and was whole: each file with its time, by its path.
type Record map[string]recorded

type recorded struct {
	File

	Time time.Time `json:"time"`
}

// NewRecord is that of files in a folder, as they are now.
func NewRecord(dir string, files []File) (Record, error) {
	r := Record{}
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return nil, fmt.Errorf("record what was brought: %w", err)
		}
		r[f.Path] = recorded{File: f, Time: info.ModTime()}
	}
	return r, nil
}

// Encode makes the content of a file of it.
func (r Record) Encode() ([]byte, error) {
	content, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record what was brought: %w", err)
	}
	return content, nil
}

func readRecord(name string) (Record, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r Record
	return r, json.Unmarshal(content, &r)
}

// of is a file of the record, if that is still what is there.
func (r Record) of(root *os.Root, name string) (File, bool) {
	known, ok := r[filepath.ToSlash(name)]
	if !ok {
		return File{}, false
	}
	info, err := root.Stat(name)
	return known.File, err == nil && info.Size() == known.Size && info.ModTime().Equal(known.Time)
}

// Recorded tells that all that is in a folder was brought there and is as it was left, by a record of that: each file
// has its size and time still. What cannot be read is not.
func Recorded(dir, record string) bool {
	r, err := readRecord(record)
	if err != nil {
		return false
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if _, ok := r.of(root, name); !ok || !e.Type().IsRegular() {
			return errDiffers
		}
		return nil
	}) == nil
}

// Whole tells that a folder has the files, and nothing else is known of them: by the record of what was brought there,
// for files that have their size and time still, else by their checksums, for which each is read when it is who's turn,
// a source's. It is not where a file is missing or proven to be another one; what cannot be read is an error.
func (l *Limits) Whole(
	ctx context.Context,
	who, dir, record string,
	files []File,
) (whole, known bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, false, fmt.Errorf("look at what was brought: %w", err)
	}
	defer root.Close()
	r, _ := readRecord(record)
	known = true
	for _, f := range files {
		if former, ok := r.of(root, f.Path); ok && former.Size == f.Size {
			if former.SHA256 != f.SHA256 {
				return false, false, nil
			}
			continue
		}
		known = false
		switch err := l.Reading(ctx, who, func() error { return matches(ctx, root, f) }); {
		case errors.Is(err, errDiffers):
			return false, false, nil
		case err != nil:
			return false, false, fmt.Errorf("look at what was brought: %w", err)
		}
	}
	return true, known, nil
}

// errDiffers says that a file is proven to be another one.
var errDiffers = errors.New("it does not have the checksum that the source gave")

// matches returns nil for a file that is there with its size and checksum, and errDiffers for one that is not.
func matches(ctx context.Context, root *os.Root, f File) error {
	info, err := root.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errDiffers
	case err != nil:
		return err
	case info.Size() != f.Size || !info.Mode().IsRegular():
		return errDiffers
	}
	return verified(ctx, root, f)
}
