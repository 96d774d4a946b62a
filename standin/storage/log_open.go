// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"geosql.dev/standin/storage/disk"
)

// openLog reads the folder, and cuts what a crash left half-written at the end: bytes that are no whole block, and,
// when wholeTransactions is set, blocks after the last commit record (they were never published).
func openLog(folder string, segmentBytes, maxBytes int64, wholeTransactions bool) (*Log, error) {
	l := newLog(folder, segmentBytes, maxBytes)
	if err := l.readSegments(); err != nil {
		return nil, err
	}
	if err := l.findEnd(wholeTransactions); err != nil {
		return nil, err
	}
	last := l.segments[len(l.segments)-1]
	f, err := disk.OpenFile(last.path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	l.active = f
	if err := l.cutTornEnd(last); err != nil {
		f.Close()
		return nil, err
	}
	l.written = MakeLSN(last.vlf, last.size, 0)
	l.end, l.hardened = l.written, l.written
	go l.flush()
	return l, nil
}

// cutTornEnd makes the last file end where its last block does, durably.
func (l *Log) cutTornEnd(last *segment) error {
	info, err := l.active.Stat()
	if err == nil {
		size := last.size
		last.size = uint32(info.Size())
		err = l.shortenLocked(last, max(size, segmentHeader))
		last.size = size
	}
	if err == nil {
		err = l.active.Sync()
	}
	if err == nil {
		err = last.mark(l.active, last.size)
	}
	if err != nil {
		return fmt.Errorf("cut the log's torn end: %w", err)
	}
	return nil
}

func (l *Log) readSegments() error {
	paths, err := filepath.Glob(filepath.Join(l.folder, "*.vlf"))
	if err != nil {
		return fmt.Errorf("list the log: %w", err)
	}
	sort.Strings(paths)
	for i, path := range paths {
		s, err := readSegment(path)
		if errors.Is(err, errNoSegment) && i == len(paths)-1 && i > 0 && unfinished(path) {
			// Its creation was cut short, before any block was in it.
			if err := disk.Remove(path); err != nil {
				return fmt.Errorf("remove an unfinished virtual log file: %w", err)
			}
			break
		}
		if err != nil {
			return &Suspect{Reason: fmt.Sprintf("%s: %v", path, err)}
		}
		if n := len(l.segments); n > 0 {
			before := l.segments[n-1]
			if s.vlf <= before.vlf || s.start < before.start {
				return &Suspect{Reason: fmt.Sprintf("%s does not continue %s", path, before.path)}
			}
			before.size = before.first + uint32(s.start-before.start)
		}
		l.segments = append(l.segments, s)
	}
	if len(l.segments) == 0 {
		return &Suspect{Reason: fmt.Sprintf("there is no log in %s", l.folder)}
	}
	return nil
}

// findEnd scans from the last file backwards until it finds the end to keep.
func (l *Log) findEnd(wholeTransactions bool) error {
	for {
		s := l.segments[len(l.segments)-1]
		end, last, err := scanEnd(s, wholeTransactions)
		if err != nil {
			return err
		}
		if end > s.first || !wholeTransactions || len(l.segments) == 1 {
			s.size, l.last = end, last
			return nil
		}
		// The whole file belongs to a transaction without its end, or is empty. An empty file is kept if the one
		// before it ends with a commit: LSNs must not go back.
		before := l.segments[len(l.segments)-2]
		beforeEnd, beforeLast, err := scanEnd(before, wholeTransactions)
		if err != nil {
			return err
		}
		if beforeEnd == before.size && beforeLast == s.prev {
			s.size, l.last = s.first, s.prev
			return nil
		}
		if err := disk.Remove(s.path); err != nil {
			return fmt.Errorf("remove an unfinished transaction's log: %w", err)
		}
		l.segments = l.segments[:len(l.segments)-1]
	}
}

// scanEnd finds the end of the whole blocks (or whole transactions) of a file and the last block before it.
func scanEnd(s *segment, wholeTransactions bool) (end uint32, last LSN, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return 0, LSN{}, fmt.Errorf("open the log: %w", err)
	}
	defer f.Close()
	end, last = s.first, s.prev
	at, prev := s.first, s.prev
	for {
		b, err := readBlockAt(f, at)
		if err != nil {
			return 0, LSN{}, err
		}
		if b == nil || b.Prev != prev || b.LSN.VLF() != s.vlf {
			if at < s.marked {
				return 0, LSN{}, &Suspect{Reason: (&DamagedLog{Path: s.path, At: MakeLSN(s.vlf, at, 0)}).Error()}
			}
			return end, last, nil
		}
		prev = b.LSN
		at += uint32(len(b.Raw))
		if wholeTransactions {
			records, err := b.records()
			if err != nil {
				return 0, LSN{}, err
			}
			if n := len(records); n == 0 || (records[n-1].kind != recordCommit && records[n-1].kind != recordFork) {
				continue
			}
		}
		end, last = at, prev
	}
}
