// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"os"
)

// Follower reads the log's blocks in order and waits for more.
type Follower struct {
	log *Log
	// at is the position of the next block.
	at LSN
	// hardened limits it to what is on this server's disk.
	hardened bool
	file     *os.File
	vlf      uint32
}

// Follow begins at position from, which must be a block's position, or the end of one. ErrLogTruncated when it is no
// longer kept.
func (l *Log) Follow(from LSN) (*Follower, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.segments[0]
	if from.IsZero() {
		from = MakeLSN(s.vlf, s.first, 0)
	}
	if from.Less(MakeLSN(s.vlf, s.first, 0)) {
		// The end of the file before the oldest one is the same place as the oldest one's beginning.
		return nil, fmt.Errorf("follow the log from %s: %w", from, ErrLogTruncated)
	}
	return &Follower{log: l, at: from}, nil
}

// FollowHardened is Follow for blocks that are on this server's disk only.
func (l *Log) FollowHardened(from LSN) (*Follower, error) {
	f, err := l.Follow(from)
	if f != nil {
		f.hardened = true
	}
	return f, err
}

// Position is where the next block will be read.
func (f *Follower) Position() LSN { return f.at }

// Next waits for the next block. ErrClosed when the log was closed.
func (f *Follower) Next(ctx context.Context) (*Block, error) {
	for {
		l := f.log
		l.mu.Lock()
		changed, failed := l.changed, l.err
		l.mu.Unlock()
		b, err := f.TryNext()
		if b != nil || err != nil {
			return b, err
		}
		if failed != nil {
			return nil, failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for log: %w", context.Cause(ctx))
		}
	}
}

// TryNext returns the next block, or nil when there is none yet.
func (f *Follower) TryNext() (*Block, error) {
	l := f.log
	l.mu.Lock()
	limit := l.end
	if f.hardened && l.hardened.Less(limit) {
		limit = l.hardened
	}
	// The end of a completed file continues at the next one.
	for i, s := range l.segments {
		if s.vlf == f.at.VLF() && f.at.Block() >= s.size && i+1 < len(l.segments) {
			next := l.segments[i+1]
			f.at = MakeLSN(next.vlf, next.first, 0)
			break
		}
	}
	oldest := l.segments[0].vlf
	path := segmentPath(l.folder, f.at.VLF())
	l.mu.Unlock()
	if !f.at.Less(limit) {
		return nil, nil
	}
	if f.file == nil || f.vlf != f.at.VLF() {
		if f.at.VLF() < oldest {
			return nil, fmt.Errorf("read the log at %s: %w", f.at, ErrLogTruncated)
		}
		f.Close()
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read the log at %s: %w", f.at, err)
		}
		f.file, f.vlf = file, f.at.VLF()
	}
	b, err := readBlockAt(f.file, f.at.Block())
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, &DamagedLog{Path: path, At: f.at}
	}
	f.at = b.End()
	return b, nil
}

// Close ends the follower.
func (f *Follower) Close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}
