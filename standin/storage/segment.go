// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"geosql.dev/standin/storage/disk"
)

// A virtual log file begins with a header of segmentHeader bytes; blocks follow from offset first on (later than the
// header where a restored database continues in the middle of its source's virtual log file; the file is sparse then).
//
//	0 magic "GEOSQLVL"  8 version  12 VLF  16 first offset  20 position of the block before
//	28 byte position of first  36 CRC
//	40 hardened offset  44 its CRC
//
// The hardened offset is written after every sync, and synced with the next one: blocks before it were on disk, so a
// block there that is not whole was damaged, and is not the torn end that a crash leaves.
const segmentHeader = 64

const segmentVersion = 1

var segmentMagic = [8]byte{'G', 'E', 'O', 'S', 'Q', 'L', 'V', 'L'}

type segment struct {
	vlf   uint32
	path  string
	first uint32
	prev  LSN
	// start is the byte position of offset first in the whole log.
	start uint64
	// size is the end of its last block.
	size uint32
	// marked is the hardened offset that the file has.
	marked uint32
}

// position is the byte position of an offset in it.
func (s *segment) position(offset uint32) uint64 {
	if offset < s.first {
		return s.start
	}
	return s.start + uint64(offset-s.first)
}

func segmentPath(folder string, vlf uint32) string {
	return filepath.Join(folder, fmt.Sprintf("%08x.vlf", vlf))
}

// createSegment makes the file and syncs it and its folder, so that it is there after a power cut.
func createSegment(folder string, s segment) (*disk.File, *segment, error) {
	s.path = segmentPath(folder, s.vlf)
	s.size = s.first
	head := make([]byte, segmentHeader)
	copy(head, segmentMagic[:])
	binary.BigEndian.PutUint32(head[8:], segmentVersion)
	binary.BigEndian.PutUint32(head[12:], s.vlf)
	binary.BigEndian.PutUint32(head[16:], s.first)
	copy(head[20:28], s.prev[:8])
	binary.BigEndian.PutUint64(head[28:], s.start)
	binary.BigEndian.PutUint32(head[36:], crc32.Checksum(head[:36], castagnoli))
	f, err := disk.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return nil, nil, fmt.Errorf("create virtual log file: %w", err)
	}
	if _, err = f.WriteAt(head, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = disk.SyncFolder(folder)
	}
	if err != nil {
		f.Close()
		_ = disk.Remove(s.path)
		return nil, nil, fmt.Errorf("create virtual log file: %w", err)
	}
	return f, &s, nil
}

var errNoSegment = errors.New("not a virtual log file")

// readSegment reads a header; errNoSegment when the file's creation was cut short.
func readSegment(path string) (*segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open virtual log file: %w", err)
	}
	defer f.Close()
	head := make([]byte, segmentHeader)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, errNoSegment
	}
	if [8]byte(head[:8]) != segmentMagic || crc32.Checksum(head[:36], castagnoli) != binary.BigEndian.Uint32(head[36:]) {
		return nil, errNoSegment
	}
	if v := binary.BigEndian.Uint32(head[8:]); v != segmentVersion {
		return nil, fmt.Errorf("virtual log file %s has format version %d; this server reads %d", path, v, segmentVersion)
	}
	s := &segment{path: path, vlf: binary.BigEndian.Uint32(head[12:]), first: binary.BigEndian.Uint32(head[16:]),
		start: binary.BigEndian.Uint64(head[28:])}
	copy(s.prev[:8], head[20:28])
	s.size = s.first
	if binary.BigEndian.Uint32(head[44:]) == markChecksum(s.vlf, head[40:44]) {
		s.marked = binary.BigEndian.Uint32(head[40:])
	}
	return s, nil
}

// unfinished tells whether a file was never more than begun: its header is on disk before any block is in it.
func unfinished(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() <= segmentHeader
}

func markChecksum(vlf uint32, offset []byte) uint32 {
	return crc32.Checksum(append(binary.BigEndian.AppendUint32(nil, vlf), offset...), castagnoli)
}

// mark notes in the file how far it is hardened.
func (s *segment) mark(f *disk.File, offset uint32) error {
	both := binary.BigEndian.AppendUint32(nil, offset)
	both = binary.BigEndian.AppendUint32(both, markChecksum(s.vlf, both))
	if _, err := f.WriteAt(both, 40); err != nil {
		return fmt.Errorf("note how far the log is hardened: %w", err)
	}
	s.marked = offset
	return nil
}

// readBlockAt reads the block at an offset; nil at the end or where the bytes are no whole block.
func readBlockAt(f io.ReaderAt, offset uint32) (*Block, error) {
	var head [8]byte
	if _, err := f.ReadAt(head[:], int64(offset)); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, fmt.Errorf("read log: %w", err)
	}
	n := blockLength(head[:])
	if n == 0 {
		return nil, nil
	}
	raw := make([]byte, n)
	if _, err := f.ReadAt(raw, int64(offset)); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, fmt.Errorf("read log: %w", err)
	}
	b, err := ParseBlock(raw)
	if err != nil || b.LSN.Block() != offset {
		return nil, nil
	}
	return b, nil
}
