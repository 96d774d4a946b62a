// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// A backup set is: magic, version, length of the header (JSON) and the header; chunks, each with its length, the last
// of length 0; when it was finished, in nanoseconds (not in version 1); SHA-256 of all before it. Sets follow one
// another in a file (BACKUP ... WITH NOINIT). Of a set that is spread over several media families each has all of this:
// its own header, the chunks that fall to it in turn, and its own checksum.
var backupMagic = [8]byte{'G', 'E', 'O', 'S', 'Q', 'L', 'B', 'K'}

const (
	backupVersion = 2
	// stripedVersion is that of a set in several families: who does not know of them must not take one for the whole.
	stripedVersion  = 3
	finishedSize    = 8
	backupChunk     = 256 << 10
	maxBackupHeader = 1 << 20
)

// BackupKind is msdb.dbo.backupset.type.
type BackupKind string

// The kinds of backup.
const (
	DatabaseBackup BackupKind = "D"
	// DifferentialBackup holds the whole data file, like a DatabaseBackup; it is restored over that one only.
	DifferentialBackup BackupKind = "I"
	LogBackup          BackupKind = "L"
)

// BackupHeader describes a backup set (RESTORE HEADERONLY).
type BackupHeader struct {
	Kind          BackupKind    `json:"kind"`
	Database      string        `json:"database"`
	Server        string        `json:"server"`
	Identity      Identity      `json:"identity"`
	RecoveryModel RecoveryModel `json:"recoveryModel"`
	CopyOnly      bool          `json:"copyOnly"`
	Compressed    bool          `json:"compressed"`
	Started       time.Time     `json:"started"`
	// Ended is when a copy of the data was made: it has no transaction of a later time.
	Ended time.Time `json:"ended,omitzero"`
	// First is the first log position that is in the set or is needed after it; Last the position up to which the
	// restored database will be (exclusive).
	First LSN `json:"first"`
	Last  LSN `json:"last"`
	// BeginsChain says that a log backup is the first of its chain.
	BeginsChain bool `json:"beginsChain,omitempty"`
	// Chain is set where the log from LogFrom on follows the data file's Size bytes.
	Chain   *Chain `json:"chain,omitempty"`
	LogFrom LSN    `json:"logFrom,omitzero"`
	// DatabaseBackup is the newest full backup's position, on which a log or differential backup stands.
	DatabaseBackup LSN `json:"databaseBackup"`
	// Prev and Bytes continue the log after a restored database: the block before Last, and Last in bytes.
	Prev  LSN    `json:"prev"`
	Bytes uint64 `json:"bytes"`
	// Size is what the set holds, in bytes: the data file, or the log.
	Size int64 `json:"size"`
	// Files are the files' places on the server that made the backup.
	Files Files `json:"files"`
	// Note is the caller's own.
	Note json.RawMessage `json:"note,omitempty"`
	// Family is the number of the media family that this header lies in, from 1, and Families how many the set is spread
	// over; both are 0 where there is one.
	Family   int `json:"family,omitempty"`
	Families int `json:"families,omitempty"`
}

// Place is the number of the media family that the header lies in, from 1, and how many the set is spread over.
func (h BackupHeader) Place() (family, families int) { return max(h.Family, 1), max(h.Families, 1) }

type backupWriter struct {
	// parts are the families', next the one that the next chunk goes to.
	parts []backupPart
	next  int
	buf   bytes.Buffer
	// packed compresses into buf, nil when the set is not compressed.
	packed *flate.Writer
	err    error
}

// backupPart is what one media family gets of a set.
type backupPart struct {
	out  io.Writer
	hash hash.Hash
}

// newBackupWriter begins a set that is spread over the media families outs.
func newBackupWriter(h BackupHeader, outs ...io.Writer) (*backupWriter, error) {
	w := &backupWriter{}
	for i, out := range outs {
		w.parts = append(w.parts, backupPart{out: out, hash: sha256.New()})
		version := uint32(backupVersion)
		if len(outs) > 1 {
			version, h.Family, h.Families = stripedVersion, i+1, len(outs)
		}
		data, err := json.Marshal(h)
		if err != nil {
			return nil, fmt.Errorf("write a backup's header: %w", err)
		}
		head := append([]byte{}, backupMagic[:]...)
		head = binary.BigEndian.AppendUint32(head, version)
		head = binary.BigEndian.AppendUint32(head, uint32(len(data)))
		w.put(i, append(head, data...))
	}
	if h.Compressed {
		packed, err := flate.NewWriter(&w.buf, flate.BestSpeed)
		if err != nil {
			return nil, fmt.Errorf("compress a backup: %w", err)
		}
		w.packed = packed
	}
	return w, w.err
}

func (w *backupWriter) put(part int, b []byte) {
	if w.err == nil {
		w.parts[part].hash.Write(b)
		if _, err := w.parts[part].out.Write(b); err != nil {
			w.err = fmt.Errorf("write a backup: %w", err)
		}
	}
}

// Write adds to the set's content.
func (w *backupWriter) Write(b []byte) (int, error) {
	var err error
	if w.packed != nil {
		_, err = w.packed.Write(b)
	} else {
		_, err = w.buf.Write(b)
	}
	if err == nil && w.buf.Len() >= backupChunk {
		w.chunk()
	}
	return len(b), errors.Join(err, w.err)
}

// chunk writes what is gathered, in as many equal chunks as there are families.
func (w *backupWriter) chunk() {
	data, n := w.buf.Bytes(), len(w.parts)
	for i := range n {
		// A chunk of length 0 would end the set.
		if piece := data[len(data)*i/n : len(data)*(i+1)/n]; len(piece) > 0 {
			w.put(w.next, binary.BigEndian.AppendUint32(nil, uint32(len(piece))))
			w.put(w.next, piece)
			w.next = (w.next + 1) % n
		}
	}
	w.buf.Reset()
}

// finish ends the set.
func (w *backupWriter) finish() error {
	if w.packed != nil {
		if err := w.packed.Close(); err != nil {
			return fmt.Errorf("compress a backup: %w", err)
		}
	}
	w.chunk()
	finished := uint64(nowUTC().UnixNano())
	for i := range w.parts {
		w.put(i, []byte{0, 0, 0, 0})
		w.put(i, binary.BigEndian.AppendUint64(nil, finished))
		w.put(i, w.parts[i].hash.Sum(nil))
	}
	return w.err
}
