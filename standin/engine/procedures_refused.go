// SPDX-License-Identifier: Apache-2.0

package engine

import "context"

// installRefusedProcedures registers documented procedures that the engine does not have, so that they are refused by
// name and not as unknown: data are not compressed here.
func installRefusedProcedures(r *Registry) {
	for _, name := range []string{"sp_estimate_data_compression_savings"} {
		r.Procedure(Procedure{Name: name, Run: func(context.Context, *ProcCall) error {
			return unsupported(name)
		}})
	}
}
