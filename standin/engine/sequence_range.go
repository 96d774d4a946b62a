// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// SequenceVariant is a value of a sequence as sql_variant.
func SequenceVariant(q *metadata.Sequence, v int64) sqltype.Variant {
	return sqltype.Variant{Type: q.Type, Value: bind.CountedValue(q.Type, v)}
}

// sequenceRange is sp_sequence_get_range
// (docs/relational-databases/system-stored-procedures/sp-sequence-get-range-transact-sql.md): 11732 for a range that
// there is not, of which nothing is taken.
func sequenceRange(ctx context.Context, c *ProcCall) error {
	s, size := c.Session, c.Int("@range_size")
	name := bind.SplitName(c.String("@sequence_name"))
	if size <= 0 {
		return sqlerr.New(11733, 1, "@range_size")
	}
	var o *metadata.Object
	var space int32
	if e := bind.Safely(func() {
		b := newBinder(ctx, s, c.Database.ID())
		var sch *metadata.Catalog
		if space, sch, o = b.Resolve(name); o == nil || o.Kind != metadata.KindSequence {
			b.Fail(208, name.String())
		}
		b.Require("UPDATE", space, sch, o)
	}); e != nil {
		return e
	}
	var first, end int64
	var cycles uint64
	err := s.draw(s.inst.DatabaseByID(space), o, func(last int64, used bool) (int64, error) {
		var ok bool
		if first, end, cycles, ok = o.Sequence.Span(last, used, size); !ok {
			return 0, sqlerr.New(11732, 1, o.Name)
		}
		return end, nil
	})
	if err != nil {
		return err
	}
	q := o.Sequence
	c.SetOutput("@range_first_value", SequenceVariant(q, first))
	c.SetOutput("@range_last_value", SequenceVariant(q, end))
	c.SetOutput("@range_cycle_count", int64(cycles))
	c.SetOutput("@sequence_increment", SequenceVariant(q, q.Increment))
	c.SetOutput("@sequence_min_value", SequenceVariant(q, q.Min))
	c.SetOutput("@sequence_max_value", SequenceVariant(q, q.Max))
	return nil
}

func installSequenceRange(r *Registry) {
	parameters := []Parameter{
		{Name: "@sequence_name", Type: sqltype.NVarCharOf(776), Required: true},
		{Name: "@range_size", Type: sqltype.BigIntType, Required: true},
		{Name: "@range_first_value", Type: sqltype.VariantType, Required: true, Output: true},
	}
	for _, name := range []string{"@range_last_value", "@range_cycle_count", "@sequence_increment", "@sequence_min_value",
		"@sequence_max_value"} {
		p := Parameter{Name: name, Type: sqltype.VariantType, Output: true}
		if name == "@range_cycle_count" {
			p.Type = sqltype.IntType
		}
		parameters = append(parameters, p)
	}
	r.Procedure(Procedure{Name: "sp_sequence_get_range", Parameters: parameters, Run: sequenceRange})
}
