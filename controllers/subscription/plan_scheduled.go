// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/schedule"
)

// What is subscribed to may be copied by a schedule (type Snapshot) and not streamed: the Publication has each snapshot
// made, the sidecars bring it, and the agent replaces the tables. Nothing comes between, so there is no latency, and
// nothing pending. The copy that is there serves until then: the Subscription is Ready for it.

// scheduled tells that the publication is copied by a schedule.
func (d Desired) scheduled() bool { return d.Publication.Spec.Scheduled() }

// times of the schedule, nil without one that can be read: the Publication says why.
func (d Desired) times() *schedule.Schedule {
	if !d.scheduled() {
		return nil
	}
	t, err := schedule.Parse(d.Publication.Spec.Schedule, d.Publication.Spec.TimeZone)
	if err != nil {
		return nil
	}
	return &t
}

// notScheduled says what is declared that goes with a stream alone; empty when nothing is.
func (d Desired) notScheduled() string {
	switch {
	case !d.scheduled():
		return ""
	case d.latency() > 0:
		return fmt.Sprintf("spec.objectives.latency is of changes that are streamed, and Publication %s is of type "+
			"Snapshot: take it out; the schedule there says how old a copy may be", d.publication())
	case d.Subscription.Annotations[v1alpha1.InitializationAnnotation] != "":
		return fmt.Sprintf("annotation %s keeps a copy, and Publication %s is of type Snapshot, whose snapshots replace it: "+
			"take the annotation away", v1alpha1.InitializationAnnotation, d.publication())
	}
	return ""
}

// agreedBySchedule tells that a table of the subscription is a copy of an article that the Publication has dropped to
// add it again: where it was the only one nothing was left of the registration.
func (d Desired) agreedBySchedule(table string) bool {
	done := d.Publication.Status.Reinitialized
	return done != nil && replication.AgreedBySchedule(done.Copies, d.host(), d.database(), table)
}

// newest tells that the subscriber has the snapshot that it is to have, and waits for no other.
func (o Observed) newest(d Desired) bool {
	here := o.here(d)
	return here != nil && here.Has(o.Snapshot.Number) && !o.registered(d, mssql.SubscriptionWaiting)
}

// fetching tells that the agent has nothing to do: its next snapshot is being made, or brought. One that ran meanwhile
// would fail for want of the files.
func (o Observed) fetching(d Desired) bool {
	return o.mirrors(d) &&
		(o.registered(d, mssql.SubscriptionWaiting) || !o.newest(d) && o.awaitsMirror(d))
}

// enabled tells whether the agent's job is to run.
func (o Observed) enabled(d Desired) bool {
	if d.scheduled() {
		return !o.fetching(d)
	}
	return !o.mirrors(d) || o.mirrored() || o.applied(d)
}

// phaseScheduled says how far a registered subscription is with the newest snapshot.
func phaseScheduled(d Desired, o Observed) string {
	failure := o.failure(d)
	switch {
	case o.inactive(d):
		return phaseFailed
	case o.registered(d, mssql.SubscriptionWaiting):
		return phaseSnapshot
	case o.newest(d):
		return phaseActive
	case o.awaitsMirror(d) && o.Mirror.Status != nil && o.Mirror.Status.State == files.Failing,
		!o.awaitsMirror(d) && failure != nil && failure.Status == mssql.RunFailed:
		return phaseFailed
	case o.awaitsMirror(d):
		return phaseMirroring
	}
	return phaseInitializing
}

// appliedSnapshot is the snapshot that the subscriber has, for status. What is not known leaves it as it was.
func appliedSnapshot(d Desired, o Observed) *v1alpha1.AppliedSnapshot {
	have := d.Subscription.Status.Snapshot
	if d.Publication == nil {
		return have
	}
	if !d.scheduled() {
		return nil
	}
	here := o.here(d)
	if o.HereErr != nil || o.AtErr != nil || here == nil {
		return have
	}
	if have != nil {
		if was, err := hex.DecodeString(strings.TrimPrefix(have.Transaction, "0x")); err != nil || !here.Has(was) {
			have = nil // the database was restored, or made anew
		}
	}
	number := "0x" + strings.ToUpper(hex.EncodeToString(o.Snapshot.Number))
	if !here.Has(o.Snapshot.Number) || have != nil && have.Transaction == number {
		return have
	}
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	s := &v1alpha1.AppliedSnapshot{Transaction: number, Applied: &now}
	if o.Snapshot.Known {
		made := metav1.NewTime(o.Now.Add(-o.Snapshot.Age)).Rfc3339Copy()
		s.Made = &made
	}
	return s
}

// madeAt is when a snapshot that was applied was made, or else when it was applied.
func madeAt(s *v1alpha1.AppliedSnapshot) time.Time {
	for _, at := range []*metav1.Time{s.Made, s.Applied} {
		if at != nil {
			return at.Time
		}
	}
	return time.Time{}
}

// outdated tells that a copy is older than the schedule says: not even the snapshot of the time before the newest one
// has come, though it had all of the time between the two.
func (d Desired) outdated(o Observed, have *v1alpha1.AppliedSnapshot) bool {
	times, since := d.times(), d.Publication.Status.Schedule
	if times == nil || since == nil || since.Since == nil {
		return false
	}
	from := madeAt(have)
	if since.Since.After(from) {
		from = since.Since.Time
	}
	_, missed := times.Due(from, o.Now)
	return missed > 0
}

