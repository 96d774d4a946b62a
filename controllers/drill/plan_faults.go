// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// runFaults brings every fault further; the last one ends the phase.
func (p *planner) runFaults() {
	if well, _ := p.synchronized(); well {
		p.settle()
	} else {
		p.unsettled()
	}
	waiting := 0
	for i := range p.s.Faults {
		f := &p.s.Faults[i]
		o, ok := occurrence(p.drill.Spec, f.Name)
		if !ok {
			continue // the webhook refuses such a change
		}
		if f.State != v1alpha1.FaultRemoving {
			p.advance(f, o)
		}
		if f.State == v1alpha1.FaultWaiting {
			waiting++
		}
	}
	p.removeFaults()
	if left := drill.WorkloadLasts(p.drill.Spec.Workload) - p.now.Sub(p.s.Baseline.Time); waiting == 0 &&
		p.faultsLeft() == 0 &&
		left > 0 {
		p.wait(
			v1alpha1.ReasonDrillRunning,
			fmt.Sprintf("every fault is over; clients work on for %s", left.Round(time.Second)),
		)
		return
	}
	if waiting == 0 && p.faultsLeft() == 0 {
		p.s.Phase, p.s.Ended = v1alpha1.DrillRecovering, at(p.now)
		p.wait(v1alpha1.ReasonDrillRecovering, "every fault is over; the replicas catch up")
		return
	}
	p.wait(
		v1alpha1.ReasonDrillRunning,
		fmt.Sprintf("%d faults wait for their time, %d are under way", waiting, p.faultsLeft()),
	)
}

// advance brings a fault further by what is seen of it.
func (p *planner) advance(f *v1alpha1.FaultStatus, o drill.Occurrence) {
	p.noteSeen(f, o)
	p.move(f, o, p.see(f, o))
}

// noteSeen notes in a fault's status what is seen of it.
func (p *planner) noteSeen(f *v1alpha1.FaultStatus, o drill.Occurrence) {
	switch f.State {
	case v1alpha1.FaultWaiting:
		f.Planned = at(p.s.Started.Add(o.At))
	case v1alpha1.FaultActive:
		p.noteActive(f, o)
		p.noteThere(f)
	case v1alpha1.FaultRemoving:
		p.noteGone(f)
		p.noteThere(f)
	}
}

// see tells of a fault what decides how it goes on.
func (p *planner) see(f *v1alpha1.FaultStatus, o drill.Occurrence) sighting {
	switch f.State {
	case v1alpha1.FaultWaiting:
		return p.seeWaiting(f, o)
	case v1alpha1.FaultInjecting:
		return p.seeInjecting(f, o)
	case v1alpha1.FaultActive:
		return p.seeActive(f, o)
	case v1alpha1.FaultRemoving:
		return p.seeRemoving(f)
	}
	return sighting{}
}

// sighting is what is seen of a fault, with what tells it.
type sighting struct {
	sight
	// text for people; empty when there is nothing to say.
	text string
	// resolved is what the fault consists of: all of it when it is Due or Moved, what is left to do of it when it is
	// Ready.
	resolved fault.Resolved
	// injected is when the first of it was there; nil when nothing was.
	injected *metav1.MicroTime
}

// move brings a fault from its state to what follows of what is seen of it.
func (p *planner) move(f *v1alpha1.FaultStatus, o drill.Occurrence, seen sighting) {
	t, ok := transitions[f.State][seen.sight]
	if !ok {
		return
	}
	if seen.injected != nil {
		if f.Injected == nil {
			// API servers date what is created to the second.
			boundsOfFault(f).BegunBy = at(seen.injected.Add(time.Second))
		}
		f.Injected = seen.injected
	}
	if seen.text != "" || seen.sight == seenDue {
		f.Message = conditions.Shorten(seen.text, 1024)
	}
	f.State = t.next
	switch t.step {
	case declareFault:
		p.declare(f, seen.resolved)
	case injectFault:
		p.inject(f, o, seen)
	case takeBackFault:
		p.takeBack(f)
	case endFault:
		f.Removed = at(p.now)
		boundsOfFault(f).GoneBy = at(p.readUntil())
		p.note(p.now, "Removed", f.Name, "")
	}
	if t.then != "" {
		p.then[f.Name] = t.then
	}
}

// seeWaiting tells of a fault that waits whether its time has come, and what it consists of then.
func (p *planner) seeWaiting(f *v1alpha1.FaultStatus, o drill.Occurrence) sighting {
	due := f.Planned.Time
	if p.now.Before(due) {
		return sighting{sight: seenEarly}
	}
	r, err := fault.Resolve(p.resolved, o)
	switch {
	case err == nil:
		return sighting{sight: seenDue, resolved: r}
	case p.now.Sub(due) > injectWithin:
		return sighting{sight: seenExpired, text: err.Error()}
	}
	return sighting{sight: seenUnresolved, text: err.Error()}
}

