// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// plan decides what to do next and says what is so until then. It is pure. A stage that has steps ends the plan, and
// the next observation goes on from there; so any step can be the last.
func plan(d Desired, o Observed) reconcile.Plan {
	return reconcile.Stages(d, o,
		planRecord, planReferences, planAgain, planPublisherFenced, planSuccessor, planNothingLost, planApproval,
		planDrain, planBegin, planNote, planStop, planDeclare, planPublished, planDelivering, planDone,
	).Plan
}

// planDelete lets a move go: nothing is its own.
func planDelete(Desired, Observed) reconcile.Plan { return reconcile.Plan{Done: true} }

// phaseOf is how far a plan says that the move is: its note.
func phaseOf(p reconcile.Plan) v1alpha1.PublisherMovePhase {
	return cmp.Or(reconcile.Noted[v1alpha1.PublisherMovePhase](p), v1alpha1.MovePending)
}

// settle notes how far the move is, sets the outcome and ends the planning.
func settle(p *replication.Plan, phase v1alpha1.PublisherMovePhase, o conditions.Outcome) bool {
	p.Note = phase
	return p.Settle(o)
}

// stopIfSteps is StopIfSteps of the plan, and notes how far the move is then.
func stopIfSteps(p *replication.Plan, phase v1alpha1.PublisherMovePhase, reason, message string) bool {
	if p.StopIfSteps(reason, "%s", p.WithLeft(message)) {
		return true
	}
	p.Note = phase
	return false
}

// planRecord ends the plan of a move that is completed: it is a record and changes no more.
func planRecord(d Desired, _ Observed, p *replication.Plan) bool {
	if d.Move.Status.Phase != v1alpha1.MoveCompleted {
		return true
	}
	return settle(p, v1alpha1.MoveCompleted, completed(d))
}

// completed is the outcome of a move that is over. It is the one that was recorded: what was so when it ended says
// nothing else because the publication has moved again, or objects have gone, since.
func completed(d Desired) conditions.Outcome {
	if o := recorded(d.Move); o != nil {
		return *o
	}
	if t := d.Move.Status.Timeline; t == nil || t.Switched == nil {
		return carriedOut(d)
	}
	return conditions.Ready(v1alpha1.ReasonMoved, moved(d))
}

// recorded is the outcome with which a move has ended; nil when it has not, or the status lacks it.
func recorded(m *v1alpha1.PublisherMove) *conditions.Outcome {
	ready := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionReady)
	if m.Status.Phase != v1alpha1.MoveCompleted || ready == nil {
		return nil
	}
	switch {
	case ready.Status == metav1.ConditionTrue:
		o := conditions.Ready(ready.Reason, ready.Message)
		return &o
	case ready.Status == metav1.ConditionFalse && ready.Reason == v1alpha1.ReasonCarriedOut:
		o := conditions.Stalled(ready.Reason, ready.Message)
		return &o
	}
	return nil
}

// planReferences ends the plan while something that is named is not declared or can only subscribe, or another move is
// under way, and for good when the Publication is not the one of the estimate, or is published by another one than
// then: what was approved was not about that, and nobody would ask whether the publisher of now takes writes.
func planReferences(d Desired, _ Observed, p *replication.Plan) bool {
	switch {
	case len(d.Missing) > 0:
		return p.Settle(conditions.InProgress(
			v1alpha1.ReasonReferenceMissing, "these objects are not declared: "+strings.Join(d.Missing, ", "),
		))
	case d.Publication.Spec.Scheduled() && !d.switched():
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNotSupported, fmt.Sprintf(
			"Publication %[1]s is of type Snapshot and is not moved: no stream has to go on. Delete it with reclaimPolicy "+
				"Retain, or Delete while its servers answer, and declare one of another name at SQLServer %[2]s, with "+
				"Subscriptions to it for the others", d.Publication.Name, d.Move.Spec.To)))
	case d.replaced():
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPublicationReplaced, fmt.Sprintf(
			"Publication %s was deleted and declared anew since this move was estimated, and is not moved: delete this "+
				"PublisherMove, and make another if that one is to move",
			d.Publication.Name,
		)))
	case d.overtaken():
		now := d.Publication.Spec
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPublicationReplaced, fmt.Sprintf(
			"since this move was estimated Publication %s has been moved: it is published by %s, database %s, Distributor "+
				"%s, and not by %s, database %s, Distributor %s. Nothing is done: delete this PublisherMove, and make another "+
				"if it is to move once more",
			d.Publication.Name, named(now.Publisher), now.Database, now.Distributor, named(*d.Move.Status.From),
			d.Move.Status.FromDatabase, d.Move.Status.FromDistributor,
		)))
	case d.Other != "":
		return p.Settle(conditions.InProgress(
			v1alpha1.ReasonWaiting, fmt.Sprintf("PublisherMove %s of this publication is not completed yet", d.Other),
		))
	}
	// The former publisher is asked for nothing, such as to take no more writes, for a move that cannot end.
	if outcome, ok := replication.MaySend(d.SubscribeOnly); !ok {
		return p.Settle(outcome)
	}
	return true
}

