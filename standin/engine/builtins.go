// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// evaluation is what a built-in function sees besides its arguments.
type evaluation struct {
	session *Session
	state   *connState
	types   []sqltype.Type
	result  sqltype.Type
	// collation is that of the arguments: functions that look for text compare by it.
	collation string
}

// defaultCollationKey is the key of the instance's collation.
const defaultCollationKey = "tsql_ci_as"

// builtinFunction is a function of T-SQL that is evaluated in Go.
type builtinFunction struct {
	min, max int
	// params are the types that arguments are converted to, the last one repeated; Unknown leaves one as it is.
	params []sqltype.Type
	typ    sqltype.Type
	infer  func(types []sqltype.Type, args []expr) sqltype.Type
	// pure functions depend on their arguments alone.
	pure bool
	// nulls is true when the function wants to see NULL arguments; others give NULL for them.
	nulls bool
	run   func(e *evaluation, args []any) (any, *sqlerr.Error)
}

func (f *builtinFunction) eval(e *evaluation, args []any) (any, *sqlerr.Error) {
	if !f.nulls {
		for _, a := range args {
			if a == nil {
				return nil, nil
			}
		}
	}
	return f.run(e, args)
}

var (
	anyType = sqltype.Type{}
	nmax    = sqltype.NVarCharMax
	intT    = sqltype.IntType
	bigT    = sqltype.BigIntType
	floatT  = sqltype.FloatType
)

// builtins are all functions of this kind by lower-case name; the files functions_*.go fill it.
var builtins = map[string]*builtinFunction{}

func addBuiltins(m map[string]*builtinFunction) {
	for name, f := range m {
		builtins[name] = f
	}
}

// characterLike is the type of a string function's result: as the argument's, but variable.
func characterLike(types []sqltype.Type, _ []expr) sqltype.Type {
	t := types[0]
	switch {
	case t.Kind == sqltype.Char || t.Kind == sqltype.VarChar:
		t.Kind = sqltype.VarChar
	case t.Kind == sqltype.NChar || t.Kind == sqltype.NVarChar:
		t.Kind = sqltype.NVarChar
	case t.Kind == sqltype.Text:
		return sqltype.VarCharMax
	case t.Kind == sqltype.NText || t.Kind == sqltype.XML:
		return sqltype.NVarCharMax
	case t.Kind.IsBinary():
		return sqltype.Type{Kind: sqltype.VarBinary, Length: t.Length}
	default:
		return sqltype.Type{Kind: sqltype.VarChar, Length: 8000}
	}
	return t
}

// widened is the same with room for growth.
func widened(types []sqltype.Type, args []expr) sqltype.Type {
	t := characterLike(types, args)
	if t.Length != sqltype.MaxLength {
		t.Length = 8000
		if t.Kind == sqltype.NVarChar {
			t.Length = 4000
		}
	}
	return t
}

// numberLike is the type of ABS, ROUND, FLOOR and their kin.
func numberLike(types []sqltype.Type, _ []expr) sqltype.Type {
	t := types[0]
	switch {
	case t.Kind == sqltype.Bit || t.Kind == sqltype.TinyInt || t.Kind == sqltype.SmallInt:
		return sqltype.IntType
	case t.Kind == sqltype.SmallMoney:
		return sqltype.MoneyType
	case t.Kind == sqltype.Real, t.Kind.IsCharacter():
		return sqltype.FloatType
	}
	return t
}

// text is a value as a string function reads it.
func text(v any, t sqltype.Type) string {
	if s, ok := v.(string); ok {
		return s
	}
	out, err := sqltype.Convert(v, t, sqltype.NVarCharMax, 0, sqltype.Explicit)
	if err != nil {
		return ""
	}
	s, _ := out.(string)
	return s
}

// fit brings a result to the function's type.
func (e *evaluation) fit(v any, from sqltype.Type) (any, *sqlerr.Error) {
	out, err := sqltype.Convert(v, from, e.result, 0, sqltype.Explicit)
	if err != nil {
		copied := *err
		return nil, &copied
	}
	return out, nil
}

func integer(v any) int64 {
	n, _ := v.(int64)
	return n
}
