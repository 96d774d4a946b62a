// SPDX-License-Identifier: Apache-2.0

package drill

import (
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
