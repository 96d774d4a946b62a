// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
)

// pageTimeout bounds one page of a table: a copy that does not answer holds up the others.
const pageTimeout = time.Minute

// Wants says what is read of copies, and what must be there.
type Wants struct {
	// After is the greatest Id of dbo.Recorded from before the clients began.
	After int64
	// Since is when no payload of theirs was sent yet.
	Since time.Time
	// Profile and Payload of the clients.
	Profile Profile
	Payload Payload
	// Sold is how many of each book had been sold before; nil where that is not known.
	Sold map[int64]int64
}

// Source is a copy that is read.
type Source struct {
	DB *mssql.DB
	// Subscriber is a copy that has these tables alone, and not yet all rows.
	Subscriber bool
	Tables     []string
}

func (s Source) has(table string) bool {
	if !s.Subscriber {
		return true
	}
	for _, name := range s.Tables {
		if name == table {
			return true
		}
	}
	return false
}

// SourceError is one of a copy; the others may be read without it.
type SourceError struct {
	// Source is the index of the copy among those that were to be read.
	Source int
	Server string
	Err    error
}

func (e *SourceError) Error() string {
	return fmt.Sprintf("read the tables of %s: %v", e.Server, e.Err)
}

// Unwrap is the cause.
func (e *SourceError) Unwrap() error { return e.Err }

// found is one row of a copy.
type found struct {
	key  [3]int64
	id   history.RowID
	hash [sha256.Size]byte
	// server and configuration, or the value, that the row has.
	server               string
	configuration, value int64
	odd                  history.Oddity
	why                  string
}

// copied is a copy while it is read.
type copied struct {
	Source
	index   int
	replica history.Replica
	// bought is how many purchases of each book are there.
	bought map[int64]int64

	table *history.Table
	spans *history.Spans
	sum   hash.Hash
	next  pager
	page  []found
}

// pager returns the next rows of a table in the order of its key; none at its end.
type pager func(context.Context) ([]found, error)

// reader reads one table of all copies.
type reader struct {
	name string
	// noun of the part of a row's key that tells it apart, for people.
	noun string
	part int
	each int
	// alone: its rows belong to none of dbo.Recorded, and so each copy must have all of them.
	alone bool
	open  func(*copied) pager
	note  func(*copied, found)
}

// ReadCopies reads all tables that clients wrote from all copies, side by side in the order of the keys, a page of each
// at a time. Rows are compared by a hash of all their columns. Payloads are compared with what was written, too: the
// servers sum up what they have stored. Subscribers come after the copies that have all tables. An error of one copy
// is a SourceError.
func ReadCopies(ctx context.Context, sources []Source, w Wants) ([]history.Replica, error) {
	copies := make([]*copied, len(sources))
	for i, s := range sources {
		copies[i] = &copied{Source: s, index: i, replica: history.Replica{Server: s.DB.Server()},
			bought: map[int64]int64{}}
	}
	if len(copies) == 0 {
		return nil, nil
	}
	earlier, err := runsOf(ctx, copies[0].DB, tsql.RecordedRuns(w.After))
	if err != nil {
		return nil, copies[0].failed(err)
	}
	strange := map[int64]bool{}
	for _, run := range earlier {
		strange[run] = true
	}
	for _, r := range w.readers(strange) {
		if err := r.read(ctx, copies); err != nil {
			return nil, err
		}
	}
	list := make([]history.Replica, len(copies))
	for i, c := range copies {
		if list[i] = c.replica; c.Subscriber && w.Payload.Table != "" && c.replica.Table(history.TableRecorded) == nil {
			if t := c.replica.Table(string(w.Payload.Table)); t != nil {
				list[i].Rows = history.Rows(t.Spans)
			}
		}
	}
	return list, nil
}

func (c *copied) failed(err error) error { return &SourceError{c.index, c.DB.Server(), err} }

