// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	// prepareWithin is how long clients may need until they are served.
	prepareWithin = 5 * time.Minute
	// judgeWithin is how long histories are asked for before they are lost.
	judgeWithin = 4 * time.Minute
	// endedWithin is how long the target of a run that was ended early may need to be well again, and how long its
	// histories are asked for: it is no pass, whatever comes of it.
	endedWithin = time.Minute
	// keepWithin is how long a verdict may need after the recovery before the run ends without one.
	keepWithin = 20 * time.Minute
	// wellWithin is how long the target may need to be well when the baseline is over.
	wellWithin = time.Minute
	// settledFor is how long after the last fault clients work on at least, so that there is an acknowledgement behind it.
	settledFor = 5 * time.Second
	// injectWithin is how long a fault may need until its objects are there.
	injectWithin = 20 * time.Second
	// momentWithin is how long the effect of what is done at once is looked for.
	momentWithin = time.Minute
	// maxHistory and maxTimeline bound lists of the status.
	maxHistory, maxTimeline = 10, 1000
	// maxClients is how many sites may have clients.
	maxClients = 8
)

// decided is what is to be beside the steps that are done for it: the note of a plan.
type decided struct {
	// Status that is to be, whatever comes of the steps.
	Status *v1alpha1.DrillStatus
	// Then is the state of each fault of which all that is left is done by the steps.
	Then map[string]v1alpha1.FaultState
}

// planner decides over one observation, which it leaves as it is; what is to be is a status of its own.
type planner struct {
	*Observed
	s     *v1alpha1.DrillStatus
	then  map[string]v1alpha1.FaultState
	steps []reconcile.Step
}

func newPlanner(w *Observed) *planner {
	s := w.drill.Status.DeepCopy()
	understand(s, w.now)
	return &planner{Observed: w, s: s, then: map[string]v1alpha1.FaultState{}}
}

// plan is what was decided.
func (p *planner) plan(o conditions.Outcome) reconcile.Plan {
	return reconcile.Plan{Steps: p.steps, Outcome: o, Note: decided{Status: p.s, Then: p.then}}
}

func (p *planner) do(s reconcile.Step) { p.steps = append(p.steps, s) }

// plan brings a drill one phase, or one step, further.
func plan(_ Desired, w *Observed) reconcile.Plan {
	p := newPlanner(w)
	if p.s.RunID != w.drill.Spec.RunID && !active(p.s.Phase) {
		p.begin()
	}
	if p.s.Phase == v1alpha1.DrillCompleted {
		p.clear()
		return p.plan(outcome(p.s))
	}
	p.abortIfAsked()
	switch p.s.Phase {
	case v1alpha1.DrillPending:
		p.pending()
	case v1alpha1.DrillPreparing:
		p.preparing()
	case v1alpha1.DrillBaseline:
		p.baseline()
	case v1alpha1.DrillRunning:
		p.runFaults()
	case v1alpha1.DrillRecovering:
		p.recovering()
	case v1alpha1.DrillJudging:
		if p.now.Sub(p.s.Ended.Time) > drill.Recovery(w.drill.Spec)+keepWithin {
			p.complete(
				v1alpha1.VerdictInconclusive,
				v1alpha1.ReasonEvidenceMissing,
				"the evidence could not be gathered and kept: "+failure(w.drill.Status.Conditions),
			)
			break
		}
		p.do(Gather{})
	}
	return p.plan(outcome(p.s))
}

// begin is a new run. What the former one ended with is kept in short.
func (p *planner) begin() {
	old := *p.s
	var kept []v1alpha1.DrillRunSummary
	if old.Verdict != "" {
		kept = append(
			kept,
			v1alpha1.DrillRunSummary{RunID: old.RunID, Verdict: old.Verdict, Reason: old.Reason, Completed: old.Completed},
		)
	}
	kept = append(kept, old.History...)
	*p.s = v1alpha1.DrillStatus{
		StatusBase: old.StatusBase,
		RunID:      p.drill.Spec.RunID,
		Phase:      v1alpha1.DrillPending,
		History:    kept[:min(len(kept), maxHistory)],
	}
	p.wait(v1alpha1.ReasonDrillWaiting, "the target is looked at")
}

