// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"geosql.dev/standin/storage/disk"
)

const (
	defaultSegmentBytes = 16 << 20
	minSegmentBytes     = 64 << 10
	defaultMaxLogBytes  = 2 << 40
	// keptBuffer bounds the buffers that the next transaction uses again.
	keptBuffer = 512 << 10
)

// Log is a database's transaction log. Positions are LSNs of slot 0: "up to" excludes the block at the position.
//
// Three positions move forward: the written end (transactions whose commit in the data file is not done yet lie before
// it and may still be taken back), the published end (End), and the hardened position, which fsync has reached.
type Log struct {
	folder       string
	segmentBytes uint32
	maxBytes     int64

	mu       sync.Mutex
	segments []*segment
	active   *disk.File
	// last is the newest written block, zero before the first.
	last     LSN
	written  LSN
	end      LSN
	hardened LSN
	// changed is closed and replaced whenever a position moves or the log fails.
	changed chan struct{}
	// flushed is closed and replaced when the hardened position moves or the log fails: a commit that waits for its own
	// sync must not be woken by every other commit.
	flushed chan struct{}
	err     error
	flushes atomic.Int64
	// packed is where blocks are made.
	packed []byte

	wanted  chan struct{}
	closing chan struct{}
	done    chan struct{}
}

func newLog(folder string, segmentBytes, maxBytes int64) *Log {
	if segmentBytes == 0 {
		segmentBytes = defaultSegmentBytes
	}
	if maxBytes == 0 {
		maxBytes = defaultMaxLogBytes
	}
	l := &Log{folder: folder, segmentBytes: uint32(max(segmentBytes, minSegmentBytes)), maxBytes: maxBytes,
		changed: make(
			chan struct{},
		), flushed: make(chan struct{}), wanted: make(chan struct{}, 1), closing: make(chan struct{}),
		done: make(chan struct{})}
	return l
}

// createLog starts a log whose first block will be at the given position.
func createLog(folder string, at LSN, prev LSN, position uint64, segmentBytes, maxBytes int64) (*Log, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("create log folder: %w", err)
	}
	if err := disk.SyncFolder(filepath.Dir(folder)); err != nil {
		return nil, fmt.Errorf("create log folder: %w", err)
	}
	l := newLog(folder, segmentBytes, maxBytes)
	f, s, err := createSegment(folder, segment{vlf: at.VLF(), first: at.Block(), prev: prev, start: position})
	if err != nil {
		return nil, err
	}
	l.segments, l.active, l.last = []*segment{s}, f, prev
	l.written, l.end, l.hardened = at, at, at
	go l.flush()
	return l, nil
}

// End is the position after the last published block.
func (l *Log) End() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Hardened is the position up to which the log is on disk.
func (l *Log) Hardened() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hardened
}

// Oldest is the first position that is still kept.
func (l *Log) Oldest() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.segments[0]
	return MakeLSN(s.vlf, s.first, 0)
}

// LastBlock is the newest published block's position; zero when there never was one.
func (l *Log) LastBlock() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Bytes is the position of lsn in bytes of log ever written; differences of it are queue sizes. A position before the
// kept log counts as the oldest kept one.
func (l *Log) Bytes(lsn LSN) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytesLocked(lsn)
}

func (l *Log) bytesLocked(lsn LSN) uint64 {
	for i := len(l.segments) - 1; i >= 0; i-- {
		if s := l.segments[i]; s.vlf <= lsn.VLF() {
			if s.vlf < lsn.VLF() {
				return s.position(s.size)
			}
			return s.position(min(lsn.Block(), s.size))
		}
	}
	return l.segments[0].start
}

// Size is the size of the kept log in bytes.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sizeLocked()
}

func (l *Log) sizeLocked() int64 {
	var n int64
	for _, s := range l.segments {
		n += int64(s.size - s.first)
	}
	return n
}

// Segments is the number of virtual log files.
func (l *Log) Segments() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.segments)
}

// VirtualFile is one virtual log file: its number, the first block's offset in it, its position in the log and its
// size, both in bytes.
type VirtualFile struct {
	Number, First uint32
	Begin, Bytes  uint64
}

// VirtualFiles are the virtual log files that are kept, oldest first.
func (l *Log) VirtualFiles() []VirtualFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	files := make([]VirtualFile, 0, len(l.segments))
	for _, s := range l.segments {
		files = append(files, VirtualFile{Number: s.vlf, First: s.first, Begin: s.start, Bytes: uint64(s.size - s.first)})
	}
	return files
}

