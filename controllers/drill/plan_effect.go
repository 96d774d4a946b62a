// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// endedEarly begins what people are told of a fault that is not in force any more though it should last; that it is
// one is in status.effect.endedEarly.
const endedEarly = "it did not last: "

// look notes the effect as far as it can be seen. What was seen once stays seen unless a later look tells by itself
// that it is not in force any more: a fault is looked at as long as it should last.
func (p *planner) look(f *v1alpha1.FaultStatus, o drill.Occurrence) {
	e, m := f.Effect, fault.MeasuredAs(o)
	// A look that goes on beyond the fault's time may see a part of it alone: it adds nothing to what was seen within.
	if figures := p.probes[f.Name]; len(figures) > 0 && (len(e.During) == 0 || !p.mayBeOver(f, o)) {
		e.During = fault.Accumulate(m.Kind, e.During, figures)
	}
	if seen := p.figures[f.Name]; len(seen) > 0 {
		e.Figures = fault.Note(e.Figures, seen, v1alpha1.FaultActive)
	}
	if e.EndedEarly != nil {
		return
	}
	if e.Status == metav1.ConditionTrue {
		status, seen := p.inForce(f, o, m)
		if status == metav1.ConditionFalse {
			e.Status, e.EndedEarly, e.Seen = status, at(p.now), conditions.Shorten(endedEarly+seen, 1024)
			p.note(p.now, eventEffectEnded, f.Name, seen)
			return
		}
		if status == metav1.ConditionUnknown && p.lookedWithoutAnAnswer(f, o, m) {
			status = metav1.ConditionTrue
		}
		fault.Sighted(e, f.Injected.Time, p.now, status)
		return
	}
	status, seen := p.effect(f, o, m)
	fault.Sighted(e, f.Injected.Time, p.now, status)
	if status == metav1.ConditionUnknown && seen == "" {
		return
	}
	e.Status, e.Seen = status, conditions.Shorten(seen, 1024)
	if status == metav1.ConditionTrue {
		p.note(p.now, "EffectSeen", f.Name, seen)
	}
}

// lookedWithoutAnAnswer says of a fault that was seen that a look cannot tell it apart, which ends nothing: a delay
// that varies as much as it is long, and an engine that its agent has killed while it was frozen. A look at which
// nobody could be asked is none, and neither is one that was over after the fault's time.
func (p *planner) lookedWithoutAnAnswer(f *v1alpha1.FaultStatus, o, m drill.Occurrence) bool {
	return !p.mayBeOver(f, o) && (m.Kind == v1alpha1.FaultFreeze && p.sawEngines(f, o) ||
		(m.Kind == v1alpha1.FaultNetwork || m.Kind == v1alpha1.FaultPartition) && len(p.probes[f.Name]) > 0)
}

// mayBeOver says that a fault may have ended at its time, while it was looked at.
func (p *planner) mayBeOver(f *v1alpha1.FaultStatus, o drill.Occurrence) bool {
	return o.Lasts() > 0 && !p.lookedUntil().Before(f.Injected.Add(o.Lasts()))
}

// sawEngines says that it was seen of each engine that a freeze has struck whether it is stopped, or that another one
// runs in its place.
func (p *planner) sawEngines(f *v1alpha1.FaultStatus, o drill.Occurrence) bool {
	struck, text := p.struckNow(f, o)
	if text != "" {
		return false
	}
	if replaced, _ := p.replaced(f, v1alpha1.FaultContainerKill, struck); replaced == metav1.ConditionTrue {
		return true
	}
	return !slices.ContainsFunc(struckBy(*f), func(s v1alpha1.ServerName) bool { _, known := p.frozen[s]; return !known })
}

// effect of a fault as it can be seen by now; m is the fault by which it is measured.
func (p *planner) effect(f *v1alpha1.FaultStatus, o, m drill.Occurrence) (metav1.ConditionStatus, string) {
	struck, text := p.struckNow(f, o)
	if text != "" {
		return metav1.ConditionFalse, text
	}
	switch m.Kind {
	case v1alpha1.FaultNetwork, v1alpha1.FaultPartition:
		return networkEffect(o, m, struck, f.Effect.Before, f.Effect.During)
	case v1alpha1.FaultPodKill, v1alpha1.FaultContainerKill:
		return p.replaced(f, m.Kind, struck)
	case v1alpha1.FaultPodFailure:
		return p.failing(f, struck)
	case v1alpha1.FaultFreeze:
		return p.stopped(f)
	case v1alpha1.FaultCPUStress, v1alpha1.FaultMemoryStress, v1alpha1.FaultClockOffset:
		if len(p.figures[f.Name]) == 0 {
			return metav1.ConditionUnknown, ""
		}
		return fault.ServerEffect(m, of(f.Effect.Figures, struck), p.machine)
	case v1alpha1.FaultSwitchover, v1alpha1.FaultFailover:
		// Whether service has moved clients tell, when their histories are judged.
		switch seen := p.objects[keyOf(f.Objects[0])]; seen.outcome {
		case "":
		case string(v1alpha1.FailoverSucceeded):
			f.Effect.Operator = "Failover " + f.Objects[0].Name + " has succeeded"
		default:
			f.Effect.Operator = conditions.Shorten(
				fmt.Sprintf("Failover %s ended as %s (%s)", f.Objects[0].Name, seen.outcome, seen.text), 512)
		}
		return metav1.ConditionUnknown, ""
	}
	if text := p.notInjected(f); text != "" {
		return metav1.ConditionFalse, text
	}
	return metav1.ConditionUnknown, "nothing measures the effect of " + named(o) + " here"
}

