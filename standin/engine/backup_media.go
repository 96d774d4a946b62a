// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/storage/disk"
	"geosql.dev/operator/standin/syntax"
)

// backupMedia is the file that a BACKUP writes to, locked against others that do.
type backupMedia struct {
	path string
	// file is nil for NUL, the device that discards what is written.
	file *disk.File
	// created says that the file was not there before.
	created bool
	media   storage.Media
	// over says that the new set takes the place of all that the file holds.
	over bool
	// id and name are those of the media set.
	id   uuid.UUID
	name string
}

// openMedia opens the file for a further backup set, and judges FORMAT, INIT and SKIP by what it holds
// (docs/t-sql/statements/backup-transact-sql.md, Interaction of SKIP, NOSKIP, INIT, and NOINIT).
func openMedia(path string, o syntax.BackupOptions) (*backupMedia, error) {
	m := &backupMedia{path: path, id: uuid.New(), name: o.MediaName}
	if path == os.DevNull {
		return m, nil
	}
	if err := m.lock(); err != nil {
		return nil, sqlerr.New(3201, 1, path, osError(err))
	}
	if err := m.judge(o); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// lock opens the file. Where another backup took its place between the opening and the lock it is opened again.
func (m *backupMedia) lock() error {
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

// close lets others at the file. What was made for a backup that failed goes again.
func (m *backupMedia) close() {
	if m.file == nil {
		return
	}
	if info, err := m.file.Stat(); err == nil && m.created && info.Mode().IsRegular() && info.Size() == 0 {
		_ = os.Remove(m.path)
	}
	m.file.Close()
}

func (m *backupMedia) judge(o syntax.BackupOptions) error {
	info, err := m.file.Stat()
	if err != nil {
		return sqlerr.New(3201, 1, m.path, osError(err))
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
	first, err := noteOf(m.media.Sets[0].Header, m.path)
	if err != nil {
		return err
	}
	m.id, m.name = first.Media, first.MediaName
	if o.Skip {
		return nil
	}
	if o.MediaName != "" && o.MediaName != m.name {
		return sqlerr.New(4037, 1, o.MediaName, m.name, m.path)
	}
	if m.over {
		return m.expired()
	}
	return nil
}

// expired is 4030 while a set must not be written over.
func (m *backupMedia) expired() error {
	for _, set := range m.media.Sets {
		note, err := noteOf(set.Header, m.path)
		if err != nil {
			return err
		}
		if note.Expires.After(time.Now().UTC()) {
			return sqlerr.New(4030, 1, m.path, note.Expires.Format("Jan _2 2006  3:04:05:000PM"))
		}
	}
	return nil
}

// put writes the set and gives its position in the file and its size. A set over all others comes as a file of its own,
// which takes the old one's place when it is whole.
func (m *backupMedia) put(write func(io.Writer) error) (position int, size int64, err error) {
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
		return 0, 0, sqlerr.New(3201, 1, m.path, osError(err))
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
		return 0, 0, sqlerr.New(3202, 1, m.path, osError(err))
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
func (m *backupMedia) failed(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) && pe.Path == m.file.Name() {
		return sqlerr.New(3202, 1, m.path, osError(err))
	}
	return err
}

// noteOf is what the engine wrote into a set's header.
func noteOf(h storage.BackupHeader, path string) (note backupNote, err error) {
	if len(h.Note) > 0 && json.Unmarshal(h.Note, &note) != nil {
		err = sqlerr.New(3241, 0, path)
	}
	return note, err
}

// backupOptions puts the values of variables into the options, and gives the time when the set expires
// (docs/t-sql/statements/backup-transact-sql.md, Backup Set Options: RETAINDAYS goes before EXPIREDATE).
func (s *Session) backupOptions(o *syntax.BackupOptions) (expires time.Time, err error) {
	texts := map[string]*string{"NAME": &o.Name, "DESCRIPTION": &o.Description, "MEDIANAME": &o.MediaName, "MEDIADESCRIPTION": &o.MediaDescription}
	for option, variable := range o.Variables {
		if text := texts[option]; text != nil {
			if *text, err = s.nameOr("", variable); err != nil {
				return expires, err
			}
		}
	}
	now := time.Now().UTC()
	if days, given, err := s.integerOr(o.RetainDays, o.Variables["RETAINDAYS"]); err != nil || given {
		return now.AddDate(0, 0, int(days)), err
	}
	if variable := o.Variables["EXPIREDATE"]; variable != "" || o.ExpireDate != "" {
		return s.timeOr(o.ExpireDate, variable)
	}
	if days, _ := s.inst.Configuration("media retention"); days > 0 {
		return now.AddDate(0, 0, int(days)), nil
	}
	return expires, nil
}

// integerOr is an option's number, or the value of the variable that has it; given is false when there is neither.
func (s *Session) integerOr(n *int64, variable string) (value int64, given bool, err error) {
	switch {
	case variable != "":
		v, err := s.variableAs(variable, sqltype.IntType)
		value, _ := v.(int64)
		return value, true, err
	case n != nil:
		return *n, true, nil
	}
	return 0, false, nil
}

// timeOr is an option's time, or the value of the variable that has it.
func (s *Session) timeOr(text, variable string) (time.Time, error) {
	if variable != "" {
		v, err := s.variableAs(variable, sqltype.DateTimeType)
		t, _ := v.(time.Time)
		return t, err
	}
	v, e := s.convert(text, sqltype.VarCharMax, sqltype.DateTimeType, sqltype.Implicit)
	if e != nil {
		return time.Time{}, e
	}
	t, _ := v.(time.Time)
	return t, nil
}

// variableAs is a variable's value in another type; 137 when it is not declared.
func (s *Session) variableAs(name string, t sqltype.Type) (any, error) {
	v := s.variable(name)
	if v == nil {
		return nil, sqlerr.New(137, 2, strings.TrimSpace(name))
	}
	value, err := s.convert(v.value, v.typ, t, sqltype.Implicit)
	if err != nil {
		return nil, err
	}
	return value, nil
}
