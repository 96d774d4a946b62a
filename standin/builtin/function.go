// SPDX-License-Identifier: Apache-2.0

// Package builtin has the built-in functions of Transact-SQL that need nothing but their arguments and how the session
// reads and writes dates: those of strings, numbers, dates, bits and JSON, LIKE, FORMAT and PARSE
// (docs/t-sql/functions/functions.md).
package builtin

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Function is a built-in function; E is what it sees besides its arguments.
type Function[E any] struct {
	// Min and Max are how many arguments there are; no more than 0 for Max is any number.
	Min, Max int
	// Params are the types that arguments are converted to, the last one repeated; Unknown leaves one as it is.
	Params []sqltype.Type
	// Type is the result's, where Infer does not find it by those of the arguments.
	Type  sqltype.Type
	Infer func(types []sqltype.Type) sqltype.Type
	// Pure functions depend on their arguments alone.
	Pure bool
	// Nulls is true when the function wants to see NULL arguments; others give NULL for them.
	Nulls bool
	Run   func(e E, args []any) (any, *sqlerr.Error)
}

// Eval evaluates a function.
func (f *Function[E]) Eval(e E, args []any) (any, *sqlerr.Error) {
	if !f.Nulls {
		for _, a := range args {
			if a == nil {
				return nil, nil
			}
		}
	}
	return f.Run(e, args)
}

// Of is a function for those who see more than it does.
func Of[E any](f *Function[*Evaluation], evaluation func(E) *Evaluation) *Function[E] {
	return &Function[E]{
		Min:    f.Min,
		Max:    f.Max,
		Params: f.Params,
		Type:   f.Type,
		Infer:  f.Infer,
		Pure:   f.Pure,
		Nulls:  f.Nulls,
		Run:    func(e E, args []any) (any, *sqlerr.Error) { return f.Run(evaluation(e), args) },
	}
}

// Evaluation is what a function of this package sees besides its arguments.
type Evaluation struct {
	// Types are those of the arguments, Result that of the result.
	Types  []sqltype.Type
	Result sqltype.Type
	// Collation is the key of the arguments' collation: functions that look for text compare by it.
	Collation string
	// DateFirst is the day that a week begins with, 1 for Monday to 7 for Sunday, DateOrder SET DATEFORMAT.
	DateFirst int64
	DateOrder sqltype.DateOrder
	// Language is the session's.
	Language *sqltype.Language
	// Random are the session's numbers of RAND.
	Random *Random
}

// fit brings a result to the function's type.
func (e *Evaluation) fit(v any, from sqltype.Type) (any, *sqlerr.Error) {
	out, err := sqltype.Convert(v, from, e.Result, 0, sqltype.Explicit)
	if err != nil {
		copied := *err
		return nil, &copied
	}
	return out, nil
}

type function = Function[*Evaluation]

// functions are filled by the files of this package.
var functions = map[string]*function{}

func add(m map[string]*function) {
	for name, f := range m {
		functions[name] = f
	}
}

// Functions are all functions of this package by lower-case name.
func Functions() map[string]*Function[*Evaluation] { return functions }

var (
	anyType = sqltype.Type{}
	nmax    = sqltype.NVarCharMax
	intT    = sqltype.IntType
	bigT    = sqltype.BigIntType
	floatT  = sqltype.FloatType
)

func integer(v any) int64 {
	n, _ := v.(int64)
	return n
}

func yes(b bool) any { return map[bool]int64{true: 1}[b] }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
