// SPDX-License-Identifier: Apache-2.0

package ddl

import (
	"context"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

func createSequence(ctx context.Context, s *engine.Session, n *ast.CreateSequenceStatement, w tds.Writer) error {
	name := bind.NameOf(n.Name)
	if err := s.RequireDDL(ctx, name, "CREATE SEQUENCE"); err != nil {
		return err
	}
	if strings.HasPrefix(name.Name, "#") {
		return sqlerr.New(11714, 1, name.Name)
	}
	q := &metadata.Sequence{Type: sqltype.BigIntType, Increment: 1}
	for _, opt := range n.SequenceOptions {
		if o, ok := opt.(*ast.DataTypeSequenceOption); ok {
			t, e := bind.DataTypeOf(o.DataType, false)
			if alias := s.AliasOf(ctx, o.DataType); e != nil && alias != nil {
				t, e = *alias, nil
			}
			if e != nil {
				return e
			}
			if !t.Kind.IsInteger() && (t.Kind != sqltype.Decimal || t.Scale != 0) {
				return sqlerr.New(11702, 2, name.Name)
			}
			q.Type = t
		}
	}
	q.Min, q.Max = engine.WholeBounds(q.Type)
	var start *int64
	for _, opt := range n.SequenceOptions {
		if err := sequenceOption(ctx, s, q, name.Name, opt, &start); err != nil {
			return err
		}
	}
	q.Start = q.Min
	if q.Increment < 0 {
		q.Start = q.Max
	}
	if start != nil {
		q.Start = *start
	}
	if err := q.Check(name.Name, q.Start); err != nil {
		return err
	}
	err := s.ChangeSchema(ctx, name, func(d *engine.SchemaChange) error {
		if err := d.Place(name); err != nil {
			return err
		}
		o := d.NewObject(name, metadata.KindSequence)
		o.Sequence = q
		return d.Save(o)
	})
	if err != nil {
		return err
	}
	return warnOfCache(q, w, name.Name, 0, false)
}

// warnOfCache tells of a cache of one value, which is none, and of one that is larger than what the sequence has left.
func warnOfCache(q *metadata.Sequence, w tds.Writer, name string, last int64, used bool) error {
	switch {
	case q.CacheSize == 1:
		return w.Message(sqlerr.New(11707, 1, name))
	case q.NearsEnd(last, used):
		return w.Message(sqlerr.New(11729, 1, name))
	}
	return nil
}

// sequenceArgument is the value of an option: 11708 for one that the sequence's type does not have, 11700 and 11706 for
// an increment and a cache of zero, which no other option makes good.
func sequenceArgument(
	ctx context.Context,
	s *engine.Session,
	q *metadata.Sequence,
	name, kind string,
	value ast.ScalarExpression,
) (int64, error) {
	v, err := s.Evaluate(ctx, value, sqltype.DecimalOf(38, 4))
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
	lo, hi := engine.WholeBounds(q.Type)
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
func alterSequence(ctx context.Context, s *engine.Session, n *ast.AlterSequenceStatement, w tds.Writer) error {
	name := bind.NameOf(n.Name)
	var q metadata.Sequence
	var last int64
	used := false
	err := s.ChangeSchema(ctx, name, func(d *engine.SchemaChange) error {
		o := d.LookUp(name)
		if o == nil || o.Kind != metadata.KindSequence {
			return sqlerr.New(15151, 1, "alter", "sequence", name.String())
		}
		p := engine.Permission{
			Name:     "ALTER",
			Database: d.Database(),
			Schema:   d.Catalog().SchemaName(o),
			Object:   o.Name,
			ObjectID: o.ID,
		}
		if err := s.Require(ctx, p); err != nil {
			return err
		}
		q = *o.Sequence
		var restart *int64
		for _, opt := range n.SequenceOptions {
			if err := sequenceOption(ctx, s, &q, o.Name, opt, &restart); err != nil {
				return err
			}
		}
		var err error
		if last, used, err = d.LastOfSequence(o); err != nil {
			return err
		}
		if restart != nil {
			q.Restarted, used = restart, false
		}
		if err := q.CheckAltered(o, restart != nil, last, used); err != nil {
			return err
		}
		if used {
			err = d.Exec("INSERT OR REPLACE INTO __identity VALUES (?, ?)", int64(o.ID), last)
		} else {
			err = d.Exec("DELETE FROM __identity WHERE id = ?", int64(o.ID))
		}
		if err != nil {
			return err
		}
		o.Sequence = &q
		return d.Modify(o)
	})
	if err != nil {
		return err
	}
	return warnOfCache(&q, w, name.Name, last, used)
}

// sequenceOption sets an option of CREATE SEQUENCE or ALTER SEQUENCE; start is the value of START WITH or RESTART.
func sequenceOption(
	ctx context.Context,
	s *engine.Session,
	q *metadata.Sequence,
	name string,
	opt any,
	start **int64,
) error {
	lo, hi := engine.WholeBounds(q.Type)
	kind, none := "", false
	var value *int64
	switch o := opt.(type) {
	case *ast.ScalarExpressionSequenceOption:
		if kind, none = strings.ToLower(o.OptionKind), o.NoValue; o.OptionValue != nil {
			v, err := sequenceArgument(ctx, s, q, name, kind, o.OptionValue)
			if err != nil {
				return err
			}
			value = &v
		}
	case *ast.SequenceOption:
		kind, none = strings.ToLower(o.OptionKind), o.NoValue
	case *ast.DataTypeSequenceOption:
		return nil
	}
	given := func(otherwise int64) int64 {
		if value != nil {
			return *value
		}
		return otherwise
	}
	switch kind {
	case "start", "restart":
		v := given(q.Start)
		*start = &v
	case "increment":
		q.Increment = given(q.Increment)
	case "minvalue":
		q.Min = given(lo)
	case "maxvalue":
		q.Max = given(hi)
	case "cycle":
		q.Cycle = !none
	case "cache":
		q.CacheSize, q.NoCache = given(0), none
	default:
		return sqlerr.Unsupported("This option of a sequence")
	}
	return nil
}
