// SPDX-License-Identifier: Apache-2.0

package repl

import "geosql.dev/standin/sqlerr"

// raise makes an error of a procedure. Some messages that are listed with severity 10 are raised with 16 by the
// procedures of replication (RAISERROR(20608, 16, -1)), because the call failed.
func raise(number int32, state uint8, args ...any) *sqlerr.Error {
	e := sqlerr.New(number, state, args...)
	if e.Class <= 10 {
		e.Class = 16
	}
	return e
}
