// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/workload/history"
)

// Served is what a drill takes for being served again.
func Served(o v1alpha1.DrillObjectives) history.Served {
	return history.Served{Share: float64(drill.ServedPercent(o)) / 100, For: drill.ServedFor(o)}
}

// firstServed says how long it was to the first acknowledgement, and what had to hold from the one that counts.
func (m Measured) firstServed(c history.ClientFigures) string {
	if !c.Held || c.First == nil {
		return ""
	}
	return fmt.Sprintf("; first acknowledged after %s, and from the time that counts on at least %s",
		c.First.Round(time.Millisecond), m.History.Served)
}

// byFirst names clients whose first acknowledgement counted, since their histories do not tell when operations were to
// begin.
func (m Measured) byFirst() string {
	var clients []string
	for _, client := range slices.Sorted(maps.Keys(m.History.Loops)) {
		if m.History.Loops[client] == "" {
			clients = append(clients, client)
		}
	}
	if len(clients) == 0 {
		return ""
	}
	return "; the histories of " + strings.Join(clients, ", ") +
		" do not tell when operations were to begin: their first acknowledgement counts"
}
