// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/tds"
)

func installSequences(r *Registry) {
	on(r, (*Session).createSequence)
	on(r, (*Session).alterSequence)
}

func (s *Session) createSequence(ctx context.Context, n *ast.CreateSequenceStatement, w tds.Writer) error {
	name := nameOf(n.Name)
	if err := s.requireDDL(ctx, name, "CREATE SEQUENCE"); err != nil {
		return err
	}
	q := &Sequence{Type: sqltype.BigIntType, Increment: 1}
	var start, lo, hi *int64
	for _, opt := range n.SequenceOptions {
		switch o := opt.(type) {
		case *ast.DataTypeSequenceOption:
			t, e := dataTypeOf(o.DataType, false)
			if e != nil {
				return e
			}
			if !t.Kind.IsInteger() && (t.Kind != sqltype.Decimal || t.Scale != 0) {
				return sqlerr.New(11702, 2, name.name)
			}
			q.Type = t
		case *ast.ScalarExpressionSequenceOption:
			if o.OptionValue == nil {
				continue
			}
			v, err := s.evaluate(ctx, o.OptionValue, sqltype.BigIntType)
			if err != nil {
				return err
			}
			num, _ := v.(int64)
			switch strings.ToLower(o.OptionKind) {
			case "start":
				start = &num
			case "increment":
				q.Increment = num
			case "minvalue":
				lo = &num
			case "maxvalue":
				hi = &num
			}
		case *ast.SequenceOption:
			if strings.EqualFold(o.OptionKind, "cycle") && !o.NoValue {
				q.Cycle = true
			}
		}
	}
	q.Min, q.Max = wholeBounds(q.Type)
	if lo != nil {
		q.Min = *lo
	}
	if hi != nil {
		q.Max = *hi
	}
	q.Start = q.Min
	if q.Increment < 0 {
		q.Start = q.Max
	}
	if start != nil {
		q.Start = *start
	}
	if err := q.check(name.name, q.Start); err != nil {
		return err
	}
	return s.changeSchema(ctx, name, func(d *ddl) error {
		if err := d.place(name); err != nil {
			return err
		}
		o := d.newObject(name, kindSequence)
		o.Sequence = q
		return d.save(o)
	})
}

// check judges what a sequence is to be and the value that it is to go on from
// (docs/t-sql/statements/create-sequence-transact-sql.md, Arguments).
func (q *Sequence) check(name string, start int64) error {
	switch {
	case q.Increment == 0:
		return sqlerr.New(11700, 1, name)
	case q.Min >= q.Max:
		return sqlerr.New(11705, 1, name)
	case start < q.Min || start > q.Max:
		return sqlerr.New(11703, 1, name)
	}
	return nil
}

// alterSequence is ALTER SEQUENCE (docs/t-sql/statements/alter-sequence-transact-sql.md).
func (s *Session) alterSequence(ctx context.Context, n *ast.AlterSequenceStatement, w tds.Writer) error {
	name := nameOf(n.Name)
	return s.changeSchema(ctx, name, func(d *ddl) error {
		o := d.sch.find(d.schemaNamed(name), name.name)
		if o == nil || o.Kind != kindSequence {
			return sqlerr.New(15151, 1, "alter", "sequence", name.String())
		}
		p := Permission{Name: "ALTER", Database: d.db, Schema: d.sch.schemaName(o), Object: o.Name, ObjectID: o.ID}
		if err := s.require(ctx, p); err != nil {
			return err
		}
		q := *o.Sequence
		var restart *int64
		for _, opt := range n.SequenceOptions {
			if err := s.alterSequenceOption(ctx, &q, opt, &restart); err != nil {
				return err
			}
		}
		start := q.Min
		if restart != nil {
			start = *restart
		}
		if err := q.check(o.Name, start); err != nil {
			return err
		}
		o.Sequence = &q
		if restart != nil {
			if err := d.exec("INSERT OR REPLACE INTO __identity VALUES (?, ?)", int64(o.ID), *restart-q.Increment); err != nil {
				return err
			}
		}
		return d.modify(o)
	})
}

func (s *Session) alterSequenceOption(ctx context.Context, q *Sequence, opt any, restart **int64) error {
	lo, hi := wholeBounds(q.Type)
	switch o := opt.(type) {
	case *ast.ScalarExpressionSequenceOption:
		num := q.Start
		if o.OptionValue != nil {
			v, err := s.evaluate(ctx, o.OptionValue, sqltype.BigIntType)
			if err != nil {
				return err
			}
			num, _ = v.(int64)
		}
		switch strings.ToLower(o.OptionKind) {
		case "restart":
			*restart = &num
		case "increment":
			q.Increment = num
		case "minvalue":
			if q.Min = num; o.OptionValue == nil {
				q.Min = lo
			}
		case "maxvalue":
			if q.Max = num; o.OptionValue == nil {
				q.Max = hi
			}
		case "cache":
		default:
			return unsupported("ALTER SEQUENCE ... " + strings.ToUpper(o.OptionKind))
		}
	case *ast.SequenceOption:
		switch strings.ToLower(o.OptionKind) {
		case "restart":
			start := q.Start
			*restart = &start
		case "cycle":
			q.Cycle = !o.NoValue
		case "minvalue":
			q.Min = lo
		case "maxvalue":
			q.Max = hi
		case "cache":
		default:
			return unsupported("ALTER SEQUENCE ... " + strings.ToUpper(o.OptionKind))
		}
	default:
		return unsupported("This option of ALTER SEQUENCE")
	}
	return nil
}