func named(p v1alpha1.ServerOrGroup) string {
	if p.AvailabilityGroup != "" {
		return "AvailabilityGroup " + string(p.AvailabilityGroup)
	}
	return "SQLServer " + string(p.Server)
}

// planPublisherFenced wants to know before a copy takes over that the former publisher takes no writes: by its own
// word, when its database is read-only; else it has to be silent, and a person has to say so. Silence alone is no
// evidence.
func planPublisherFenced(d Desired, o Observed, p *replication.Plan) bool {
	if d.switched() {
		return true
	}
	if len(o.Answering) > 0 && d.drained() {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPublisherAnswers, opened(d, o)))
	}
	if len(o.Answering) > 0 {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPublisherAnswers, fmt.Sprintf(
			"%s answers, and what it takes meanwhile would be lost. End its writers, wait until everything has arrived, and "+
				"make the database read-only there: ALTER DATABASE %s SET READ_ONLY WITH ROLLBACK IMMEDIATE. A server that is "+
				"to go without that is stopped first; inside a group a switchover moves publishing",
			strings.Join(o.Answering, ", "), tsql.Identifier(d.FromDatabase),
		)))
	}
	if unfenced := d.unfenced(o); len(unfenced) > 0 {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPublisherNotFenced, fmt.Sprintf(
			"%s is silent, and may still take writes: set its Site's lifecycle to Lost, or name it in spec.fencedServers if "+
				"you know that it is off or cut from every client",
			strings.Join(unfenced, ", "),
		)))
	}
	return true
}

// opened says what to do when the former publisher takes writes while the old way is being ended. Nothing reads its log
// any more, so waiting until they have arrived would end with their loss.
func opened(d Desired, o Observed) string {
	again := ""
	if d.target() == nil {
		again = fmt.Sprintf(" once Subscription %s of SQLServer %s is declared again", d.targetSubscription(), d.Move.Spec.To)
	}
	return fmt.Sprintf(
		"%s answers, and may take writes after its agents were ended for this move: what it takes arrives nowhere, and "+
			"status.estimate does not count it. End its writers. Then either make the database read-only (ALTER DATABASE %s "+
			"SET READ_ONLY WITH ROLLBACK IMMEDIATE): the move goes on, and such rows have to be copied by hand to %s once "+
			"that publishes. Or delete this PublisherMove, which gives the old way back%s: they arrive by it, and another "+
			"move begins after that",
		strings.Join(o.Answering, ", "), tsql.Identifier(d.FromDatabase), credentials.HostName(d.Move.Spec.To), again,
	)
}

// planSuccessor checks the server that takes over, and its distributor.
func planSuccessor(d Desired, o Observed, p *replication.Plan) bool {
	to := credentials.HostName(d.Move.Spec.To)
	if !planCopy(d, p) {
		return false
	}
	if outcome, ok := replication.Usable(d.Move.Spec.To, o.To); !ok {
		return p.Settle(outcome)
	}
	if outcome, ok := replication.Usable(d.System.Server, o.System); !ok {
		outcome.Reason = v1alpha1.ReasonDistributorUnusable
		outcome.Message = fmt.Sprintf(
			"Distributor %s: %s; name another one in spec.distributor of a new PublisherMove if it is lost too",
			d.System.Name, outcome.Message,
		)
		return p.Settle(outcome)
	}
	if d.NotAdmitted {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonDistributorUnusable, fmt.Sprintf(
			"Distributor %s does not admit %s: add it to the Distributor's spec.publishers", d.System.Name, d.Move.Spec.To)))
	}
	if have := o.To.State.Distributor; have != "" && !strings.EqualFold(have, d.System.Host()) {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonDistributorUnusable, fmt.Sprintf(
			"%s has %s for its distributor, not %s: name the Distributor of that server in spec.distributor",
			to, have, d.System.Host(),
		)))
	}
	if err := cmp.Or(o.Begun.Err(), o.Left.Err); !d.switched() && err != nil {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, err.Error()))
	}
	return true
}

