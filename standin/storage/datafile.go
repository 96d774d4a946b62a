// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/storage/disk"
)

// dataURI is the URI of a data file, whose pages are checked (SQL Server's PAGE_VERIFY CHECKSUM).
func dataURI(path string) string { return "file:" + uriPath(path) + "?vfs=" + disk.Name }

func openData(path string, flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	if err := disk.Register(); err != nil {
		return nil, fmt.Errorf("open the data file: %w", err)
	}
	return sqlite.OpenConn(dataURI(path), flags|sqlite.OpenURI)
}

// createData makes an empty data file that is still there after a power cut.
func createData(path string) error {
	if err := disk.Create(path); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}

// Damage is the damaged page that err tells of, or nil: a page of a data file that is not what was written there.
func (db *Database) Damage(err error) *disk.Damage {
	if sqlite.ErrCode(err) != sqlite.ResultCode(resultDamage) {
		return nil
	}
	return disk.NewestDamage(db.files.Data)
}

// suspected is a Suspect where err comes from damaged files.
func (db *Database) suspected(err error) error {
	var log *DamagedLog
	var suspect *Suspect
	primary := sqlite.ErrCode(err).ToPrimary()
	switch d := db.Damage(err); {
	case errors.As(err, &suspect):
		return err
	case d != nil:
		return &Suspect{Reason: fmt.Sprintf("%v: %v", err, d)}
	case errors.As(err, &log), primary == sqlite.ResultCorrupt, primary == sqlite.ResultNotADB:
		return &Suspect{Reason: err.Error()}
	}
	return err
}

// resultDamage is SQLITE_IOERR_DATA (https://www.sqlite.org/rescode.html).
const resultDamage = 8202

// The write-ahead log's format: https://www.sqlite.org/fileformat2.html, section 4.1.
const (
	walHeader   = 32
	frameHeader = 24
)

// cutAhead takes back what the data file has of transactions that the log has not: the operating system may have
// written the newest commits of SQLite's write-ahead log by itself, and a power cut have come before it did so with the
// log. No one was told that those transactions are committed, and none of their pages is in the data file itself,
// because the log is synced before a checkpoint begins.
func (db *Database) cutAhead() error {
	if db.opts.Logless {
		return nil
	}
	path := db.files.Data + "-wal"
	if info, err := os.Stat(path); err != nil || info.Size() <= walHeader {
		return nil
	}
	for {
		applied, err := appliedIn(db.files.Data, "")
		if err != nil {
			return fmt.Errorf("read the data file %s: %w", db.files.Data, err)
		}
		// A whole write-ahead log cannot be older than what was copied from it.
		if copied, err := appliedIn(db.files.Data, "&immutable=1"); err == nil && applied.Less(copied) {
			return &Suspect{Reason: fmt.Sprintf("%s is damaged: the data file is at %s, with it at %s", path, copied, applied)}
		}
		if applied.IsZero() || applied.Less(db.log.End()) {
			return nil
		}
		before, err := lastCommitBefore(path)
		if err != nil {
			return err
		}
		if before == 0 {
			return &Suspect{Reason: fmt.Sprintf("the data file is at %s, the log ends at %s", applied, db.log.End())}
		}
		if err := os.Truncate(path, before); err != nil {
			return fmt.Errorf("take back what the log has not: %w", err)
		}
	}
}

// appliedIn reads a data file's position. What is open for reading only makes no checkpoint when it is closed.
func appliedIn(path, options string) (LSN, error) {
	// The index of the write-ahead log is made anew from the log.
	if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return LSN{}, err
	}
	if err := disk.Register(); err != nil {
		return LSN{}, err
	}
	conn, err := sqlite.OpenConn(dataURI(path)+options, sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return LSN{}, err
	}
	defer conn.Close()
	applied, _, err := readApplied(conn)
	return applied, err
}

// lastCommitBefore is the size of a write-ahead log without its last transaction; 0 when it has none.
func lastCommitBefore(path string) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the write-ahead log: %w", err)
	}
	defer f.Close()
	head := make([]byte, walHeader)
	if _, err := io.ReadFull(f, head); err != nil {
		return 0, nil
	}
	page := int64(binary.BigEndian.Uint32(head[8:]))
	var last, before int64
	frame := make([]byte, frameHeader)
	for at := int64(walHeader); ; at += frameHeader + page {
		if _, err := f.ReadAt(frame, at); err != nil {
			break
		}
		if string(frame[8:16]) != string(head[16:24]) {
			// A frame of before the log was begun again.
			break
		}
		if binary.BigEndian.Uint32(frame[4:]) != 0 {
			before, last = last, at+frameHeader+page
		}
	}
	switch {
	case last == 0:
		return 0, nil
	case before == 0:
		return walHeader, nil
	}
	return before, nil
}
