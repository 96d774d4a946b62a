// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

func init() {
	at := func(e *evaluation, name any) (*variable, *sqlerr.Error) {
		if e.session == nil {
			return nil, internalError(errNoSession)
		}
		text, _ := name.(string)
		v := e.session.variable(text)
		if v == nil {
			return nil, sqlerr.New(137, 2, text)
		}
		return v, nil
	}
	addBuiltins(map[string]*builtinFunction{
		bind.VariableNow: {Min: 1, Max: 1, Run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			v, err := at(e, a[0])
			if err != nil {
				return nil, err
			}
			return v.value, nil
		}},
		bind.AssignVariable: {Min: 2, Max: 2, Nulls: true, Run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			v, err := at(e, a[0])
			if err != nil {
				return nil, err
			}
			v.value = a[1]
			return v.value, nil
		}},
	})
}