// planCopy wants to know which copy becomes the source, and keeps to it: another database of the same server is one
// that nobody has looked at, compared or approved.
func planCopy(d Desired, p *replication.Plan) bool {
	known := d.Move.Status
	switch {
	case d.target() != nil, known.ToSubscription != "" && d.drained():
		return true
	case known.ToSubscription != "":
		return p.Settle(
			conditions.Stalled(v1alpha1.ReasonNotSubscribed, fmt.Sprintf("Subscription %s of SQLServer %s into "+
				"database %s, whose copy this move has looked at, was deleted or changed: declare it again as it was, or delete "+
				"this "+
				"PublisherMove and make another", known.ToSubscription, d.Move.Spec.To, known.ToDatabase)),
		)
	case len(d.candidates()) > 1:
		var copies []string
		for _, s := range d.candidates() {
			copies = append(copies, fmt.Sprintf("%s (database %s)", s.Name, s.Spec.Database))
		}
		slices.Sort(copies)
		return p.Settle(
			conditions.Stalled(v1alpha1.ReasonNotSubscribed, fmt.Sprintf("SQLServer %s has several copies of %s, "+
				"by the Subscriptions %s, and nothing says which one is to publish: delete the others first. Their tables stay, "+
				"and "+
				"they can be declared again once this move is completed", d.Move.Spec.To, d.Publication.Name,
				strings.Join(copies, ", "))),
		)
	}
	return p.Settle(
		conditions.Stalled(v1alpha1.ReasonNotSubscribed, fmt.Sprintf("no Subscription to %s names SQLServer %s: "+
			"only a subscriber has a copy. Subscribers are %s", d.Publication.Name, d.Move.Spec.To, subscribers(d))),
	)
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

// planNothingLost wants the new publisher's tables to be equal to those of a former one that lives: then nothing is
// lost. What its log still has it cannot deliver while its database is read-only, what its distributor has is awaited.
func planNothingLost(d Desired, o Observed, p *replication.Plan) bool {
	if o.ReadOnly == "" || d.drained() {
		return true
	}
	if t := d.target(); t == nil || t.DeletionTimestamp != nil {
		// This move ends it only after the old way.
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNotSubscribed, fmt.Sprintf(
			"the Subscription of SQLServer %s to %s was deleted, so nothing says that it goes on to have all that %s has: "+
				"declare it again, and wait until it delivers",
			d.Move.Spec.To, d.Publication.Name, credentials.HostName(o.ReadOnly),
		)))
	}
	from := credentials.HostName(o.ReadOnly)
	if outcome, waits := delivering(d, o); waits {
		return settle(p, v1alpha1.MoveDraining, outcome)
	}
	switch c := o.Comparison; {
	case o.ComparisonErr != nil:
		return p.Settle(conditions.Unknown(
			v1alpha1.ReasonEngineNotAnswering,
			fmt.Sprintf("whether %s has all that %s has is not known: %v",
				credentials.HostName(d.Move.Spec.To), from, o.ComparisonErr),
		))
	case c == nil:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonDraining, "the tables are to be compared"))
	case c.Equal:
		return true
	case o.Old.Pending[d.targetSubscription()] > 0, o.Old.Uncounted[d.targetSubscription()] != nil:
		return settle(p, v1alpha1.MoveDraining, conditions.InProgress(v1alpha1.ReasonDraining, fmt.Sprintf(
			"distributor %s still delivers: %s", d.FromSystem.Host(), strings.Join(undrained(d, o), ", "))))
	default:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonCopyDiffers, differs(d, c, from)))
	}
}

// differs says what keeps the new publisher's tables from being equal, and what helps against that. Only rows can still
// arrive.
func differs(d Desired, c *replication.Comparison, from string) string {
	switch {
	case c.Impossible:
		return fmt.Sprintf(
			"%s, so nothing says that %s has all that %s has. Mend that if it can be, or move as from a server that is lost: "+
				"end the writers, wait until everything has arrived, stop %s, and name it in spec.fencedServers",
			c.Difference, credentials.HostName(d.Move.Spec.To), from, from,
		)
	case !c.Steady:
		return c.Difference + ": end whoever writes there. They are compared again"
	}
	return fmt.Sprintf(
		"%s. What the log of %s still has is not read while the database is read-only: let it write again (ALTER DATABASE "+
			"%s SET READ_WRITE WITH ROLLBACK IMMEDIATE), wait until everything has arrived, and make it read-only once more",
		c.Difference, from, tsql.Identifier(d.FromDatabase),
	)
}

// delivering tells of a former publisher that lives that its tables need not be compared yet: before the approval while
// the new one lacks what the distributor has, after it as long as anybody is waited for.
func delivering(d Desired, o Observed) (conditions.Outcome, bool) {
	if d.approved() {
		return awaited(d, o)
	}
	n, to := o.Old.Pending[d.targetSubscription()], credentials.HostName(d.Move.Spec.To)
	if err := o.Old.Uncounted[d.targetSubscription()]; err != nil && !d.Move.Spec.SkipUndelivered {
		return conditions.InProgress(v1alpha1.ReasonDraining, fmt.Sprintf(
			"how much distributor %s still delivers to %s was not counted in time: %v", d.FromSystem.Host(), to, err)), true
	}
	return conditions.InProgress(v1alpha1.ReasonDraining, fmt.Sprintf("distributor %s still delivers: %d commands to %s",
		d.FromSystem.Host(), n, to)), n > 0 && !d.Move.Spec.SkipUndelivered
}

