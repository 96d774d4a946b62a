// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// withRestored adds to a status that the subscription database was restored from a backup. Its agent goes on from where
// the backup was, and of what came since it delivers again only what the distributor still has: the rest would be
// missing without an error. A new copy ends that.
func withRestored(d Desired, o Observed, s *v1alpha1.SubscriptionInitialization) *v1alpha1.SubscriptionInitialization {
	if s == nil {
		return nil
	}
	if since := copied(d, s); s.RestoredAt != nil && since != nil && !since.Before(s.RestoredAt) {
		s.RestoredAt = nil
	}
	if o.HereErr != nil || o.Here.Fork == "" {
		return s
	}
	server := d.host() + " "
	now := server + o.Here.Fork
	if strings.HasPrefix(s.RecoveryFork, server) && s.RecoveryFork != now && s.RestoredAt == nil &&
		(o.applied(d) || o.keeps(d)) {
		at := metav1.NewTime(o.Now).Rfc3339Copy()
		s.RestoredAt = &at
	}
	s.RecoveryFork = now
	return s
}

// restored asks a person for a new copy of a database that was restored; false when it was not.
func restored(d Desired) (conditions.Outcome, bool) {
	s := d.Subscription.Status.Initialization
	if s == nil || s.RestoredAt == nil {
		return conditions.Outcome{}, false
	}
	return conditions.Stalled(v1alpha1.ReasonSubscriberBehind, fmt.Sprintf(
		"database %s on %s was restored from a backup (seen at %s): what it received after the backup is delivered again as "+
			"far as the distributor still has it, and the rest is missing. Give it a new copy, %s; %s",
		d.database(),
		d.host(),
		s.RestoredAt.UTC().Format(time.RFC3339),
		d.cost(),
		d.ask(),
	)), true
}
