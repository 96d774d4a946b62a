// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Moments of the timeline by which something is decided later.
const (
	// eventNotRecovered is the moment of the timeline when the time for the recovery is over and not all is well.
	eventNotRecovered = "NotRecovered"
	// eventServedAgain is when clients were first seen to be served after the last fault: from there on it is waited for
	// that service holds.
	eventServedAgain = "ServedAgain"
	// eventEngineRuns is when the engine in a container that was frozen is first seen to run again.
	eventEngineRuns = "EngineRuns"
	// eventEffectEnded is when a fault that was seen is not in force any more though it should last.
	eventEffectEnded = "EffectEnded"
	// eventDaemonGone is when a daemon of Chaos Mesh is seen not to be ready at a site where a fault lasts,
	// eventDaemonBack when all of them are again. What is in force is measured all the same: these say why it may have
	// ended.
	eventDaemonGone, eventDaemonBack = "DaemonGone", "DaemonBack"
)

// at is a time as status keeps it.
func at(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t.Truncate(time.Microsecond))
	return &m
}

// note adds a moment to the timeline.
func (p *planner) note(when time.Time, event, fault, message string) {
	note(p.s, v1alpha1.DrillEvent{Time: *at(when), Event: event, Fault: fault, Message: message})
}

// noteAt adds a moment of a fault at a site.
func (p *planner) noteAt(site v1alpha1.SiteName, event, fault, message string) {
	note(p.s, v1alpha1.DrillEvent{Time: *at(p.now), Event: event, Fault: fault, Site: string(site), Message: message})
}

func note(s *v1alpha1.DrillStatus, e v1alpha1.DrillEvent) {
	limit := maxTimeline
	if e.Event == eventNotRecovered {
		limit++ // it decides on the verdict: there is always room for it
	}
	if len(s.Timeline) < limit {
		e.Message = conditions.Shorten(e.Message, 512)
		s.Timeline = append(s.Timeline, e)
	}
}
