// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Lock keeps a second process off the same files. The kernel frees it when the process ends, however it ends.
type Lock struct{ file *os.File }

// LockDirectory makes the directory when needed and locks it.
func LockDirectory(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o770); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	path := filepath.Join(dir, "instance.lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o660)
	if err != nil {
		return nil, fmt.Errorf("open lock of data directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			holder := make([]byte, 20)
			n, _ := file.Read(holder)
			return nil, refuse(
				"The data directory %s is in use by another instance (process %s). Stop it, or give this one a directory "+
					"of its own.",
				dir,
				strings.TrimSpace(string(holder[:n])),
			)
		}
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	if err := file.Truncate(0); err == nil {
		_, err = file.WriteAt([]byte(fmt.Sprintf("%d\n", os.Getpid())), 0)
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("write lock of data directory: %w", err)
		}
	}
	return &Lock{file}, nil
}

// Release gives the directory free.
func (l *Lock) Release() error { return l.file.Close() }
