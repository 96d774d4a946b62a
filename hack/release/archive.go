// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// entry is a file in an archive.
type entry struct {
	name string
	// runs says that it is a program.
	runs bool
	data []byte
}

// mode is that of the file.
func (e entry) mode() fs.FileMode {
	if e.runs {
		return 0o755
	}
	return 0o644
}

// sorted are the entries by their names: the order of an archive is no accident.
func sorted(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
}

// writeTar writes files that belong to root, all of one time.
func writeTar(w io.Writer, at time.Time, entries []entry) error {
	archive := tar.NewWriter(w)
	for _, e := range sorted(entries) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode()), Size: int64(len(e.data)), ModTime: at,
			Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("archive %s: %w", e.name, err)
		}
		if _, err := archive.Write(e.data); err != nil {
			return fmt.Errorf("archive %s: %w", e.name, err)
		}
	}
	return archive.Close()
}

// writeTarGzip writes them compressed.
func writeTarGzip(w io.Writer, at time.Time, entries []entry) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(compressed, at, entries), compressed.Close())
}

// writeZip writes them for who unpacks no tar.
func writeZip(w io.Writer, at time.Time, entries []entry) error {
	archive := zip.NewWriter(w)
	for _, e := range sorted(entries) {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(e.mode())
		file, err := archive.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("archive %s: %w", e.name, err)
		}
		if _, err := file.Write(e.data); err != nil {
			return fmt.Errorf("archive %s: %w", e.name, err)
		}
	}
	return archive.Close()
}

// writeFile makes a file of what write writes.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// folder are the files below a folder, by their paths from there, with slashes.
func folder(dir string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(dir, func(path string, found fs.DirEntry, err error) error {
		if err != nil || found.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		entries = append(entries, entry{name: filepath.ToSlash(name), data: data})
		return err
	})
	return entries, err
}