// read reads a table of all copies that have it.
func (r reader) read(ctx context.Context, all []*copied) error {
	var copies []*copied
	for _, c := range all {
		if !c.has(r.name) {
			continue
		}
		c.replica.Tables = append(c.replica.Tables, history.Table{Name: r.name, Each: r.each})
		c.table, c.spans = &c.replica.Tables[len(c.replica.Tables)-1], &history.Spans{}
		c.sum, c.next, c.page = sha256.New(), r.open(c), nil
		copies = append(copies, c)
	}
	for {
		var least *found
		for _, c := range copies {
			f, err := c.head(ctx)
			if err != nil {
				return c.failed(fmt.Errorf("%s: %w", r.name, err))
			}
			if f != nil && (least == nil || before(f.key, least.key)) {
				least = f
			}
		}
		if least == nil {
			break
		}
		r.compare(copies, least.key)
	}
	for _, c := range copies {
		c.table.Spans, c.table.SHA256 = c.spans.List(), hex.EncodeToString(c.sum.Sum(nil))
	}
	return nil
}

// head is the next row of a copy; nil at the end.
func (c *copied) head(ctx context.Context) (*found, error) {
	if len(c.page) == 0 && c.next != nil {
		ctx, cancel := context.WithTimeout(ctx, pageTimeout)
		defer cancel()
		var err error
		if c.page, err = c.next(ctx); err != nil {
			return nil, err
		}
		if len(c.page) == 0 {
			c.next = nil
		}
	}
	if len(c.page) == 0 {
		return nil, nil
	}
	return &c.page[0], nil
}

func before(x, y [3]int64) bool {
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

// compare takes the rows of a key from all copies.
func (r reader) compare(copies []*copied, key [3]int64) {
	var holder *copied
	var first found
	var without []*copied
	for _, c := range copies {
		if len(c.page) == 0 || c.page[0].key != key {
			without = append(without, c)
			continue
		}
		f := c.page[0]
		c.page = c.page[1:]
		c.table.Rows++
		c.sum.Write(f.hash[:])
		if r.note != nil {
			r.note(c, f)
		}
		if f.odd != "" {
			c.table.Note(history.OddRow{Oddity: f.odd, Row: f.id, Text: r.names(f) + " " + f.why})
		}
		switch {
		case holder == nil:
			holder, first = c, f
		case f.hash != first.hash:
			c.table.Note(history.OddRow{Oddity: history.Differs, Row: f.id,
				Text: r.names(f) + " is another row at " + holder.DB.Server()})
		}
	}
	for _, c := range without {
		if r.alone && !c.Subscriber && !holder.Subscriber {
			c.table.Note(history.OddRow{Oddity: history.Differs,
				Text: r.names(first) + " is at " + holder.DB.Server() + " and not here"})
		}
	}
}

// names a row for people.
func (r reader) names(f found) string {
	if f.id == (history.RowID{}) {
		return fmt.Sprintf("%s %d", r.noun, f.key[0])
	}
	return fmt.Sprintf("run %d operation %d (%s %d)", f.id.Run, f.id.Number, r.noun, f.key[r.part])
}

// rowHash is one over all columns of a row, each with its length.
func rowHash(values ...any) [sha256.Size]byte {
	sum := sha256.New()
	for _, v := range values {
		var data []byte
		switch v := v.(type) {
		case int64:
			data = binary.BigEndian.AppendUint64(nil, uint64(v)) //nolint:gosec // its bits are summed
		case time.Time:
			data = binary.BigEndian.AppendUint64(nil, uint64(v.UnixNano()))
		case string:
			data = []byte(v)
		case []byte:
			data = v
		default:
			panic(fmt.Sprintf("a column of type %T is not hashed", v))
		}
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(data))))
		sum.Write(data)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// runsOf are the runs that a statement reads.
func runsOf(ctx context.Context, db *mssql.DB, s tsql.Statement) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	var list []int64
	err := db.Query(ctx, s, func(row mssql.Row) error {
		var run int64
		if err := row.Scan(&run); err != nil {
			return err
		}
		list = append(list, run)
		return nil
	})
	return list, err
}
