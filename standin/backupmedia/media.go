// SPDX-License-Identifier: Apache-2.0

// Package backupmedia is the file that a BACKUP writes to: whether it may be written over, what a further backup set
// does to it, and the label by which it is known
// (docs/relational-databases/backup-restore/media-sets-media-families-and-backup-sets-sql-server.md). What a set has in
// it is storage's.
package backupmedia

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/syntax"
)

// Label is what a backup set's header says of its media; it lies in the header beside what else the engine notes there.
type Label struct {
	Media     uuid.UUID
	MediaName string
	// MediaDescription and Formatted are of the media set: its text, and when its first label was written.
	MediaDescription string    `json:",omitempty"`
	Formatted        time.Time `json:",omitzero"`
	// Expires is when the set may be written over; zero for at once.
	Expires time.Time
}

// LabelOf is the label in the header of a set of the file path; 3241 where it has none that can be read.
func LabelOf(h storage.BackupHeader, path string) (label Label, err error) {
	if len(h.Note) > 0 && json.Unmarshal(h.Note, &label) != nil {
		err = sqlerr.New(3241, 0, path)
	}
	return label, err
}

// Media is the file that a BACKUP writes to, locked against others that do.
type Media struct {
	path string
	// file is nil for NUL, the device that discards what is written.
	file *disk.File
	// created says that the file was not there before.
	created bool
	media   storage.Media
	// over says that the new set takes the place of all that the file holds.
	over bool
	// label is that of the media set, without Expires.
	label Label
}

// Open opens the file for a further backup set, and judges FORMAT, INIT and SKIP by what it holds
// (docs/t-sql/statements/backup-transact-sql.md, Interaction of SKIP, NOSKIP, INIT, and NOINIT).
func Open(path string, o syntax.BackupOptions) (*Media, error) {
	m := &Media{
		path:  path,
		label: Label{Media: uuid.New(), MediaName: o.MediaName, MediaDescription: o.MediaDescription, Formatted: time.Now()},
	}
	if path == os.DevNull {
		return m, nil
	}
	if err := m.lock(); err != nil {
		return nil, sqlerr.New(3201, 1, path, sqlerr.OperatingSystem(err))
	}
	if err := m.judge(o); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Label is the label of the media set.
func (m *Media) Label() Label { return m.label }

// lock opens the file. Where another backup took its place between the opening and the lock it is opened again.
func (m *Media) lock() error {
	for {
		_, err := os.Stat(m.path)
		m.created = errors.Is(err, os.ErrNotExist)
		if m.file, err = disk.OpenFile(m.path, os.O_RDWR|os.O_CREATE, 0o660); err != nil {
			return err
		}
		err = syscall.Flock(int(m.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("The process cannot access the file because it is being used by another process.")
		}
		var opened, named os.FileInfo
		if err == nil {
			opened, err = m.file.Stat()
		}
		if err != nil {
			m.file.Close()
			return err
		}
		if named, err = os.Stat(m.path); err == nil && os.SameFile(opened, named) {
			return nil
		}
		m.file.Close()
	}
}

// Close lets others at the file. What was made for a backup that failed goes again.
func (m *Media) Close() {
	if m.file == nil {
		return
	}
	if info, err := m.file.Stat(); err == nil && m.created && info.Mode().IsRegular() && info.Size() == 0 {
		_ = os.Remove(m.path)
	}
	m.file.Close()
}

func (m *Media) judge(o syntax.BackupOptions) error {
	info, err := m.file.Stat()
	if err != nil {
		return sqlerr.New(3201, 1, m.path, sqlerr.OperatingSystem(err))
	}
	m.over = o.Format || info.Size() == 0
	if m.over {
		return nil
	}
	m.media, err = storage.ReadMedia(m.file, info.Size())
	if err != nil && !o.Init {
		return sqlerr.New(3241, 0, m.path)
	}
	m.over = o.Init
	if len(m.media.Sets) == 0 {
		return nil
	}
	first, err := LabelOf(m.media.Sets[0].Header, m.path)
	if err != nil {
		return err
	}
	m.label = Label{
		Media:            first.Media,
		MediaName:        first.MediaName,
		MediaDescription: first.MediaDescription,
		Formatted:        first.Formatted,
	}
	if o.Skip {
		return nil
	}
	if o.MediaName != "" && o.MediaName != m.label.MediaName {
		return sqlerr.New(4037, 1, o.MediaName, m.label.MediaName, m.path)
	}
	if m.over {
		return m.expired()
	}
	return nil
}

// expired is 4030 while a set must not be written over.
func (m *Media) expired() error {
	for _, set := range m.media.Sets {
		label, err := LabelOf(set.Header, m.path)
		if err != nil {
			return err
		}
		if label.Expires.After(time.Now().UTC()) {
			return sqlerr.New(4030, 1, m.path, label.Expires.Format("Jan _2 2006  3:04:05:000PM"))
		}
	}
	return nil
}

// Put writes the set and gives its position in the file and its size. A set over all others comes as a file of its own,
// which takes the old one's place when it is whole.
func (m *Media) Put(write func(io.Writer) error) (position int, size int64, err error) {
	if m.file == nil {
		w := &discarded{}
		err := write(w)
		return 1, w.size, err
	}
	if !m.over {
		end, err := storage.AppendSet(m.file, m.media, write)
		if err != nil {
			return 0, 0, m.failed(err)
		}
		return len(m.media.Sets) + 1, end - m.media.End, nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(m.path), ".backup-*")
	if err != nil {
		return 0, 0, sqlerr.New(3201, 1, m.path, sqlerr.OperatingSystem(err))
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if err := write(tmp); err != nil {
		return 0, 0, m.failed(err)
	}
	info, err := tmp.Stat()
	if err == nil {
		err = tmp.Sync()
	}
	if err == nil {
		err = tmp.Chmod(0o660)
	}
	if err == nil {
		err = disk.Rename(tmp.Name(), m.path)
	}
	if err != nil {
		return 0, 0, sqlerr.New(3202, 1, m.path, sqlerr.OperatingSystem(err))
	}
	m.created = false
	return 1, info.Size(), nil
}

// discarded counts what NUL takes.
type discarded struct{ size int64 }

func (d *discarded) Write(b []byte) (int, error) {
	d.size += int64(len(b))
	return len(b), nil
}

// failed is 3202 for what the file's volume says, and the error itself for what the database says.
func (m *Media) failed(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) && pe.Path == m.file.Name() {
		return sqlerr.New(3202, 1, m.path, sqlerr.OperatingSystem(err))
	}
	return err
}
