// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// understand fills in what the status of an older release says in words alone: which fault has ended early, and at
// which site daemons were gone. The words are those of that release, whatever is said today. Only a run that was under
// way when the manager was replaced has such a status, so this can go when one release has had it.
func understand(s *v1alpha1.DrillStatus, now time.Time) {
	const endedEarly = "it did not last: "
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.Effect == nil || f.Effect.EndedEarly != nil || !strings.HasPrefix(f.Effect.Seen, endedEarly) {
			continue
		}
		f.Effect.EndedEarly = at(now)
		for _, e := range s.Timeline {
			if e.Event == eventEffectEnded && e.Fault == f.Name {
				f.Effect.EndedEarly = e.Time.DeepCopy()
			}
		}
	}
	for i := range s.Timeline {
		e := &s.Timeline[i]
		if e.Site != "" || !slices.Contains([]string{eventDaemonGone, eventDaemonBack}, e.Event) {
			continue
		}
		if site, _, ok := strings.Cut(e.Message, ":"); ok {
			e.Site = site
		}
	}
}
