// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/shopspring/decimal"
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
	if strings.HasPrefix(name.name, "#") {
		return sqlerr.New(11714, 1, name.name)
	}
	q := &Sequence{Type: sqltype.BigIntType, Increment: 1}
	for _, opt := range n.SequenceOptions {
		if o, ok := opt.(*ast.DataTypeSequenceOption); ok {
			t, e := dataTypeOf(o.DataType, false)
			if e != nil {
				return e
			}
			if !t.Kind.IsInteger() && (t.Kind != sqltype.Decimal || t.Scale != 0) {
				return sqlerr.New(11702, 2, name.name)
			}
			q.Type = t
		}
	}
	q.Min, q.Max = wholeBounds(q.Type)
	var start *int64
	set := map[string]func(int64){"start": func(v int64) { start = &v }, "increment": func(v int64) { q.Increment = v }, "minvalue": func(v int64) { q.Min = v },
		"maxvalue": func(v int64) { q.Max = v }}
	for _, opt := range n.SequenceOptions {
		switch o := opt.(type) {
		case *ast.ScalarExpressionSequenceOption:
			if o.OptionValue == nil {
				continue
			}
			kind := strings.ToLower(o.OptionKind)
			v, err := s.sequenceArgument(ctx, q, name.name, kind, o.OptionValue)
			if err != nil {
				return err
			}
			if to := set[kind]; to != nil {
				to(v)
			}
		case *ast.SequenceOption:
			if strings.EqualFold(o.OptionKind, "cycle") && !o.NoValue {
				q.Cycle = true
			}
		}
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
	case decimal.NewFromInt(q.Increment).Abs().GreaterThan(decimal.NewFromInt(q.Max).Sub(decimal.NewFromInt(q.Min))):
		return sqlerr.New(11701, 1, name)
	}
	return nil
}

// sequenceArgument is the value of an option: 11708 for one that the sequence's type does not have, 11700 and 11706 for an increment and a cache of
// zero, which no other option makes good.
func (s *Session) sequenceArgument(ctx context.Context, q *Sequence, name, kind string, value ast.ScalarExpression) (int64, error) {
	v, err := s.evaluate(ctx, value, sqltype.DecimalOf(38, 4))
	if err != nil {
		return 0, err
	}
	d, _ := v.(decimal.Decimal)
	switch {
	case kind == "increment" && d.IsZero():
		return 0, sqlerr.New(11700, 1, name)
	case kind == "cache" && !d.IsPositive():
		return 0, sqlerr.New(11706, 1, name)
	case kind == "cache":
		return d.IntPart(), nil
	}
	lo, hi := wholeBounds(q.Type)
	if !d.IsInteger() || d.LessThan(decimal.NewFromInt(lo)) || d.GreaterThan(decimal.NewFromInt(hi)) {
		argument := map[string]string{"start": "START WITH", "restart": "RESTART WITH", "increment": "INCREMENT BY"}[kind]
		if argument == "" {
			argument = strings.ToUpper(kind)
		}
		return 0, sqlerr.New(11708, 1, argument)
	}
	return d.IntPart(), nil
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
			if err := s.alterSequenceOption(ctx, &q, o.Name, opt, &restart); err != nil {
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
		if err := s.recordReached(d, o, &q, restart); err != nil {
			return err
		}
		o.Sequence = &q
		return d.modify(o)
	})
}

// recordReached writes where the altered sequence goes on: at its restart, or behind what it has given out.
func (s *Session) recordReached(d *ddl, o *Object, q *Sequence, restart *int64) error {
	var last int64
	if restart != nil {
		last = *restart - q.Increment
	} else {
		value, used, err := s.identities(d.db).sequences.last(d.conn, o)
		if err != nil || !used {
			return err
		}
		last = value
	}
	return d.exec("INSERT OR REPLACE INTO __identity VALUES (?, ?)", int64(o.ID), last)
}

func (s *Session) alterSequenceOption(ctx context.Context, q *Sequence, name string, opt any, restart **int64) error {
	lo, hi := wholeBounds(q.Type)
	switch o := opt.(type) {
	case *ast.ScalarExpressionSequenceOption:
		num := q.Start
		if o.OptionValue != nil {
			v, err := s.sequenceArgument(ctx, q, name, strings.ToLower(o.OptionKind), o.OptionValue)
			if err != nil {
				return err
			}
			num = v
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
