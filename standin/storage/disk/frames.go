// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"encoding/binary"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite writes each frame of a write-ahead log with two calls of the operating system, one for its header and one for
// its page: those of a transaction are gathered here and written with one. A commit is on its way to the disk when
// SQLite takes it for written, as before: its last frame, whose header has the size of the data file, ends the
// gathering, and only then are the frames shown to other connections. An error of that write is one of the commit,
// which is rolled back. (https://www.sqlite.org/fileformat2.html, section 4.1, "WAL File Format")
type frames struct {
	// gathered is what is to be written at offset from; ends tells that the frame whose header is last there ends a
	// transaction.
	gathered []byte
	from     sqlite3.Tsqlite3_int64
	ends     bool
	// gathers is set while frames are written one after another. Headers are also written alone, where a transaction has
	// written over a frame of its own and the checksums of those after it are made again: each is read first, and reading
	// ends the gathering.
	gathers bool
	// header is the end of a header that was written on its own, to see whether its page follows.
	header sqlite3.Tsqlite3_int64
	// lost is where frames that SQLite takes for written could not be written, 0 for nowhere. Their transaction writes no
	// more: the next one begins there, or before.
	lost sqlite3.Tsqlite3_int64
}

const (
	walHeader   = 32
	frameHeader = 24
	// mostGathered is how many bytes wait at most, fifteen frames: SQLite's own file takes less than 128 KB in one call
	// (seekAndWriteFd in os_unix.c).
	mostGathered = 15 * (frameHeader + PageSize)
)

// frame writes to a write-ahead log, or gathers what is written.
func (f *openFile) frame(tls *libc.TLS, file uintptr, data []byte, offset sqlite3.Tsqlite3_int64) int32 {
	next := f.from + sqlite3.Tsqlite3_int64(len(f.gathered))
	isHeader := len(data) == frameHeader && offset >= walHeader
	if f.lost != 0 {
		if offset > f.lost || !isHeader && offset != 0 {
			return sqlite3.SQLITE_IOERR_WRITE
		}
		f.lost = 0
	}
	switch {
	case !f.gathers:
		f.gathers = len(data) == PageSize && offset == f.header && offset > walHeader
		f.header = 0
		if isHeader {
			f.header = offset + frameHeader
		}
		return f.through(tls, file, data, offset)
	case len(f.gathered) > 0 && offset != next, !isHeader && (len(data) != PageSize || len(f.gathered) == 0):
		if rc := f.flush(tls, file); rc != sqlite3.SQLITE_OK {
			return rc
		}
		f.gathers = false
		return f.frame(tls, file, data, offset)
	}
	if len(f.gathered) == 0 {
		f.from = offset
	}
	f.gathered = append(f.gathered, data...)
	if isHeader {
		f.ends = binary.BigEndian.Uint32(data[4:]) != 0
	} else if f.ends || len(f.gathered) >= mostGathered {
		return f.flush(tls, file)
	}
	return sqlite3.SQLITE_OK
}

// flush writes what is gathered. What could not be written is given up, and its transaction with it: were it written
// later, a crash would find a transaction that was rolled back.
func (f *openFile) flush(tls *libc.TLS, file uintptr) int32 {
	if len(f.gathered) == 0 {
		return sqlite3.SQLITE_OK
	}
	data := f.gathered
	f.gathered = f.gathered[:0]
	rc := f.through(tls, file, data, f.from)
	if rc != sqlite3.SQLITE_OK {
		f.lost = f.from
	}
	return rc
}
