// SPDX-License-Identifier: Apache-2.0

// Package durable replaces files so that also a power cut leaves the old content or the new, never none and never a
// part.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace writes content to file, which only its owner may read, and makes the file's folder where it is missing. When
// it returns nil, the content and the file's name are on disk.
func Replace(file string, content []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	next, err := os.OpenFile(file+".next", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return err
	}
	if err := os.Rename(next.Name(), file); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir has the names in a folder on disk.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
