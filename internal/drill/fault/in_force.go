// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
)

// BesideASight is how long before and after a look at which a fault was seen to be in force it is taken to have been
// so. Looks take seconds, and longer where nothing answers.
const BesideASight = 10 * time.Second

// lasting are the kinds that are looked at as long as they last.
var lasting = []v1alpha1.DrillFaultKind{
	v1alpha1.FaultNetwork, v1alpha1.FaultPartition, v1alpha1.FaultPodFailure, v1alpha1.FaultFreeze,
	v1alpha1.FaultCPUStress, v1alpha1.FaultMemoryStress, v1alpha1.FaultClockOffset,
}

// Moves says of a kind that it is to move service to another server, which clients witness.
func Moves(kind v1alpha1.DrillFaultKind) bool {
	return kind == v1alpha1.FaultSwitchover || kind == v1alpha1.FaultFailover
}

// Sighted notes in an effect what a look at a moment has said.
func Sighted(e *v1alpha1.FaultEffect, injected, now time.Time, status metav1.ConditionStatus) {
	at := metav1.NewMicroTime(now)
	switch {
	case status == metav1.ConditionTrue && e.Until == nil:
		since := injected
		if e.Since != nil {
			since = e.Since.Time
		}
		if earliest := now.Add(-BesideASight); earliest.After(since) {
			since = earliest
		}
		begin := metav1.NewMicroTime(since)
		e.Since, e.Until = &begin, &at
	case status == metav1.ConditionTrue:
		if gap := now.Sub(e.Until.Time) - 2*BesideASight; gap > 0 {
			if e.Unseen != nil {
				gap += e.Unseen.Duration
			}
			e.Unseen = &metav1.Duration{Duration: gap}
		}
		e.Until = &at
	case status == metav1.ConditionFalse && e.Until == nil:
		e.Since = &at
	}
}

// InForce is for how long a fault that was seen, and should last, was seen to be in force. False where that cannot be
// asked.
func InForce(f v1alpha1.FaultStatus, o drill.Occurrence) (time.Duration, bool) {
	e := f.Effect
	if e == nil || e.Since == nil || e.Until == nil || f.Injected == nil || o.Lasts() == 0 ||
		!slices.Contains(lasting, MeasuredAs(o).Kind) {
		return 0, false
	}
	until := e.Until.Add(BesideASight)
	if end := f.Injected.Add(o.Lasts()); end.Before(until) {
		until = end
	}
	seen := until.Sub(e.Since.Time)
	if e.Unseen != nil {
		seen -= e.Unseen.Duration
	}
	return max(seen, 0), true
}

// TooShort says of a fault that was seen, and should last, that it was not seen to be in force for half of its time;
// empty when it was, and where that cannot be asked.
func TooShort(f v1alpha1.FaultStatus, o drill.Occurrence) string {
	if seen, asked := InForce(f, o); asked && 2*seen < o.Lasts() {
		return fmt.Sprintf("it was seen to be in force for %s of %s at most", seen.Round(time.Second), o.Lasts())
	}
	return ""
}
