// SPDX-License-Identifier: Apache-2.0

// Package backupmedia is the media set that a BACKUP writes to, one file for each of its devices: whether it may be
// written over, what a further backup set does to it, and the label by which it is known
// (docs/relational-databases/backup-restore/media-sets-media-families-and-backup-sets-sql-server.md). What a set has in
// it is storage's.
package backupmedia

import (
	"encoding/json"
	"errors"
	"io"
	"os"
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

// Media is the media set that a BACKUP writes to, its files locked against others that do.
type Media struct {
	// families are in the order of their numbers.
	families []*family
	set      storage.MediaSet
	// over says that the new set takes the place of all that the files hold.
	over bool
	// label is that of the media set, without Expires.
	label Label
}

// Open opens the files for a further backup set, and judges FORMAT, INIT and SKIP by what they hold
// (docs/t-sql/statements/backup-transact-sql.md, Interaction of SKIP, NOSKIP, INIT, and NOINIT).
func Open(paths []string, o syntax.BackupOptions) (*Media, error) {
	m := &Media{
		label: Label{Media: uuid.New(), MediaName: o.MediaName, MediaDescription: o.MediaDescription, Formatted: time.Now()},
	}
	for _, path := range paths {
		f, err := openFamily(path)
		if err != nil {
			m.Close()
			return nil, err
		}
		m.families = append(m.families, f)
	}
	if err := m.judge(o); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Label is the label of the media set.
func (m *Media) Label() Label { return m.label }

// Paths are the files, in the order of the media families.
func (m *Media) Paths() []string {
	paths := make([]string, len(m.families))
	for i, f := range m.families {
		paths[i] = f.path
	}
	return paths
}

// Close lets others at the files. What was made for a backup that failed goes again.
func (m *Media) Close() {
	for _, f := range m.families {
		f.close()
	}
}

func (m *Media) judge(o syntax.BackupOptions) error {
	m.over = true
	if o.Format {
		return nil
	}
	var empty *family
	held := 0
	for _, f := range m.families {
		holds, err := f.read()
		switch {
		case err != nil && (!holds || !o.Init):
			return err
		case holds:
			held++
		default:
			empty = f
		}
	}
	if held == 0 {
		return nil
	}
	m.over = o.Init
	if err := m.order(); err != nil {
		return err
	}
	if empty != nil {
		// A volume that is not formatted is none of the set, with INIT neither, which keeps the media header.
		return sqlerr.New(3254, 1, empty.path)
	}
	return m.judgeSets(o)
}

// order puts the families in the order of their numbers.
func (m *Media) order() error {
	media := make([]storage.Media, len(m.families))
	for i, f := range m.families {
		media[i] = f.media
	}
	order, err := Order(m.Paths(), media)
	if err != nil {
		return err
	}
	families := make([]*family, len(order))
	for i, place := range order {
		families[i] = m.families[place]
	}
	m.families = families
	return nil
}

// judgeSets judges whether the sets that are there let another follow, or take their place.
func (m *Media) judgeSets(o syntax.BackupOptions) error {
	if !m.over {
		media := make([]storage.Media, len(m.families))
		for i, f := range m.families {
			media[i] = f.media
		}
		var err error
		if m.set, err = storage.JoinMedia(media); err != nil {
			return sqlerr.New(3241, 0, DamagedPath(err, m.Paths()))
		}
	}
	labelled := m.labelled()
	if labelled == nil {
		return nil
	}
	first, err := LabelOf(labelled.media.Sets[0].Header, labelled.path)
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
		return sqlerr.New(4037, 1, o.MediaName, m.label.MediaName, labelled.path)
	}
	if !m.over {
		return nil
	}
	for _, f := range m.families {
		if err := f.expired(); err != nil {
			return err
		}
	}
	return nil
}

// labelled is the first family that has a set, nil when none can be read.
func (m *Media) labelled() *family {
	for _, f := range m.families {
		if len(f.media.Sets) > 0 {
			return f
		}
	}
	return nil
}

// DamagedPath is that of the paths, in the order of their families, which storage says is damaged; the first one where
// it does not say.
func DamagedPath(err error, paths []string) string {
	var damaged *storage.FamilyError
	switch {
	case errors.As(err, &damaged) && damaged.Family <= len(paths):
		return paths[damaged.Family-1]
	case len(paths) > 0:
		return paths[0]
	}
	return ""
}

// Put writes the set, of which write gives each media family its part, and gives its position in the files and its size
// in all of them. A set over all others comes in files of its own, which take the old ones' places when they are whole.
func (m *Media) Put(write func(families []io.Writer) error) (position int, size int64, err error) {
	if m.over {
		size, err := m.replace(write)
		return 1, size, err
	}
	files := make([]*disk.File, len(m.families))
	for i, f := range m.families {
		files[i] = f.file
	}
	ends, err := storage.AppendSet(files, m.set.Ends, write)
	if err != nil {
		return 0, 0, m.failed(err)
	}
	for i, end := range ends {
		size += end - m.set.Ends[i]
	}
	return len(m.set.Sets) + 1, size, nil
}

// replace puts new files in the place of all. The first family's comes last: without it the others are no media set.
func (m *Media) replace(write func(families []io.Writer) error) (int64, error) {
	var parts []*replacement
	var out []io.Writer
	defer func() {
		for _, p := range parts {
			p.remove()
		}
	}()
	for _, f := range m.families {
		p, err := f.replacement()
		if err != nil {
			return 0, sqlerr.New(3201, 1, f.path, sqlerr.OperatingSystem(err))
		}
		parts, out = append(parts, p), append(out, p)
	}
	if err := write(out); err != nil {
		return 0, m.failed(err)
	}
	var size int64
	for i, p := range parts {
		size += p.size
		if err := p.harden(); err != nil {
			return 0, sqlerr.New(3202, 1, m.families[i].path, sqlerr.OperatingSystem(err))
		}
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if err := parts[i].takePlace(); err != nil {
			return 0, sqlerr.New(3202, 1, m.families[i].path, sqlerr.OperatingSystem(err))
		}
	}
	return size, nil
}

// failed is 3202 for what a file's volume says, and the error itself for what the database says.
func (m *Media) failed(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		for _, f := range m.families {
			if f.file != nil && (pe.Path == f.file.Name() || pe.Path == f.temporary) {
				return sqlerr.New(3202, 1, f.path, sqlerr.OperatingSystem(err))
			}
		}
	}
	return err
}
