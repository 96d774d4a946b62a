// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/forclause"
	"geosql.dev/standin/sqltype"
)

// evaluation is what a built-in function of the engine sees besides its arguments.
type evaluation struct {
	builtin.Evaluation
	session *Session
}

// builtinFunction is a function of T-SQL that is evaluated in Go.
type builtinFunction = builtin.Function[*evaluation]

var (
	nmax = sqltype.NVarCharMax
	intT = sqltype.IntType
	bigT = sqltype.BigIntType
)

// builtins are all functions of this kind by lower-case name: those of package builtin, the FOR clause's, and the
// engine's own, which see the session.
var builtins = func() map[string]*builtinFunction {
	out := map[string]*builtinFunction{}
	for _, functions := range []map[string]*builtin.Function[*builtin.Evaluation]{builtin.Functions(),
		forclause.Functions()} {
		for name, f := range functions {
			out[name] = builtin.Of(f, func(e *evaluation) *builtin.Evaluation { return &e.Evaluation })
		}
	}
	return out
}()

// added are the names of the engine's own, which all instances of a process share: the first adds them. Nothing is
// written once one instance is there, whose sessions read builtins without a lock.
var (
	addMu sync.Mutex
	added = map[string]bool{}
)

func addBuiltins(m map[string]*builtinFunction) {
	addMu.Lock()
	defer addMu.Unlock()
	for name, f := range m {
		if !added[name] {
			builtins[name], added[name] = f, true
		}
	}
}

// evaluation is what a function that is called with a signature sees.
func (st *connState) evaluation(sig *signature) *evaluation {
	dates := st.session.dates()
	return &evaluation{
		session: st.session,
		Evaluation: builtin.Evaluation{Types: sig.types, Result: sig.result, Collation: sig.collation,
			DateFirst: dates.first, DateOrder: dates.order, Language: st.session.language(), Random: &st.session.random},
	}
}

func integer(v any) int64 {
	n, _ := v.(int64)
	return n
}
