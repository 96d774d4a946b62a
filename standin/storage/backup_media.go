// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// BackupSet is one of the backup sets of a file, and the bytes that it has there: all of the set, or the part of one
// media family.
type BackupSet struct {
	Header BackupHeader
	// Position is the set's number in the file, from 1 (FILE = of RESTORE).
	Position   int
	Begin, End int64
	// Finished is when its backup ended; zero in sets of a version that did not say.
	Finished time.Time
}

// Media is what a backup file holds
// (docs/relational-databases/backup-restore/media-sets-media-families-and-backup-sets-sql-server.md).
type Media struct {
	Sets []BackupSet
	// End is where a further set goes.
	End int64
	// Unfinished says that a set begins at End whose backup did not come to its end.
	Unfinished bool
	// Damage is why what lies at End cannot be read, nil where nothing does.
	Damage error
}

// ReadMedia finds the backup sets of a file of that size without reading what they hold. Where something is no set, or
// one that was cut off later, the error is ErrBackupCorrupt, and those before it are given.
func ReadMedia(file io.ReaderAt, size int64) (m Media, err error) {
	defer func() { m.Damage = err }()
	for m.End < size {
		if m.End > 0 {
			unfinished, err := unfinishedSet(file, m.End, size)
			if err != nil || unfinished {
				m.Unfinished = unfinished
				return m, err
			}
		}
		set, err := readSet(file, m.End, size)
		if err != nil {
			return m, err
		}
		set.Position = len(m.Sets) + 1
		m.Sets, m.End = append(m.Sets, set), set.End
	}
	return m, nil
}

// unfinishedSet tells a set that AppendSet did not finish: its first bytes are written last, and a power cut may leave
// some of them.
func unfinishedSet(file io.ReaderAt, at, size int64) (bool, error) {
	head := make([]byte, min(int64(len(backupMagic)), size-at))
	if _, err := file.ReadAt(head, at); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read a backup's header: %w", err)
	}
	whole := len(head) == len(backupMagic)
	for i, b := range head {
		switch b {
		case backupMagic[i]:
		case 0:
			whole = false
		default:
			return false, nil
		}
	}
	return !whole, nil
}

// readSet reads a set's header and steps over its chunks.
func readSet(file io.ReaderAt, at, size int64) (BackupSet, error) {
	set := BackupSet{Begin: at}
	in := io.NewSectionReader(file, at, size-at)
	p, err := openPart(in)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	if err != nil {
		return set, err
	}
	set.Header = p.header
	passed, err := in.Seek(0, io.SeekCurrent)
	if err != nil {
		return set, fmt.Errorf("read a backup: %w", err)
	}
	for at += passed; ; {
		var head [4]byte
		if _, err := file.ReadAt(head[:], at); err != nil {
			return set, fmt.Errorf("find the end of a backup set: %w", errors.Join(ErrBackupCorrupt, err))
		}
		n := int64(binary.BigEndian.Uint32(head[:]))
		at += int64(len(head)) + n
		if n == 0 {
			break
		}
	}
	trailer := make([]byte, p.trailer)
	if n, err := file.ReadAt(trailer, at); n < len(trailer) {
		return set, fmt.Errorf("find the end of a backup set: %w", errors.Join(ErrBackupCorrupt, err))
	}
	if len(trailer) == finishedSize {
		set.Finished = time.Unix(0, int64(binary.BigEndian.Uint64(trailer))).UTC()
	}
	if set.End = at + int64(len(trailer)+p.hash.Size()); set.End > size {
		return set, fmt.Errorf("find the end of a backup set: %w", ErrBackupCorrupt)
	}
	return set, nil
}
