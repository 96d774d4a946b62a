// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/aggregate"
	"geosql.dev/standin/bind"
	"geosql.dev/standin/builtin"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// The functions that SQLite statements made by the engine use:
//
//	tsql_call(signature, args...)   a T-SQL function; the signature is "name;packed argument types;packed result type"
//	tsql_conv(x, from, to, mode, style)   a conversion between packed types
//	tsql_arith(op, from1, from2, to, a, b)   an operator on numbers
//	tsql_check(x, kind)   an integer or a text that must fit the type, for aggregates
//	tsql_vkey(x)   what a sql_variant compares by
//	tsql_active()   1 while a session executes, 0 while storage repeats logged changes
//	tsql_judges()   tsql_active(), and 0 while the session is that of a replication agent: what is NOT FOR REPLICATION
//	tsql_raise(number, text...)   raises an error
//	tsql_value(name)   what the running statement has as the time, the user or the login
//	tsql_identity(table)   the next identity value
//	tsql_sequence(database, sequence, execution, row)   the value of a sequence for a row of a statement
//	tsql_depth(level, limit)   the next level of a recursion
//	tsql_known(number)   1 while the session keeps the instance of xml of that number
//	tsql_collided(key...)   keeps the key at which an INSERT collided
//	tsql_partition(key, list, value)   how many boundary values of a partition function are before a value
//	tsql_defer(key)   notes a foreign key that is to be judged when the statement ends
//
// and the aggregates tsql_sumd, tsql_avgd, tsql_avgi, tsql_stat, tsql_checksum_agg and tsql_pack.
func registerFunctions(conn *sqlite.Conn, st *connState) error {
	scalars := []struct {
		name          string
		args          int
		deterministic bool
		f             func(args []sqlite.Value) (any, *sqlerr.Error)
	}{
		{"tsql_call", -1, false, st.call},
		{"tsql_pure", -1, true, st.call},
		{"tsql_conv", 5, true, st.convert},
		{"tsql_arith", 6, true, st.arith},
		{"tsql_check", 2, true, st.check},
		{"tsql_vkey", 1, true, st.variantKey},
		{"tsql_active", 0, false, st.active},
		{"tsql_judges", 0, false, st.judges},
		{"tsql_raise", -1, false, st.raise},
		{"tsql_value", 1, false, st.value},
		{"tsql_identity", 1, false, st.nextIdentity},
		{"tsql_sequence", 4, false, st.nextOfSequence},
		{"tsql_defer", 1, false, st.deferKey},
		{"tsql_depth", 2, false, st.depth},
		{"tsql_collided", -1, false, st.collided},
		{"tsql_notnull", 3, false, st.notNull},
		{"tsql_known", 1, false, st.knowsInstance},
		{"tsql_partition", 3, true, metadata.BoundsBefore},
		{"tsql_like", 4, true, st.like},
		{"tsql_one", 2, false, st.one},
		{"tsql_replicable", 2, false, st.replicable},
		{"tsql_store", 4, false, st.store},
		{"tsql_rowversion", 1, false, st.nextRowVersion},
	}
	for _, s := range scalars {
		f := s.f
		err := conn.CreateFunction(s.name, &sqlite.FunctionImpl{
			NArgs: s.args, Deterministic: s.deterministic, AllowIndirect: true,
			Scalar: func(ctx sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
				raw, e := f(args)
				if e != nil && st.session.lenient(e) {
					return sqlite.Value{}, nil
				}
				if e != nil {
					return sqlite.Value{}, st.failIn(ctx, e)
				}
				return storage.ResultValue(raw), nil
			},
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if err := registerPacking(conn); err != nil {
		return err
	}
	return aggregate.Register(conn, st.failIn)
}

// lenient tells whether an error in arithmetic is NULL instead, as it is with ARITHABORT OFF and ANSI_WARNINGS OFF
// (docs/t-sql/statements/set-arithabort-transact-sql.md), and notes what is said about it unless ARITHIGNORE is on.
func (s *Session) lenient(e *sqlerr.Error) bool {
	notice := s.forgiven(e)
	if notice != 0 && !s.settings.options["ArithIgnore"] {
		s.leniency = notice
	}
	return notice != 0
}

// forgiven is the notice that the session has in place of an error in arithmetic; 0 when it is an error to it.
func (s *Session) forgiven(e *sqlerr.Error) int32 {
	if s == nil || s.settings.options["ArithAbort"] || s.settings.options["AnsiWarnings"] {
		return 0
	}
	switch e.Number {
	case 8134:
		return 3607
	case 8115, 220, 232:
		return 3606
	}
	return 0
}

// cuts tells whether what is too long for a column is cut without an error, as it is with ANSI_WARNINGS OFF
// (docs/t-sql/statements/set-ansi-warnings-transact-sql.md).
func (s *Session) cuts(e *sqlerr.Error) bool {
	return e == sqltype.ErrTruncated && s != nil && !s.settings.options["AnsiWarnings"]
}

// signature is the parsed first argument of tsql_call.
type signature struct {
	name   string
	types  []sqltype.Type
	result sqltype.Type
	// collation is the key of the arguments' collation.
	collation string
	// bare tells that the function gets the values of sql_variant without their types.
	bare bool
}

var signatures sync.Map

func parseSignature(s string) *signature {
	if sig, ok := signatures.Load(s); ok {
		return sig.(*signature)
	}
	parts := strings.Split(s, ";")
	sig := &signature{name: parts[0], bare: !seesVariants[parts[0]]}
	if parts[1] != "" {
		for _, p := range strings.Split(parts[1], ",") {
			n, _ := strconv.ParseInt(p, 10, 64)
			sig.types = append(sig.types, sqltype.Unpack(n))
		}
	}
	n, _ := strconv.ParseInt(parts[2], 10, 64)
	sig.result, sig.collation = sqltype.Unpack(n), sqltype.DefaultCollationKey
	if len(parts) > 3 {
		sig.collation = parts[3]
	}
	signatures.Store(s, sig)
	return sig
}

// seesVariants are the functions that look at a sql_variant's type; others get its value.
var seesVariants = map[string]bool{"sql_variant_property": true, "datalength": true}

// variantKey computes tsql_vkey(x), by which values of sql_variant compare.
func (st *connState) variantKey(args []sqlite.Value) (any, *sqlerr.Error) {
	raw, ok := storage.ArgumentValue(args[0]).([]byte)
	if !ok {
		return nil, nil
	}
	key, err := sqltype.VariantKey(raw)
	if err != nil {
		return nil, internalError(err)
	}
	return key, nil
}

// call evaluates a T-SQL function.
func (st *connState) call(args []sqlite.Value) (any, *sqlerr.Error) {
	sig := parseSignature(args[0].Text())
	values := make([]any, len(args)-1)
	for i := range values {
		v, err := sqltype.Decode(sig.types[i], storage.ArgumentValue(args[i+1]))
		if err != nil {
			return nil, internalError(err)
		}
		if values[i] = v; sig.bare {
			values[i] = sqltype.Bare(v)
		}
	}
	if f := builtins[sig.name]; f != nil && st.inst.registry.functions[sig.name] == nil {
		v, e := f.Eval(st.evaluation(sig), values)
		if e != nil {
			return nil, e
		}
		return encodeResult(sig.result, v)
	}
	f := st.inst.registry.functions[sig.name]
	if f == nil {
		return st.callUser(sig, values)
	}
	v, err := f.Eval(st.session, values)
	if err != nil {
		return nil, AsError(err)
	}
	return encodeResult(sig.result, v)
}

func encodeResult(t sqltype.Type, v any) (any, *sqlerr.Error) {
	raw, err := sqltype.Encode(t, normalise(v))
	if err != nil {
		return nil, internalError(err)
	}
	return raw, nil
}

// normalise lets Go code give plain Go values where sqltype wants its own.
func normalise(v any) any {
	switch x := v.(type) {
	case int:
		return int64(x)
	case int32:
		return int64(x)
	case int16:
		return int64(x)
	case uint8:
		return int64(x)
	case uint32:
		return int64(x)
	case uint64:
		return int64(x)
	case float32:
		return float64(x)
	}
	return v
}

func (st *connState) convert(args []sqlite.Value) (any, *sqlerr.Error) {
	raw := storage.ArgumentValue(args[0])
	if raw == nil {
		return nil, nil
	}
	from, to := sqltype.Unpack(args[1].Int64()), sqltype.Unpack(args[2].Int64())
	style := st.session.DateStyle(int(args[4].Int64()))
	return convertRaw(raw, from, to, sqltype.Mode(args[3].Int64()&3), style, args[3].Int64() >= bind.TryMode)
}

func convertRaw(raw any, from, to sqltype.Type, mode sqltype.Mode, style int, try bool) (any, *sqlerr.Error) {
	v, err := sqltype.Decode(from, raw)
	if err != nil {
		return nil, internalError(err)
	}
	out, e := sqltype.Convert(v, from, to, style, mode)
	if e != nil {
		if try {
			return nil, nil
		}
		copied := *e
		return nil, &copied
	}
	return encodeResult(to, out)
}

func (st *connState) active([]sqlite.Value) (any, *sqlerr.Error) {
	if st.session != nil && !st.quiet {
		return int64(1), nil
	}
	return int64(0), nil
}

func (st *connState) raise(args []sqlite.Value) (any, *sqlerr.Error) {
	rest := make([]any, len(args)-1)
	for i := range rest {
		rest[i] = args[i+1].Text()
	}
	return nil, sqlerr.New(int32(args[0].Int64()), 1, rest...)
}

// notNull passes a value through and raises 515 for NULL; the other arguments name table and column by number.
func (st *connState) notNull(args []sqlite.Value) (any, *sqlerr.Error) {
	if args[0].Type() == sqlite.TypeNull {
		return nil, st.nullInColumn(int32(args[1].Int64()), int32(args[2].Int64()))
	}
	return storage.ArgumentValue(args[0]), nil
}

// one guards a scalar subquery: its second argument is the number of rows (512).
func (st *connState) one(args []sqlite.Value) (any, *sqlerr.Error) {
	if args[1].Int64() > 1 {
		return nil, sqlerr.New(512, 1)
	}
	return storage.ArgumentValue(args[0]), nil
}

func (st *connState) like(args []sqlite.Value) (any, *sqlerr.Error) {
	if args[0].Type() == sqlite.TypeNull || args[1].Type() == sqlite.TypeNull {
		return nil, nil
	}
	escape := rune(0)
	if args[2].Type() != sqlite.TypeNull {
		r := []rune(args[2].Text())
		if len(r) != 1 {
			return nil, sqlerr.New(506, 1, args[2].Text(), "LIKE")
		}
		escape = r[0]
	}
	if builtin.Like(args[0].Text(), args[1].Text(), escape, args[3].Text()) {
		return int64(1), nil
	}
	return int64(0), nil
}

// check is tsql_check(value, kind): the result of an aggregate, which must fit its type.
func (st *connState) check(args []sqlite.Value) (any, *sqlerr.Error) {
	if args[0].Type() == sqlite.TypeNull {
		return nil, nil
	}
	kind := sqltype.Kind(args[1].Int64())
	if kind.IsCharacter() {
		text := args[0].Text()
		if kind.IsUnicode() && sqltype.Length(text) > 4000 || sqltype.Length(text) > 8000 {
			return nil, sqlerr.New(9829, 1)
		}
		return text, nil
	}
	n := args[0].Int64()
	if kind == sqltype.Int && n != int64(int32(n)) {
		return nil, sqlerr.New(8115, 2, "expression", "int")
	}
	return n, nil
}

// internalError is for what must not happen.
func internalError(err error) *sqlerr.Error {
	return sqlerr.Internal(err)
}

// AsError is any Go error as a SQL Server error.
func AsError(err error) *sqlerr.Error {
	if err == nil {
		return nil
	}
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
		return e
	}
	return classify(err)
}

// unsupported is error 40510's kin for T-SQL that SQL Server has and the stand-in has not.
func unsupported(what string) *sqlerr.Error {
	return sqlerr.Unsupported(what)
}
