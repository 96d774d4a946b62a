// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// annotationTurn of an AvailabilityGroup is the server whose pod is being restarted. Whoever has it written there has
// the turn; it is written with the object's resourceVersion, so that two servers never have it.
const annotationTurn = "geosql.dev/restarting"

// Turn is what a group says about the restart of one of its servers' pods.
type Turn struct {
	// Group is the AvailabilityGroup.
	Group string
	// Declared is false for a group that the engine hosts and nobody declares.
	Declared bool
	// Holder is the server that has the turn; empty when nobody has. A server that is no replica any more has none.
	Holder v1alpha1.ServerName
	// HolderSuspended says why nothing is done with a holder that is another server; empty when something may be.
	HolderSuspended string
	// Suspended says why nothing is done with the group; empty when something may be.
	Suspended string
	// Err is why the group's state can't be told.
	Err error
	// Primary is the server that says so itself.
	Primary v1alpha1.ServerName
	// Against is what speaks against taking any replica down now, as the primary sees it.
	Against []string
	// Self is what the primary says against this server's own replica: it is not connected or not synchronized. Empty
	// when it is well.
	Self string
	// Away says that the primary has no connection to it.
	Away bool
	// Behind are other servers of the group whose pods wait for a restart too.
	Behind []v1alpha1.ServerName
	// Asynchronous are those of Behind that come before this server's update: they have asynchronous copies, this one has
	// a synchronous one, and of what a new build does to a replica they tell at the least price. Only who will be updated
	// is among them; see comesBefore.
	Asynchronous []v1alpha1.ServerName
	// Leaving are other servers of the group whose nodes are cordoned.
	Leaving []v1alpha1.ServerName
	// Parting are other servers of the group whose nodes are cordoned and that are suspended: nobody waits for them, and
	// none becomes primary while there is another.
	Parting []v1alpha1.ServerName
	// Later are other servers of the group whose engines are of a later major version. Once one of them is primary this
	// server's copies get no log, and there is no failing back.
	Later []v1alpha1.ServerName
	// Succession is known for the primary alone.
	Succession Succession
}

// TakeTurn writes the server into its group's annotation, which nobody else may have taken.
type TakeTurn struct{ Group string }

// Describe names the group.
func (s TakeTurn) Describe() string {
	return "take the turn to restart among the servers of group " + s.Group
}

// ReleaseTurn takes the server out of the annotation.
type ReleaseTurn struct{ Group string }

// Describe names the group.
func (s ReleaseTurn) Describe() string {
	return "leave the turn to restart to the other servers of group " + s.Group
}

// restart plans the restart of a pod whose engine has run. Behind a group it waits for its turn: one server at a time,
// and only while every other replica is well; secondaries first, the primary last. A server that is missed already
// waits for nobody, and takes the turn if nobody has it, so that those that are well stay until it is back. It returns
// false when the plan ends here.
func restart(d Desired, o Observed, p *reconcile.Plan, step RestartPod) bool {
	var take []reconcile.Step
	for _, group := range hosted(d, o) {
		turn, known := o.turn(group)
		if why := wait(d, o, turn, known, group); why != "" && !missing(d, o, turn, known) {
			ask, _ := switchover(turn)
			asks := ask != nil && turn.makesRoom(d)
			if asks {
				why += d.announce(p, group)
			}
			reason := waits(*p).Reason
			if idle(reason) {
				reason = ""
			}
			pend(p, step.Reason+"; "+why+awaitsConsent(d, o), reason)
			if asks {
				if d.told(group) {
					p.Add(ask)
				}
				return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting, waits(*p).Why))
			}
			return true
		}
		if turn.Holder == "" {
			take = append(take, TakeTurn{Group: group})
		}
	}
	p.Steps = append(p.Steps, take...)
	p.Add(step)
	return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting, "the pod is restarted: "+step.Reason))
}

// wait says what a restart waits for; empty when it may begin.
func wait(d Desired, o Observed, t Turn, known bool, group string) string {
	self := d.name()
	switch {
	case !known || !t.Declared:
		return fmt.Sprintf(
			"the server is in group %s, which nobody declares, so the pod is not restarted behind it: fail over if it is the "+
				"primary, then delete pod %s",
			group,
			d.host(),
		)
	case t.Holder != "" && t.Holder != self:
		return t.anothers()
	case t.Holder == self && t.Primary != self && (t.Away || silent(o)):
		// What was declared when the first try went wrong: the group does without the server already. One that is connected
		// and only not synchronized yet has a vote among the replicas.
		return ""
	case t.Suspended != "":
		return fmt.Sprintf("group %s is suspended, and nothing of it is taken down: %s", group, t.Suspended)
	case t.Err != nil:
		return fmt.Sprintf("whether group %s can do without a replica is not known: %v", group, t.Err)
	case len(t.Against) > 0:
		return fmt.Sprintf("group %s can't do without a replica now: %s", group, strings.Join(t.Against, ", "))
	case t.Primary == self:
		return primaryWaits(t)
	case len(t.Asynchronous) > 0:
		return fmt.Sprintf("in group %s the servers with asynchronous copies come first: %s", group, list(t.Asynchronous))
	}
	return ""
}