// declare writes into the status what a fault consists of.
func (p *planner) declare(f *v1alpha1.FaultStatus, r fault.Resolved) {
	f.Targets, f.Isolated, f.Objects = r.Targets, r.Isolated, objectsOf(r)
	f.Effect = &v1alpha1.FaultEffect{Status: metav1.ConditionUnknown, Asked: r.Asked, Identity: p.identities(r.Struck)}
}

func objectsOf(r fault.Resolved) []v1alpha1.FaultObject {
	var list []v1alpha1.FaultObject
	for _, o := range r.Objects {
		list = append(
			list,
			v1alpha1.FaultObject{
				Site:       string(o.Site),
				APIVersion: o.GetAPIVersion(),
				Kind:       o.GetKind(),
				Namespace:  o.GetNamespace(),
				Name:       o.GetName(),
			},
		)
	}
	return list
}

// identities of the pods that are struck: what runs in them now.
func (p *planner) identities(servers []v1alpha1.ServerName) []string {
	var list []string
	for _, name := range servers {
		list = append(list, p.identity(name).String())
	}
	return list
}

// seeInjecting tells of a fault that is being injected what of it is there.
func (p *planner) seeInjecting(f *v1alpha1.FaultStatus, o drill.Occurrence) sighting {
	if p.now.Sub(f.Planned.Time) > injectWithin+o.Lasts() && f.Injected == nil {
		return sighting{sight: seenExpired, text: cmp.Or(f.Message, "its objects could not be created in time")}
	}
	present, injected := p.present(f)
	seen := sighting{injected: injected}
	if len(f.Objects) > 0 && present == len(f.Objects) {
		// All were created, and the manager ended before it could say so.
		seen.sight = seenComplete
		return seen
	}
	if injected != nil && o.Lasts() > 0 && p.now.Sub(injected.Time) >= o.Lasts() {
		// A part of it was done. The rest, much later and alone, would be another fault.
		seen.sight = seenOver
		return seen
	}
	r, err := fault.Resolve(p.resolved, o)
	switch {
	case err != nil:
		seen.sight, seen.text = seenUnresolved, err.Error()
	case injected != nil:
		seen.sight, seen.resolved = seenReady, declared(f, r)
	case p.asDeclared(f, r):
		seen.sight, seen.resolved = seenReady, r
	default:
		// Roles have moved since: what is struck now is another server, of which nothing was seen yet.
		seen.sight, seen.resolved = seenMoved, r
	}
	return seen
}

// present counts a fault's objects that are there, and tells when the first of them was created.
func (p *planner) present(f *v1alpha1.FaultStatus) (int, *metav1.MicroTime) {
	n, injected := 0, f.Injected
	for i := range f.Objects {
		seen := p.objects[keyOf(f.Objects[i])]
		if !seen.exists {
			continue
		}
		n++
		if injected == nil || seen.created.Before(injected.Time) {
			injected = at(seen.created)
		}
	}
	return n, injected
}

// inject does what is left to do of a fault. What was measured before the first of it is there is what it is compared
// with.
func (p *planner) inject(f *v1alpha1.FaultStatus, o drill.Occurrence, seen sighting) {
	if seen.injected == nil {
		if figures := p.probes[f.Name]; len(figures) > 0 {
			f.Effect.Before = figures
		}
		f.Effect.Figures = fault.Note(f.Effect.Figures, p.figures[f.Name], v1alpha1.FaultInjecting)
	}
	if f.Kind == v1alpha1.FaultFreeze {
		p.do(Freeze{Fault: f.Name, Servers: seen.resolved.Struck, For: p.within(o.Lasts())})
		return
	}
	p.do(Inject{Fault: f.Name, Objects: seen.resolved.Objects})
}

// within bounds a time by what is left until the drill's limit: what ends by itself ends with it.
func (p *planner) within(d time.Duration) time.Duration {
	if p.resolved.Left > 0 {
		return min(d, p.resolved.Left)
	}
	return d
}

// asDeclared says whether a fault consists of what its status says.
func (p *planner) asDeclared(f *v1alpha1.FaultStatus, r fault.Resolved) bool {
	return slices.Equal(names(objectsOf(r)), names(f.Objects)) && slices.Equal(r.Targets, f.Targets) &&
		slices.Equal(r.Struck, struckBy(*f))
}

// declared keeps of a fault that was begun only the objects that the status announced. Roles that have moved since must
// not make two faults of one.
func declared(f *v1alpha1.FaultStatus, r fault.Resolved) fault.Resolved {
	if !slices.Equal(r.Targets, f.Targets) || !slices.Equal(r.Struck, struckBy(*f)) {
		r.Objects = nil
	}
	said := names(f.Objects)
	r.Objects = slices.DeleteFunc(r.Objects, func(o fault.Object) bool {
		return !slices.Contains(said, string(o.Site)+"/"+o.GetKind()+"/"+o.GetName())
	})
	r.Struck = struckBy(*f)
	return r
}

func names(list []v1alpha1.FaultObject) []string {
	var out []string
	for _, o := range list {
		out = append(out, o.Site+"/"+o.Kind+"/"+o.Name)
	}
	return out
}

