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
	}
	waiting := 0
	for i := range p.s.Faults {
		f := &p.s.Faults[i]
		o, ok := occurrence(p.drill.Spec, f.Name)
		if !ok {
			continue // the webhook refuses such a change
		}
		switch f.State {
		case v1alpha1.FaultWaiting:
			p.startFault(f, o)
		case v1alpha1.FaultInjecting:
			p.injectFault(f, o)
		case v1alpha1.FaultActive:
			p.holdFault(f, o)
		}
		if f.State == v1alpha1.FaultWaiting {
			waiting++
		}
	}
	p.removeFaults()
	if left := drill.WorkloadLasts(p.drill.Spec.Workload) - p.now.Sub(p.s.Baseline.Time); waiting == 0 && p.faultsLeft() == 0 && left > 0 {
		p.wait(conditions.ReasonDrillRunning, fmt.Sprintf("every fault is over; clients work on for %s", left.Round(time.Second)))
		return
	}
	if waiting == 0 && p.faultsLeft() == 0 {
		p.s.Phase, p.s.Ended = v1alpha1.DrillRecovering, at(p.now)
		p.wait(conditions.ReasonDrillRecovering, "every fault is over; the replicas catch up")
		return
	}
	p.wait(conditions.ReasonDrillRunning, fmt.Sprintf("%d faults wait for their time, %d are under way", waiting, p.faultsLeft()))
}

// startFault resolves a fault whose time has come and says in the status what will be created, before it is.
func (p *planner) startFault(f *v1alpha1.FaultStatus, o drill.Occurrence) {
	due := p.s.Started.Add(o.At)
	f.Planned = at(due)
	if p.now.Before(due) {
		return
	}
	r, err := fault.Resolve(p.resolved, o)
	if err != nil {
		f.Message = conditions.Shorten(err.Error(), 1024)
		if p.now.Sub(due) > injectWithin {
			f.State = v1alpha1.FaultSkipped
		}
		return
	}
	f.Message = ""
	p.declare(f, r)
	f.State = v1alpha1.FaultInjecting
}

// declare writes into the status what a fault consists of.
func (p *planner) declare(f *v1alpha1.FaultStatus, r fault.Resolved) {
	f.Targets, f.Isolated, f.Objects = r.Targets, r.Isolated, objectsOf(r)
	f.Effect = &v1alpha1.FaultEffect{Status: metav1.ConditionUnknown, Asked: r.Asked, Identity: p.identities(r.Struck)}
}

