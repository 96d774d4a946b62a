// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/workload/history"
)

// noteClock notes the first comparison of a site's clock with this one's in the status. Another manager, whose own
// clock may show another time than that by which the first faults were done, finds it there.
func (p *planner) noteClock(c *v1alpha1.DrillClient) {
	r, compared := p.clocks[v1alpha1.SiteName(c.Site)]
	if !compared || c.Clock != nil {
		return
	}
	c.Clock = &v1alpha1.DrillClock{
		Boot:      r.Boot,
		Monotonic: r.Monotonic,
		Sent:      metav1.NewMicroTime(time.Unix(0, r.Sent)),
		Received:  metav1.NewMicroTime(time.Unix(0, r.Received)),
	}
}

// notedClocks are the comparisons that a status has. It has microseconds: what was cut off is open again.
func notedClocks(clients []v1alpha1.DrillClient) []history.ClockReading {
	var list []history.ClockReading
	for _, c := range clients {
		if c.Clock == nil {
			continue
		}
		list = append(list, history.ClockReading{
			Boot:      c.Clock.Boot,
			Monotonic: c.Clock.Monotonic,
			Sent:      c.Clock.Sent.UnixNano(),
			Received:  c.Clock.Received.Add(time.Microsecond).UnixNano(),
		})
	}
	return list
}

// clockOf is what is known of the clock of a site's clients when all is over; nil of none that was compared. Clients
// that were started again may have been on several machines: the worst counts.
func clockOf(clocks []history.ClockFigures, site string) (bound, strayed *metav1.Duration) {
	for _, c := range clocks {
		if !slices.Contains(c.Clients, site) {
			continue
		}
		if bound == nil || c.Bound > bound.Duration {
			bound = &metav1.Duration{Duration: c.Bound}
		}
		if c.Strayed > 0 && (strayed == nil || c.Strayed > strayed.Duration) {
			strayed = &metav1.Duration{Duration: c.Strayed}
		}
	}
	return bound, strayed
}

// clocksEvery is how often clients are asked for their clocks while faults last, clocksWithin how long their answer may
// take then: what a fault has cut off must not hold up the look at it.
const (
	clocksEvery  = 10 * time.Second
	clocksWithin = engineTimeout
)

// newestWithin is how long the clients' answer may take; 0 when they need not be asked now. Their clocks are compared
// again and again, so that one that drifts or is set is noticed.
func (w *Observed) newestWithin() time.Duration {
	switch {
	case w.acknowledgementsMatter():
		return askTimeout
	case w.drill.Status.Phase == v1alpha1.DrillRunning && w.now.Sub(w.runs.clocksAsked) >= clocksEvery:
		return clocksWithin
	}
	return 0
}

// readOwnClock keeps how this machine's wall clock, by which faults are dated, lies to its monotonic one.
func (s *runSamples) readOwnClock() {
	boot, err := history.BootID()
	if err != nil || len(s.OwnClock) >= maxSamples {
		return
	}
	now := history.Now()
	s.OwnClock = append(s.OwnClock,
		history.ClockReading{Boot: boot, Monotonic: now.Monotonic, Sent: now.Wall, Received: now.Wall})
}