// planApproval ends the plan until a person has seen the estimate. What is known of the former publisher is in the
// status before anything is changed.
func planApproval(d Desired, o Observed, p *replication.Plan) bool {
	s := d.Move.Status
	if d.drained() {
		return true
	}
	if err := o.rulesUnread(); err != nil && (d.approved() || d.estimates(o)) {
		return settle(p, v1alpha1.MoveEstimated,
			conditions.Unknown(
				v1alpha1.ReasonEngineNotAnswering, "what the copy lacks beside rows is not known: "+err.Error(),
			),
		)
	}
	if s.From == nil || s.Estimate == nil {
		return settle(p, v1alpha1.MoveEstimated,
			conditions.InProgress(v1alpha1.ReasonAwaitingApproval, "the loss is being estimated"),
		)
	}
	kinds := strings.Join(unaccepted(d.Move), ", ")
	switch {
	case kinds != "":
		return settle(p, v1alpha1.MoveEstimated,
			conditions.Stalled(v1alpha1.ReasonAwaitingApproval, fmt.Sprintf("nothing was changed "+
				"yet: the copy lacks %s, which writers will miss (status.estimate.lacks). Make it there once it publishes, and "+
				"name each in "+
				"spec.acceptLacking to go on. %s", kinds, s.Estimate.Summary)),
		)
	case !d.approved():
		return settle(p, v1alpha1.MoveEstimated, conditions.Stalled(
			v1alpha1.ReasonAwaitingApproval, "nothing was changed yet: "+unapproved(d)+". "+s.Estimate.Summary,
		))
	}
	if worse := d.worse(o); worse != "" {
		return settle(p, v1alpha1.MoveEstimated, conditions.Stalled(v1alpha1.ReasonAwaitingApproval,
			"nothing was changed yet, and since the approval it is worse: "+worse))
	}
	return true
}

// planDrain waits for the new publisher to have everything that the former distributor has, and for the other
// subscribers, which are otherwise copied anew.
func planDrain(d Desired, o Observed, p *replication.Plan) bool {
	if d.drained() {
		return true
	}
	if outcome, waits := awaited(d, o); waits {
		return settle(p, v1alpha1.MoveDraining, outcome)
	}
	return true
}

// awaited says what is waited for before the old way is ended; false when nothing is.
func awaited(d Desired, o Observed) (conditions.Outcome, bool) {
	switch e := d.Move.Status.Estimate; {
	case d.Move.Spec.SkipUndelivered:
	case o.Old.Err != nil:
		// If it is as lost as the publisher, the estimate says so. Else it answered when the loss was estimated.
		return conditions.Unknown(
				v1alpha1.ReasonEngineNotAnswering,
				o.Old.Err.Error(),
			), d.FromSystem.Server == d.System.Server ||
				e != nil && e.Deliverable != nil
	case o.Old.Asked: // else there is no such distributor, or it has lost its databases
		if waiting := undrained(d, o); len(waiting) > 0 {
			return conditions.InProgress(v1alpha1.ReasonDraining, fmt.Sprintf(
				"distributor %s still delivers: %s. If that cannot end, spec.skipUndelivered goes on without",
				d.FromSystem.Host(), strings.Join(waiting, ", "),
			)), true
		}
	}
	return conditions.Outcome{}, false
}

// undrained are the new publisher and the subscribers that answer, if they lack commands which the former distributor
// has.
func undrained(d Desired, o Observed) []string {
	var waiting []string
	for _, s := range d.Subscriptions {
		// The new publisher is waited for whatever one question to it came to: what it lacks would be lost.
		if o.Copies[s.Name].Err != nil && s.Name != d.targetSubscription() {
			continue
		}
		to := credentials.HostName(s.Spec.Subscriber.Server)
		if n := o.Old.Pending[s.Name]; n > 0 {
			waiting = append(waiting, fmt.Sprintf("%d commands to %s", n, to))
		}
		if err := o.Old.Uncounted[s.Name]; err != nil {
			waiting = append(waiting, fmt.Sprintf("to %s commands that were not counted in time (%v)", to, err))
		}
	}
	return waiting
}

// planBegin has the status say that the old way is ended before its first step: the controllers of Publication and
// Subscription make again what they miss, at a publisher that lives, unless they read that here. A step in the pass
// that writes it would come before it.
func planBegin(d Desired, _ Observed, p *replication.Plan) bool {
	if d.drained() {
		return true
	}
	return settle(p, v1alpha1.MoveSwitching,
		conditions.InProgress(
			v1alpha1.ReasonSwitching, "the new publisher has what it gets: the agents of the former one are ended next",
		),
	)
}