// nextDue says when the next snapshot is made, and how somebody gets it sooner.
func (d Desired) nextDue() string {
	when := "by the schedule of Publication " + d.publication()
	if s := d.Publication.Status.Schedule; s != nil && s.Next != nil {
		when = "at " + s.Next.UTC().Format(time.RFC3339)
	}
	return when + "; before that " + d.ask()
}

// otherCopies tells that other subscribers have a copy, which a snapshot that is made for this one would replace.
func (o Observed) otherCopies(d Desired) bool {
	return slices.ContainsFunc(o.Publication.Subscriptions, func(s articleSubscription) bool {
		own := strings.EqualFold(s.Subscriber, d.host()) && strings.EqualFold(s.Database, d.database())
		return !own && s.Status != mssql.SubscriptionWaiting
	})
}

// planScheduled says what is so of a copy that is made by a schedule.
func planScheduled(d Desired, o Observed, p *replication.Plan) bool {
	have, failure := appliedSnapshot(d, o), o.failure(d)
	switch {
	case o.inactive(d):
		return p.Settle(conditions.InProgress(v1alpha1.ReasonSubscriptionInactive, fmt.Sprintf(
			"distributor %s has given %s on %s up, which had not answered for longer than its retention of %d hours: it gets a "+
				"new copy %s", d.System.Host(), d.database(), d.host(), d.System.Retention, d.nextDue())))
	case have == nil:
		return p.Settle(d.firstCopy(o))
	case d.outdated(o, have):
		return p.Settle(conditions.InProgress(v1alpha1.ReasonSnapshotOutdated, fmt.Sprintf(
			"%s on %s has the snapshot of %s, and the schedule has asked for two since: %s", d.database(), d.host(),
			madeAt(have).UTC().Format(time.RFC3339), d.onItsWay(o))))
	case o.fetching(d):
	case failure != nil && failure.Status == mssql.RunFailed:
		return p.Settle(failed(d, o, *failure))
	case failure != nil && !newlyMirrored(d, o):
		return p.Settle(failure.Retrying("distribution agent", 0))
	case !o.running(d):
		return p.Settle(conditions.InProgress(v1alpha1.ReasonAgentFailed, "the distribution agent does not run"))
	}
	text := fmt.Sprintf("%s on %s has the snapshot of %d articles that was made at %s", d.database(), d.host(),
		len(o.registrations(d)), madeAt(have).UTC().Format(time.RFC3339))
	if !o.newest(d) {
		text += "; " + d.onItsWay(o)
	}
	p.Outcome = conditions.Ready(v1alpha1.ReasonDelivering, text+skips(d, o)+d.voided())
	return true
}

// serving lets a Subscription whose copy is made by a schedule stay Ready for it while the next one is prepared.
func serving(d Desired, o Observed, p reconcile.Plan) reconcile.Plan {
	if len(p.Steps) == 0 || d.Publication == nil || !d.scheduled() || p.Outcome.Reason != v1alpha1.ReasonConfiguring ||
		len(o.registrations(d)) == 0 {
		return p
	}
	if have := appliedSnapshot(d, o); have != nil && !d.outdated(o, have) {
		p.Outcome.Ready = metav1.ConditionTrue
	}
	return p
}

// firstCopy is the outcome of a subscriber that has none yet.
func (d Desired) firstCopy(o Observed) conditions.Outcome {
	switch {
	case o.registered(d, mssql.SubscriptionWaiting) && o.otherCopies(d) && !d.asked() && !o.awaitedSince(d):
		return conditions.InProgress(v1alpha1.ReasonWaitingForSchedule, "the newest snapshot does not have what is "+
			"subscribed to, and another one would replace the copies of others: it is made "+d.nextDue())
	case o.registered(d, mssql.SubscriptionWaiting):
		return conditions.InProgress(v1alpha1.ReasonSnapshotRunning, "the publication's snapshot is not there yet")
	case o.awaitsMirror(d):
		return mirroring(d, o)
	case o.failure(d) != nil && o.failure(d).Status == mssql.RunFailed:
		return failed(d, o, *o.failure(d))
	}
	return conditions.InProgress(v1alpha1.ReasonInitializing, "the snapshot is being applied")
}

// awaitedSince tells that somebody has asked for a new copy since the newest snapshot was begun: another is made.
func (o Observed) awaitedSince(d Desired) bool {
	r := d.Subscription.Status.Reinitialization
	return r != nil && r.Time != nil && !o.At.SnapshotBegan.After(r.Time.Time)
}

// onItsWay says how far the next snapshot is.
func (d Desired) onItsWay(o Observed) string {
	switch {
	case o.registered(d, mssql.SubscriptionWaiting):
		return "the next one is being made"
	case o.newest(d):
		return "the next one is not made yet; Publication " + d.publication() + " says why"
	case o.awaitsMirror(d):
		return "the next one is being brought: " + mirroring(d, o).Message
	}
	return "the next one is being applied"
}
