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
// another in a file (BACKUP ... WITH NOINIT).
var backupMagic = [8]byte{'G', 'E', 'O', 'S', 'Q', 'L', 'B', 'K'}

const (
	backupVersion   = 2
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
}

type backupWriter struct {
	out  io.Writer
	hash hash.Hash
	buf  bytes.Buffer
	// packed compresses into buf, nil when the set is not compressed.
	packed *flate.Writer
	err    error
}

func newBackupWriter(out io.Writer, h BackupHeader) (*backupWriter, error) {
	w := &backupWriter{out: out, hash: sha256.New()}
	data, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write a backup's header: %w", err)
	}
	head := append([]byte{}, backupMagic[:]...)
	head = binary.BigEndian.AppendUint32(head, backupVersion)
	head = binary.BigEndian.AppendUint32(head, uint32(len(data)))
	w.put(append(head, data...))
	if h.Compressed {
		if w.packed, err = flate.NewWriter(&w.buf, flate.BestSpeed); err != nil {
			return nil, fmt.Errorf("compress a backup: %w", err)
		}
	}
	return w, w.err
}

func (w *backupWriter) put(b []byte) {
	if w.err == nil {
		w.hash.Write(b)
		if _, err := w.out.Write(b); err != nil {
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

func (w *backupWriter) chunk() {
	if w.buf.Len() > 0 {
		w.put(binary.BigEndian.AppendUint32(nil, uint32(w.buf.Len())))
		w.put(w.buf.Bytes())
		w.buf.Reset()
	}
}

// finish ends the set.
func (w *backupWriter) finish() error {
	if w.packed != nil {
		if err := w.packed.Close(); err != nil {
			return fmt.Errorf("compress a backup: %w", err)
		}
	}
	w.chunk()
	w.put([]byte{0, 0, 0, 0})
	w.put(binary.BigEndian.AppendUint64(nil, uint64(nowUTC().UnixNano())))
	w.put(w.hash.Sum(nil))
	return w.err
}

// BackupReader reads one backup set. After the content's end (io.EOF), the input stands at the next set.
type BackupReader struct {
	Header  BackupHeader
	trailer int
	in      io.Reader
	hash    hash.Hash
	left    uint32
	ended   bool
	content io.Reader
}

// OpenBackup reads a set's header. io.EOF when there is no further set.
func OpenBackup(in io.Reader) (*BackupReader, error) {
	r := &BackupReader{in: in, hash: sha256.New()}
	head := make([]byte, 16)
	if n, err := io.ReadFull(in, head); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	r.hash.Write(head)
	version, size := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
	if version == backupVersion {
		r.trailer = finishedSize
	}
	if [8]byte(head[:8]) != backupMagic || version < 1 || version > backupVersion || size > maxBackupHeader {
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	r.hash.Write(data)
	if err := json.Unmarshal(data, &r.Header); err != nil {
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	r.content = (*backupChunks)(r)
	if r.Header.Compressed {
		r.content = flate.NewReader((*backupChunks)(r))
	}
	return r, nil
}

// Read reads the set's content. The last read verifies the checksum.
func (r *BackupReader) Read(b []byte) (int, error) {
	n, err := r.content.Read(b)
	if errors.Is(err, io.EOF) && !r.ended {
		// flate stops at its own end; the set's end follows.
		if _, e := io.Copy(io.Discard, (*backupChunks)(r)); e != nil {
			return n, e
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrBackupCorrupt) {
		err = errors.Join(ErrBackupCorrupt, err)
	}
	return n, err
}

// Verify reads the set to its end and checks it (RESTORE VERIFYONLY).
func (r *BackupReader) Verify() error {
	_, err := io.Copy(io.Discard, r)
	return err
}

type backupChunks BackupReader

// Read reads the chunks' bytes one after another.
func (r *backupChunks) Read(b []byte) (int, error) {
	if r.ended {
		return 0, io.EOF
	}
	if r.left == 0 {
		var head [4]byte
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return 0, fmt.Errorf("read a backup: %w", ErrBackupCorrupt)
		}
		r.hash.Write(head[:])
		r.left = binary.BigEndian.Uint32(head[:])
		if r.left == 0 {
			return 0, r.end()
		}
	}
	n, err := r.in.Read(b[:min(len(b), int(r.left))])
	r.hash.Write(b[:n])
	r.left -= uint32(n)
	if err != nil && n == 0 {
		return 0, fmt.Errorf("read a backup: %w", ErrBackupCorrupt)
	}
	return n, nil
}

func (r *backupChunks) end() error {
	if _, err := io.CopyN(r.hash, r.in, int64(r.trailer)); err != nil {
		return fmt.Errorf("check a backup: %w", ErrBackupCorrupt)
	}
	want := r.hash.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r.in, got); err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("check a backup: %w", ErrBackupCorrupt)
	}
	r.ended = true
	return io.EOF
}