// Changed returns a channel that is closed when a position moves next.
func (l *Log) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// Flushes is how often the log was synced since it was opened.
func (l *Log) Flushes() int64 { return l.flushes.Load() }

// signalLocked tells everybody who waits that something moved, or that the log failed.
func (l *Log) signalLocked() {
	l.publishedLocked()
	close(l.flushed)
	l.flushed = make(chan struct{})
}

// publishedLocked tells those who follow the log that its end moved.
func (l *Log) publishedLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Harden waits until the log is on disk up to position at.
func (l *Log) Harden(ctx context.Context, at LSN) error {
	for {
		l.mu.Lock()
		err, ok, changed := l.err, !l.hardened.Less(at), l.flushed
		if l.end.Less(at) {
			changed = l.changed
		}
		l.mu.Unlock()
		if ok {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case l.wanted <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for the log to be hardened: %w", context.Cause(ctx))
		}
	}
}

// flush syncs the active file whenever someone waits: all commits that arrived meanwhile share the next sync.
func (l *Log) flush() {
	defer close(l.done)
	for {
		select {
		case <-l.wanted:
		case <-l.closing:
			return
		}
		l.mu.Lock()
		f, end, s := l.active, l.end, l.segments[len(l.segments)-1]
		idle := !l.hardened.Less(end)
		l.mu.Unlock()
		if idle {
			continue
		}
		err := f.Sync()
		l.flushes.Add(1)
		l.mu.Lock()
		switch {
		case err == nil:
			// A file that was cut meanwhile may end before.
			if l.hardened.Less(end) && !l.end.Less(end) {
				l.hardened = end
				if l.active == f && end.VLF() == s.vlf {
					err = s.mark(f, end.Block())
				}
			}
			if err != nil {
				l.err = err
			}
		case errors.Is(err, os.ErrClosed):
			// The file was completed and synced by the change of files.
		default:
			l.err = fmt.Errorf("harden the log: %w", err)
		}
		l.signalLocked()
		l.mu.Unlock()
	}
}

// Limit sets the log's greatest size in bytes. Virtual log files begun from now on are small enough that some of them
// can be removed before the limit is reached.
func (l *Log) Limit(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maxBytes = bytes
	l.segmentBytes = uint32(max(minSegmentBytes, min(int64(l.segmentBytes), bytes/8)))
}

func (l *Log) limit() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(l.maxBytes)
}

// write appends a transaction's records as blocks that are not published yet. undo takes them back.
func (l *Log) write(records []record, newSegment bool) (commit, end LSN, undo func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return LSN{}, LSN{}, nil, l.err
	}
	before := l.markLocked()
	undo = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rewindLocked(before)
	}
	if newSegment {
		if err := l.switchLocked(); err != nil {
			return LSN{}, LSN{}, nil, err
		}
	}
	now := time.Now()
	l.packed, err = packBlocks(l.packed, records, int(l.segmentBytes/4), func(raw []byte, count int) error {
		err := l.writeBlockLocked(raw, now)
		commit = MakeLSN(l.last.VLF(), l.last.Block(), uint16(count))
		return err
	})
	if cap(l.packed) > keptBuffer {
		l.packed = nil
	}
	if err != nil {
		l.rewindLocked(before)
		return LSN{}, LSN{}, nil, err
	}
	return commit, l.written, undo, nil
}

func (l *Log) writeBlockLocked(raw []byte, now time.Time) error {
	s := l.segments[len(l.segments)-1]
	if s.size > s.first && s.size+uint32(len(raw)) > l.segmentBytes {
		if err := l.switchLocked(); err != nil {
			return err
		}
		s = l.segments[len(l.segments)-1]
	}
	if l.sizeLocked()+int64(len(raw)) > l.maxBytes {
		return ErrLogFull
	}
	sealBlock(raw, MakeLSN(s.vlf, s.size, 0), l.last, s.position(s.size), now)
	return l.putLocked(raw)
}

// stateRoom is what the log leaves free of its volume: the database's state is on it, too, and is written anew when the
// log is full: to leave the primary role, for one.
const stateRoom = 64 << 10

// putLocked writes a sealed block at the end of the active file.
func (l *Log) putLocked(raw []byte) error {
	s := l.segments[len(l.segments)-1]
	if disk.Free(s.path) < stateRoom+int64(len(raw)) {
		return fmt.Errorf("write log: %w", ErrLogFull)
	}
	if _, err := l.active.WriteAt(raw, int64(s.size)); err != nil {
		return fmt.Errorf("write log: %w", fullVolume(err))
	}
	l.last = MakeLSN(s.vlf, s.size, 0)
	s.size += uint32(len(raw))
	l.written = MakeLSN(s.vlf, s.size, 0)
	return nil
}

