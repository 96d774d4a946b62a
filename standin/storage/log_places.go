// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"os"

	"geosql.dev/standin/storage/disk"
)

// transactionPlace is where a transaction is in the log.
type transactionPlace struct {
	// begin is its first block's position, end the position after its last.
	begin, commit, end LSN
}

// scanTransactions lists the whole transactions from position from up to the commit last, included.
func (l *Log) scanTransactions(from, last LSN) ([]transactionPlace, error) {
	f, err := l.Follow(from)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := newTransactionReader(f)
	var out []transactionPlace
	for {
		t, err := r.tryNext()
		if err != nil {
			return nil, err
		}
		if t == nil || last.Less(t.Commit) {
			return out, nil
		}
		out = append(out, transactionPlace{begin: MakeLSN(t.Begin.VLF(), t.Begin.Block(), 0), commit: t.Commit, end: t.End})
	}
}

func (l *Log) readTransaction(p transactionPlace) (*Transaction, error) {
	f, err := l.Follow(p.begin)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := newTransactionReader(f).tryNext()
	if err != nil {
		return nil, err
	}
	if t == nil || t.Commit != p.commit {
		return nil, fmt.Errorf("the log at %s does not hold the transaction %s", p.begin, p.commit)
	}
	return t, nil
}

// blockBefore is the block before the position end: the one that holds the commit applied, or, where a restored
// database's log begins only after it, the one that the log says it continues.
func (l *Log) blockBefore(applied, end LSN) (LSN, error) {
	l.mu.Lock()
	for _, s := range l.segments {
		if MakeLSN(s.vlf, s.first, 0) == end {
			l.mu.Unlock()
			return s.prev, nil
		}
	}
	l.mu.Unlock()
	b, err := l.readBlock(applied)
	if err != nil {
		return LSN{}, err
	}
	return b.LSN, nil
}

func (l *Log) readBlock(lsn LSN) (*Block, error) {
	f, err := os.Open(segmentPath(l.folder, lsn.VLF()))
	if err != nil {
		return nil, fmt.Errorf("read the log at %s: %w", lsn, err)
	}
	defer f.Close()
	b, err := readBlockAt(f, lsn.Block())
	if err == nil && b == nil {
		err = &DamagedLog{Path: segmentPath(l.folder, lsn.VLF()), At: lsn}
	}
	return b, err
}

// cutAt removes all log from a position on.
func (l *Log) cutAt(at LSN) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	n := len(l.segments)
	for n > 1 && !l.segments[n-1].startsBefore(at) {
		n--
	}
	s := l.segments[n-1]
	m := logMark{segments: n, size: s.size, last: l.last}
	if s.vlf == at.VLF() && at.Block() < s.size {
		m.size = max(at.Block(), s.first)
	}
	if n < len(l.segments) {
		m.last = l.segments[n].prev
	}
	if m.size < s.size {
		last, err := lastBlockBefore(s, m.size)
		if err != nil {
			return err
		}
		m.last = last
	}
	l.rewindLocked(m)
	if l.err != nil {
		return l.err
	}
	l.end = l.written
	if l.end.Less(l.hardened) {
		l.hardened = l.end
	}
	l.signalLocked()
	if err := l.active.Sync(); err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	return disk.SyncFolder(l.folder)
}

// startsBefore tells whether some of the file lies before the position.
func (s *segment) startsBefore(at LSN) bool { return MakeLSN(s.vlf, s.first, 0).Less(at) }

// lastBlockBefore is the last block of a file that ends at or before an offset.
func lastBlockBefore(s *segment, end uint32) (LSN, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return LSN{}, fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	last := s.prev
	for at := s.first; at < end; {
		b, err := readBlockAt(f, at)
		if err != nil {
			return LSN{}, err
		}
		if b == nil || at+uint32(len(b.Raw)) > end {
			return LSN{}, fmt.Errorf("log position %08x is not the end of a block", end)
		}
		last = b.LSN
		at += uint32(len(b.Raw))
	}
	return last, nil
}
