// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// consents tells whether tables that the subscriber has may be replaced by a new copy now.
func (d Desired) consents() bool { return replication.Consents(d.Publication, d.Subscription) }

// asked tells that a person has asked for a new copy that was not made yet.
func (d Desired) asked() bool { return replication.Request(d.Publication, d.Subscription) != "" }

// registeredBefore tells that the subscription was registered once, as far as its status knows.
func (d Desired) registeredBefore() bool { return d.Subscription.Status.Initialization != nil }

// wrongType tells that the subscription is registered as the other type.
func (o Observed) wrongType(d Desired) bool {
	return slices.ContainsFunc(o.registrations(d), func(s articleSubscription) bool { return s.Pull != d.pull() })
}

// retypes tells that what is declared is another type than the one that is registered, which takes a new copy, for
// which nobody has asked. A backup brings the first one alone, whoever consents to others.
func (d Desired) retypes(o Observed) bool {
	if d.Publication != nil && o.wrongType(d) && d.fromBackup() {
		return true
	}
	return d.Publication != nil && o.wrongType(d) && d.snapshots() && !d.agrees() && !d.consents() &&
		len(o.tables(func(key string) bool { return o.publishes(key) })) > 0
}

// asRegistered is what is kept going: what is declared, but as the type that is registered while the other one waits
// for consent.
func (d Desired) asRegistered(o Observed) Desired {
	if !d.retypes(o) {
		return d
	}
	s := d.Subscription.DeepCopy()
	switch here := o.Jobs[d.Subscriber]; {
	case d.pull() && here != nil && here.Enabled:
		s.Spec.Type, s.Spec.AgentAt = v1alpha1.SubscriptionPush, v1alpha1.AgentAtSubscriber
	case d.pull():
		s.Spec.Type, s.Spec.AgentAt = v1alpha1.SubscriptionPush, v1alpha1.AgentAtDistributor
	default:
		s.Spec.Type, s.Spec.AgentAt = v1alpha1.SubscriptionPull, ""
	}
	d.Subscription = s
	return d
}

// void tells that the newest request was made for other articles, and nobody carries it out.
func (d Desired) void() bool {
	r := d.Subscription.Status.Reinitialization
	return r != nil && r.Void && r.Request == d.Subscription.Annotations[v1alpha1.ReinitializeAnnotation]
}

// voided says so after a sentence, empty when it is not so.
func (d Desired) voided() string {
	if !d.void() {
		return ""
	}
	return ". The new copy that was asked for is not made; " + d.ask()
}

// cost of a new copy: what the publisher measured, and the way to the subscriber.
func (d Desired) cost() string {
	p := d.Publication
	return replication.PriceTo(p, d.Subscription, p.Status.Size, len(p.Spec.Articles), d.Route)
}

// ask says how a person asks for a new copy, and why again where that was done.
func (d Desired) ask() string {
	how := fmt.Sprintf("it is asked for by kubectl geosql reinitialize %s -n %s", d.name(), d.Subscription.Namespace)
	if d.void() {
		how += ", again: the Publication declares other articles since the last request"
	}
	return how
}

// replaces are tables of the articles that a registration would replace although they were this subscription's, or may
// hold what their owner has written since it ended. Consent to a new copy is the request, the policy, a publication
// that is made anew, or a copy that was kept to be compared.
func replaces(d Desired, o Observed) []string {
	if !d.snapshots() || d.agrees() || d.consents() || len(o.registrations(d)) > 0 ||
		!d.registeredBefore() && o.here(d) == nil ||
		len(o.Former) > 0 {
		return nil
	}
	if d.Publication.Annotations[v1alpha1.RebuildAnnotation] == "true" || d.registeredBefore() && replacesKept(d) {
		return nil
	}
	return o.tables(func(key string) bool { return o.publishes(key) && !d.agreedBySchedule(key) })
}

// tables of the subscription database that are meant, as messages name them.
func (o Observed) tables(meant func(key string) bool) []string {
	var all []string
	for key, table := range o.Here.Tables {
		if meant(key) {
			all = append(all, table.Schema+"."+table.Name)
		}
	}
	slices.Sort(all)
	if len(all) > 10 {
		all = append(all[:10], "...")
	}
	return all
}

// awaitsCopy tells that the registration waits for a snapshot of all articles: the first, or a new one that was asked
// for.
func (o Observed) awaitsCopy(d Desired) bool {
	own := o.registrations(d)
	return len(own) > 0 &&
		!slices.ContainsFunc(own, func(s articleSubscription) bool { return s.Status != mssql.SubscriptionWaiting })
}

// planReinitialization has the subscriber get a new copy when it is asked for, or when the distributor has given it up
// and it may. Articles that change come first: they give the same subscriber a new copy.
func planReinitialization(d Desired, o Observed, p *replication.Plan) bool {
	asked := d.asked() || o.inactive(d) && d.consents()
	if !asked || !d.snapshots() || len(o.registrations(d)) == 0 || o.awaitsCopy(d) || !d.publicationRests(o) {
		return true
	}
	if o.keeps(d) && o.JobsErr != nil {
		return jobsUnknown(o, p)
	}
	if o.keeps(d) && unreported(d, o) {
		return p.Settle(unrecorded)
	}
	if o.keeps(d) {
		// What was registered without a copy cannot be reinitialized (21070).
		leave(d, o, p, d.pull())
	} else {
		p.Execute(o.primary(d), d.publisherDatabase(), tsql.ReinitializeSubscription(d.subscription()))
	}
	return p.Proceed("a new copy was asked for: %s", d.cost())
}