func (p *planner) wait(reason, message string) {
	p.s.Reason, p.s.Message = reason, conditions.Shorten(message, 4096)
}

// pending waits until the drill may begin.
func (p *planner) pending() {
	t := p.target
	switch {
	case p.ranBefore():
		p.wait(
			v1alpha1.ReasonRunOver,
			fmt.Sprintf(
				"run %q is over, and its verdict stands: change spec.runID to one that was never used to run again",
				p.s.RunID,
			),
		)
	case p.drill.Spec.Abort:
		p.complete(v1alpha1.VerdictInconclusive, v1alpha1.ReasonDrillAborted, "it was aborted before it began")
	case !p.drill.Spec.DryRun && drill.TooLate(p.drill.Spec, p.now):
		p.complete(v1alpha1.VerdictInconclusive, v1alpha1.ReasonDrillAborted, fmt.Sprintf(
			"it could not begin before %s: %s", p.drill.Spec.BeginBefore.UTC().Format(time.RFC3339), p.s.Message))
	case t.missing != "":
		p.wait(v1alpha1.ReasonTargetMissing, t.missing)
	case t.denied != "":
		p.wait(v1alpha1.ReasonNotAllowed, t.denied)
	case p.drill.Spec.DryRun:
		p.dryRun()
	case len(p.ungranted) > 0:
		p.wait(v1alpha1.ReasonDrillsNotGranted, p.notGranted())
	case p.unasked != "":
		p.wait(v1alpha1.ReasonSiteUnreachable, p.unasked)
	case p.busy != "":
		p.wait(v1alpha1.ReasonDrillWaiting, fmt.Sprintf("Drill %s runs on the same target", p.busy))
	case t.unwell != "":
		p.wait(v1alpha1.ReasonTargetUnwell, t.unwell+"; a drill begins on a target that is well")
	case p.leftover() != "":
		p.wait(v1alpha1.ReasonDrillWaiting, p.leftover())
	default:
		p.accept()
	}
}

// ranBefore says that a run of that runID is over already. A manifest that is applied anew with the runID of an earlier
// run asks for nothing: to do it again would break the target unasked, and the evidence of the first would judge it.
func (p *planner) ranBefore() bool {
	return p.archived || !p.drill.Spec.DryRun && p.ranElsewhere() ||
		!p.drill.Spec.DryRun &&
			slices.ContainsFunc(p.s.History, func(h v1alpha1.DrillRunSummary) bool { return h.RunID == p.s.RunID })
}

// accept begins: who takes part is settled.
func (p *planner) accept() {
	t := p.target
	list := drill.ClientSites(p.drill.Spec, t.sites())
	for _, site := range list {
		if p.members[site] == nil {
			p.wait(v1alpha1.ReasonSiteUnreachable, fmt.Sprintf("clients should run at %s: %v", site, p.unusable(site)))
			return
		}
	}
	p.s.Phase, p.s.Accepted = v1alpha1.DrillPreparing, at(p.now)
	p.s.Database = t.database
	if t.group != nil {
		p.s.Group = t.group.Name
	}
	if t.subscription != nil {
		p.s.Subscription = t.subscription.Name
	}
	for _, site := range list {
		clientStatus(p.s, string(site)).Pod = clientsName(p.drill)
	}
	for _, o := range drill.Expand(p.drill.Spec.Faults) {
		p.s.Faults = append(p.s.Faults, v1alpha1.FaultStatus{Name: o.Name, Kind: o.Kind, State: v1alpha1.FaultWaiting})
	}
	p.note(p.now, "Started", "", "run "+p.s.RunID+" on "+describeTarget(*p.s))
	p.wait(v1alpha1.ReasonDrillPreparing, "clients are started")
}

