// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// order asks whether the transactions of the profile append were atomic and had one order, at every copy.
func order(m Measured) v1alpha1.ObjectiveResult {
	o := m.History.Order
	r := result("order", "transactions as at SERIALIZABLE: whole, in one order, at every copy")
	r.Measured = fmt.Sprintf("%d anomalies", anomalies(o))
	r.Evidence = fmt.Sprintf("%d transactions, %d appends to %d lists, %d reads, %d copies", o.Transactions, o.Appends,
		o.Lists, o.Reads, o.Copies)
	if o.Subscribers > 0 {
		r.Evidence += fmt.Sprintf(", %d subscribers", o.Subscribers)
	}
	unknown := m.unknown()
	strangers := o.Counts[listappend.Phantom]
	switch {
	case anomalies(o) > 0 && (len(unknown) == 0 || anomalies(o) > strangers):
		r.Verdict, r.Evidence = v1alpha1.VerdictFailed, clip(o.Reason)
	case len(unknown) > 0:
		// What clients appended whose history is lost looks like phantoms, and may lie between what is known.
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, fmt.Sprintf(
			"without all of the histories of %s nobody can say who appended what", strings.Join(unknown, ", "))
	case o.Result == history.Inconclusive:
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, clip(o.Reason)
	}
	return r
}

func anomalies(o history.Order) (n int) {
	for _, count := range o.Counts {
		n += count
	}
	return n
}

// controls asks whether the errors that were planted in copies of the evidence were found.
func controls(list []v1alpha1.DrillControl) v1alpha1.ObjectiveResult {
	r := result("controls", "every error that is planted in a copy of the evidence is found")
	found := 0
	var missed, nothing []string
	for _, c := range list {
		switch c.Result {
		case v1alpha1.ControlFound:
			found++
		case v1alpha1.ControlNotFound:
			missed = append(missed, c.Planted)
		default:
			nothing = append(nothing, c.Planted)
		}
	}
	r.Measured = fmt.Sprintf("%d of %d found", found, found+len(missed))
	if len(nothing) > 0 {
		r.Evidence = clip("nothing to plant in: " + strings.Join(nothing, "; "))
	}
	if len(missed) > 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, clip("not found: "+strings.Join(missed, "; "))
	}
	return r
}
