// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// drainPatience is how long a server whose node is cordoned keeps the turn of its groups while its pod is not evicted
// and others wait for it; then it gives way for as long to each of them, so that whoever is drained among them has had
// the turn before it comes again.
const drainPatience = 10 * time.Minute

// planDrain decides whether the pod may be evicted. The pod of a server in a group may not (its PodDisruptionBudget
// allows none), until its node is cordoned and the server has the turn of its groups: so one server of a group is
// drained at a time, while its primary says that all others are well, and the primary switches over before.
func planDrain(d Desired, o Observed, p *reconcile.Plan) bool {
	if o.BudgetDenied || o.Pod == nil || o.Pod.DeletionTimestamp != nil {
		return true
	}
	groups := hosted(d, o)
	why := leaves(o)
	switch {
	case len(groups) == 0 || why == "" && o.Budget == nil:
		return true
	case why == "" || dyingClaims(o) != "":
		return writeBudget(d, o, p, false, nil)
	}
	var take []reconcile.Step
	for _, group := range groups {
		turn, known := o.turn(group)
		if wait := drainWaits(d, o, turn, known, group); wait != "" {
			if ask, _ := makeRoom(d, o, turn); ask != nil {
				wait += d.announce(p, group)
			}
			pend(p, why+"; "+wait, v1alpha1.ReasonNodeCordoned)
			return keepPod(d, o, p, turn)
		}
		if turn.Holder == "" {
			take = append(take, TakeTurn{Group: group})
		}
	}
	times := timesOf(o)
	delete(times, annotationLast)
	if len(take) > 0 || times[annotationEvictable] == "" {
		times[annotationEvictable] = o.Now.UTC().Format(time.RFC3339)
	}
	pend(p, why+"; the pod may be evicted now", v1alpha1.ReasonNodeCordoned)
	p.Steps = append(p.Steps, take...)
	return writeBudget(d, o, p, true, times)
}

// planBudget gives the pod of a server in a group its budget, and lets that of a server alone be evicted: nobody could
// take over from it. The server is as it should be without.
func planBudget(d Desired, o Observed, p *reconcile.Plan) bool {
	alone := len(hosted(d, o)) == 0
	if !o.BudgetDenied && (o.Budget == nil) != alone && leaves(o) == "" {
		wantBudget(d, o, p, alone, nil)
	}
	return true
}

// leaves says why the pod is about to be evicted from its node; empty when it is not. Taints that tell of a node's
// state are no orders to leave it.
func leaves(o Observed) string {
	pod := o.Pod
	if pod == nil || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		return ""
	}
	at := slices.IndexFunc(o.Cluster.Nodes, func(n corev1.Node) bool { return n.Name == pod.Spec.NodeName })
	if at < 0 {
		return ""
	}
	node := o.Cluster.Nodes[at]
	if node.Spec.Unschedulable {
		return "node " + node.Name + " is cordoned"
	}
	taint, untolerated := corev1helpers.FindMatchingUntoleratedTaint(
		klog.Background(),
		node.Spec.Taints,
		pod.Spec.Tolerations,
		func(t *corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoSchedule && !strings.HasPrefix(t.Key, "node.kubernetes.io/")
		},
		false,
	)
	if untolerated {
		return "node " + node.Name + " has the taint " + taint.ToString()
	}
	return ""
}

// drainWaits says what an eviction waits for; empty when it may happen.
func drainWaits(d Desired, o Observed, t Turn, known bool, group string) string {
	self := d.name()
	spent := time.Duration(0)
	if since, err := time.Parse(time.RFC3339, timesOf(o)[annotationEvictable]); err == nil {
		spent = o.Now.Sub(since)
	}
	others := append(slices.Clone(t.Behind), t.Leaving...)
	switch {
	case !known || !t.Declared:
		return fmt.Sprintf(
			"the server is in group %s, which nobody declares, so its pod is not evicted behind it: fail over if it is the "+
				"primary, then delete pod %s",
			group,
			d.host(),
		)
	case t.Holder != "" && t.Holder != self:
		return t.anothers()
	case t.Suspended != "":
		return fmt.Sprintf("group %s is suspended, and nothing of it is taken down: %s", group, t.Suspended)
	case t.Err != nil:
		return fmt.Sprintf("whether group %s can do without a replica is not known: %v", group, t.Err)
	case len(t.Against) > 0:
		return fmt.Sprintf("group %s can't do without a replica now: %s", group, strings.Join(t.Against, ", "))
	case len(others) > 0 && spent >= drainPatience &&
		(t.Holder == self || spent < drainPatience*time.Duration(1+len(others))):
		return fmt.Sprintf(
			"the pod was not evicted within %s, and %s of group %s come first now",
			drainPatience,
			list(others),
			group,
		)
	case comesLast(d, o, t) > 0:
		return fmt.Sprintf(
			"it is the primary of group %s, and whoever could follow it is about to leave its node, too: %s come first, for "+
				"%s more at most",
			group,
			list(t.Leaving),
			comesLast(d, o, t).Round(time.Second),
		)
	case t.Primary == self:
		return primaryWaits(t)
	}
	return ""
}

