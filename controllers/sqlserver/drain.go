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
	"geosql.dev/operator/internal/conditions"
)

// drainPatience is how long a server whose node is cordoned keeps the turn of its groups while its pod is not evicted
// and others wait for it; it gives them the turn for as long.
const drainPatience = 10 * time.Minute

// planDrain decides whether the pod may be evicted. The pod of a server in a group may not (its PodDisruptionBudget
// allows none), until its node is cordoned and the server has the turn of its groups: so one server of a group is drained
// at a time, while its primary says that all others are well, and the primary switches over before.
func planDrain(d Desired, o Observed, p *Plan) bool {
	if o.BudgetDenied || o.Pod == nil || o.Pod.DeletionTimestamp != nil {
		return true
	}
	groups := hosted(d, o)
	why := leaves(o)
	switch {
	case len(groups) == 0 || why == "" && o.Budget == nil:
		return true
	case why == "":
		return writeBudget(d, o, p, false, "")
	}
	var take []Step
	for _, group := range groups {
		turn, known := o.turn(group)
		if wait := drainWaits(d, o, turn, known, group); wait != "" {
			p.pend(why+"; "+wait, conditions.ReasonNodeCordoned)
			return keepPod(d, o, p, turn)
		}
		if turn.Holder == "" {
			take = append(take, TakeTurn{Group: group})
		}
	}
	since := o.Now.UTC().Format(time.RFC3339)
	if len(take) == 0 && o.Budget != nil && o.Budget.Annotations[annotationEvictable] != "" {
		since = o.Budget.Annotations[annotationEvictable]
	}
	p.pend(why+"; the pod may be evicted now", conditions.ReasonNodeCordoned)
	p.Steps = append(p.Steps, take...)
	return writeBudget(d, o, p, true, since)
}

// planBudget gives the pod of a server in a group its budget, and lets that of a server alone be evicted: nobody could
// take over from it. The server is as it should be without.
func planBudget(d Desired, o Observed, p *Plan) bool {
	alone := len(hosted(d, o)) == 0
	if !o.BudgetDenied && (o.Budget == nil) != alone && leaves(o) == "" {
		wantBudget(d, o, p, alone, "")
	}
	return true
}

// leaves says why the pod is about to be evicted from its node; empty when it is not. Taints that tell of a node's state
// are no orders to leave it.
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
	taint, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoSchedule && !strings.HasPrefix(t.Key, "node.kubernetes.io/")
		}, false)
	if untolerated {
		return "node " + node.Name + " has the taint " + taint.ToString()
	}
	return ""
}

// drainWaits says what an eviction waits for; empty when it may happen.
func drainWaits(d Desired, o Observed, t Turn, known bool, group string) string {
	self := d.name()
	spent := time.Duration(0)
	if o.Budget != nil {
		if since, err := time.Parse(time.RFC3339, o.Budget.Annotations[annotationEvictable]); err == nil {
			spent = o.Now.Sub(since)
		}
	}
	others := append(slices.Clone(t.Behind), t.Leaving...)
	switch {
	case !known || !t.Declared:
		return fmt.Sprintf("the server is in group %s, which nobody declares, so its pod is not evicted behind it: fail over if it is the primary, then delete pod %s", group, d.host())
	case t.Holder != "" && t.Holder != self:
		return fmt.Sprintf("in group %s it is the turn of %s", group, t.Holder)
	case t.Err != nil:
		return fmt.Sprintf("whether group %s can do without a replica is not known: %v", group, t.Err)
	case len(t.Against) > 0:
		return fmt.Sprintf("group %s can't do without a replica now: %s", group, strings.Join(t.Against, ", "))
	case len(others) > 0 && spent >= drainPatience && (t.Holder == self || spent < 2*drainPatience):
		return fmt.Sprintf("the pod was not evicted within %s, and %s of group %s come first now", drainPatience, list(others), group)
	case t.Primary == self:
		return primaryWaits(t)
	}
	return ""
}

// keepPod lets the pod not be evicted, gives back the turns that the server has, and asks for a switchover when nothing
// but that is needed.
func keepPod(d Desired, o Observed, p *Plan, waiting Turn) bool {
	since := ""
	if o.Budget != nil {
		since = o.Budget.Annotations[annotationEvictable]
	}
	wantBudget(d, o, p, false, since)
	if !makeRoom(d, p, waiting) {
		for _, t := range o.Turns {
			if t.Holder == d.name() {
				p.add(ReleaseTurn{Group: t.Group})
			}
		}
	}
	if len(p.Steps) > 0 {
		return p.settle(conditions.InProgress(conditions.ReasonRestarting, p.Pending))
	}
	return true
}

// makeRoom has the primary take the turn and then ask for the switchover, so that the one that is to take over is not
// evicted meanwhile. It returns false when no switchover is to be waited for.
func makeRoom(d Desired, p *Plan, t Turn) bool {
	free := t.Holder == ""
	if t.Holder == d.name() {
		t.Holder = ""
	}
	ask, _ := switchover(t)
	underWay := t.Succession.Asked != nil && t.Succession.Asked.Phase != v1alpha1.FailoverCompleted
	if !t.makesRoom(d) || ask == nil && !underWay {
		return false
	}
	if free {
		p.add(TakeTurn{Group: t.Group})
	}
	if ask != nil {
		p.add(ask)
	}
	return true
}

// writeBudget brings the budget to what it should be, and ends the plan when there is anything to be done.
func writeBudget(d Desired, o Observed, p *Plan, evictable bool, since string) bool {
	wantBudget(d, o, p, evictable, since)
	if len(p.Steps) == 0 {
		return true
	}
	message := "whether the pod may be evicted is being written"
	if p.Pending != "" {
		message = p.Pending
	}
	return p.settle(conditions.InProgress(conditions.ReasonRestarting, message))
}

func wantBudget(d Desired, o Observed, p *Plan, evictable bool, since string) {
	budget := stamp(disruptionBudget(d, evictable, since))
	if why := drift(budget, o.Budget); why != "" {
		if o.Budget != nil {
			why = "the pod must not be evicted now"
			if evictable {
				why = "the pod may be evicted"
			}
		}
		p.add(ApplyObject{Object: budget, Reason: why})
	}
}

// drainName is the name of the switchover by which a primary makes room for a drain: one for each term in which it is
// primary, so that what was refused is for a person, and a later drain is another one.
func drainName(group string, primary v1alpha1.ServerName, term int64) string {
	return fmt.Sprintf("%s-drain-%s-%d", group, primary, term)
}