// anothers says whose turn it is. A holder that is suspended keeps it: its pod may be about to end, and nothing is done
// about that meanwhile.
func (t Turn) anothers() string {
	why := fmt.Sprintf("in group %s it is the turn of %s", t.Group, t.Holder)
	if t.HolderSuspended != "" {
		why += fmt.Sprintf(", which keeps it while it is suspended (%s)", t.HolderSuspended)
	}
	return why
}

// missing tells that the group does without the server, whoever is primary and however the others are: its engine can't
// run in the pod that it has, and has not just said that it is primary. After all servers have crashed there is a
// primary only once enough of them are back, so none of them may wait for one.
//
// The pod is deleted only as it was seen (RestartPod.Version): an engine that has come up since is in the pod's status
// before another server can take the turn beside it, which it does only while all others are ready (observeBehind).
// One that would start with an image that may be of a later major version has its turn like any other.
func missing(d Desired, o Observed, t Turn, known bool) bool {
	return known && t.Declared && t.Primary != d.name() && stuck(o, ContainerEngine) && awaitsConsent(d, o) == ""
}

// silent says that the engine serves nobody: it does not run, or it has not answered the sidecar's probes either.
func silent(o Observed) bool {
	return !o.Engine.Asked || o.Engine.Err != nil && !sites.PodReady(o.Pod)
}

// primaryWaits is the primary's turn: it comes last, and begins with a switchover, which makes the server a secondary
// like the others.
func primaryWaits(t Turn) string {
	if len(t.Behind) > 0 {
		return fmt.Sprintf("the primary of group %s comes after its secondaries: %s", t.Group, list(t.Behind))
	}
	_, how := switchover(t)
	return fmt.Sprintf("it is the primary of group %s and the last to restart: %s", t.Group, how)
}

// makesRoom says that the server is the primary, and that nothing but that keeps its pod from being restarted.
func (t Turn) makesRoom(d Desired) bool {
	return t.Declared && t.Holder == "" && t.Suspended == "" && t.Err == nil && len(t.Against) == 0 &&
		len(t.Behind) == 0 && t.Primary == d.name()
}

func list(names []v1alpha1.ServerName) string {
	var texts []string
	for _, n := range names {
		texts = append(texts, string(n))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// planTurn gives the turn back when the restarted server is well again in its groups; also when it is to be restarted
// once more and that has to wait: it is primary by now, or what helps the replica that is not well may be a restart of
// that one. Drains keep the turn as long as they need it.
func planTurn(d Desired, o Observed, p *reconcile.Plan) bool {
	for _, t := range o.Turns {
		drained := leaves(o) != "" && !o.BudgetDenied
		if t.Holder != d.name() || waits(*p).Why != "" && (drained || t.Err != nil) {
			continue
		}
		switch {
		case letGo(o):
			return p.Settle(
				conditions.InProgress(v1alpha1.ReasonRestarting, "the pod is about to end: its eviction was let through"),
			)
		case t.Err != nil:
			return p.Settle(
				conditions.InProgress(
					v1alpha1.ReasonRestarting,
					fmt.Sprintf("restarted; whether its replica of group %s is well is not known: %v", t.Group, t.Err),
				),
			)
		case t.Self != "":
			return p.Settle(
				conditions.InProgress(v1alpha1.ReasonRestarting, fmt.Sprintf("restarted; in group %s %s", t.Group, t.Self)),
			)
		}
		p.Add(ReleaseTurn{Group: t.Group})
	}
	if len(p.Steps) > 0 {
		return p.Settle(
			conditions.InProgress(v1alpha1.ReasonRestarting, cmp.Or(waits(*p).Why, "restarted and well in its groups")),
		)
	}
	return true
}

func (o Observed) turn(group string) (Turn, bool) {
	for _, t := range o.Turns {
		if t.Group == group {
			return t, true
		}
	}
	return Turn{}, false
}

// awaitsTurn tells whether a turn is waited for, or held. A primary of which only the sidecar is outdated waits for
// long.
func awaitsTurn(d Desired, o Observed) bool {
	sidecar := o.Pod != nil && o.StatefulSet != nil && tempDBMoves(o) == "" && leaves(o) == "" && !restartAsked(o) &&
		!updateAsked(o) &&
		o.StatefulSet.Spec.Template.Annotations[annotationEngine] == o.Pod.Annotations[annotationEngine]
	return slices.ContainsFunc(
		o.Turns,
		func(t Turn) bool { return !sidecar || t.Primary != d.name() || t.Holder == d.name() },
	)
}

// restartWaits tells whether the pod may have to be restarted, so that its groups are asked.
func restartWaits(o Observed) bool {
	pod, set := o.Pod, o.StatefulSet
	if pod == nil || set == nil || pod.DeletionTimestamp != nil {
		return false
	}
	return set.Spec.Template.Annotations[annotationTemplate] != pod.Annotations[annotationTemplate] ||
		restartAsked(o) ||
		updateAsked(o) ||
		tempDBMoves(o) != "" ||
		leaves(o) != ""
}

// restartAsked tells that a person has asked for a restart since the pod was made: the template has a value of
// v1alpha1.RestartAnnotation that the pod lacks. That the annotation was taken away asks for nothing.
func restartAsked(o Observed) bool {
	if o.Pod == nil || o.StatefulSet == nil {
		return false
	}
	asked := o.StatefulSet.Spec.Template.Annotations[v1alpha1.RestartAnnotation]
	return asked != "" && asked != o.Pod.Annotations[v1alpha1.RestartAnnotation]
}