// notInjected says of which of a fault's objects Chaos Mesh does not say that it is in force: its helper, or its
// controller, may not be there.
func (p *planner) notInjected(f *v1alpha1.FaultStatus) string {
	for _, object := range f.Objects {
		if o := p.objects[keyOf(object)]; o.err == nil && !o.injected {
			return fmt.Sprintf("Chaos Mesh has not injected it: %s %s at %s: %s", object.Kind, object.Name, object.Site,
				cmp.Or(o.text, "it says nothing of it; see what the site's installation can do"))
		}
	}
	return ""
}

// named is what a fault is, for people.
func named(o drill.Occurrence) string {
	if o.ChaosMesh != nil {
		return "a literal " + o.ChaosMesh.Kind
	}
	return "a " + string(o.Kind)
}

func networkEffect(
	o, m drill.Occurrence,
	struck []v1alpha1.ServerName,
	before, during []v1alpha1.ProbeFigures,
) (metav1.ConditionStatus, string) {
	if o.Kind == v1alpha1.FaultChaosMesh {
		return fault.LiteralNetworkEffect(m, struck, before, during)
	}
	return fault.NetworkEffect(m, struck, before, during)
}

// inForce judges the newest look alone at a fault that was seen before; False when it is not in force any more.
func (p *planner) inForce(f *v1alpha1.FaultStatus, o, m drill.Occurrence) (metav1.ConditionStatus, string) {
	struck, text := p.struckNow(f, o)
	if text != "" || p.mayBeOver(f, o) {
		return metav1.ConditionUnknown, ""
	}
	switch m.Kind {
	case v1alpha1.FaultNetwork, v1alpha1.FaultPartition:
		if len(p.probes[f.Name]) == 0 {
			return metav1.ConditionUnknown, ""
		}
		if o.Kind == v1alpha1.FaultChaosMesh {
			return fault.LiteralNetworkEffect(m, struck, f.Effect.Before, p.probes[f.Name])
		}
		return fault.StillInForce(m, struck, f.Effect.Before, p.probes[f.Name])
	case v1alpha1.FaultPodFailure:
		return p.failing(f, struck)
	case v1alpha1.FaultFreeze:
		if replaced, _ := p.replaced(f, v1alpha1.FaultContainerKill, struck); replaced == metav1.ConditionTrue {
			// its agent has killed the frozen engine, which must not keep votes: what runs is another
			return metav1.ConditionUnknown, ""
		}
		status, seen := p.stopped(f)
		if status == metav1.ConditionFalse && !p.runsLong(f) {
			return metav1.ConditionUnknown, ""
		}
		return status, seen
	case v1alpha1.FaultCPUStress, v1alpha1.FaultMemoryStress, v1alpha1.FaultClockOffset:
		if seen := p.figures[f.Name]; len(seen) > 0 {
			newest := slices.Clone(f.Effect.Figures)
			for i := range newest {
				newest[i].During = nil
			}
			return fault.ServerEffect(m, of(fault.Note(newest, seen, v1alpha1.FaultActive), struck), p.machine)
		}
	}
	return metav1.ConditionUnknown, ""
}

// kubeletTells is how long the kubelet may need to tell of a container that was started again: until then an engine
// that runs may be another one than the one that was frozen.
const kubeletTells = 15 * time.Second

// runsLong says whether the engine of a frozen container was seen to run that long ago already, and notes when it is
// seen first.
func (p *planner) runsLong(f *v1alpha1.FaultStatus) bool {
	for _, e := range p.s.Timeline {
		if e.Event == eventEngineRuns && e.Fault == f.Name {
			return p.now.Sub(e.Time.Time) >= kubeletTells
		}
	}
	p.note(p.now, eventEngineRuns, f.Name, "")
	return false
}

// lookedUntil is when the looks at faults were over. A look takes seconds, and longer where nothing answers.
func (p *planner) lookedUntil() time.Time {
	if p.asked.After(p.now) {
		return p.asked
	}
	return p.now
}

// of are the figures of these servers; one that has none says that it was not measured.
func of(figures []v1alpha1.EffectFigure, servers []v1alpha1.ServerName) []v1alpha1.EffectFigure {
	var list []v1alpha1.EffectFigure
	for _, name := range servers {
		one := v1alpha1.EffectFigure{Server: string(name)}
		for _, f := range figures {
			if f.Server == string(name) {
				one = f
			}
		}
		list = append(list, one)
	}
	return list
}

