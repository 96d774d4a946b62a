// SPDX-License-Identifier: Apache-2.0

package repl

import "geosql.dev/standin/sqlerr"

// raise makes an error of a procedure, sqlerr.Raise.
func raise(number int32, state uint8, args ...any) *sqlerr.Error {
	return sqlerr.Raise(number, state, args...)
}
