// SPDX-License-Identifier: Apache-2.0

package backupmedia

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
)

// family is the file of one media family, locked.
type family struct {
	path string
	// file is nil for NUL, the device that discards what is written.
	file *disk.File
	// created says that the file was not there before.
	created bool
	media   storage.Media
	// temporary is the path of the file that is to take its place, empty for none.
	temporary string
}

// openFamily opens the file of a device, or makes it; 3201 where it cannot, or another backup writes to it.
func openFamily(path string) (*family, error) {
	f := &family{path: path}
	if path == os.DevNull {
		return f, nil
	}
	if err := f.lock(); err != nil {
		return nil, sqlerr.New(3201, 1, path, sqlerr.OperatingSystem(err))
	}
	return f, nil
}

// lock opens the file. Where another backup took its place between the opening and the lock it is opened again.
func (f *family) lock() error {
	for {
		_, err := os.Stat(f.path)
		f.created = errors.Is(err, os.ErrNotExist)
		if f.file, err = disk.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o660); err != nil {
			return err
		}
		err = syscall.Flock(int(f.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("The process cannot access the file because it is being used by another process.")
		}
		var opened, named os.FileInfo
		if err == nil {
			opened, err = f.file.Stat()
		}
		if err != nil {
			f.file.Close()
			return err
		}
		if named, err = os.Stat(f.path); err == nil && os.SameFile(opened, named) {
			return nil
		}
		f.file.Close()
	}
}

// close lets others at the file. What was made for a backup that failed goes again.
func (f *family) close() {
	if f.file == nil {
		return
	}
	if info, err := f.file.Stat(); err == nil && f.created && info.Mode().IsRegular() && info.Size() == 0 {
		_ = os.Remove(f.path)
	}
	f.file.Close()
}

// read finds the sets of the file, if it holds anything; 3241 where that is not sets alone.
func (f *family) read() (holds bool, err error) {
	if f.file == nil {
		return false, nil
	}
	info, err := f.file.Stat()
	if err != nil {
		return false, sqlerr.New(3201, 1, f.path, sqlerr.OperatingSystem(err))
	}
	if info.Size() == 0 {
		return false, nil
	}
	if f.media, err = storage.ReadMedia(f.file, info.Size()); err != nil {
		return true, sqlerr.New(3241, 0, f.path)
	}
	return true, nil
}

// expired is 4030 while a set must not be written over.
func (f *family) expired() error {
	for _, set := range f.media.Sets {
		label, err := LabelOf(set.Header, f.path)
		if err != nil {
			return err
		}
		if label.Expires.After(time.Now().UTC()) {
			return sqlerr.New(4030, 1, f.path, label.Expires.Format("Jan _2 2006  3:04:05:000PM"))
		}
	}
	return nil
}

// replacement is the file that is to take a family's place; of NUL there is none, and what is written is counted.
type replacement struct {
	family *family
	file   *os.File
	size   int64
}

func (f *family) replacement() (*replacement, error) {
	r := &replacement{family: f}
	if f.file == nil {
		return r, nil
	}
	var err error
	if r.file, err = os.CreateTemp(filepath.Dir(f.path), ".backup-*"); err != nil {
		return nil, err
	}
	f.temporary = r.file.Name()
	return r, nil
}

// Write adds to the file.
func (r *replacement) Write(b []byte) (n int, err error) {
	n = len(b)
	if r.file != nil {
		n, err = r.file.Write(b)
	}
	r.size += int64(n)
	return n, err
}

// harden has the file on disk.
func (r *replacement) harden() error {
	if r.file == nil {
		return nil
	}
	if err := r.file.Sync(); err != nil {
		return err
	}
	return r.file.Chmod(0o660)
}

// takePlace puts the file in the family's place.
func (r *replacement) takePlace() error {
	if r.file == nil {
		return nil
	}
	if err := disk.Rename(r.file.Name(), r.family.path); err != nil {
		return err
	}
	r.family.created = false
	return nil
}

// remove removes the file, unless it is where it was to go.
func (r *replacement) remove() {
	if r.file != nil {
		r.file.Close()
		_ = os.Remove(r.file.Name())
	}
}