// struckNow are the servers whose pods a fault is done to. Which those of an object given literally are Chaos Mesh
// says, by its selector; the text says that there are none.
func (p *planner) struckNow(f *v1alpha1.FaultStatus, o drill.Occurrence) ([]v1alpha1.ServerName, string) {
	struck := struckBy(*f)
	if o.Kind != v1alpha1.FaultChaosMesh {
		return struck, ""
	}
	var list []v1alpha1.ServerName
	for _, name := range struck {
		for _, object := range f.Objects {
			if slices.Contains(p.objects[keyOf(object)].selected, credentials.HostName(name)) {
				list = append(list, name)
				break
			}
		}
	}
	if len(list) == 0 {
		return nil, "Chaos Mesh has selected no pod of a server"
	}
	return list, ""
}

// replaced compares what runs in the pods with what ran before.
func (p *planner) replaced(
	f *v1alpha1.FaultStatus,
	kind v1alpha1.DrillFaultKind,
	struck []v1alpha1.ServerName,
) (metav1.ConditionStatus, string) {
	for _, name := range struck {
		before, now, text, known := p.beforeAndNow(f, name)
		if !known {
			return metav1.ConditionUnknown, text
		}
		switch same, known := now.same(before, kind); {
		case !known:
			return metav1.ConditionUnknown, "the kubelet does not report the engine's container of " + string(name)
		case same:
			return metav1.ConditionFalse, fmt.Sprintf("%s runs on as before", credentials.HostName(name))
		}
	}
	if len(struck) == 0 {
		return metav1.ConditionUnknown, "it struck no pod"
	}
	return metav1.ConditionTrue, "what ran in " + joined(struck) + " is gone"
}

// beforeAndNow are what ran of a server before the fault and what runs now; when they cannot be compared the text says
// why, if there is anything to say.
func (p *planner) beforeAndNow(
	f *v1alpha1.FaultStatus,
	name v1alpha1.ServerName,
) (before, now identity, text string, known bool) {
	for _, was := range identitiesOf(*f) {
		if was.server == name {
			before = was
		}
	}
	if before.pod == "" {
		return before, now, "what ran of " + string(name) + " before the fault was not seen", false
	}
	now = p.identity(name)
	return before, now, "", now.looked // a site that does not answer says nothing of what runs there
}

// failing says whether the engines' containers were replaced and are not ready: what runs in them is not the engine.
func (p *planner) failing(f *v1alpha1.FaultStatus, struck []v1alpha1.ServerName) (metav1.ConditionStatus, string) {
	for _, name := range struck {
		before, now, text, known := p.beforeAndNow(f, name)
		if !known {
			return metav1.ConditionUnknown, text
		}
		switch same, known := now.same(before, v1alpha1.FaultContainerKill); {
		case !known:
			return metav1.ConditionUnknown, "the kubelet does not report the engine's container of " + string(name)
		case now.engine != nil && now.engine.ready:
			return metav1.ConditionFalse, fmt.Sprintf("the engine of %s is ready", name)
		case same:
			return metav1.ConditionFalse, fmt.Sprintf("the container of %s is the same as before", name)
		}
	}
	if len(struck) == 0 {
		return metav1.ConditionUnknown, "it struck no pod"
	}
	return metav1.ConditionTrue, "the containers of " + joined(struck) + " were replaced and are not ready"
}

func joined(servers []v1alpha1.ServerName) string {
	list := make([]string, len(servers))
	for i, s := range servers {
		list[i] = string(s)
	}
	return strings.Join(list, ", ")
}

// identitiesOf a fault are what ran of the servers that it strikes before it.
func identitiesOf(f v1alpha1.FaultStatus) []identity {
	if f.Effect == nil {
		return nil
	}
	var list []identity
	for _, text := range f.Effect.Identity {
		list = append(list, parseIdentity(text))
	}
	return list
}

// struckBy are the servers whose pods a fault is done to; its targets are for people, and may be a site.
func struckBy(f v1alpha1.FaultStatus) []v1alpha1.ServerName {
	var list []v1alpha1.ServerName
	for _, was := range identitiesOf(f) {
		list = append(list, was.server)
	}
	return list
}

// mayFreeze says whether engines may be stopped by a fault: from when it is begun until none was seen stopped.
func mayFreeze(f v1alpha1.FaultStatus) bool {
	return f.Kind == v1alpha1.FaultFreeze &&
		(f.State == v1alpha1.FaultInjecting || f.State == v1alpha1.FaultActive || f.State == v1alpha1.FaultRemoving)
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
		if on := p.runOn[name]; on > 0 {
			return metav1.ConditionFalse, fmt.Sprintf("%d of %d processes of the engine of %s run", on, on+n, name)
		}
	}
	if len(struck) == 0 {
		return metav1.ConditionUnknown, "it struck no server"
	}
	return metav1.ConditionTrue, "the processes of " + joined(struck) + " are stopped"
}
