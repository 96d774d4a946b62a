// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
)

// Append takes a block of another server's log. It must continue this log; a block that is already there is ignored.
// It returns the new end. The block is not hardened yet (Harden).
func (l *Log) Append(raw []byte) (LSN, error) {
	b, err := ParseBlock(raw)
	if err != nil {
		return LSN{}, fmt.Errorf("receive log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return LSN{}, l.err
	}
	if !l.last.Less(b.LSN) {
		return l.end, nil
	}
	s := l.segments[len(l.segments)-1]
	if b.Prev != l.last {
		return LSN{}, fmt.Errorf("receive log at %s after %s, have %s: %w", b.LSN, b.Prev, l.last, ErrLogGap)
	}
	if l.sizeLocked()+int64(len(raw)) > l.maxBytes {
		return LSN{}, ErrLogFull
	}
	if b.LSN.VLF() != s.vlf {
		if b.LSN.VLF() < s.vlf {
			return LSN{}, fmt.Errorf("receive log at %s, have %s: %w", b.LSN, l.last, ErrLogGap)
		}
		if s.size == s.first {
			// An empty file of our own (left by a file change that never got a block) must not stand between.
			if err := l.dropEmptyLocked(); err != nil {
				return LSN{}, err
			}
		}
		if err := l.beginLocked(segment{vlf: b.LSN.VLF(), first: b.LSN.Block(), prev: l.last,
			start: b.Position}); err != nil {
			return LSN{}, err
		}
	} else if b.LSN.Block() != s.size {
		return LSN{}, fmt.Errorf("receive log at %s, have up to %08x: %w", b.LSN, s.size, ErrLogGap)
	}
	if err := l.putLocked(raw); err != nil {
		return LSN{}, err
	}
	l.end = l.written
	l.publishedLocked()
	return l.end, nil
}

// dropEmptyLocked removes the active file when it has no block and is not the only one.
func (l *Log) dropEmptyLocked() error {
	if len(l.segments) < 2 {
		return nil
	}
	n := len(l.segments)
	l.rewindLocked(logMark{segments: n - 1, size: l.segments[n-2].size, last: l.last})
	return l.err
}
