// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Mark is an application's record in the log.
type Mark struct {
	// LSN is the log record that it is; zero before it is written.
	LSN     LSN
	Kind    string
	Payload []byte
}

// Transaction is a committed transaction as the log has it.
type Transaction struct {
	// Begin is its first record, Commit its commit record: the transaction's LSN.
	Begin, Commit LSN
	// End is the position after it.
	End  LSN
	ID   uint64
	Time time.Time
	// Changes are the net changes of the transaction in the order of the log; there is no order between the rows of
	// one changeset (those of one LSN) that the application could have relied on.
	Changes []TableChange
	// Marks are in the order of the log; their LSNs tell between which changes they are.
	Marks []Mark

	records []record
	// lsns has the records' LSNs.
	lsns []LSN
	fork *Fork
}

// TableChange is the change of one row.
type TableChange struct {
	// LSN is the log record it comes from; many changes share one.
	LSN   LSN
	Table string
	Op    Op
	// Columns are the column names, for tables with full images only (SetFullImages).
	Columns []string
	// Old and New are the row's values (nil, int64, float64, string, []byte). Without full images an update has
	// Undefined for columns that did not change, other than the key.
	Old, New []any
	// PartOf is what Tx.PartOf said of the change.
	PartOf []byte
}

// transactionReader gathers a follower's blocks into transactions. Transactions are never interleaved in the log.
type transactionReader struct {
	blocks  *Follower
	current *Transaction
	partial []byte
}

func newTransactionReader(f *Follower) *transactionReader { return &transactionReader{blocks: f} }

// tryNext returns the next whole transaction; nil when its end is not in the log yet.
func (r *transactionReader) tryNext() (*Transaction, error) {
	for {
		b, err := r.blocks.TryNext()
		if b == nil || err != nil {
			return nil, err
		}
		t, err := r.add(b)
		if t != nil || err != nil {
			return t, err
		}
	}
}

func (r *transactionReader) add(b *Block) (*Transaction, error) {
	records, err := b.records()
	if err != nil {
		return nil, fmt.Errorf("read the log at %s: %w", b.LSN, err)
	}
	for i, rec := range records {
		lsn := MakeLSN(b.LSN.VLF(), b.LSN.Block(), uint16(i+1))
		if r.current == nil {
			r.current = &Transaction{Begin: lsn}
		}
		r.partial = append(r.partial, rec.payload...)
		if rec.kind&recordContinued != 0 {
			continue
		}
		rec.payload, r.partial = r.partial, nil
		if rec.kind != recordCommit && rec.kind != recordFork {
			r.current.records = append(r.current.records, rec)
			r.current.lsns = append(r.current.lsns, lsn)
			continue
		}
		c, err := decodeCommit(rec.payload)
		if err != nil {
			return nil, fmt.Errorf("read the log at %s: %w", lsn, err)
		}
		t := r.current
		t.Commit, t.End, t.ID, t.Time = lsn, b.End(), c.transaction, c.time
		if rec.kind == recordFork {
			t.fork = &Fork{ID: c.fork, Start: c.forkStart}
		}
		r.current = nil
		return t, nil
	}
	return nil, nil
}

// decode fills Changes and Marks.
func (t *Transaction) decode() error {
	var partOf []byte
	for i := 0; i < len(t.records); i++ {
		rec := t.records[i]
		switch rec.kind {
		case recordMark:
			m, err := decodeMark(rec.payload)
			if err != nil {
				return err
			}
			if m.Kind == partMark {
				partOf = m.Payload
				continue
			}
			m.LSN = t.lsns[i]
			t.Marks = append(t.Marks, m)
		case recordChanges:
			var images map[string]*tableImages
			if i+1 < len(t.records) && t.records[i+1].kind == recordImages {
				var err error
				if images, err = decodeImages(t.records[i+1].payload); err != nil {
					return err
				}
			}
			if err := t.decodeChanges(rec.payload, images, t.lsns[i], partOf); err != nil {
				return err
			}
			partOf = nil
		}
	}
	return nil
}

func (t *Transaction) decodeChanges(changeset []byte, images map[string]*tableImages, lsn LSN, partOf []byte) error {
	return readChangeset(changeset, func(c *rowChange) error {
		change := TableChange{LSN: lsn, Table: c.table, Op: c.op, Old: c.old, New: c.new, PartOf: partOf}
		if im := images[c.table]; im != nil {
			change.Columns = im.columns
			if c.op == OpUpdate {
				if len(im.rows) == 0 {
					return fmt.Errorf("log has no image for an update of %s", c.table)
				}
				change.New = im.rows[0]
				im.rows = im.rows[1:]
				for i, v := range change.Old {
					if _, same := v.(Undefined); same {
						change.Old[i] = change.New[i]
					}
				}
			}
		}
		t.Changes = append(t.Changes, change)
		return nil
	})
}

// ReadCommitted yields the committed transactions after the commit LSN from, up to the position limit (exclusive; a
// log reader passes the position up to which the log is hardened everywhere). A zero from begins at the oldest log
// kept. It ends at the end of the log; Changed tells when to go on.
func (l *Log) ReadCommitted(ctx context.Context, from, limit LSN) iter.Seq2[*Transaction, error] {
	return func(yield func(*Transaction, error) bool) {
		start := from
		if !start.IsZero() {
			start = MakeLSN(from.VLF(), from.Block(), 0)
		}
		f, err := l.Follow(start)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		r := newTransactionReader(f)
		for ctx.Err() == nil {
			t, err := r.tryNext()
			if err != nil {
				yield(nil, err)
				return
			}
			if t == nil || !t.Commit.Less(limit) {
				return
			}
			// The first block may be the last part of a transaction that from already covers.
			if !from.Less(t.Commit) {
				continue
			}
			if err := t.decode(); err != nil {
				yield(nil, fmt.Errorf("read the transaction at %s: %w", t.Commit, err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, fmt.Errorf("read the log: %w", context.Cause(ctx)))
		}
	}
}