// planMethod ends the plan where the subscription is registered with a first copy that is still to come, and none is
// declared any more, as of an object that was deleted, kept what it had, and came back with another method: nobody
// would bring it, and the agent delivers nothing before.
func planMethod(d Desired, o Observed, p *replication.Plan) bool {
	if d.snapshots() || o.applied(d) || !o.copies(d) {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonNotSupported, fmt.Sprintf(
		"the subscription is registered with a copy, which is still to come, and %s says that it gets none: let it have "+
			"spec.initialization {method: %s}, or delete the Subscription with reclaimPolicy Delete and declare it again",
		replication.NoCopies(d.Publication, d.Subscription),
		v1alpha1.InitializeSnapshot,
	)))
}

// unrecorded is waited for before a registration is ended to be made anew: once it is gone, only the status tells that
// the tables are the subscription's.
var unrecorded = conditions.InProgress(
	v1alpha1.ReasonConfiguring,
	"how the subscription is registered is being recorded",
)

// publicationRests tells that the publication is as declared and changes no articles. One whose change waits for others
// holds up nobody to whom nothing is delivered any more.
func (d Desired) publicationRests(o Observed) bool {
	p := d.Publication
	others := func() bool {
		return slices.ContainsFunc(p.Status.NeededReinitialization.WaitingFor, func(s string) bool { return s != d.name() })
	}
	if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); ready != nil &&
		ready.Reason == v1alpha1.ReasonSuspended && ready.Status != metav1.ConditionTrue {
		return false
	}
	return p.Status.ObservedGeneration == p.Generation &&
		(p.Status.NeededReinitialization == nil || o.inactive(d) && others()) &&
		(replication.LacksUpkeepAlone(p.Status.Conditions) ||
			!meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReconciling))
}

// planNeeded says which new copy waits until somebody asks for it. What is there goes on.
func planNeeded(declared Desired, d Desired, o Observed, p *replication.Plan) bool {
	needed := d.Publication.Status.NeededReinitialization
	switch {
	case declared.retypes(o) && declared.fromBackup():
		return p.Settle(conditions.Stalled(v1alpha1.ReasonReinitializationNeeded, fmt.Sprintf(
			"the subscription is %s and goes on so: to become %s %s", d.kind(), declared.kind(), d.anotherBackup())))
	case declared.retypes(o):
		return p.Settle(conditions.Stalled(v1alpha1.ReasonReinitializationNeeded, fmt.Sprintf(
			"the subscription is %s and goes on so: to become %s it takes a new copy, %s; %s",
			d.kind(),
			declared.kind(),
			d.cost(),
			d.ask(),
		)))
	case needed != nil && d.asked() && len(needed.WaitingFor) > 0:
		message := fmt.Sprintf(
			"the new copy that was asked for is made along with those of the publication's other subscribers: ask for them, "+
				"too: %s",
			strings.Join(needed.WaitingFor, ", "),
		)
		if ways := replication.WaysOut(d.Publication, d.Publication.Status.Undeclared, needed.WaitingFor); ways != "" {
			message += ". " + ways
		}
		return p.Settle(conditions.Stalled(v1alpha1.ReasonReinitializationNeeded, message))
	}
	return true
}

func (d Desired) kind() string {
	if d.pull() {
		return string(v1alpha1.SubscriptionPull)
	}
	return fmt.Sprintf("%s, with its agent on %s", v1alpha1.SubscriptionPush, credentials.HostName(d.agentServer()))
}

// reinitialization is the newest request that was carried out, or that nobody will carry out, for status. A step that
// failed may have come after it; then the registration tells.
func reinitialization(d Desired, o Observed, p reconcile.Plan, failed error) *v1alpha1.SubscriptionReinitialization {
	have, request := d.Subscription.Status.Reinitialization, d.Subscription.Annotations[v1alpha1.ReinitializeAnnotation]
	uid, which, _ := strings.Cut(request, "/")
	if d.Publication == nil || which == "" || uid != string(d.Subscription.UID) || have != nil && have.Request == request {
		return have
	}
	done := d.Publication.Status.Reinitialized
	byPublication := done != nil && slices.Contains(done.Requests, request)
	bySteps := failed == nil && (registers(p) || calls(p, tsql.Reinitializes))
	switch {
	case byPublication || bySteps || o.awaitsCopy(d) && !o.wrongType(d):
	case d.Void == request:
		// It stays so, also when what it was for is declared again: nobody expects a copy then.
		void := &v1alpha1.SubscriptionReinitialization{Request: request, Void: true}
		if have != nil {
			void.Time = have.Time
		}
		return void
	default:
		return have
	}
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	return &v1alpha1.SubscriptionReinitialization{Request: request, Time: &now}
}

// calls tells that a plan calls a procedure.
func calls(p reconcile.Plan, procedure string) bool {
	return slices.ContainsFunc(p.Steps, func(s replication.Step) bool {
		execute, ok := s.(replication.Execute)
		return ok && execute.Statement.Procedure == procedure
	})
}