// switchLocked completes the active file and begins the next.
func (l *Log) switchLocked() error {
	s := l.segments[len(l.segments)-1]
	return l.beginLocked(segment{vlf: s.vlf + 1, first: segmentHeader, prev: l.last, start: s.position(s.size)})
}

func (l *Log) beginLocked(next segment) error {
	if err := l.active.Sync(); err != nil {
		return fmt.Errorf("complete a virtual log file: %w", err)
	}
	f, s, err := createSegment(l.folder, next)
	if err != nil {
		return fullVolume(err)
	}
	l.active.Close()
	l.active, l.segments = f, append(l.segments, s)
	l.written = MakeLSN(s.vlf, s.size, 0)
	return nil
}

type logMark struct {
	segments int
	size     uint32
	last     LSN
}

func (l *Log) markLocked() logMark {
	return logMark{len(l.segments), l.segments[len(l.segments)-1].size, l.last}
}

// rewindLocked takes back what was written after the mark. A failure makes the log unusable: what is in the file and
// what is believed to be there would differ.
func (l *Log) rewindLocked(m logMark) {
	for len(l.segments) > m.segments {
		s := l.segments[len(l.segments)-1]
		l.active.Close()
		l.segments = l.segments[:len(l.segments)-1]
		err := disk.Remove(s.path)
		if err == nil {
			l.active, err = disk.OpenFile(l.segments[len(l.segments)-1].path, os.O_RDWR, 0)
		}
		if err != nil {
			l.err = fmt.Errorf("take back log: %w", err)
			return
		}
	}
	s := l.segments[len(l.segments)-1]
	if err := l.shortenLocked(s, m.size); err != nil {
		l.err = fmt.Errorf("take back log: %w", err)
	}
	s.size, l.last = m.size, m.last
	l.written = MakeLSN(s.vlf, s.size, 0)
}

// shortenLocked cuts the active file. What was taken back must not come back with a power cut, nor may the file be
// shorter than it says that it was hardened.
func (l *Log) shortenLocked(s *segment, size uint32) error {
	if s.marked > size {
		if err := s.mark(l.active, size); err != nil {
			return err
		}
		if err := l.active.Sync(); err != nil {
			return err
		}
	}
	if size == s.size {
		return nil
	}
	if err := l.active.Truncate(int64(size)); err != nil {
		return err
	}
	return l.active.Sync()
}

// syncWritten makes everything durable that is in the log, published or not.
func (l *Log) syncWritten() error {
	l.mu.Lock()
	f := l.active
	l.mu.Unlock()
	if err := f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("harden the log: %w", err)
	}
	return nil
}

// publish makes what is written visible to followers.
func (l *Log) publish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = l.written
	l.publishedLocked()
}

// Close syncs and ends the log.
func (l *Log) close() error {
	select {
	case <-l.closing:
		return nil
	default:
		close(l.closing)
	}
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.active.Sync()
	l.active.Close()
	if l.err == nil {
		l.err = ErrClosed
	}
	l.signalLocked()
	if err != nil {
		return fmt.Errorf("close the log: %w", err)
	}
	return nil
}

// truncate removes virtual log files that lie wholly before keep. It returns how many.
func (l *Log) truncate(keep LSN) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for len(l.segments) > 1 && l.segments[0].vlf < keep.VLF() {
		if err := disk.Remove(l.segments[0].path); err != nil {
			return n, fmt.Errorf("remove a virtual log file: %w", err)
		}
		l.segments = l.segments[1:]
		n++
	}
	return n, nil
}

// packBlocks puts records into blocks whose bodies have at most limit bytes, and has each written, with how many
// records end in it; a longer record is continued over several. The blocks are made in buf, with room for their
// headers: write must not keep them. It returns buf, which may have grown.
func packBlocks(buf []byte, records []record, limit int, write func(raw []byte, count int) error) ([]byte, error) {
	limit = min(limit, 1<<20)
	buf = append(buf[:0], make([]byte, blockHeader)...)
	count := 0
	for _, r := range records {
		for {
			room := limit - (len(buf) - blockHeader) - recordHeaderMax
			if len(r.payload) <= room {
				buf = appendRecord(buf, r.kind, r.payload)
				count++
				break
			}
			if room > limit/2 || count == 0 {
				buf = appendRecord(buf, r.kind|recordContinued, r.payload[:room])
				r.payload = r.payload[room:]
			}
			if err := write(buf, count); err != nil {
				return buf, err
			}
			buf, count = buf[:blockHeader], 0
		}
	}
	return buf, write(buf, count)
}
