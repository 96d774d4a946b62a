// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// usualCache is the size of a cache that no statement gives a size to.
const usualCache = 50

// begin is where a sequence starts, or was told to go on.
func (q *Sequence) begin() int64 {
	if q.Restarted != nil {
		return *q.Restarted
	}
	return q.Start
}

// after is the value that follows last; none does beyond the bounds, those of int64 included.
func (q *Sequence) after(last int64) (next int64, ok bool) {
	next = last + q.Increment
	within := next > last == (q.Increment > 0)
	return next, within && next >= q.Min && next <= q.Max
}

// next is the value that is given out behind last; cycled tells that the sequence began anew for it.
func (q *Sequence) next(last int64, used bool) (next int64, cycled, ok bool) {
	if !used {
		return q.begin(), false, true
	}
	if next, ok = q.after(last); ok {
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

// span is the first and the last of size values behind last, and how often the sequence begins anew for them.
func (q *Sequence) span(last int64, used bool, size int64) (first, end int64, cycles uint64, ok bool) {
	first, cycled, ok := q.next(last, used)
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

// scarce tells that a sequence has fewer values left than its cache takes at a time.
func (q *Sequence) scarce(last int64, used bool) bool {
	size := uint64(usualCache)
	if q.CacheSize > 0 {
		size = uint64(q.CacheSize)
	}
	if q.NoCache || size == 1 || q.Cycle {
		return false
	}
	if used {
		return q.stepsFrom(last) < size
	}
	return q.stepsFrom(q.begin()) < size-1
}

// variant is a value of a sequence as sql_variant.
func (q *Sequence) variant(v int64) sqltype.Variant {
	return sqltype.Variant{Type: q.Type, Value: countedValue(q.Type, v)}
}

// sequenceRange is sp_sequence_get_range
// (docs/relational-databases/system-stored-procedures/sp-sequence-get-range-transact-sql.md): 11732 for a range that there is not, of
// which nothing is taken.
func sequenceRange(ctx context.Context, c *ProcCall) error {
	s, size := c.Session, c.Int("@range_size")
	name := splitName(c.String("@sequence_name"))
	if size <= 0 {
		return sqlerr.New(11733, 1, "@range_size")
	}
	var o *Object
	var space int32
	if e := bindSafely(func() {
		b := newBinder(ctx, s, c.Database.ID())
		var sch *schema
		if space, sch, o = b.resolve(name); o == nil || o.Kind != kindSequence {
			b.fail(208, name.String())
		}
		b.require("UPDATE", space, sch, o)
	}); e != nil {
		return e
	}
	var first, end int64
	var cycles uint64
	err := s.draw(s.inst.DatabaseByID(space), o, func(last int64, used bool) (int64, error) {
		var ok bool
		if first, end, cycles, ok = o.Sequence.span(last, used, size); !ok {
			return 0, sqlerr.New(11732, 1, o.Name)
		}
		return end, nil
	})
	if err != nil {
		return err
	}
	q := o.Sequence
	c.SetOutput("@range_first_value", q.variant(first))
	c.SetOutput("@range_last_value", q.variant(end))
	c.SetOutput("@range_cycle_count", int64(cycles))
	c.SetOutput("@sequence_increment", q.variant(q.Increment))
	c.SetOutput("@sequence_min_value", q.variant(q.Min))
	c.SetOutput("@sequence_max_value", q.variant(q.Max))
	return nil
}

func installSequenceRange(r *Registry) {
	parameters := []Parameter{{Name: "@sequence_name", Type: sqltype.NVarCharOf(776), Required: true}, {Name: "@range_size", Type: sqltype.BigIntType, Required: true},
		{Name: "@range_first_value", Type: sqltype.VariantType, Required: true, Output: true}}
	for _, name := range []string{"@range_last_value", "@range_cycle_count", "@sequence_increment", "@sequence_min_value", "@sequence_max_value"} {
		p := Parameter{Name: name, Type: sqltype.VariantType, Output: true}
		if name == "@range_cycle_count" {
			p.Type = sqltype.IntType
		}
		parameters = append(parameters, p)
	}
	r.Procedure(Procedure{Name: "sp_sequence_get_range", Parameters: parameters, Run: sequenceRange})
}