// comesLast is for how long a primary makes no room for its drain because whoever could follow it is on a cordoned
// node, too. Nobody can see which of them are drained, only whose pods go once they may. So:
//
// A switchover among them gains nothing unless it is the primary that is drained: else the next primary would make room
// in turn, and so on, while the drain of a third waits. The primary gives each of the others the time of a turn, from
// when it is first seen with nobody else to follow it, in each term anew. One of them that is drained comes back on a
// node that is not cordoned, and can follow it at once.
//
// But it may be the primary that is drained. So it waits no longer than that, and whoever leaves has the turn in the
// end. When it takes the turn, its patience begins anew (keepPod): what is left of an earlier turn would make it give
// this one back before its pod could go.
//
// That one server is down at a time hangs on none of this, but on the turn, which is only taken while the primary calls
// all others well (drainWaits).
func comesLast(d Desired, o Observed, t Turn) time.Duration {
	if s := t.Succession; t.Primary != d.name() || !s.Allowed || !s.Leaves || s.Asked != nil {
		return 0
	}
	wait := drainPatience * time.Duration(len(t.Leaving))
	since, err := time.Parse(time.RFC3339, strings.TrimPrefix(timesOf(o)[annotationLast], t.reign()))
	if err != nil {
		return wait
	}
	return max(0, wait-o.Now.Sub(since))
}

// reign begins annotationLast: the group and the term in which the server is its primary.
func (t Turn) reign() string { return fmt.Sprintf("%s %d ", t.Group, t.Succession.Term) }

// timesOf are the times that the budget has in its annotations.
func timesOf(o Observed) map[string]string {
	times := map[string]string{}
	for _, key := range []string{annotationEvictable, annotationLast} {
		if o.Budget != nil && o.Budget.Annotations[key] != "" {
			times[key] = o.Budget.Annotations[key]
		}
	}
	return times
}

// keepPod lets the pod not be evicted, gives back the turns that the server has, and asks for a switchover when nothing
// but that is needed. The primary takes the turn before, so that the one that is to take over is not evicted meanwhile.
func keepPod(d Desired, o Observed, p *reconcile.Plan, waiting Turn) bool {
	times, now := timesOf(o), o.Now.UTC().Format(time.RFC3339)
	ask, room := makeRoom(d, o, waiting)
	switch {
	case room && waiting.Holder == "":
		p.Add(TakeTurn{Group: waiting.Group})
		times[annotationEvictable] = now
	case comesLast(d, o, waiting) > 0 && !strings.HasPrefix(times[annotationLast], waiting.reign()):
		times[annotationLast] = waiting.reign() + now
	}
	wantBudget(d, o, p, false, times)
	if ask != nil && d.told(waiting.Group) {
		p.Add(ask)
	}
	// The turn is left only with the budget seen as it should be: until it was written, the pod could be evicted.
	keeps := room || len(p.Steps) > 0 || letGo(o)
	for _, t := range o.Turns {
		if !keeps && t.Holder == d.name() {
			p.Add(ReleaseTurn{Group: t.Group})
		}
	}
	if len(p.Steps) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting, waits(*p).Why))
	}
	return true
}

// letGo tells whether the API server has let an eviction of the pod through: the pod is about to end, though it may not
// be seen ending yet. The API server writes that before it deletes the pod, and lets none through after a change of the
// budget (kubernetes.io/docs/reference, PodDisruptionBudgetStatus, disruptedPods and observedGeneration).
func letGo(o Observed) bool {
	if o.Budget == nil || o.Pod == nil {
		return false
	}
	_, gone := o.Budget.Status.DisruptedPods[o.Pod.Name]
	return gone
}

// makeRoom is the switchover by which the primary makes room for its drain, nil when it was asked for; room is false
// when none is to be waited for.
func makeRoom(d Desired, o Observed, t Turn) (ask reconcile.Step, room bool) {
	if t.Holder == d.name() {
		t.Holder = ""
	}
	if !t.makesRoom(d) || comesLast(d, o, t) > 0 {
		return nil, false
	}
	ask, _ = switchover(t)
	return ask, ask != nil || t.Succession.Asked != nil && t.Succession.Asked.Phase != v1alpha1.FailoverCompleted
}

// writeBudget brings the budget to what it should be, and ends the plan when there is anything to be done.
func writeBudget(d Desired, o Observed, p *reconcile.Plan, evictable bool, times map[string]string) bool {
	wantBudget(d, o, p, evictable, times)
	if len(p.Steps) == 0 {
		return true
	}
	message := "whether the pod may be evicted is being written"
	if waits(*p).Why != "" {
		message = waits(*p).Why
	}
	return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting, message))
}

func wantBudget(d Desired, o Observed, p *reconcile.Plan, evictable bool, times map[string]string) {
	budget := stamp(disruptionBudget(d, evictable, times))
	if why := drift(budget, o.Budget); why != "" {
		if o.Budget != nil {
			why = "the pod must not be evicted now"
			if evictable {
				why = "the pod may be evicted"
			}
		}
		p.Add(ApplyObject{Object: budget, Reason: why})
	}
}

// drainName is the name of the switchover by which a primary makes room for a drain: one for each term in which it is
// primary, so that what was refused is for a person, and a later drain is another one.
func drainName(group string, primary v1alpha1.ServerName, term int64) string {
	return fmt.Sprintf("%s-drain-%s-%d", group, primary, term)
}
