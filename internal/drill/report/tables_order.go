// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
)

// orderTable has the anomalies of transactions on lists, judged again from the archive.
func (r Report) orderTable() table {
	t := table{
		Title: "Transactions on lists",
		Note:  "What no order of the transactions explains, judged without clocks. The workload asks for SERIALIZABLE.",
		Head:  []string{"Anomaly", "Times", "Example"},
	}
	if r.Recheck == nil || !r.Recheck.Order.Used() {
		return t
	}
	o := r.Recheck.Order
	for _, a := range o.Anomalies {
		t.add("failed", string(a.Kind), fmt.Sprint(o.Counts[a.Kind]), a.Message)
	}
	if len(o.Anomalies) == 0 {
		t.add("passed", "none", "0", fmt.Sprintf("%d transactions, %d appends to %d lists, %d reads, %d copies, %d "+
			"subscribers", o.Transactions, o.Appends, o.Lists, o.Reads, o.Copies, o.Subscribers))
	}
	for _, text := range o.Open {
		t.add("inconclusive", "not known", "", text)
	}
	return t
}

// controlTable has the errors that the checker was shown to see.
func (r Report) controlTable() table {
	t := table{
		Title: "Controls",
		Note: "Errors that were planted in copies of this run's evidence and judged by the same code. Where the run did " +
			"nothing that one could be planted in, it was not shown that it would be found.",
		Head: []string{"Planted", "Result", "Evidence"},
	}
	for _, c := range r.Controls {
		result, tone := "found", "passed"
		switch c.Result {
		case v1alpha1.ControlNotFound:
			result, tone = "not found", "inconclusive"
		case v1alpha1.ControlNothing:
			result, tone = "nothing to plant it in", ""
		}
		t.add(tone, c.Planted, result, c.Evidence)
	}
	return t
}