// preparing starts the clients and waits until all of them are served.
func (p *planner) preparing() {
	if p.now.Sub(p.s.Accepted.Time) > prepareWithin {
		p.abort("Aborted", "clients were not served within "+prepareWithin.String()+": "+p.s.Message)
		return
	}
	if missing := p.unremembered(); len(missing) > 0 {
		for _, site := range missing {
			p.do(RememberRun{Site: site})
		}
		p.wait(v1alpha1.ReasonDrillPreparing, "the run is noted at the target's sites")
		return
	}
	if !p.secret {
		p.do(MakeSecret{})
	}
	if p.login == nil {
		p.do(MakeLogin{})
		return
	}
	if text := notReady("Login "+p.login.Name, p.login.Status.Conditions); text != "" {
		p.wait(v1alpha1.ReasonDrillPreparing, text)
		return
	}
	if p.s.RecordedAfter == nil {
		p.do(PrepareTables{})
		return
	}
	if waits := p.prepareReaders(); len(waits) > 0 {
		p.wait(v1alpha1.ReasonDrillPreparing, "arrival is to be measured: "+strings.Join(waits, "; "))
		return
	}
	var waits []string
	for i := range p.s.Clients {
		c := &p.s.Clients[i]
		site := v1alpha1.SiteName(c.Site)
		p.noteClock(c)
		if p.clients[site] == nil {
			p.do(StartClients{Site: site})
			waits = append(waits, c.Site)
			continue
		}
		acknowledged := p.latest[site].Acknowledged
		if acknowledged.Wall == 0 {
			text := p.latest[site].Reason
			if err := p.askErr[site]; err != nil {
				text = err.Error()
			}
			c.Message = conditions.Shorten(text, 512)
			waits = append(waits, strings.TrimSuffix(c.Site+" ("+conditions.Shorten(text, 300)+")", " ()"))
			continue
		}
		c.Ready, c.Message, c.LastAcknowledged = true, "", at(acknowledged.Time())
	}
	if len(waits) > 0 {
		p.wait(v1alpha1.ReasonDrillPreparing, "clients are not served yet: "+strings.Join(waits, "; "))
		return
	}
	p.s.Phase, p.s.Baseline = v1alpha1.DrillBaseline, at(p.now)
	p.wait(
		v1alpha1.ReasonDrillBaseline,
		fmt.Sprintf("what clients see is measured for %s", drill.Baseline(p.drill.Spec)),
	)
}

// recovering waits until all is well again, or has been waited for long enough.
func (p *planner) recovering() {
	p.removeFaults()
	waited := p.now.Sub(p.s.Ended.Time)
	well, text := p.synchronized()
	if well {
		p.settle()
		well, text = p.servedSince(p.s.Ended.Time)
	} else {
		p.unsettled()
	}
	if !well {
		p.unserved()
	}
	limit := drill.Recovery(p.drill.Spec)
	if p.s.AbortReason != "" {
		limit = min(limit, endedWithin)
	}
	held := !well || p.held()
	if i := slices.IndexFunc(p.s.Faults, p.lookedAfter); well && i >= 0 {
		well, text = false, "fault "+p.s.Faults[i].Name+" is not seen to be over: "+fault.StillThere(p.s.Faults[i])
	}
	switch {
	case p.faultsLeft() > 0 && waited < limit:
		p.wait(v1alpha1.ReasonDrillRecovering, "faults are being taken back: "+strings.Join(p.leftNames(), ", "))
	case well && p.faultsLeft() == 0 && waited >= settledFor && (held || waited >= limit):
		p.note(p.now, "Recovered", "", "")
		p.judge()
	case waited >= limit:
		if left := p.leftNames(); len(left) > 0 {
			text = "faults are not seen to be over: " + strings.Join(left, ", ")
		}
		p.note(p.now, eventNotRecovered, "", cmp.Or(text, "it was not seen that all is well"))
		p.judge()
	default:
		p.wait(v1alpha1.ReasonDrillRecovering, cmp.Or(text, "clients work on for a while"))
	}
}

// failure is what the condition Ready says of the last attempt.
func failure(list []metav1.Condition) string {
	if c := meta.FindStatusCondition(list, v1alpha1.ConditionReady); c != nil {
		return c.Message
	}
	return "nobody knows why"
}

func (p *planner) judge() {
	p.s.Phase = v1alpha1.DrillJudging
	p.wait(v1alpha1.ReasonDrillJudging, "histories are gathered and judged")
}