func objectsOf(r fault.Resolved) []v1alpha1.FaultObject {
	var list []v1alpha1.FaultObject
	for _, o := range r.Objects {
		list = append(list, v1alpha1.FaultObject{Site: string(o.Site), APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return list
}

// identities of the pods that are struck: what runs in them now.
func (p *planner) identities(servers []v1alpha1.ServerName) []string {
	var list []string
	for _, name := range servers {
		list = append(list, string(name)+" "+p.identity(name))
	}
	return list
}

const (
	// noPod is the identity of a server whose site says that it has no pod, notLooked of one whose site does not answer.
	noPod, notLooked = "none", "unknown"
)

// identity is the pod's UID, the engine's container, how often it was started, and whether it is ready. It is the UID alone
// while the kubelet has not reported the container.
func (p *planner) identity(name v1alpha1.ServerName) string {
	pod, looked := p.pods[name]
	if !looked {
		return notLooked
	}
	if pod == nil {
		return noPod
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == fault.EngineContainer {
			return fmt.Sprintf("%s %s %d %t", pod.UID, c.ContainerID, c.RestartCount, c.Ready)
		}
	}
	return string(pod.UID)
}

// injectFault creates a fault's objects. What the status names must be what is created: roles may have moved since.
func (p *planner) injectFault(f *v1alpha1.FaultStatus, o drill.Occurrence) {
	if p.now.Sub(f.Planned.Time) > injectWithin+o.Lasts() && f.Injected == nil {
		f.State, f.Message = v1alpha1.FaultRemoving, cmp.Or(f.Message, "its objects could not be created in time")
		return
	}
	present := 0
	for i := range f.Objects {
		if seen := p.objects[keyOf(f.Objects[i])]; seen.exists {
			present++
			if f.Injected == nil || seen.created.Before(f.Injected.Time) {
				f.Injected = at(seen.created)
			}
		}
	}
	if len(f.Objects) > 0 && present == len(f.Objects) {
		// All were created, and the manager ended before it could say so.
		f.State = v1alpha1.FaultActive
		return
	}
	if f.Injected != nil && o.Lasts() > 0 && p.now.Sub(f.Injected.Time) >= o.Lasts() {
		// A part of it was done. The rest, much later and alone, would be another fault.
		f.State = v1alpha1.FaultRemoving
		return
	}
	r, err := fault.Resolve(p.resolved, o)
	if err != nil {
		f.Message = conditions.Shorten(err.Error(), 1024)
		return
	}
	if present == 0 && f.Injected == nil {
		if !p.asDeclared(f, r) {
			// Roles have moved since: what is struck now is another server, of which nothing was seen yet.
			p.declare(f, r)
			return
		}
		if figures := p.probes[f.Name]; len(figures) > 0 {
			f.Effect.Before = figures
		}
		f.Effect.Figures = fault.Note(f.Effect.Figures, p.figures[f.Name], v1alpha1.FaultInjecting)
	} else {
		r = declared(f, r)
	}
	if f.Kind == v1alpha1.FaultFreeze {
		p.do(Freeze{Fault: f.Name, Servers: r.Struck, For: p.within(o.Lasts())})
		return
	}
	p.do(Inject{Fault: f.Name, Objects: r.Objects})
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
	return slices.Equal(names(objectsOf(r)), names(f.Objects)) && slices.Equal(r.Targets, f.Targets) && slices.Equal(r.Struck, struckBy(*f))
}

// declared is what is left to do of a fault of which a part is done: of what it consists of now only what was said before.
// Roles that have moved since must not make two faults of one.
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

// holdFault looks whether a fault has taken effect, and ends it when its time is over.
func (p *planner) holdFault(f *v1alpha1.FaultStatus, o drill.Occurrence) {
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
	since := p.now.Sub(f.Injected.Time)
	switch {
	case o.Lasts() > 0 && since >= o.Lasts(), o.Lasts() == 0 && (p.momentOver(f) || since > momentWithin):
		f.State = v1alpha1.FaultRemoving
	}
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
		}
		if f.State != v1alpha1.FaultRemoving {
			continue
		}
		if f.Kind == v1alpha1.FaultFreeze {
			p.thaw(f)
			continue
		}
		left := 0
		for j := range f.Objects {
			one := &f.Objects[j]
			seen, looked := p.objects[keyOf(*one)]
			if one.Kind == "Failover" && looked && seen.exists {
				one.Gone = seen.outcome != "" // its record stays
				left += boolInt(!one.Gone && p.now.Sub(f.Planned.Time) < 2*momentWithin)
				continue
			}
			one.Gone = looked && seen.err == nil && !seen.exists
			if seen.err != nil {
				one.Message = conditions.Shorten(seen.err.Error(), 512)
			}
			if !one.Gone {
				left++
				p.do(RemoveObject{Fault: f.Name, Object: *one})
			}
		}
		if left == 0 {
			p.removed(f)
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// thaw lets frozen engines go on until none of them was seen stopped; the process in the pod does it, too, unless its
// container is gone.
func (p *planner) thaw(f *v1alpha1.FaultStatus) {
	left := 0
	for _, name := range struckBy(*f) {
		if n, known := p.frozen[name]; !known || n > 0 {
			left++
			p.do(Thaw{Server: name, Careless: true})
		}
	}
	if left == 0 {
		p.removed(f)
	}
}

// removed notes that a fault is over. One that was never injected was not done.
func (p *planner) removed(f *v1alpha1.FaultStatus) {
	f.State, f.Removed = v1alpha1.FaultRemoved, at(p.now)
	if f.Injected == nil {
		f.State, f.Removed = v1alpha1.FaultSkipped, nil
		f.Message = cmp.Or(f.Message, "it was not injected")
		return
	}
	p.note(p.now, "Removed", f.Name, "")
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
