// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"io"

	"geosql.dev/standin/storage/disk"
)

// MediaSet is what the files of a media set hold together, each with one media family.
type MediaSet struct {
	Sets []SpreadSet
	// Ends are where a further set goes in each file.
	Ends []int64
	// Unfinished says that a set begins there whose backup did not come to its end.
	Unfinished bool
}

// SpreadSet is a backup set of which each media family has a part.
type SpreadSet struct {
	// BackupSet is the first family's part.
	BackupSet
	Parts []BackupSet
}

// Size is what the set has in all files, in bytes.
func (s SpreadSet) Size() (size int64) {
	for _, p := range s.Parts {
		size += p.End - p.Begin
	}
	return size
}

// Open reads the set. The files are those of JoinMedia, in its order.
func (s SpreadSet) Open(files ...io.ReaderAt) (*BackupReader, error) {
	in := make([]io.Reader, len(files))
	for i, f := range files {
		in[i] = io.NewSectionReader(f, s.Parts[i].Begin, s.Parts[i].End-s.Parts[i].Begin)
	}
	return OpenBackup(in...)
}

// JoinMedia finds the sets that media families, in the order of their numbers, hold together. AppendSet has a set begin
// in the first family last: a set that is not there was not finished, whatever the others have of it, and one that is
// there and missing elsewhere was lost. Where sets are lost or damaged the error is a FamilyError, and those before are
// given.
func JoinMedia(families []Media) (m MediaSet, err error) {
	whole := len(families[0].Sets)
	for i, f := range families {
		switch lost := len(f.Sets) < whole; {
		case lost || f.Damage != nil:
			whole = min(whole, len(f.Sets))
			if err != nil {
				break
			}
			damage := f.Damage
			if damage == nil {
				damage = fmt.Errorf("find a backup set that the first media family has: %w", ErrBackupCorrupt)
			}
			err = &FamilyError{Family: i + 1, Err: damage}
		case err == nil && len(f.Sets) > len(families[0].Sets)+1:
			err = &FamilyError{Family: 1, Err: fmt.Errorf("find the backup sets of family %d: %w", i+1, ErrBackupCorrupt)}
		}
	}
	for n := range whole {
		set := SpreadSet{BackupSet: families[0].Sets[n]}
		for i, f := range families {
			if !sameSet(set.Header, f.Sets[n].Header) {
				return m, &FamilyError{Family: i + 1, Err: fmt.Errorf("find backup set %d: %w", n+1, ErrBackupCorrupt)}
			}
			set.Parts = append(set.Parts, f.Sets[n])
		}
		m.Sets = append(m.Sets, set)
	}
	for _, f := range families {
		end := f.End
		if len(f.Sets) > whole {
			end = f.Sets[whole].Begin
		}
		m.Ends = append(m.Ends, end)
		m.Unfinished = m.Unfinished || err == nil && (f.Unfinished || len(f.Sets) > whole)
	}
	return m, err
}

// AppendSet writes a further set at the ends of the files of a media set, over one that was not finished. The first
// bytes of each family's part come when all others are on disk, those of the first family last: whatever a crash
// leaves, the sets before it are there, and it is there wholly or not at all. It returns the set's ends.
func AppendSet(files []*disk.File, at []int64, write func(families []io.Writer) error) ([]int64, error) {
	appenders, families := make([]*setAppender, len(files)), make([]io.Writer, len(files))
	for i, f := range files {
		if err := f.Truncate(at[i]); err != nil {
			return at, fmt.Errorf("cut off an unfinished backup set: %w", err)
		}
		appenders[i] = &setAppender{file: f, at: at[i]}
		families[i] = appenders[i]
	}
	err := write(families)
	for i := 0; err == nil && i < len(files); i++ {
		err = files[i].Sync()
	}
	for i := len(files) - 1; err == nil && i >= 0; i-- {
		if _, err = files[i].WriteAt(appenders[i].first, at[i]); err == nil {
			err = files[i].Sync()
		}
	}
	if err != nil {
		// Should this fail as well, the next one cuts it. The first family's begins the set and goes first.
		for i, f := range files {
			_ = f.Truncate(at[i])
		}
		return at, fmt.Errorf("append a backup set: %w", err)
	}
	ends := make([]int64, len(files))
	for i, a := range appenders {
		ends[i] = a.at
	}
	return ends, nil
}

// setAppender writes at the end of a file and keeps the first bytes, in whose place the file has zeros.
type setAppender struct {
	file  *disk.File
	at    int64
	first []byte
}

func (w *setAppender) Write(b []byte) (int, error) {
	kept := min(len(backupMagic)-len(w.first), len(b))
	w.first = append(w.first, b[:kept]...)
	w.at += int64(kept)
	n, err := w.file.WriteAt(b[kept:], w.at)
	w.at += int64(n)
	return kept + n, err
}
