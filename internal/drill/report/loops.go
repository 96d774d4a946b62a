// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"geosql.dev/operator/internal/workload/history"
)

// heldFor says what service that holds is, where that counted.
func (r Report) heldFor() string {
	if r.Recheck == nil || r.Recheck.Served.For <= 0 {
		return ""
	}
	s := r.Recheck.Served
	return fmt.Sprintf(" from which on service held (of all operations of a site that were to begin in the %s from then "+
		"on, at least %.4g %% succeeded; beside it the time to the first one)", s.For, 100*s.Share)
}

// unscheduled tells of clients whose operations had no intended starts.
func (r Report) unscheduled() string {
	if r.Recheck == nil {
		return ""
	}
	of := func(loop history.Loop) string {
		var clients []string
		for _, client := range slices.Sorted(maps.Keys(r.Recheck.Loops)) {
			if r.Recheck.Loops[client] == loop {
				clients = append(clients, client)
			}
		}
		return strings.Join(clients, ", ")
	}
	text := ""
	if clients := of(history.Closed); clients != "" {
		text += " Users at " + clients + " think after an answer and begin the next operation then: nothing of theirs is " +
			"due, and times are from when it was sent."
	}
	if clients := of(""); clients != "" {
		text += " Histories of " + clients + " were recorded by a release that did not note when operations were to begin: " +
			"times are from when they were sent, without what others held up, and service came back with the first " +
			"acknowledgement."
	}
	return text
}
