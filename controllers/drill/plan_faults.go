// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/credentials"
	"geosql.dev/operator/internal/drill"
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
	r, err := drill.Resolve(p.resolved, o)
	if err != nil {
		f.Message = clip(err.Error(), 1024)
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
func (p *planner) declare(f *v1alpha1.FaultStatus, r drill.Resolved) {
	f.Targets, f.Isolated, f.Objects = r.Targets, r.Isolated, objectsOf(r)
	f.Effect = &v1alpha1.FaultEffect{Status: metav1.ConditionUnknown, Asked: r.Asked, Identity: p.identities(r.Struck)}
}

func objectsOf(r drill.Resolved) []v1alpha1.FaultObject {
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
		if c.Name == drill.EngineContainer {
			return fmt.Sprintf("%s %s %d %t", pod.UID, c.ContainerID, c.RestartCount, c.Ready)
		}
	}
	return string(pod.UID)
}

// injectFault creates a fault's objects. What the status names must be what is created: roles may have moved since.
func (p *planner) injectFault(f *v1alpha1.FaultStatus, o drill.Occurrence) {
	if p.now.Sub(f.Planned.Time) > injectWithin+o.Lasts() && f.Injected == nil {
		f.State, f.Message = v1alpha1.FaultRemoving, orText(f.Message, "its objects could not be created in time")
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
	r, err := drill.Resolve(p.resolved, o)
	if err != nil {
		f.Message = clip(err.Error(), 1024)
		return
	}
	if figures := p.probes[f.Name]; len(figures) > 0 && present == 0 {
		f.Effect.Before = figures
	}
	if present == 0 && !slices.Equal(names(objectsOf(r)), names(f.Objects)) {
		before := f.Effect.Before
		p.declare(f, r)
		f.Effect.Before = before
		return
	}
	if f.Kind == v1alpha1.FaultFreeze {
		p.do(Freeze{Fault: f.Name, Servers: r.Struck, For: o.Lasts()})
		return
	}
	p.do(Inject{Fault: f.Name, Objects: r.Objects})
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
		one.Message = clip(seen.text, 512)
		if seen.err != nil {
			one.Message = clip(seen.err.Error(), 512)
		}
	}
	p.look(f, o)
	since := p.now.Sub(f.Injected.Time)
	switch {
	case o.Lasts() > 0 && since >= o.Lasts(), o.Lasts() == 0 && literalOver(o, since):
		f.State = v1alpha1.FaultRemoving
	case o.Lasts() == 0 && o.Kind != v1alpha1.FaultChaosMesh && (p.momentOver(f) || since > momentWithin):
		f.State = v1alpha1.FaultRemoving
	}
}

// literalOver says whether an object given literally has ended by its own duration.
func literalOver(o drill.Occurrence, since time.Duration) bool {
	if o.Kind != v1alpha1.FaultChaosMesh {
		return false
	}
	var spec struct {
		Duration string `json:"duration"`
	}
	_ = yaml.Unmarshal(o.ChaosMesh.Spec.Raw, &spec)
	d, _ := time.ParseDuration(spec.Duration)
	return since >= max(d, settledFor)
}

// momentOver says whether what is done at once was seen to be done.
func (p *planner) momentOver(f *v1alpha1.FaultStatus) bool {
	if f.Kind == v1alpha1.FaultSwitchover || f.Kind == v1alpha1.FaultFailover {
		return len(f.Objects) > 0 && p.objects[keyOf(f.Objects[0])].outcome != ""
	}
	return f.Effect.Status == metav1.ConditionTrue
}

// endedEarly begins what is said of a fault of the network that was seen, and then was not any more while it should last.
const endedEarly = "it did not last: "

// look notes the effect as far as it can be seen. What was seen once stays seen, but for the ways of the network: they are
// looked at as long as the fault should last.
func (p *planner) look(f *v1alpha1.FaultStatus, o drill.Occurrence) {
	e := f.Effect
	if figures := p.probes[f.Name]; len(figures) > 0 {
		e.During = drill.Accumulate(f.Kind, e.During, figures)
	}
	status, seen := p.effect(f, o)
	if e.Status == metav1.ConditionTrue && status == metav1.ConditionFalse && lasts(o) {
		e.Status, e.Seen = status, clip(endedEarly+seen, 1024)
		p.note(p.now, "EffectEnded", f.Name, seen)
	}
	if strings.HasPrefix(e.Seen, endedEarly) {
		return
	}
	if e.Status == metav1.ConditionTrue || status == metav1.ConditionUnknown && seen == "" {
		return
	}
	e.Status, e.Seen = status, clip(seen, 1024)
	if status == metav1.ConditionTrue {
		p.note(p.now, "EffectSeen", f.Name, seen)
	}
}

// lasts says whether each look at a fault tells by itself that it is in force. A delay that varies by as much as half of it
// may be short by chance.
func lasts(o drill.Occurrence) bool {
	switch {
	case o.Kind == v1alpha1.FaultPartition:
		return true
	case o.Kind != v1alpha1.FaultNetwork || o.Network.Latency == nil:
		return false
	}
	return o.Network.Jitter == nil || 2*o.Network.Jitter.Duration < o.Network.Latency.Duration
}

