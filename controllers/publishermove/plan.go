// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/credentials"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// Plan is what to do next, and how far the move is.
type Plan struct {
	replication.Plan
	Phase v1alpha1.PublisherMovePhase
}

// stage plans one part. It returns false when what comes after has to wait for it; then it has set the outcome.
type stage func(d Desired, o Observed, p *Plan) bool

// plan decides what to do next and says what is so until then. It is pure. A stage that has steps ends the plan, and the
// next observation goes on from there; so any step can be the last.
func plan(d Desired, o Observed) Plan {
	p := Plan{Phase: v1alpha1.MovePending}
	if d.Move.Status.Phase == v1alpha1.MoveCompleted {
		p.Phase = v1alpha1.MoveCompleted
		p.Outcome = conditions.Ready(conditions.ReasonMoved, moved(d))
		return p
	}
	for _, s := range []stage{
		planReferences, planPublisherGone, planSuccessor, planApproval, planDrain, planStop, planDeclare, planPublished, planDelivering, planDone,
	} {
		if !s(d, o, &p) {
			break
		}
	}
	return p
}

// settle sets phase and outcome, and ends the planning.
func (p *Plan) settle(phase v1alpha1.PublisherMovePhase, o conditions.Outcome) bool {
	p.Phase = phase
	return p.Settle(o)
}

// planReferences ends the plan while something that is named is not declared, or another move is under way, and for good when
// the Publication is not the one of the estimate: what was approved was not about this one.
func planReferences(d Desired, _ Observed, p *Plan) bool {
	switch {
	case len(d.Missing) > 0:
		return p.Settle(conditions.InProgress(conditions.ReasonReferenceMissing, "these objects are not declared: "+strings.Join(d.Missing, ", ")))
	case d.replaced():
		return p.Settle(conditions.Stalled(conditions.ReasonPublicationReplaced, fmt.Sprintf(
			"Publication %s was deleted and declared anew since this move was estimated, and is not moved: delete this PublisherMove, and make another if that one is to move",
			d.Publication.Name)))
	case d.Other != "":
		return p.Settle(conditions.InProgress(conditions.ReasonWaiting, fmt.Sprintf("PublisherMove %s of this publication is not completed yet", d.Other)))
	}
	return true
}

// planPublisherGone wants two things before a copy takes over: that the former publisher is silent, and a person's word that
// it takes writes no more. Silence alone is no evidence.
func planPublisherGone(d Desired, o Observed, p *Plan) bool {
	if d.switched() {
		return true
	}
	if len(o.Answering) > 0 {
		return p.Settle(conditions.Stalled(conditions.ReasonPublisherAnswers, fmt.Sprintf(
			"%s answers: publishing is moved from a publisher that is gone only, because what it takes meanwhile would be lost. Stop it first; inside a group a switchover moves publishing",
			strings.Join(o.Answering, ", "))))
	}
	if unfenced := d.unfenced(); len(unfenced) > 0 {
		return p.Settle(conditions.Stalled(conditions.ReasonPublisherNotFenced, fmt.Sprintf(
			"%s is silent, and may still take writes: set its Site's lifecycle to Lost, or name it in spec.fencedServers if you know that it is off or cut from every client",
			strings.Join(unfenced, ", "))))
	}
	return true
}

// planSuccessor checks the server that takes over, and its distributor.
func planSuccessor(d Desired, o Observed, p *Plan) bool {
	to := credentials.HostName(d.Move.Spec.To)
	if d.target() == nil && d.Move.Status.ToSubscription == "" {
		return p.Settle(conditions.Stalled(conditions.ReasonNotSubscribed, fmt.Sprintf(
			"no Subscription to %s names SQLServer %s: only a subscriber has a copy. Subscribers are %s", d.Publication.Name, d.Move.Spec.To, subscribers(d))))
	}
	if outcome, ok := replication.Usable(d.Move.Spec.To, o.To); !ok {
		return p.Settle(outcome)
	}
	if outcome, ok := replication.Usable(d.System.Server, o.System); !ok {
		outcome.Reason = conditions.ReasonDistributorUnusable
		outcome.Message = fmt.Sprintf("Distributor %s: %s; name another one in spec.distributor of a new PublisherMove if it is lost too", d.System.Name, outcome.Message)
		return p.Settle(outcome)
	}
	if d.NotAdmitted {
		return p.Settle(conditions.Stalled(conditions.ReasonDistributorUnusable, fmt.Sprintf(
			"Distributor %s does not admit %s: add it to the Distributor's spec.publishers", d.System.Name, d.Move.Spec.To)))
	}
	if have := o.To.State.Distributor; have != "" && !strings.EqualFold(have, d.System.Host()) {
		return p.Settle(conditions.Stalled(conditions.ReasonDistributorUnusable, fmt.Sprintf(
			"%s has %s for its distributor, not %s: name the Distributor of that server in spec.distributor", to, have, d.System.Host())))
	}
	if !d.switched() && o.Left.Err != nil {
		return p.Settle(conditions.Unknown(conditions.ReasonEngineNotAnswering, o.Left.Err.Error()))
	}
	return true
}

