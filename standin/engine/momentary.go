// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

// value is tsql_value: NULL while storage repeats logged changes, which judges nothing.
func (st *connState) value(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.session == nil {
		return nil, nil
	}
	t, f := bind.Momentary(args[0].Text())
	if f == nil {
		return nil, sqlerr.New(1046, 1)
	}
	return encodeResult(t, f(binding{st.session}))
}
