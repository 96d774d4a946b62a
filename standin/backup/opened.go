// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"io"
	"os"

	"geosql.dev/standin/backupmedia"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// openedMedia is a media set whose files are open, in the order of the media families.
type openedMedia struct {
	paths []string
	files []*os.File
	media storage.MediaSet
}

func (m *openedMedia) close() {
	for _, f := range m.files {
		f.Close()
	}
}

// openedSet is a backup set of a media set that is open.
type openedSet struct {
	*openedMedia
	storage.SpreadSet
	note backupNote
}

// reader reads the set from its begin.
func (s *openedSet) reader() (*storage.BackupReader, error) {
	files := make([]io.ReaderAt, len(s.files))
	for i, f := range s.files {
		files[i] = f
	}
	return s.Open(files...)
}

// openMedia opens backup files and finds their sets; those before damage are given with 3241. 4037 where MEDIANAME is
// another one. Where alone is set, one of the files of a media set can be looked at for itself: each has a header of
// every set (docs/t-sql/statements/restore-statements-headeronly-transact-sql.md has one device).
func openMedia(s *engine.Session, paths []string, o syntax.RestoreOptions, alone bool) (*openedMedia, error) {
	name, err := nameOr(s, o.MediaName, o.Variables["MEDIANAME"])
	if err != nil {
		return nil, err
	}
	m := &openedMedia{}
	if err = m.open(paths, alone && len(paths) == 1); err == nil || len(m.media.Sets) > 0 {
		if wrong := m.judgeName(name); wrong != nil {
			m.close()
			return nil, wrong
		}
		return m, err
	}
	m.close()
	return nil, err
}

// open opens the files, and puts them in the order of their families unless there is one that is looked at alone.
func (m *openedMedia) open(paths []string, alone bool) error {
	families := make([]storage.Media, len(paths))
	for i, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return sqlerr.New(3201, 2, path, sqlerr.OperatingSystem(err))
		}
		m.files = append(m.files, f)
		info, err := f.Stat()
		if err == nil {
			families[i], err = storage.ReadMedia(f, info.Size())
		}
		if len(families[i].Sets) == 0 {
			if err == nil {
				err = storage.ErrBackupCorrupt
			}
			return backupError(err, "", []string{path})
		}
	}
	m.paths = paths
	if !alone {
		order, err := backupmedia.Order(paths, families)
		if err != nil {
			return err
		}
		m.paths, m.files, families = inOrder(order, paths), inOrder(order, m.files), inOrder(order, families)
	}
	var err error
	m.media, err = storage.JoinMedia(families)
	return backupError(err, "", m.paths)
}

// inOrder are the elements at the places, in their order.
func inOrder[T any](places []int, list []T) []T {
	out := make([]T, len(places))
	for i, place := range places {
		out[i] = list[place]
	}
	return out
}

// judgeName is 4037 where the media set has another name than is asked for.
func (m *openedMedia) judgeName(name string) error {
	if name == "" {
		return nil
	}
	note, err := noteOf(m.media.Sets[0].Header, m.paths[0])
	if err == nil && note.MediaName != name {
		err = sqlerr.New(4037, 1, name, note.MediaName, m.paths[0])
	}
	return err
}

// setNumber is FILE =, 0 when it is not given.
func setNumber(s *engine.Session, o syntax.RestoreOptions) (int64, error) {
	n, _, err := integerOr(s, &o.File, o.Variables["FILE"])
	return n, err
}

// openBackup opens a backup set: the one that FILE = names (4038), else the first. alone is openMedia's.
func openBackup(s *engine.Session, paths []string, o syntax.RestoreOptions, alone bool) (*openedSet, error) {
	number, err := setNumber(s, o)
	if err != nil {
		return nil, err
	}
	m, err := openMedia(s, paths, o, alone)
	if m == nil {
		return nil, err
	}
	number = max(number, 1)
	if int64(len(m.media.Sets)) < number {
		m.close()
		if err == nil {
			err = sqlerr.New(4038, 1, number, m.paths[0])
		}
		return nil, err
	}
	set := &openedSet{openedMedia: m, SpreadSet: m.media.Sets[number-1]}
	if set.note, err = noteOf(set.Header, m.paths[0]); err != nil {
		m.close()
		return nil, err
	}
	return set, nil
}
