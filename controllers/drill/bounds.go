// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/workload/history"
)

// boundsOfFault are the bounds in a fault's status, which has none at first.
func boundsOfFault(f *v1alpha1.FaultStatus) *v1alpha1.FaultBounds {
	if f.Bounds == nil {
		f.Bounds = &v1alpha1.FaultBounds{}
	}
	return f.Bounds
}

// boundsOf are those that a status has, as the checker knows them.
func boundsOf(b v1alpha1.FaultBounds, instant func(*metav1.MicroTime) history.Instant) history.FaultBounds {
	return history.FaultBounds{
		BegunBy: instant(b.BegunBy), StillThere: instant(b.StillThere), GoneBy: instant(b.GoneBy),
		StillCut: instant(b.StillCut), OpenBy: instant(b.OpenBy), Behind: instant(b.Behind),
	}
}

// noteThere notes that something of a fault that lasts, or is taken back, was seen. What could not be looked at was not
// seen.
func (p *planner) noteThere(f *v1alpha1.FaultStatus) {
	seen := slices.ContainsFunc(f.Objects, func(o v1alpha1.FaultObject) bool {
		one := p.objects[keyOf(o)]
		return one.err == nil && one.exists && !p.record(o)
	}) || f.Kind == v1alpha1.FaultFreeze && slices.ContainsFunc(struckBy(*f), func(s v1alpha1.ServerName) bool {
		return p.frozen[s] > 0
	})
	if seen {
		boundsOfFault(f).StillThere = at(p.now)
	}
}

// noteOpen notes of a fault of the network that was taken back whether its ways were seen to be as before.
func (p *planner) noteOpen(f *v1alpha1.FaultStatus) {
	if len(p.probes[f.Name]) == 0 || f.Bounds != nil && f.Bounds.OpenBy != nil {
		return
	}
	switch {
	case fault.StillThere(*f) == "":
		boundsOfFault(f).OpenBy = at(p.lookedUntil())
	case fault.OnItsWays(*f) != "":
		boundsOfFault(f).StillCut = at(p.now)
	}
}

// unsettled notes of the faults that are over that replicas which were all asked were not synchronized.
func (p *planner) unsettled() {
	for _, name := range p.target.data {
		if s, asked := p.replicas[name]; !asked || s.err != nil {
			return // nobody knows of it
		}
	}
	for i := range p.s.Faults {
		if f := &p.s.Faults[i]; f.State == v1alpha1.FaultRemoved && f.Settled == nil && f.Removed != nil {
			boundsOfFault(f).Behind = at(p.now)
		}
	}
}
