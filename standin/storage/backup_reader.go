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
	"reflect"
)

// FamilyError is damage in one of the media families that a set is spread over.
type FamilyError struct {
	// Family is its place among those that are read, from 1.
	Family int
	Err    error
}

// Error names the family.
func (e *FamilyError) Error() string { return fmt.Sprintf("media family %d: %v", e.Family, e.Err) }

// Unwrap is the damage, ErrBackupCorrupt.
func (e *FamilyError) Unwrap() error { return e.Err }

// BackupReader reads one backup set. After the content's end (io.EOF), the inputs stand at the next set.
type BackupReader struct {
	Header BackupHeader
	// parts are the families', next the one that has the next chunk.
	parts   []*partReader
	next    int
	ended   bool
	content io.Reader
}

// partReader reads what one media family has of a set.
type partReader struct {
	header  BackupHeader
	trailer int
	in      io.Reader
	hash    hash.Hash
	left    uint32
}

// OpenBackup reads a set's header. It takes all of the set's media families, in the order of their numbers. io.EOF when
// there is no further set.
func OpenBackup(in ...io.Reader) (*BackupReader, error) {
	r := &BackupReader{}
	for i, one := range in {
		p, err := openPart(one)
		switch {
		case errors.Is(err, io.EOF) && i == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			err = fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
		case err != nil:
		case i == 0:
			r.Header = p.header
		case !sameSet(r.Header, p.header):
			err = fmt.Errorf("read a backup's header, which is that of another set: %w", ErrBackupCorrupt)
		}
		if err == nil {
			if family, families := p.header.Place(); family != i+1 || families != len(in) {
				err = fmt.Errorf("find media family %d of %d, not %d of %d: %w", i+1, len(in), family, families, ErrBackupCorrupt)
			}
		}
		if err != nil {
			return nil, &FamilyError{Family: i + 1, Err: err}
		}
		r.parts = append(r.parts, p)
	}
	r.content = (*backupChunks)(r)
	if r.Header.Compressed {
		r.content = flate.NewReader((*backupChunks)(r))
	}
	return r, nil
}

// sameSet tells whether two headers are of one set, each in its family.
func sameSet(a, b BackupHeader) bool {
	a.Family, b.Family = 0, 0
	return reflect.DeepEqual(a, b)
}

// openPart reads the header that one media family has of a set.
func openPart(in io.Reader) (*partReader, error) {
	p := &partReader{in: in, hash: sha256.New()}
	head := make([]byte, 16)
	if n, err := io.ReadFull(in, head); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	p.hash.Write(head)
	version, size := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
	if version >= backupVersion {
		p.trailer = finishedSize
	}
	if [8]byte(head[:8]) != backupMagic || version < 1 || version > stripedVersion || size > maxBackupHeader {
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	p.hash.Write(data)
	if err := json.Unmarshal(data, &p.header); err != nil {
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	if family, families := p.header.Place(); family > families || (families > 1) != (version == stripedVersion) {
		return nil, fmt.Errorf("read a backup's header: %w", ErrBackupCorrupt)
	}
	return p, nil
}

// Read reads the set's content. The last read verifies the checksums.
func (r *BackupReader) Read(b []byte) (int, error) {
	n, err := r.content.Read(b)
	if errors.Is(err, io.EOF) && !r.ended {
		// flate stops at its own end; the set's end follows.
		if _, e := io.Copy(io.Discard, (*backupChunks)(r)); e != nil {
			return n, e
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrBackupCorrupt) {
		// What flate cannot read says nothing of where it comes from; the checksums of the families do.
		_, where := io.Copy(io.Discard, (*backupChunks)(r))
		err = errors.Join(ErrBackupCorrupt, err, where)
	}
	return n, err
}

// Verify reads the set to its end and checks it (RESTORE VERIFYONLY).
func (r *BackupReader) Verify() error {
	_, err := io.Copy(io.Discard, r)
	return err
}

type backupChunks BackupReader

// Read reads the chunks' bytes one after another, from each family in turn.
func (r *backupChunks) Read(b []byte) (int, error) {
	if r.ended {
		return 0, io.EOF
	}
	at := r.next
	p := r.parts[at]
	if p.left == 0 {
		length, err := p.length()
		if err != nil {
			return 0, &FamilyError{Family: at + 1, Err: err}
		}
		if length == 0 {
			return 0, r.end()
		}
		p.left = length
	}
	n, err := p.in.Read(b[:min(len(b), int(p.left))])
	p.hash.Write(b[:n])
	if p.left -= uint32(n); p.left == 0 {
		r.next = (at + 1) % len(r.parts)
	}
	if err != nil && n == 0 {
		return 0, &FamilyError{Family: at + 1, Err: fmt.Errorf("read a backup: %w", ErrBackupCorrupt)}
	}
	return n, nil
}

// end checks the ends of all families. The next one's last chunk, of length 0, has been read.
func (r *backupChunks) end() error {
	for i := range r.parts {
		at := (r.next + i) % len(r.parts)
		p, err := r.parts[at], error(nil)
		if i > 0 {
			var length uint32
			if length, err = p.length(); err == nil && length > 0 {
				err = fmt.Errorf("find the end of a backup: %w", ErrBackupCorrupt)
			}
		}
		if err == nil {
			err = p.check()
		}
		if err != nil {
			return &FamilyError{Family: at + 1, Err: err}
		}
	}
	r.ended = true
	return io.EOF
}

// length reads the length of the next chunk.
func (p *partReader) length() (uint32, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return 0, fmt.Errorf("read a backup: %w", ErrBackupCorrupt)
	}
	p.hash.Write(head[:])
	return binary.BigEndian.Uint32(head[:]), nil
}

// check reads what follows the last chunk, and compares the checksum.
func (p *partReader) check() error {
	if _, err := io.CopyN(p.hash, p.in, int64(p.trailer)); err != nil {
		return fmt.Errorf("check a backup: %w", ErrBackupCorrupt)
	}
	want := p.hash.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(p.in, got); err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("check a backup: %w", ErrBackupCorrupt)
	}
	return nil
}
