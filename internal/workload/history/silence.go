// SPDX-License-Identifier: Apache-2.0

package history

import "slices"

// Silence is the evidence as it were if the users of a client had never been answered again from a fault on, or from
// the moment from which the clocks leave it open whether the fault had begun. The evidence itself stays as it is.
func (e Evidence) Silence(client string, from Fault) Evidence {
	onAxis, a := onOneAxis(e)
	e.Runs = slices.Clone(e.Runs)
	for i, run := range onAxis {
		if run.Client != client {
			continue
		}
		unsure, _ := a.unsure(run.Boot)
		operations := slices.Clone(e.Runs[i].Operations)
		for j := range operations {
			o := &operations[j]
			if o.Outcome == OK && a.of(run.Operations[j].Completed) >= add(a.of(from.Injected), -unsure) {
				o.Outcome, o.Reason = Unknown, "planted: it is never answered again"
			}
		}
		e.Runs[i].Operations = operations
	}
	return e
}