// noteActive notes what is seen of a fault that lasts: of its objects, of the daemons that keep it, and of its effect.
func (p *planner) noteActive(f *v1alpha1.FaultStatus, o drill.Occurrence) {
	for i := range f.Objects {
		one := &f.Objects[i]
		seen := p.objects[keyOf(*one)]
		one.Injected = one.Injected || seen.injected
		one.Message = conditions.Shorten(seen.text, 512)
		if seen.err != nil {
			one.Message = conditions.Shorten(seen.err.Error(), 512)
		}
	}
	p.noteDaemons(f)
	p.look(f, o)
}

// seeActive tells of a fault that lasts whether its time is over.
func (p *planner) seeActive(f *v1alpha1.FaultStatus, o drill.Occurrence) sighting {
	since := p.now.Sub(f.Injected.Time)
	if o.Lasts() > 0 && since >= o.Lasts() || o.Lasts() == 0 && (p.momentOver(f) || since > momentWithin) {
		return sighting{sight: seenOver}
	}
	return sighting{sight: seenLasting}
}

// momentOver says whether what is done at once was seen to be done.
func (p *planner) momentOver(f *v1alpha1.FaultStatus) bool {
	if f.Kind == v1alpha1.FaultSwitchover || f.Kind == v1alpha1.FaultFailover {
		return len(f.Objects) > 0 && p.objects[keyOf(f.Objects[0])].outcome != ""
	}
	return f.Effect.Status == metav1.ConditionTrue
}

// removeFaults takes away the objects of faults that are over, and notes what is gone.
func (p *planner) removeFaults() {
	for i := range p.s.Faults {
		f := &p.s.Faults[i]
		if f.State == v1alpha1.FaultRemoved && f.Effect != nil {
			if figures := p.probes[f.Name]; len(figures) > 0 {
				f.Effect.After = figures
			}
			f.Effect.Figures = fault.Note(f.Effect.Figures, p.figures[f.Name], v1alpha1.FaultRemoved)
			p.noteOpen(f)
		}
		if f.State == v1alpha1.FaultRemoving {
			p.advance(f, drill.Occurrence{})
		}
	}
}

// noteGone notes which objects of a fault that is taken back are gone. A Failover is when it has ended: its record
// stays.
func (p *planner) noteGone(f *v1alpha1.FaultStatus) {
	for j := range f.Objects {
		one := &f.Objects[j]
		seen, looked := p.objects[keyOf(*one)]
		if p.record(*one) {
			one.Gone = seen.outcome != ""
			continue
		}
		one.Gone = looked && seen.err == nil && !seen.exists
		if seen.err != nil {
			one.Message = conditions.Shorten(seen.err.Error(), 512)
		}
	}
}

// record says of an object that it is there and is not taken away, as it tells of an election.
func (p *planner) record(o v1alpha1.FaultObject) bool {
	return o.Kind == "Failover" && p.objects[keyOf(o)].exists
}

// seeRemoving tells of a fault that is taken back whether something of it is left. An election that does not end is
// waited for a while.
func (p *planner) seeRemoving(f *v1alpha1.FaultStatus) sighting {
	left := slices.ContainsFunc(f.Objects, func(o v1alpha1.FaultObject) bool {
		return !o.Gone && (!p.record(o) || p.now.Sub(f.Planned.Time) < 2*momentWithin)
	})
	switch {
	case left, f.Kind == v1alpha1.FaultFreeze && len(p.halted(f)) > 0:
		return sighting{sight: seenLeft}
	case f.Injected == nil:
		return sighting{sight: seenNever, text: cmp.Or(f.Message, "it was not injected")}
	}
	return sighting{sight: seenGone}
}

// takeBack deletes what is left of a fault. Frozen engines go on by themselves, too, unless their container is gone.
func (p *planner) takeBack(f *v1alpha1.FaultStatus) {
	if f.Kind == v1alpha1.FaultFreeze {
		for _, name := range p.halted(f) {
			p.do(Thaw{Server: name, BestEffort: true})
		}
		return
	}
	for _, one := range f.Objects {
		if !one.Gone && !p.record(one) {
			p.do(RemoveObject{Fault: f.Name, Object: one})
		}
	}
}

// halted are the servers of a freeze that were not seen to run.
func (p *planner) halted(f *v1alpha1.FaultStatus) []v1alpha1.ServerName {
	return slices.DeleteFunc(struckBy(*f), func(name v1alpha1.ServerName) bool {
		n, known := p.frozen[name]
		return known && n == 0
	})
}

// faultsLeft counts faults that are under way.
func (p *planner) faultsLeft() int { return len(p.leftNames()) }

func (p *planner) leftNames() []string {
	var list []string
	for _, f := range p.s.Faults {
		if f.State == v1alpha1.FaultInjecting || f.State == v1alpha1.FaultActive || f.State == v1alpha1.FaultRemoving {
			list = append(list, f.Name)
		}
	}
	return list
}