// servedSince says whether the clients of all sites were acknowledged what they sent after that time.
func (p *planner) servedSince(t time.Time) (bool, string) {
	for i := range p.s.Clients {
		c := &p.s.Clients[i]
		newest := p.latest[v1alpha1.SiteName(c.Site)].Acknowledged
		if newest.Wall == 0 || !newest.Time().After(t) {
			return false, "clients at " + c.Site + " are not served yet"
		}
		c.LastAcknowledged = at(newest.Time())
	}
	return true, ""
}

// settle notes for each fault that is over that the replicas are synchronized.
func (p *planner) settle() {
	for i := range p.s.Faults {
		f := &p.s.Faults[i]
		if f.State == v1alpha1.FaultRemoved && f.Settled == nil && f.Removed != nil && p.now.After(f.Removed.Time) {
			f.Settled = at(p.readUntil())
			p.note(f.Settled.Time, "Synchronized", f.Name, "")
		}
	}
}

// readUntil is when the replicas had been read. They may have been synchronized before, and were not seen to be so.
func (p *planner) readUntil() time.Time {
	if p.read.After(p.now) {
		return p.read
	}
	return p.now
}

// complete ends the run.
func (p *planner) complete(v v1alpha1.DrillVerdict, reason, message string) {
	p.s.Phase, p.s.Verdict, p.s.Completed = v1alpha1.DrillCompleted, v, at(p.now)
	p.wait(reason, message)
}

// clear takes away what the run has made, once it is over. What a dry run shows it has not made.
func (p *planner) clear() {
	p.thawLeft()
	for _, l := range p.swept {
		p.do(Remove{Site: l.site, Object: l.obj})
	}
}

// thawLeft lets engines go on that are seen to be stopped by a fault whose end was not seen.
func (p *planner) thawLeft() {
	for _, f := range p.drill.Status.Faults {
		if !mayFreeze(f) {
			continue
		}
		for _, server := range struckBy(f) {
			if p.frozen[server] > 0 {
				p.do(Thaw{Server: server, BestEffort: true})
			}
		}
	}
}

// planDelete takes everything back, everywhere. Sites that do not answer are waited for: what they hold ends by its own
// time, but only they can say so.
func planDelete(_ Desired, w *Observed) reconcile.Plan {
	p := newPlanner(w)
	for _, f := range w.drill.Status.Faults {
		for _, server := range struckBy(f) {
			if _, known := w.frozen[server]; mayFreeze(f) && !known {
				p.do(Thaw{Server: server, BestEffort: true})
			}
		}
	}
	p.clear()
	frozen := slices.ContainsFunc(p.steps, func(s reconcile.Step) bool {
		t, ok := s.(Thaw)
		return ok && w.frozen[t.Server] > 0
	})
	if len(w.unswept) > 0 {
		names := make([]string, len(w.unswept))
		for i, s := range w.unswept {
			names[i] = string(s)
		}
		slices.Sort(names)
		return p.plan(
			conditions.Unknown(v1alpha1.ReasonSiteUnreachable, fmt.Sprintf("whether faults are left at %s cannot be told: "+
				"the site has to be declared, allow the namespace, and answer; declare it Lost if it is gone for good",
				strings.Join(names, ", "))),
		)
	}
	deletion := p.plan(conditions.InProgress(v1alpha1.ReasonDeleting, "faults and clients are taken away"))
	deletion.Done = len(w.swept) == 0 && !frozen
	return deletion
}

// outcome of a run as kstatus reads it: a drill that passed is Ready, one that ended otherwise Stalled.
func outcome(s *v1alpha1.DrillStatus) conditions.Outcome {
	message := cmp.Or(s.Message, string(s.Phase))
	switch {
	case s.Phase == v1alpha1.DrillCompleted && (s.Verdict == v1alpha1.VerdictPassed || s.Verdict == ""):
		return conditions.Ready(s.Reason, message)
	case s.Phase == v1alpha1.DrillCompleted:
		return conditions.Stalled(s.Reason, message)
	case s.Reason == v1alpha1.ReasonRunOver || s.Reason == v1alpha1.ReasonNotAllowed ||
		s.Reason == v1alpha1.ReasonTargetMissing ||
		s.Reason == v1alpha1.ReasonDrillsNotGranted:
		return conditions.Stalled(s.Reason, message)
	}
	return conditions.InProgress(s.Reason, message)
}
