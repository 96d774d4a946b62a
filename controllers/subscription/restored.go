// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// withRestored adds to a status that the subscription database was restored from a backup. Its agent goes on from where
// the backup was, and of what came since it delivers again only what the distributor still has: the rest would be
// missing without an error. A backup from before the first transaction knows nothing of the subscription: what the
// database says of it is no evidence. A new copy ends that, or that the data were brought in another way.
func withRestored(d Desired, o Observed, s *v1alpha1.SubscriptionInitialization) *v1alpha1.SubscriptionInitialization {
	if s == nil || d.Publication == nil || d.scheduled() {
		// What is copied by a schedule says itself which snapshot it has.
		return s
	}
	if since := copied(d, o); s.RestoredAt != nil && since != nil && !since.Before(s.RestoredAt) {
		s.RestoredAt = nil
	}
	if o.HereErr != nil || o.Here.Fork == "" {
		return s
	}
	server := d.host() + " "
	now := server + o.Here.Fork
	if another := strings.HasPrefix(s.RecoveryFork, server) && s.RecoveryFork != now; another {
		switch {
		case len(o.registrations(d)) == 0:
			return s // the registration that comes tells whether it gets a copy
		case !o.awaitsSnapshot(d):
			at := metav1.NewTime(o.Now).Rfc3339Copy()
			s.RestoredAt = &at
		}
	}
	s.RecoveryFork = now
	return s
}

// awaitsSnapshot tells that all tables are still to come, with a snapshot.
func (o Observed) awaitsSnapshot(d Desired) bool {
	return o.awaitsCopy(d) &&
		!slices.ContainsFunc(o.registrations(d), func(s articleSubscription) bool { return s.DataWasThere })
}

// carry takes over what a subscription lacks into the status of one that is registered anew without a copy, and whose
// tables nobody has compared: it lacks that still.
func carry(d Desired, s *v1alpha1.SubscriptionInitialization) {
	if have := d.Subscription.Status.Initialization; have != nil {
		s.Skipped, s.SkippedAt = have.Skipped, have.SkippedAt
		s.RestoredAt, s.RecoveryFork = have.RestoredAt, have.RecoveryFork
	}
}

// copied is since when the subscriber has what the publisher has, nil when there was no new copy: the newest that was
// asked for. Where it gets no copies it is a person's word. A registration is no evidence: it may bring
// nothing, and where it does its status begins anew.
func copied(d Desired, o Observed) *metav1.Time {
	if !d.snapshots() {
		return d.brought(o.Now)
	}
	if s := d.Subscription.Status.Snapshot; d.scheduled() && s != nil {
		return s.Applied
	}
	if r := d.Subscription.Status.Reinitialization; r != nil {
		return r.Time
	}
	return nil
}

// brought is when a person has brought the data, by the annotation that says so; nil when that is none. A time to come
// would also end what happens until then.
func (d Desired) brought(now time.Time) *metav1.Time {
	at, err := time.Parse(time.RFC3339, d.Subscription.Annotations[v1alpha1.DataBroughtAnnotation])
	if err != nil || at.After(now) {
		return nil
	}
	return &metav1.Time{Time: at}
}

// renew says how the subscriber's tables become the publisher's again, where that can be asked for.
func (d Desired) renew() string {
	if d.snapshots() {
		return fmt.Sprintf("give it a new copy, %s; %s", d.cost(), d.ask())
	}
	if d.fromBackup() {
		return d.anotherBackup()
	}
	return fmt.Sprintf(
		"%s says that it gets no copies: note the time as begun=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%SZ), make the tables there "+
			"equal to the publisher's while nobody writes, then say so by kubectl annotate subscription %s -n %s --overwrite "+
			"%s=$begun",
		replication.NoCopies(d.Publication, d.Subscription),
		d.name(),
		d.Subscription.Namespace,
		v1alpha1.DataBroughtAnnotation,
	)
}

// restored asks a person for a new copy of a database that was restored; false when it was not.
func restored(d Desired) (conditions.Outcome, bool) {
	s := d.Subscription.Status.Initialization
	if s == nil || s.RestoredAt == nil {
		return conditions.Outcome{}, false
	}
	return conditions.Stalled(v1alpha1.ReasonSubscriberBehind, fmt.Sprintf(
		"database %s on %s was restored from a backup (seen at %s): what it received after the backup is delivered again as "+
			"far as the distributor still has it, and the rest is missing: %s",
		d.database(),
		d.host(),
		s.RestoredAt.UTC().Format(time.RFC3339),
		d.renew(),
	)), true
}
