// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Sequence is a sequence object.
type Sequence struct {
	Type      sqltype.Type `json:"type"`
	Start     int64        `json:"start"`
	Increment int64        `json:"increment"`
	Min       int64        `json:"min"`
	Max       int64        `json:"max"`
	Cycle     bool         `json:"cycle,omitempty"`
	// Restarted is where it goes on as ALTER SEQUENCE said, nil when nothing did.
	Restarted *int64 `json:"restarted,omitempty"`
	// CacheSize is 0 where no statement says one.
	CacheSize int64 `json:"cacheSize,omitempty"`
	NoCache   bool  `json:"noCache,omitempty"`
}

// DefaultCacheSize is the size of a cache that no statement gives a size to.
const DefaultCacheSize = 50

// First is where a sequence starts, or was told to go on.
func (q *Sequence) First() int64 {
	if q.Restarted != nil {
		return *q.Restarted
	}
	return q.Start
}

// After is the value that follows last; none does beyond the bounds, those of int64 included.
func (q *Sequence) After(last int64) (next int64, ok bool) {
	next = last + q.Increment
	within := next > last == (q.Increment > 0)
	return next, within && next >= q.Min && next <= q.Max
}

// Next is the value that is given out behind last; cycled tells that the sequence began anew for it.
func (q *Sequence) Next(last int64, used bool) (next int64, cycled, ok bool) {
	if !used {
		return q.First(), false, true
	}
	if next, ok = q.After(last); ok {
		return next, false, true
	}
	return q.anew(), true, q.Cycle
}

// anew is the value that a sequence has after its last one when it cycles: not the one that it started with.
func (q *Sequence) anew() int64 {
	if q.Increment < 0 {
		return q.Max
	}
	return q.Min
}

// stepsFrom is how many values follow v before the sequence ends. Differences of two int64 are right as uint64.
func (q *Sequence) stepsFrom(v int64) uint64 {
	if q.Increment < 0 {
		return (uint64(v) - uint64(q.Min)) / -uint64(q.Increment)
	}
	return (uint64(q.Max) - uint64(v)) / uint64(q.Increment)
}

// Span is the first and the last of size values behind last, and how often the sequence begins anew for them.
func (q *Sequence) Span(last int64, used bool, size int64) (first, end int64, cycles uint64, ok bool) {
	first, cycled, ok := q.Next(last, used)
	if !ok {
		return 0, 0, 0, false
	}
	if cycled {
		cycles = 1
	}
	steps, from := uint64(size-1), first
	if left := q.stepsFrom(first); steps > left {
		if !q.Cycle {
			return 0, 0, 0, false
		}
		from = q.anew()
		steps -= left + 1
		cycles++
		// No size is as large as the number of values of a bigint, for which this is 0.
		if whole := q.stepsFrom(from) + 1; whole != 0 {
			cycles += steps / whole
			steps %= whole
		}
	}
	return first, from + int64(steps)*q.Increment, cycles, true
}

// NearsEnd tells that a sequence has fewer values left than its cache takes at a time.
func (q *Sequence) NearsEnd(last int64, used bool) bool {
	size := uint64(DefaultCacheSize)
	if q.CacheSize > 0 {
		size = uint64(q.CacheSize)
	}
	if q.NoCache || size == 1 || q.Cycle {
		return false
	}
	if used {
		return q.stepsFrom(last) < size
	}
	return q.stepsFrom(q.First()) < size-1
}

// Check judges what a sequence is to be and the value that it is to go on from
// (docs/t-sql/statements/create-sequence-transact-sql.md, Arguments).
func (q *Sequence) Check(name string, start int64) error {
	switch {
	case q.Increment == 0:
		return sqlerr.New(11700, 1, name)
	case q.Min >= q.Max:
		return sqlerr.New(11705, 1, name)
	case start < q.Min || start > q.Max:
		return sqlerr.New(11703, 1, name)
	case decimal.NewFromInt(q.Increment).Abs().GreaterThan(decimal.NewFromInt(q.Max).Sub(decimal.NewFromInt(q.Min))):
		return sqlerr.New(11701, 1, name)
	}
	return nil
}

// CheckAltered judges what a sequence is to become: without RESTART its current value has to be one of it (11704), and
// bounds are not changed to such as have no room for its start (11703;
// docs/t-sql/statements/alter-sequence-transact-sql.md, Remarks).
func (q *Sequence) CheckAltered(o *Object, restarted bool, last int64, used bool) error {
	start, current := q.Min, q.First()
	if restarted {
		start = current
	}
	if err := q.Check(o.Name, start); err != nil || restarted {
		return err
	}
	if used {
		current = last
	}
	raised, lowered := q.Min != o.Sequence.Min && q.Start < q.Min, q.Max != o.Sequence.Max && q.Start > q.Max
	switch {
	case current < q.Min || current > q.Max:
		return sqlerr.New(11704, 1, current, o.Name)
	case q.Increment > 0 && raised, q.Increment < 0 && lowered:
		return sqlerr.New(11703, 1, o.Name)
	}
	return nil
}