// effect of a fault as it can be seen now.
func (p *planner) effect(f *v1alpha1.FaultStatus, o drill.Occurrence) (metav1.ConditionStatus, string) {
	switch f.Kind {
	case v1alpha1.FaultNetwork, v1alpha1.FaultPartition:
		return drill.NetworkEffect(o, f.Effect.Before, f.Effect.During)
	case v1alpha1.FaultPodKill, v1alpha1.FaultContainerKill, v1alpha1.FaultPodFailure:
		return p.replaced(f)
	case v1alpha1.FaultFreeze:
		return p.stopped(f)
	case v1alpha1.FaultClockOffset:
		return p.shifted(f, o)
	case v1alpha1.FaultSwitchover, v1alpha1.FaultFailover:
		switch outcome := p.objects[keyOf(f.Objects[0])].outcome; outcome {
		case "":
			return metav1.ConditionUnknown, ""
		case string(v1alpha1.FailoverSucceeded):
			return metav1.ConditionTrue, "Failover " + f.Objects[0].Name + " has succeeded"
		default:
			return metav1.ConditionFalse, "Failover " + f.Objects[0].Name + " ended as " + outcome
		}
	}
	return metav1.ConditionUnknown, "nothing measures the effect of a " + string(f.Kind) + " here"
}

// replaced compares what runs in the pods with what ran before.
func (p *planner) replaced(f *v1alpha1.FaultStatus) (metav1.ConditionStatus, string) {
	for _, was := range f.Effect.Identity {
		name, before, _ := strings.Cut(was, " ")
		if before == noPod || before == notLooked {
			return metav1.ConditionUnknown, "what ran of " + name + " before the fault was not seen"
		}
		now := p.identity(v1alpha1.ServerName(name))
		if now == notLooked {
			return metav1.ConditionUnknown, "" // its site does not answer: that says nothing of what runs there
		}
		before, wasSeen := part(f.Kind, before)
		now, isSeen := part(f.Kind, now)
		if !wasSeen || !isSeen {
			return metav1.ConditionUnknown, "the kubelet does not report the engine's container of " + name
		}
		if now == before {
			return metav1.ConditionFalse, fmt.Sprintf("%s runs on as before", credentials.HostName(v1alpha1.ServerName(name)))
		}
	}
	if len(f.Effect.Identity) == 0 {
		return metav1.ConditionUnknown, "it struck no pod"
	}
	return metav1.ConditionTrue, "what ran in " + strings.Join(f.Targets, ", ") + " is gone"
}

// part of an identity that a kind of fault changes. It is not seen while the kubelet has not reported the container.
func part(kind v1alpha1.DrillFaultKind, identity string) (string, bool) {
	if identity == noPod {
		return identity, true
	}
	fields := strings.Fields(identity)
	switch {
	case kind == v1alpha1.FaultPodKill:
		return fields[0], true
	case len(fields) != 4:
		return "", false
	case kind == v1alpha1.FaultContainerKill:
		// Whether it is ready says nothing: a probe that fails kills no container.
		return strings.Join(fields[:3], " "), true
	}
	return identity, true
}

// struckBy are the servers whose pods a fault is done to; its targets are for people, and may be a site.
func struckBy(f v1alpha1.FaultStatus) []v1alpha1.ServerName {
	if f.Effect == nil {
		return nil
	}
	var list []v1alpha1.ServerName
	for _, was := range f.Effect.Identity {
		name, _, _ := strings.Cut(was, " ")
		list = append(list, v1alpha1.ServerName(name))
	}
	return list
}

// mayFreeze says whether engines may be stopped by a fault: from when it is begun until none was seen stopped.
func mayFreeze(f v1alpha1.FaultStatus) bool {
	return f.Kind == v1alpha1.FaultFreeze && (f.State == v1alpha1.FaultInjecting || f.State == v1alpha1.FaultActive || f.State == v1alpha1.FaultRemoving)
}

func (p *planner) stopped(f *v1alpha1.FaultStatus) (metav1.ConditionStatus, string) {
	struck := struckBy(*f)
	for _, name := range struck {
		n, known := p.frozen[name]
		if !known {
			return metav1.ConditionUnknown, ""
		}
		if n == 0 {
			return metav1.ConditionFalse, fmt.Sprintf("the engine of %s runs", name)
		}
	}
	if len(struck) == 0 {
		return metav1.ConditionUnknown, "it struck no server"
	}
	return metav1.ConditionTrue, "the processes of " + strings.Join(f.Targets, ", ") + " are stopped"
}

// shifted compares the engines' clocks with the manager's.
func (p *planner) shifted(f *v1alpha1.FaultStatus, o drill.Occurrence) (metav1.ConditionStatus, string) {
	asked := o.ClockOffset.Duration
	struck := struckBy(*f)
	for _, name := range struck {
		off, known := p.clocks[name]
		if !known {
			return metav1.ConditionUnknown, ""
		}
		if difference := off - asked; difference.Abs() > asked.Abs()/2 {
			return metav1.ConditionFalse, fmt.Sprintf("the clock of %s is off by %s", name, off.Round(time.Millisecond))
		}
	}
	if len(struck) == 0 {
		return metav1.ConditionUnknown, "it struck no server"
	}
	return metav1.ConditionTrue, fmt.Sprintf("the clocks of %s are off by about %s", strings.Join(f.Targets, ", "), asked)
}

// removeFaults takes away the objects of faults that are over, and notes what is gone.
func (p *planner) removeFaults() {
	for i := range p.s.Faults {
		f := &p.s.Faults[i]
		if figures := p.probes[f.Name]; f.State == v1alpha1.FaultRemoved && f.Effect != nil && len(figures) > 0 {
			f.Effect.After = p.probes[f.Name]
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
				one.Message = clip(seen.err.Error(), 512)
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
		f.Message = orText(f.Message, "it was not injected")
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