func subscribers(d Desired) string {
	var names []string
	for _, s := range d.Subscriptions {
		names = append(names, string(s.Spec.Subscriber.Server))
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// planApproval ends the plan until a person has seen the estimate. What is known of the former publisher is in the status
// before anything is changed.
func planApproval(d Desired, _ Observed, p *Plan) bool {
	s := d.Move.Status
	if s.From == nil || s.Estimate == nil {
		return p.settle(v1alpha1.MoveEstimated, conditions.InProgress(conditions.ReasonAwaitingApproval, "the loss is being estimated"))
	}
	if !d.Move.Spec.Approved {
		return p.settle(v1alpha1.MoveEstimated, conditions.Stalled(conditions.ReasonAwaitingApproval,
			"nothing was changed yet: read status.estimate and status.steps, and set spec.approved to go on. "+s.Estimate.Summary))
	}
	return true
}

// planDrain waits for the new publisher to have everything that the former distributor has, and for the other subscribers,
// which are otherwise copied anew.
func planDrain(d Desired, o Observed, p *Plan) bool {
	if t := d.Move.Status.Timeline; d.switched() || t != nil && t.Drained != nil {
		return true
	}
	if d.Move.Spec.SkipUndelivered {
		return true
	}
	if !o.Old.Asked && o.Old.Err == nil {
		return true // there is no such distributor, or it has lost its databases
	}
	if o.Old.Err != nil {
		if e := d.Move.Status.Estimate; d.FromSystem.Server == d.System.Server || e != nil && e.Deliverable != nil {
			// It answered when the loss was estimated.
			return p.settle(v1alpha1.MoveDraining, conditions.Unknown(conditions.ReasonEngineNotAnswering, o.Old.Err.Error()))
		}
		return true // it is as lost as the publisher; the estimate says so
	}
	if waiting := undrained(d, o); len(waiting) > 0 {
		return p.settle(v1alpha1.MoveDraining, conditions.InProgress(conditions.ReasonDraining, fmt.Sprintf(
			"distributor %s still delivers: %s. If that cannot end, spec.skipUndelivered goes on without", d.FromSystem.Host(), strings.Join(waiting, ", "))))
	}
	return true
}

// undrained are the subscribers that answer and lack commands which the former distributor has.
func undrained(d Desired, o Observed) []string {
	var waiting []string
	for _, s := range d.Subscriptions {
		if n := o.Old.Pending[s.Name]; n > 0 && o.Copies[s.Name].Err == nil {
			waiting = append(waiting, fmt.Sprintf("%d commands to %s", n, credentials.HostName(s.Spec.Subscriber.Server)))
		}
	}
	return waiting
}

// planStop ends the agents of the old way and the new publisher's own subscription; tables stay.
func planStop(d Desired, o Observed, p *Plan) bool {
	if d.switched() {
		return true
	}
	original := o.original(d)
	if original == "" {
		return true // nobody knows anything of a former publisher: there is nothing to be ended
	}
	if o.Old.Asked {
		for _, name := range jobs(d, original) {
			if name == replication.LogReaderJob(original, d.FromDatabase) && o.Old.At.Others {
				continue // other publications of the database share it
			}
			p.RemoveJob(d.FromSystem.Server, name, o.Old.Jobs[name])
		}
	}
	to, database := d.Move.Spec.To, d.targetDatabase()
	if o.Left.Login {
		// Before anything else there: a former distributor that returns has its agents.
		p.EndLogin(to, d.FormerLogin, o.Left.Sessions)
	}
	if to != d.FromSystem.Server || !o.Old.Asked {
		p.RemoveJob(to, job(d, original, to, database), o.Left.Job)
	}
	if here := o.Left.Here; here != nil {
		end := tsql.PullSubscription{Publisher: here.Publisher, PublisherDatabase: here.PublisherDatabase, Publication: d.Publication.Name}
		if here.Pull {
			p.Execute(to, database, tsql.DropPullSubscription(end))
		} else {
			p.Execute(to, database, tsql.CleanSubscription(end))
		}
	}
	return p.proceed(v1alpha1.MoveSwitching, conditions.ReasonSwitching, "the agents of the former publisher are being ended")
}

// proceed ends the plan when it has steps.
func (p *Plan) proceed(phase v1alpha1.PublisherMovePhase, reason, message string) bool {
	if len(p.Steps) > 0 {
		return p.settle(phase, conditions.InProgress(reason, message))
	}
	return true
}

// planDeclare changes what is declared: the others may keep copies that are equal; the new publisher's Subscription ends
// and keeps its tables; the Publication names its new publisher.
func planDeclare(d Desired, _ Observed, p *Plan) bool {
	if d.switched() {
		return true
	}
	for _, s := range d.others() {
		if s.Annotations[v1alpha1.InitializationAnnotation] != v1alpha1.InitializeCompare {
			p.Add(LetCompare{Subscription: s.Name})
		}
	}
	if s := d.target(); s != nil {
		switch {
		case s.DeletionTimestamp != nil:
		case s.Spec.ReclaimPolicy == v1alpha1.ReclaimDelete:
			// Its end must not wait for a publisher that is gone.
			p.Add(KeepTables{Subscription: s.Name, Topology: topology(d, s)})
		default:
			p.Add(EndSubscription{Subscription: s.Name, Topology: topology(d, s)})
		}
		p.proceed(v1alpha1.MoveSwitching, conditions.ReasonSwitching, "")
		return p.settle(v1alpha1.MoveSwitching, conditions.InProgress(conditions.ReasonSwitching, fmt.Sprintf("Subscription %s of the new publisher ends", s.Name)))
	}
	p.Add(Switch{Publication: d.Publication.Name, Topology: topology(d, d.Publication), Publisher: d.Move.Spec.To,
		Database: v1alpha1.DatabaseName(d.targetDatabase()), Distributor: d.distributor(), Move: v1alpha1.ObjectName(d.Move.Name)})
	return p.proceed(v1alpha1.MoveSwitching, conditions.ReasonSwitching, "the Publication is being pointed at its new publisher")
}

// topology is the name of the Topology that declares an object, empty when none does.
func topology(d Desired, obj metav1.Object) string {
	if d.Topology != nil && obj.GetLabels()[v1alpha1.LabelTopology] == d.Topology.Name {
		return d.Topology.Name
	}
	return ""
}

// planPublished waits for the Publication's own controller.
func planPublished(d Desired, _ Observed, p *Plan) bool {
	s := d.Publication.Status
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == d.Publication.Generation {
		return true
	}
	message := "it has not been looked at yet"
	if ready != nil && ready.ObservedGeneration == d.Publication.Generation {
		message = ready.Reason + ": " + ready.Message
	}
	return p.settle(v1alpha1.MovePublishing, conditions.InProgress(conditions.ReasonPublishing, fmt.Sprintf("Publication %s is being published by %s: %s",
		d.Publication.Name, credentials.HostName(d.Move.Spec.To), message)))
}

// States of the other subscribers.
const (
	stateWaiting      = "Waiting"
	stateDelivering   = "Delivering"
	stateNotAnswering = "NotAnswering"
)

// state says how far another subscriber is.
func state(d Desired, o Observed, s v1alpha1.Subscription) string {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	begun := registeredAnew(d, s)
	switch {
	case begun && ready != nil && ready.Reason == conditions.ReasonDelivering:
		return stateDelivering
	case o.Copies[s.Name].Err != nil && (mssql.Is(o.Copies[s.Name].Err, mssql.Unreachable) || mssql.Is(o.Copies[s.Name].Err, mssql.Unknown)):
		return stateNotAnswering
	}
	return stateWaiting
}

// registeredAnew tells that a subscription was registered with the new publisher.
func registeredAnew(d Desired, s v1alpha1.Subscription) bool {
	i := s.Status.Initialization
	return i != nil && strings.EqualFold(i.Publisher, credentials.HostName(d.Move.Spec.To))
}

// planDelivering waits for every other subscriber that answers. One that does not is brought to the new publisher by its
// own controller when it does.
func planDelivering(d Desired, o Observed, p *Plan) bool {
	var waiting []string
	for _, s := range d.others() {
		if state(d, o, s) == stateWaiting {
			message := ""
			if ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
				message = " (" + ready.Reason + ")"
			}
			waiting = append(waiting, s.Name+message)
		}
	}
	if len(waiting) > 0 {
		return p.settle(v1alpha1.MovePublishing, conditions.InProgress(conditions.ReasonPublishing, "subscribers are being brought to the new publisher: "+strings.Join(waiting, ", ")))
	}
	return true
}

// planDone takes the marks from Subscriptions that deliver. One that is silent keeps its mark, which a comparison makes
// harmless.
func planDone(d Desired, o Observed, p *Plan) bool {
	for _, s := range d.others() {
		if state(d, o, s) == stateDelivering && s.Annotations[v1alpha1.InitializationAnnotation] != "" {
			p.Add(EndCompare{Subscription: s.Name})
		}
	}
	if !p.proceed(v1alpha1.MovePublishing, conditions.ReasonPublishing, "what was set for the move is taken back") {
		return false
	}
	return p.settle(v1alpha1.MoveCompleted, conditions.Ready(conditions.ReasonMoved, moved(d)))
}

func moved(d Desired) string {
	return fmt.Sprintf("%s publishes %s in place of %s", credentials.HostName(d.Move.Spec.To), d.Move.Spec.Publication, d.From.Name)
}
