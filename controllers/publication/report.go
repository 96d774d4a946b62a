// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	status := describe(d, o)
	if !reconcile.IsSuspended(failed) {
		status.Reinitialized = reinitialized(d, o, p)
	}
	changes := conditions.Set(&status.StatusBase, d.Publication.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Publication, &d.Publication.Status, &status, changes)
}

// describe makes the status of what was observed.
func describe(d Desired, o Observed) v1alpha1.PublicationStatus {
	s := *d.Publication.Status.DeepCopy()
	known := o.DatabaseErr == nil && o.Database.Tables != nil
	s.Articles = nil
	for _, a := range d.Publication.Spec.Articles {
		state := stateUnknown
		if known {
			state = articleState(d, a, o.Database)
		}
		s.Articles = append(s.Articles, v1alpha1.ArticleStatus{Name: a.Table, State: state})
	}
	s.LogReaderRight = right(d, o)
	if known && o.AtErr == nil {
		s.Schedule = scheduleStatus(d, o)
	}
	if known {
		s.NeededReinitialization, s.Size, s.Undeclared = underWay(d, o, needed(d, o)), size(d, o), undeclared(d, o)
	}
	switch {
	case known && o.AtErr == nil && o.Database.Publication == nil:
		s.Behind, s.RecoveryFork, s.DistributionFork = nil, "", "" // it is made anew
	case s.Behind == nil && restored(d, o):
		at := metav1.NewTime(o.Now).Rfc3339Copy()
		s.Behind = &at
	case s.Behind == nil && known && o.AtErr == nil:
		s.RecoveryFork = cmp.Or(fork(d, o), s.RecoveryFork)
		s.DistributionFork = cmp.Or(distributionFork(d, o), s.DistributionFork)
	}
	if o.AtErr != nil || o.At.Original == "" || d.lacks() {
		for _, agent := range []*v1alpha1.AgentStatus{s.LogReader, s.Snapshot} {
			if agent != nil {
				agent.State = stateUnknown
			}
		}
		return s
	}
	if !d.scheduled() {
		s.Newest = newest(o, s.Newest)
		s.LogReader = replication.AgentStatus(s.LogReader, o.At.LogReader, o.LogReaderJob)
	}
	s.Snapshot = replication.AgentStatus(s.Snapshot, o.At.Snapshot, o.SnapshotJob)
	if o.At.LastSnapshot != "" {
		s.SnapshotFolder = d.System.WorkingDirectory
	}
	return s
}

// undeclared is what runs on in the database and nobody declares.
func undeclared(d Desired, o Observed) []v1alpha1.Undeclared {
	var all []v1alpha1.Undeclared
	for _, name := range o.Database.Publications {
		if !replication.Contains(d.Beside, name) {
			all = append(all, v1alpha1.Undeclared{Publication: name})
		}
	}
	for _, s := range o.Database.Subscribers {
		own := strings.EqualFold(s.Publication, d.name())
		if own && d.declares(mssql.ArticleSubscription{Subscriber: s.Server, Database: s.Database}) != nil ||
			!own && replication.Contains(d.Beside, s.Publication) {
			continue
		}
		whole := func(u v1alpha1.Undeclared) bool { return u.Publication == s.Publication && u.Subscriber == "" }
		all = slices.DeleteFunc(all, whole)
		all = append(all, v1alpha1.Undeclared{Publication: s.Publication, Subscriber: s.Server, Database: s.Database})
	}
	slices.SortFunc(all, func(a, b v1alpha1.Undeclared) int {
		return cmp.Or(
			strings.Compare(a.Publication, b.Publication),
			strings.Compare(a.Subscriber, b.Subscriber),
			strings.Compare(a.Database, b.Database),
		)
	})
	return all[:min(len(all), 256)]
}

// newestFor is how long status.newest stays as it is while no newer transaction comes: it says when it was seen.
const newestFor = time.Minute

// newest is the newest transaction at the distributor, for status.
func newest(o Observed, have *v1alpha1.ReplicatedTransaction) *v1alpha1.ReplicatedTransaction {
	if len(o.At.Newest) == 0 {
		return have
	}
	now := replication.Transaction(o.At.Newest, o.At.NewestTime, o.Now)
	if have != nil && have.Transaction == now.Transaction && have.Seen != nil && o.Now.Sub(have.Seen.Time) < newestFor {
		return have
	}
	return now
}
