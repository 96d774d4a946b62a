// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// planDeclare changes what is declared: the others may keep copies that are equal; the new publisher's Subscription
// ends and keeps its tables; the Publication names its new publisher.
func planDeclare(d Desired, _ Observed, p *replication.Plan) bool {
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
		return settle(p, v1alpha1.MoveSwitching,
			conditions.InProgress(v1alpha1.ReasonSwitching, fmt.Sprintf("Subscription %s of the new publisher ends", s.Name)),
		)
	}
	p.Add(Switch{Publication: d.Publication.Name, Topology: topology(d, d.Publication), Publisher: d.Move.Spec.To,
		Database: v1alpha1.DatabaseName(
			d.targetDatabase(),
		), Distributor: d.distributor(), Move: v1alpha1.ObjectName(d.Move.Name)})
	return stopIfSteps(p, v1alpha1.MoveSwitching,
		v1alpha1.ReasonSwitching,
		"the Publication is being pointed at its new publisher",
	)
}

// topology is the name of the Topology that declares an object, empty when none does.
func topology(d Desired, obj metav1.Object) string {
	if d.Topology != nil && obj.GetLabels()[v1alpha1.LabelTopology] == d.Topology.Name {
		return d.Topology.Name
	}
	return ""
}

// planPublished waits for the Publication's own controller to publish.
func planPublished(d Desired, _ Observed, p *replication.Plan) bool {
	s := d.Publication.Status
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.ObservedGeneration == d.Publication.Generation &&
		(ready.Status == metav1.ConditionTrue || replication.LacksUpkeepAlone(s.Conditions)) {
		return true
	}
	message := "it has not been looked at yet"
	if ready != nil && ready.ObservedGeneration == d.Publication.Generation {
		message = ready.Reason + ": " + ready.Message
	}
	return settle(p, v1alpha1.MovePublishing,
		conditions.InProgress(v1alpha1.ReasonPublishing, fmt.Sprintf("Publication %s is being published by %s: %s",
			d.Publication.Name, credentials.HostName(d.Move.Spec.To), message)),
	)
}

// States of the other subscribers.
const (
	stateWaiting      = "Waiting"
	stateDelivering   = "Delivering"
	stateNotAnswering = "NotAnswering"
)

// state says how far another subscriber is.
func state(d Desired, o Observed, s v1alpha1.Subscription) string {
	ready := v1alpha1.ReadyAsSeen(s.Status.Conditions)
	begun := registeredAnew(d, s)
	switch {
	case begun && ready != nil && ready.Reason == v1alpha1.ReasonDelivering:
		return stateDelivering
	case o.Copies[s.Name].Err != nil &&
		(mssql.Is(o.Copies[s.Name].Err, mssql.Unreachable) || mssql.Is(o.Copies[s.Name].Err, mssql.Unknown)):
		return stateNotAnswering
	}
	return stateWaiting
}

// registeredAnew tells that a subscription was registered with the new publisher.
func registeredAnew(d Desired, s v1alpha1.Subscription) bool {
	i := s.Status.Initialization
	return i != nil && strings.EqualFold(i.Publisher, credentials.HostName(d.Move.Spec.To))
}

// planDelivering waits for every other subscriber that answers. One that does not is brought to the new publisher by
// its own controller when it does.
func planDelivering(d Desired, o Observed, p *replication.Plan) bool {
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
		return settle(p, v1alpha1.MovePublishing,
			conditions.InProgress(
				v1alpha1.ReasonPublishing, "subscribers are being brought to the new publisher: "+strings.Join(waiting, ", "),
			),
		)
	}
	return true
}

// planDone takes the marks from Subscriptions that deliver. One that is silent keeps its mark, which a comparison makes
// harmless.
func planDone(d Desired, o Observed, p *replication.Plan) bool {
	for _, s := range d.others() {
		if state(d, o, s) == stateDelivering && s.Annotations[v1alpha1.InitializationAnnotation] != "" {
			p.Add(EndCompare{Subscription: s.Name})
		}
	}
	if !stopIfSteps(p, v1alpha1.MovePublishing, v1alpha1.ReasonPublishing, "what was set for the move is taken back") {
		return false
	}
	return settle(p, v1alpha1.MoveCompleted, conditions.Ready(v1alpha1.ReasonMoved, moved(d)))
}

func moved(d Desired) string {
	return fmt.Sprintf(
		"%s publishes %s in place of %s", credentials.HostName(d.Move.Spec.To), d.Move.Spec.Publication, d.From.Name,
	)
}
